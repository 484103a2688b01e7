//! Figures for Prometheus and others that read the format OpenMetrics (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use trace::analysis::{Analysis, StatementUse};

use super::{Counts, Database};
use crate::error::{Error, Result};

/// How many statements have figures of their own: those that took most time.
const STATEMENTS: usize = 100;
/// The upper bounds of the histogram's buckets, in seconds.
const BUCKETS_S: [f64; 9] = [1e-5, 1e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1, 1.0, 10.0];
/// How long a client has to send its request, and to take the answer.
const PATIENCE: Duration = Duration::from_millis(200);

/// A server of figures. It answers one request at a time.
pub struct Server(TcpListener);

impl Server {
    /// Listens at an address.
    pub fn bind(address: SocketAddr) -> Result<Server> {
        let listener = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        listener.map(Server).map_err(|error| {
            let in_use = error.kind() == ErrorKind::AddrInUse;
            Error::unusable(format!("cannot serve figures at {address}: {error}"))
                .hint_if(in_use.then_some("choose another port with --openmetrics"))
        })
    }

    /// Answers those who have asked since the last call.
    pub fn answer(&mut self, mut text: impl FnMut() -> String) {
        while let Ok((stream, _)) = self.0.accept() {
            // A client that is gone does not concern the program that is watched.
            let _ = respond(stream, &text());
        }
    }
}

fn respond(mut stream: TcpStream, text: &str) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = [0; 1024];
    let length = stream.read(&mut request)?;
    let is_read = request[..length].starts_with(b"GET ");
    let status = if is_read { "200 OK" } else { "405 Method Not Allowed" };
    let body = if is_read { text } else { "" };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len(),
    )
}

/// Returns the figures of a program.
pub fn text(analysis: &Analysis, databases: &[Database], elapsed: Duration) -> String {
    let mut out = String::new();
    let counts = Counts::of(analysis);
    counter(&mut out, "sqlite_statements", "Statements executed", counts.statements);
    counter(&mut out, "sqlite_commits", "Transactions committed that had written", counts.commits);
    counter(&mut out, "sqlite_refused", "Statements refused because of locks", counts.refused);
    heading(&mut out, "sqlite_lock_wait_seconds", "counter", "Time of waiting for locks");
    line(&mut out, "sqlite_lock_wait_seconds_total", &[], counts.waited_ns as f64 / 1e9);
    heading(&mut out, "pragmark_watched_seconds", "gauge", "Time since the program was started");
    line(&mut out, "pragmark_watched_seconds", &[], elapsed.as_secs_f64());
    heading(&mut out, "sqlite_wal_bytes", "gauge", "Size of the write-ahead log");
    for database in databases {
        let labels = [("database", database.path.as_str())];
        line(&mut out, "sqlite_wal_bytes", &labels, database.wal_bytes as f64);
    }
    heading(&mut out, "sqlite_connections", "gauge", "Open connections");
    for database in databases {
        let labels = [("database", database.path.as_str())];
        line(&mut out, "sqlite_connections", &labels, database.connections as f64);
    }
    heading(&mut out, "sqlite_statement_seconds", "histogram", "Time of an execution");
    let statements = || analysis.statements.iter().filter(|usage| usage.count > 0).take(STATEMENTS);
    statements().for_each(|usage| histogram(&mut out, usage));
    heading(&mut out, "sqlite_scan_steps", "counter", "Rows visited by full scans");
    for usage in statements() {
        let labels = [("statement", usage.sql.as_str())];
        line(&mut out, "sqlite_scan_steps_total", &labels, usage.scan_steps as f64);
    }
    out.push_str("# EOF\n");
    out
}

fn histogram(out: &mut String, usage: &StatementUse) {
    let sql = ("statement", usage.sql.as_str());
    for bound in BUCKETS_S {
        let count = usage.latencies.within((bound * 1e9) as u64);
        line(
            out,
            "sqlite_statement_seconds_bucket",
            &[sql, ("le", &bound.to_string())],
            count as f64,
        );
    }
    line(out, "sqlite_statement_seconds_bucket", &[sql, ("le", "+Inf")], usage.count as f64);
    line(out, "sqlite_statement_seconds_count", &[sql], usage.count as f64);
    line(out, "sqlite_statement_seconds_sum", &[sql], usage.total_ns as f64 / 1e9);
}

fn counter(out: &mut String, name: &str, help: &str, value: u64) {
    heading(out, name, "counter", help);
    line(out, &format!("{name}_total"), &[], value as f64);
}

fn heading(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# TYPE {name} {kind}\n# HELP {name} {help}.");
}

fn line(out: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    let braces =
        if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(out, "{name}{braces} {value}");
}
