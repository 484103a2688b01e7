//! `pragmark man` and `pragmark completions`: made from the definitions of the command line.

use clap::CommandFactory;
use clap_complete::Shell;
use clap_complete::env::Shells;

use super::output;
use crate::cli::Cli;
use crate::failure::{Exit, Failure};

/// Prints the manual page.
pub fn page() -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command.build();
    output::write(None, |writer| {
        let man = clap_mangen::Man::new(command.clone());
        man.render(writer)?;
        for sub in command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
        {
            let man = clap_mangen::Man::new(sub.clone());
            writeln!(writer, ".SH \"PRAGMARK {}\"", sub.get_name().to_uppercase())?;
            man.render_description_section(writer)?;
            man.render_synopsis_section(writer)?;
            man.render_options_section(writer)?;
            man.render_extra_section(writer)?;
        }
        writer.flush()
    })
}

/// Prints the script by which a shell has pragmark complete command lines.
pub fn completions(shell: Shell) -> Result<Exit, Failure> {
    const NAME: &str = "pragmark";
    let shell = shell.to_string();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell)
        .ok_or_else(|| Failure::usage(format!("there are no completions for {shell}")))?;
    let mut text = Vec::new();
    completer
        .write_registration("COMPLETE", NAME, NAME, NAME, &mut text)
        .map_err(Failure::unusable)?;
    output::write(None, |writer| {
        writer.write_all(&text)?;
        writer.flush()
    })
}
