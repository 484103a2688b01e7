//! What the trials of the made-up run measure, count and find out.

use std::collections::BTreeMap;

use lab::level::{Level, Settings};
use lab::stats::curve::CacheKnee;
use lab::trial::{DataTable, Outcome};

/// Whether the run was interrupted before this trial.
pub fn is_interrupted(key: &str, trials: usize) -> bool {
    key == "blobs-in-rows" && trials >= 2
}

/// Trials that end without a measurement.
pub fn trouble(key: &str, levels: &Settings, round: u32) -> Option<Outcome> {
    let text = |name: &str| levels.get(name).and_then(Level::as_text).unwrap_or_default();
    let why = |why: &str| why.to_owned();
    match (key, text("journal_mode"), text("synchronous")) {
        ("journal-and-sync", "off", "normal") => {
            Some(Outcome::failed("wrong answer: 99,998 rows found where 100,000 were written"))
        }
        ("journal-and-sync", "memory", "extra") => Some(Outcome::TimedOut { limit_s: 60.0 }),
        ("journal-and-sync", "off", "full") => {
            Some(Outcome::Skipped { why: why("needs 12.4 GiB of free space, there are 3.1 GiB") })
        }
        ("journal-and-sync", "persist", "extra") if round == 1 => {
            Some(Outcome::failed("disk I/O error (10)"))
        }
        _ => None,
    }
}

/// How far the A/A check differs from the baseline; it should not.
pub fn aa_check_bias(key: &str) -> f64 {
    if key == "checkpoint-size" { 1.12 } else { 1.0 }
}

/// The true rate of a variant, in rows or transactions a second.
pub fn rate(key: &str, levels: &Settings) -> f64 {
    let text = |name: &str| levels.get(name).and_then(Level::as_text).unwrap_or_default();
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
        "insert-growth" => growth(text("order"), rows(levels)),
        "blobs-in-rows" => 18_000.0,
        _ => 9_300.0,
    }
}

fn rows(levels: &Settings) -> f64 {
    levels.get("rows").and_then(Level::as_int).unwrap_or(1) as f64
}

/// Rows a second with a cache for 1.2 million rows in random order, for 4 million in an order that
/// touches fewer pages at a time, and for any number in sorted order.
fn growth(order: &str, rows: f64) -> f64 {
    let knee = |base, miss, capacity| CacheKnee { base, miss, capacity, r_squared: 1.0 };
    let model = match order {
        "random" => knee(0.71e-6, 14e-6, 1.2e6),
        "mostly-sorted" => knee(0.62e-6, 3.2e-6, 4e6),
        _ => knee(0.55e-6, 0.0, 1e9),
    };
    1.0 / model.seconds_per_row(rows)
}

/// The rate of a limit; none where it cannot be measured here.
pub fn limit_rate(name: &str) -> Option<f64> {
    match name {
        "generating only" => Some(7_900_000.0),
        "plain file" => Some(4_200_000.0),
        _ => None,
    }
}

/// What the work of a variant did, as the counting trial reports it.
pub fn counts(key: &str, levels: &Settings) -> BTreeMap<String, f64> {
    let text = |name: &str| levels.get(name).and_then(Level::as_text).unwrap_or_default();
    let counts: &[(&str, f64)] = match (key, text("index"), text("journal_mode")) {
        ("insert-index-timing", "before" | "deferred", _) => &[
            ("syncs", 1.0),
            ("syncs.database", 1.0),
            ("writes", 1_923_411.0),
            ("writes.database", 1_923_411.0),
            ("bytes_written", 7_878_291_456.0),
            ("bytes_written.database", 7_878_291_456.0),
            ("cache_misses", 1_688_112.0),
            ("cache_spills", 1_874_020.0),
            ("pages_written", 1_923_411.0),
        ],
        ("insert-index-timing", ..) => &[
            ("syncs", 1.0),
            ("syncs.database", 1.0),
            ("writes", 49_212.0),
            ("writes.database", 35_740.0),
            ("writes.temporary", 13_472.0),
            ("bytes_written", 256_901_120.0),
            ("bytes_written.database", 146_391_040.0),
            ("bytes_written.temporary", 110_510_080.0),
            ("cache_misses", 12.0),
            ("cache_spills", 31_002.0),
            ("pages_written", 35_740.0),
        ],
        ("journal-and-sync", _, "wal") => &[
            ("syncs", 10_014.0),
            ("syncs.database", 10.0),
            ("syncs.wal", 10_004.0),
            ("writes", 41_876.0),
            ("writes.database", 1_210.0),
            ("writes.wal", 40_666.0),
            ("bytes_written", 88_711_168.0),
            ("bytes_written.database", 4_956_160.0),
            ("bytes_written.wal", 83_755_008.0),
            ("deletes", 0.0),
        ],
        ("journal-and-sync", ..) => &[
            ("syncs", 40_000.0),
            ("syncs.database", 10_000.0),
            ("syncs.journal", 30_000.0),
            ("writes", 90_113.0),
            ("writes.database", 20_071.0),
            ("writes.journal", 70_042.0),
            ("bytes_written", 246_112_256.0),
            ("bytes_written.database", 82_210_816.0),
            ("bytes_written.journal", 163_901_440.0),
            ("deletes", 10_000.0),
        ],
        _ => &[],
    };
    let owned = counts.iter().map(|(name, value)| ((*name).to_owned(), *value));
    owned.collect()
}

/// What the trials of a variant found out besides figures.
pub fn tables(key: &str, levels: &Settings) -> Vec<DataTable> {
    let maintained = levels.get("index").and_then(Level::as_text) != Some("after");
    if key != "insert-index-timing" {
        return Vec::new();
    }
    let opcodes: &[[&str; 7]] = &[
        ["0", "Init", "0", "8", "0", "", "start at 8"],
        ["1", "OpenWrite", "0", "2", "0", "2", "root=2 iDb=0; t"],
        ["2", "Variable", "1", "2", "0", "", "r[2]=parameter(1)"],
        ["3", "NewRowid", "0", "1", "0", "", "r[1]=rowid"],
        ["4", "MakeRecord", "2", "1", "4", "D", "r[4]=mkrec(r[2])"],
        ["5", "Insert", "0", "4", "1", "t", "intkey=r[1] data=r[4]"],
        ["6", "IdxInsert", "1", "5", "6", "2", "key=r[5]"],
        ["7", "Halt", "0", "0", "0", "", ""],
    ];
    let kept = opcodes.iter().filter(|row| maintained || row[1] != "IdxInsert");
    vec![DataTable {
        title: "bytecode of the INSERT".to_owned(),
        columns: ["addr", "opcode", "p1", "p2", "p3", "p4", "comment"].map(str::to_owned).to_vec(),
        rows: kept.map(|row| row.map(str::to_owned).to_vec()).collect(),
    }]
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
        "insert-growth" => {
            metrics.insert("rows_per_s".to_owned(), rate);
            metrics.insert("bytes_per_row".to_owned(), 13.0 + 3e5 / rows(levels));
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
