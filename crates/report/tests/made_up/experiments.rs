//! The experiments of the made-up run, and what its trials measure.

use std::collections::BTreeMap;

use lab::level::{Level, Settings};
use lab::trial::Outcome;

/// A level that would run as a script if it were not escaped.
#[allow(dead_code)] // Used by one of the tests only.
pub const HOSTILE: &str = "<script>alert(1)</script>";

/// The experiment files.
pub const ALL: [&str; 5] = [
    // One factor, four arms; a claim confirmed, one refuted, one undecided, one without a figure.
    r#"
    id = "insert-index-timing"
    question = "Does creating an index after the load beat maintaining it during the load?"
    source = "001"
    note = "Sorting the rows by the indexed column beforehand should make the difference vanish: the index then grows at its end only."
    workload = "bulk-insert"
    base = { table = "integers", rows = 5_000_000 }
    factors = { index = ["before", "after", "before-sorted", "deferred"] }
    design = { kind = "one-at-a-time", reference = { index = "before" } }

    [[claims]]
    id = "ins-31"
    says = "creating the index after the load is at least twice as fast"
    ratio = { of = { index = "after" }, to = { index = "before" } }
    at_least = 2.0
    published = 3.29

    [[claims]]
    id = "ins-32"
    says = "deferring the index to the commit is faster than maintaining it row by row"
    ratio = { of = { index = "deferred" }, to = { index = "before" } }
    at_least = 1.0
    published = 1.4

    [[claims]]
    id = "ins-33"
    says = "sorting beforehand is as good as creating the index afterwards"
    equal = { of = { index = "before-sorted" }, to = { index = "after" } }
    within = 0.01

    [[claims]]
    id = "ins-34"
    says = "the slowest way takes less than four times as long as the fastest"
    spread = { over = "index" }
    at_most = 3.0
    published = 2.3
    "#,
    // A factorial of two factors over three decades, with arms that fail in every way.
    r#"
    id = "journal-and-sync"
    question = "What do journal mode and synchronous cost together?"
    source = "002"
    workload = "small-transactions"
    metric = "txns_per_s"
    base = { rows_per_txn = 1, page_size = 4096 }
    factors = { journal_mode = ["delete", "truncate", "persist", "memory", "wal", "off"], synchronous = ["off", "normal", "full", "extra"] }
    design = { kind = "factorial", reference = { journal_mode = "delete", synchronous = "full" } }

    [[exclude]]
    levels = { journal_mode = "off", synchronous = "extra" }
    because = "extra adds nothing where there is no journal to sync"

    [[claims]]
    id = "dur-1"
    says = "WAL with synchronous NORMAL is the fastest that survives a crash of the application"
    ratio = { of = { journal_mode = "wal", synchronous = "normal" }, to = { journal_mode = "delete", synchronous = "full" } }
    at_least = 5.0
    published = 21.0
    requires = ["fsync"]

    [[claims]]
    id = "dur-2"
    says = "each step of safety costs speed"
    ordering = { over = "synchronous", at = { journal_mode = "delete" } }
    tolerance = 0.05

    [[claims]]
    id = "dur-3"
    says = "TRUNCATE is faster than DELETE"
    ratio = { of = { journal_mode = "truncate" }, to = { journal_mode = "delete" } }
    at_least = 1.0
    published = 1.21

    [[claims]]
    id = "dur-4"
    says = "without a journal synchronous FULL costs nothing"
    equal = { of = { journal_mode = "off", synchronous = "full" }, to = { journal_mode = "off", synchronous = "off" } }
    within = 0.1
    "#,
    // Sizes, compared exactly; a preliminary run of three rounds; a hostile level.
    r#"
    id = "page-size"
    question = "Which page size and text encoding give the smallest file?"
    workload = "bulk-insert"
    metric = "db_bytes"
    base = { table = "articles", rows = 200_000 }
    factors = { page_size = [1024, 4096, 16384, 65536], note = ["plain", "<script>alert(1)</script>"] }
    design = { kind = "one-at-a-time", reference = { page_size = 4096, note = "plain" }, stopping = { rounds = 3, max_rounds = 3 } }

    [[adjust]]
    for = { page_size = 65536 }
    base = { rows = 100_000 }

    [[claims]]
    id = "size-1"
    says = "pages of 1 KiB make the file larger than pages of 4 KiB"
    ratio = { of = { page_size = 1024 }, to = { page_size = 4096 } }
    at_least = 1.0
    exact = true
    "#,
    // No difference at all, on a directory in memory: a claim that does not apply.
    r#"
    id = "checkpoint-size"
    question = "Does the size of the automatic checkpoint matter for writers?"
    source = "003"
    workload = "small-transactions"
    metric = "p99_us"
    base = { journal_mode = "wal" }
    factors = { wal_autocheckpoint = [1000, 4000, 0] }
    design = { kind = "one-at-a-time", reference = { wal_autocheckpoint = 1000 }, stopping = { rounds = 7, max_rounds = 9 } }

    [[claims]]
    id = "ckpt-1"
    says = "checkpoints of four thousand pages halve the 99th percentile"
    ratio = { of = { wal_autocheckpoint = 4000 }, to = { wal_autocheckpoint = 1000 } }
    at_most = 0.5
    requires = ["fsync"]
    published = 0.41

    [[claims]]
    id = "ckpt-2"
    says = "without checkpoints latency is lowest"
    argmin = { over = "wal_autocheckpoint", is = [0] }
    "#,
    // Interrupted before there was anything to compare.
    r#"
    id = "blobs-in-rows"
    question = "From which size on are blobs better kept in files?"
    workload = "blob-read"
    metric = "txns_per_s"
    factors = { storage = ["rows", "files"] }
    design = { kind = "one-at-a-time", reference = { storage = "rows" } }

    [[claims]]
    id = "blob-1"
    says = "rows are faster than files for blobs of 10 kB"
    ratio = { of = { storage = "rows" }, to = { storage = "files" } }
    at_least = 1.0
    published = 1.35
    "#,
];

