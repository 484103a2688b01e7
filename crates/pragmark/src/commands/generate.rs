//! `pragmark --generate` and `--install-completions`: files made from the definition of the command line.

use std::fs;
use std::path::{Path, PathBuf};

use app::{Error, Result};
use clap_complete::Shell;
use clap_complete::env::Shells;
use etcetera::BaseStrategy;

use crate::exit::{EXIT_CODES, Exit};
use crate::output;

const NAME: &str = "pragmark";

/// Prints completions of a shell.
pub fn completions(shell: Shell) -> Result<Exit> {
    output::write_text(None, &script(shell)?)
}

/// Installs completions for a shell, by default that of the user.
pub fn install_completions(shell: Option<Shell>) -> Result<Exit> {
    let shell = match shell {
        Some(shell) => shell,
        None => Shell::from_env().ok_or_else(|| {
            Error::mistake("the variable SHELL names no shell that has completions")
                .hint("name one: `pragmark --install-completions bash`")
        })?,
    };
    install(shell, &script(shell)?)
}

fn script(shell: Shell) -> Result<String> {
    let shell = shell.to_string();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell)
        .ok_or_else(|| Error::mistake(format!("there are no completions for {shell}")))?;
    let mut text = Vec::new();
    completer
        .write_registration("COMPLETE", NAME, NAME, NAME, &mut text)
        .map_err(Error::unusable)?;
    String::from_utf8(text).map_err(Error::unusable)
}

fn install(shell: Shell, script: &str) -> Result<Exit> {
    let path = file_of(shell)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| {
            Error::unusable(format!("cannot create {}: {error}", folder.display()))
        })?;
    }
    output::write_text(Some(&path), script)?;
    output::display(&format!("installed {}\n{}\n", path.display(), next(shell, &path)))
}

/// Returns the file in which a shell looks for completions of the user.
fn file_of(shell: Shell) -> Result<PathBuf> {
    let user = etcetera::choose_base_strategy().map_err(Error::unusable)?;
    match shell {
        Shell::Bash => Ok(user.data_dir().join("bash-completion/completions").join(NAME)),
        Shell::Fish => Ok(user.config_dir().join("fish/completions/pragmark.fish")),
        Shell::Zsh => Ok(user.data_dir().join("zsh/site-functions/_pragmark")),
        other => Err(Error::mistake(format!("{other} has no usual directory for completions"))
            .hint(format!(
                "`pragmark --generate {other}` prints them; add them to the profile of the shell"
            ))),
    }
}

/// Returns what the user has to do so that they take effect.
fn next(shell: Shell, path: &Path) -> String {
    match shell {
        Shell::Bash => "open a new shell; this needs the package bash-completion".to_owned(),
        Shell::Zsh => format!(
            "add this line to ~/.zshrc before `compinit`, then open a new shell:\n  fpath=('{}' $fpath)",
            path.parent().unwrap_or(path).display()
        ),
        _ => "open a new shell".to_owned(),
    }
}

/// Prints the manual page.
pub fn manual(command: clap::Command) -> Result<Exit> {
    let mut command = command.after_help(EXIT_CODES);
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
