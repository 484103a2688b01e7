#![forbid(unsafe_code)]
//! The `pragmark` command.
//!
//! This crate holds what the user types and reads: options, wording, hints and exit codes, one file
//! for each command. What is done stands in the rooms that it calls.

/// Says something on standard error. Nobody reading it is no reason to stop: a pipe's reader may have gone
/// at the same Ctrl-C.
macro_rules! tell {
    ($($words:tt)*) => {{
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!("{}\n", format_args!($($words)*)),
        );
    }};
}

mod cli;
mod commands;
mod failure;
mod interrupt;
mod library;
mod progress;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::execute(cli.command) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report().into(),
    }
}