/// Whether the run was interrupted before this trial.
pub fn is_interrupted(key: &str, trials: usize) -> bool {
    key == "blobs-in-rows" && trials >= 2
}

/// Trials that end without a measurement.
pub fn trouble(key: &str, levels: &Settings, round: u32) -> Option<Outcome> {
    let text = |name: &str| {
        levels
            .get(name)
            .and_then(Level::as_text)
            .unwrap_or_default()
    };
    let why = |why: &str| why.to_owned();
    match (key, text("journal_mode"), text("synchronous")) {
        ("journal-and-sync", "off", "normal") => Some(Outcome::Failed {
            why: why("wrong answer: 99,998 rows found where 100,000 were written"),
        }),
        ("journal-and-sync", "memory", "extra") => Some(Outcome::TimedOut { limit_s: 60.0 }),
        ("journal-and-sync", "off", "full") => Some(Outcome::Skipped {
            why: why("needs 12.4 GiB of free space, there are 3.1 GiB"),
        }),
        ("journal-and-sync", "persist", "extra") if round == 1 => Some(Outcome::Failed {
            why: why("disk I/O error (10)"),
        }),
        _ => None,
    }
}

/// How far the canary differs from the reference; it should not.
pub fn canary_bias(key: &str) -> f64 {
    if key == "checkpoint-size" { 1.12 } else { 1.0 }
}

/// The true rate of an arm, in rows or transactions a second.
pub fn rate(key: &str, levels: &Settings) -> f64 {
    let text = |name: &str| {
        levels
            .get(name)
            .and_then(Level::as_text)
            .unwrap_or_default()
    };
    match key {
        "insert-index-timing" => match text("index") {
            "before" => 512_000.0,
            "after" => 1_390_000.0,
            "before-sorted" => 1_386_000.0,
            _ => 478_000.0,
        },
        "journal-and-sync" => {
            journal(text("journal_mode")) * sync(text("synchronous"), text("journal_mode"))
        }
        "blobs-in-rows" => 18_000.0,
        _ => 9_300.0,
    }
}

fn journal(mode: &str) -> f64 {
    match mode {
        "delete" => 310.0,
        "truncate" => 335.0,
        "persist" => 420.0,
        "memory" => 890.0,
        "wal" => 1_050.0,
        _ => 1_240.0,
    }
}

fn sync(level: &str, journal: &str) -> f64 {
    match (level, journal) {
        ("off", "delete") => 42.0,
        ("off", _) => 31.0,
        ("normal", "wal") => 24.0,
        ("normal", _) => 1.45,
        ("full", _) => 1.0,
        _ => 0.82,
    }
}

/// The metrics of a trial that ran at this rate.
pub fn metrics(key: &str, levels: &Settings, rate: f64) -> BTreeMap<String, f64> {
    let work = 1_000_000.0;
    let mut metrics = BTreeMap::from([
        ("seconds".to_owned(), work / rate),
        ("cpu_user_s".to_owned(), 0.71 * work / rate),
        ("cpu_system_s".to_owned(), 0.12 * work / rate),
        ("peak_memory_bytes".to_owned(), 21.4e6 + rate),
    ]);
    match key {
        "insert-index-timing" => {
            metrics.insert("rows_per_s".to_owned(), rate);
            metrics.insert("seconds.index".to_owned(), 0.4 * work / rate);
        }
        "page-size" => {
            metrics.insert("db_bytes".to_owned(), file_size(levels));
        }
        "checkpoint-size" => {
            metrics.insert("p50_us".to_owned(), 0.4e6 / rate);
            metrics.insert("p99_us".to_owned(), 1e6 / rate);
        }
        _ => {
            metrics.insert("txns_per_s".to_owned(), rate);
        }
    }
    metrics
}

fn file_size(levels: &Settings) -> f64 {
    match levels.get("page_size").and_then(Level::as_int) {
        Some(1024) => 94_371_840.0,
        Some(16384) => 82_837_504.0,
        Some(65536) => 84_934_656.0,
        _ => 85_983_232.0,
    }
}
