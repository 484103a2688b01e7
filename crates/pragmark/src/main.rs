#![forbid(unsafe_code)]
//! The `pragmark` command.
//!
//! This crate contains what the user types and reads: options, progress, wording, hints and exit codes. The work itself is in
//! the use cases of the crate `app`.

/// Prints lines to standard error without what a terminal would act on, and ignores errors: the reader of a pipe may have ended
/// at the same Ctrl-C.
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
mod exit;
mod output;
mod progress;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Answers a shell that completes a command line, and ends.
    clap_complete::CompleteEnv::with_factory(cli::command).complete();
    let done = terminal::report_file_limit().and_then(|()| cli::execute());
    done.unwrap_or_else(|error| exit::report(&error)).into()
}
