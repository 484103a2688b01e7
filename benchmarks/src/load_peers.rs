//! `pragmark load` against what else puts a CSV file into SQLite: whole processes, from start to end,
//! with syncing as each does it by default.
//!
//! The file is the table `user` with one column in quotes. Every program makes the same table and gets
//! the same file; rounds hold each of them once, in random order. What was made is compared, count and
//! sums, after the clock has stopped. A peer that is not installed is left out, with a hint.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use engine::{Connection, Library, OpenFlags, Source, Value};
use lab::samples::Comparison;
use lab::seed::Seed;
use lab::stats::median;

use crate::Failure;

const SCRIPT: &str = include_str!("load_peers.py");
const CREATE: &str =
    "CREATE TABLE user(id INTEGER PRIMARY KEY, area CHAR(6), age INTEGER, active INTEGER)";

/// A program that loads.
struct Peer {
    name: &'static str,
    kind: Kind,
    hint: &'static str,
}

enum Kind {
    Pragmark,
    Shell,
    Python(&'static str),
}

const PEERS: [Peer; 8] = [
    Peer {
        name: "pragmark load",
        kind: Kind::Pragmark,
        hint: "build it: cargo build --release",
    },
    Peer {
        name: "sqlite3 .import",
        kind: Kind::Shell,
        hint: "install SQLite's shell (Debian: sqlite3)",
    },
    Peer {
        name: "Python executemany",
        kind: Kind::Python("executemany"),
        hint: "install Python",
    },
    Peer {
        name: "pandas to_sql",
        kind: Kind::Python("pandas"),
        hint: "pip install pandas",
    },
    Peer {
        name: "sqlite-utils insert",
        kind: Kind::Python("sqlite_utils"),
        hint: "pip install sqlite-utils",
    },
    Peer {
        name: "ADBC ingest (pyarrow)",
        kind: Kind::Python("adbc"),
        hint: "pip install adbc-driver-sqlite pyarrow",
    },
    Peer {
        name: "polars write_database",
        kind: Kind::Python("polars"),
        hint: "pip install polars adbc-driver-sqlite pyarrow",
    },
    Peer {
        name: "DuckDB's sqlite extension",
        kind: Kind::Python("duckdb"),
        hint: "pip install duckdb, and let it fetch its extension",
    },
];

/// Measures rounds and prints medians, and ratios to pragmark with intervals.
pub fn run(
    pragmark: &Path,
    python: &Path,
    rows: usize,
    rounds: usize,
    directory: &Path,
) -> Result<(), Failure> {
    let place = tempfile::tempdir_in(directory)?;
    let bench = Bench {
        library: Arc::new(Library::load(&Source::Embedded)?),
        pragmark: pragmark.canonicalize()?,
        python,
        csv: place.path().join("user.csv"),
        script: place.path().join("load_peers.py"),
        database: place.path().join("made.db"),
    };
    std::fs::write(&bench.script, SCRIPT)?;
    let expected = write_csv(&bench.csv, rows)?;
    let size = std::fs::metadata(&bench.csv)?.len();
    println!("{rows} rows, CSV of {size} bytes, {rounds} rounds:");
    let peers: Vec<&Peer> = PEERS.iter().filter(|peer| bench.is_there(peer)).collect();
    let mut times = vec![Vec::new(); peers.len()];
    let mut order = Seed(3).generator();
    for _ in 0..rounds {
        let mut left: Vec<usize> = (0..peers.len()).collect();
        while !left.is_empty() {
            let number = left.swap_remove(order.below(left.len() as u64) as usize);
            times[number].push(bench.timed(peers[number], &expected)?);
        }
    }
    report(&peers, &times)
}

/// Writes the file and returns what the table must hold: count and sums.
fn write_csv(path: &Path, rows: usize) -> Result<Vec<Value>, Failure> {
    let mut generator = Seed(1).child("load-peers").generator();
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    let mut sums = [0_i64; 4];
    writeln!(file, "id,area,age,active")?;
    for id in 1..=rows as i64 {
        let random = generator.next_u64();
        let area = (random % 1_000_000) as i64;
        let age = 5 + (random >> 20) as i64 % 90;
        let active = (random >> 30) as i64 % 2;
        writeln!(file, "{id},\"{area:06}\",{age},{active}")?;
        for (sum, value) in sums.iter_mut().zip([id, area, age, active]) {
            *sum += value;
        }
    }
    file.into_inner()?.sync_all()?;
    let [id, area, age, active] = sums.map(Value::Integer);
    let rows = rows as i64;
    Ok(vec![
        Value::Integer(rows),
        id,
        area,
        Value::Integer(6 * rows),
        age,
        active,
    ])
}

struct Bench<'b> {
    library: Arc<Library>,
    pragmark: PathBuf,
    python: &'b Path,
    csv: PathBuf,
    script: PathBuf,
    database: PathBuf,
}

