//! `pragmark completions`: the script by which a shell has pragmark complete command lines, printed or installed.

use std::fs;
use std::path::{Path, PathBuf};

use clap_complete::Shell;
use clap_complete::env::Shells;
use etcetera::BaseStrategy;

use super::output;
use crate::cli::CompletionsArgs;
use crate::failure::{Exit, Failure};

const NAME: &str = "pragmark";

/// Prints or installs the script.
pub fn execute(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let shell = match args.shell {
        Some(shell) => shell,
        None => Shell::from_env().ok_or_else(|| {
            Failure::usage("the variable SHELL names no shell that has completions")
                .hint("name one: `pragmark completions bash --install`")
        })?,
    };
    let script = script(shell)?;
    match args.install {
        true => install(shell, &script),
        false => output::write_text(None, &script),
    }
}

fn script(shell: Shell) -> Result<String, Failure> {
    let shell = shell.to_string();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell)
        .ok_or_else(|| Failure::usage(format!("there are no completions for {shell}")))?;
    let mut text = Vec::new();
    completer
        .write_registration("COMPLETE", NAME, NAME, NAME, &mut text)
        .map_err(Failure::unusable)?;
    String::from_utf8(text).map_err(Failure::unusable)
}

fn install(shell: Shell, script: &str) -> Result<Exit, Failure> {
    let path = file_of(shell)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| {
            Failure::unusable(format!("cannot create {}: {error}", folder.display()))
        })?;
    }
    output::write_text(Some(&path), script)?;
    output::display(&format!("installed {}\n{}\n", path.display(), next(shell, &path)))
}

/// Where a shell looks for completions of the user.
fn file_of(shell: Shell) -> Result<PathBuf, Failure> {
    let user = etcetera::choose_base_strategy().map_err(Failure::unusable)?;
    match shell {
        Shell::Bash => Ok(user.data_dir().join("bash-completion/completions").join(NAME)),
        Shell::Fish => Ok(user.config_dir().join("fish/completions/pragmark.fish")),
        Shell::Zsh => Ok(user.data_dir().join("zsh/site-functions/_pragmark")),
        other => Err(Failure::usage(format!("{other} has no usual directory for completions"))
            .hint(format!(
                "`pragmark completions {other}` prints them; add them to the profile of the shell"
            ))),
    }
}

/// What the user has to do so that they take effect.
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
