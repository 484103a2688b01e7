//! Options of `watch`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use app::Result;
use app::watch::WatchRequest;
use clap::Args;

use super::values::{address, seconds};
use crate::commands::watch;
use crate::exit::Exit;

/// Options of `watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark watch -- python3 app.py                        the statements that take most time, every second
  pragmark watch --log slow.jsonl --slower 20ms -- ./server
  pragmark watch --openmetrics 127.0.0.1:9464 -- ./server  figures for Prometheus at /metrics

Keys: t time, n executions, m mean, p p99, r rows, s full scans; 1 to 9 open a statement; space
freezes; w writes the summary to a file; q ends the program. If the output is not a terminal, as in
`pragmark watch -- ./server | cat`, pragmark prints only the summary at the end.")]
pub struct WatchArgs {
    /// Append a line of JSON with the plan for each slow statement.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Log statements that take longer than this, such as 20ms.
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "100ms", requires = "log")]
    pub slower: f64,
    /// Serve counters and histograms in the OpenMetrics format at this address, such as 127.0.0.1:9464.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub openmetrics: Option<SocketAddr>,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, required = true)]
    pub command: Vec<OsString>,
}

impl WatchArgs {
    /// Watches the program.
    pub fn execute(self) -> Result<Exit> {
        let request = WatchRequest {
            command: self.command,
            log: self.log,
            slower: Duration::from_secs_f64(self.slower),
            openmetrics: self.openmetrics,
            output: None,
        };
        watch::execute(request)
    }
}