impl Bench<'_> {
    /// Whether a peer is installed; if not, it is said how it would be.
    fn is_there(&self, peer: &Peer) -> bool {
        let mut command = match peer.kind {
            Kind::Pragmark => Command::new(&self.pragmark),
            Kind::Shell => Command::new("sqlite3"),
            Kind::Python(_) => Command::new(self.python),
        };
        match peer.kind {
            Kind::Python(method) => command.arg(&self.script).arg(method),
            _ => command.arg("--version"),
        };
        let found = command.output().is_ok_and(|output| output.status.success());
        if !found {
            println!("  {}: skipped, not installed ({})", peer.name, peer.hint);
        }
        found
    }

    fn command(&self, peer: &Peer) -> Command {
        match peer.kind {
            Kind::Pragmark => {
                let mut command = Command::new(&self.pragmark);
                command.arg("load").args([&self.csv, &self.database]);
                command.args(["--table", "user", "--primary-key", "id", "--plain"]);
                command.args(["--type", "area=CHAR(6)"]);
                command
            }
            Kind::Shell => {
                let mut command = Command::new("sqlite3");
                let import = format!(".import --csv --skip 1 '{}' user", self.csv.display());
                command.arg(&self.database).args([CREATE, &import]);
                command
            }
            Kind::Python(method) => {
                let mut command = Command::new(self.python);
                command.arg(&self.script).arg(method);
                command.args([&self.csv, &self.database]);
                command
            }
        }
    }

    /// The seconds of a whole process; what it made is checked and removed.
    fn timed(&self, peer: &Peer, expected: &[Value]) -> Result<f64, Failure> {
        let mut command = self.command(peer);
        command.stdout(Stdio::null());
        let begin = Instant::now();
        let output = command.output()?;
        let seconds = begin.elapsed().as_secs_f64();
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("{}: {reason}", peer.name).into());
        }
        let connection =
            Connection::open(&self.library, &self.database, OpenFlags::READ_WRITE, None)?;
        let found = connection.query_all(
            "SELECT count(*), sum(id), sum(CAST(area AS INTEGER)), sum(length(area)), sum(age), \
             sum(active) FROM user",
        )?;
        if found.first().map(Vec::as_slice) != Some(expected) {
            return Err(format!("{} made another table: {found:?}", peer.name).into());
        }
        connection.close()?;
        std::fs::remove_file(&self.database)?;
        Ok(seconds)
    }
}

fn report(peers: &[&Peer], times: &[Vec<f64>]) -> Result<(), Failure> {
    let own = peers
        .iter()
        .position(|peer| matches!(peer.kind, Kind::Pragmark))
        .ok_or("pragmark itself is not there")?;
    for (peer, seconds) in peers.iter().zip(times) {
        let middle = median(seconds).unwrap_or(f64::NAN);
        if matches!(peer.kind, Kind::Pragmark) {
            println!("  {}: {middle:.3} s", peer.name);
            continue;
        }
        let ratios = seconds
            .iter()
            .zip(&times[own])
            .map(|(peer, own)| (peer / own).ln());
        let comparison =
            Comparison::new(ratios.collect()).ok_or("at least two rounds are needed")?;
        let interval = comparison.interval(0.05);
        println!(
            "  {}: {middle:.3} s; pragmark load is {:.1} times as fast [{:.1}, {:.1}]",
            peer.name,
            comparison.ratio(),
            interval.low,
            interval.high
        );
    }
    Ok(())
}
