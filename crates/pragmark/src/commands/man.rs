//! `pragmark man`: made from the definitions of the command line.

use clap::CommandFactory;

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
        for sub in
            command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
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
