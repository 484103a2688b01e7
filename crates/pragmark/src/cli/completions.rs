//! Options of `completions`.

use clap::Args;
use clap_complete::Shell;

/// Options of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark completions --install                      install them for the shell that you use
  pragmark completions fish --install                 install them for another shell
  pragmark completions bash > pragmark.bash           print them, to install them yourself")]
pub struct CompletionsArgs {
    /// The shell [default with --install: that of the variable SHELL].
    #[arg(required_unless_present = "install")]
    pub shell: Option<Shell>,
    /// Write the completions to the user's directory for them, and print where. Works for bash, zsh and fish.
    #[arg(long)]
    pub install: bool,
}
