#![forbid(unsafe_code)]
//! The `pragmark` command.
//!
//! This crate contains what the user types and reads: options, wording, hints and exit codes, one file
//! per command. The work itself is in the crates that it calls.

/// Prints lines to standard error without what a terminal would act on, and ignores failures: the reader
/// of a pipe may have ended at the same Ctrl-C.
macro_rules! tell {
    ($($words:tt)*) => {{
        let words = format!($($words)*);
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("{}\n", lab::text::lines(&words)),
        );
    }};
}

mod cli;
mod commands;
mod complete;
mod failure;
mod interrupt;
mod library;
mod progress;
mod shell;
mod text_file;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Answers a shell that completes a command line, and ends.
    clap_complete::CompleteEnv::with_factory(cli::command).complete();
    let cli = cli::parse();
    let done = interrupt::report_file_limit().and_then(|()| commands::execute(cli.command));
    match done {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report().into(),
    }
}
