//! Classes of schemas, each with tables of thousands of rows: whatever the strategy, the database is the one
//! that INSERT makes.
//!
//! The cases of `main.rs` are small and shrink when they fail; these are large, drawn by a plain
//! generator that costs less than the loads, and known by class and number: `PRAGMARK_TEST_CLASS` and
//! `PRAGMARK_TEST_CASE` draw one of them again.

mod case;
mod compare;
mod plans;
mod values;

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use lab::seed::{Seed, SplitMix64};

use case::Case;
use plans::Plan;

/// All classes, by name.
const CLASSES: &[(&str, Class)] = &[
    ("affinities", plans::affinities),
    ("integer primary key", plans::integer_primary_key),
    ("STRICT", plans::strict),
    ("indexes", plans::indexes),
    ("unique indexes", plans::unique_indexes),
    ("primary key of columns", plans::primary_key_of_columns),
    ("WITHOUT ROWID", plans::without_rowid),
    ("WITHOUT ROWID that exists", plans::without_rowid_that_exists),
    ("DESC", plans::descending),
    ("partial indexes", plans::partial_indexes),
    ("indexes on expressions", plans::indexes_on_expressions),
    ("collations", plans::collations),
    ("reserved bytes", plans::reserved_bytes),
    ("UTF-16", plans::utf_16),
    ("auto_vacuum", plans::auto_vacuum),
    ("auto_vacuum and rows there before", plans::auto_vacuum_and_rows_before),
    ("a write-ahead log", plans::write_ahead_log),
    ("generated columns", plans::generated_columns),
    ("defaults", plans::defaults),
    ("AUTOINCREMENT", plans::autoincrement),
    ("CHECK", plans::check_constraints),
    ("triggers", plans::triggers),
    ("rows there before", plans::rows_before),
    ("rows and indexes there before", plans::rows_and_indexes_before),
    ("refused rows", plans::refused_rows),
    ("rows skipped because of their keys", plans::skipped_keys),
    ("dates", plans::dates),
];

/// Draws a schema and what is to be put into it.
type Class = fn(&mut SplitMix64) -> Plan;

/// From which all cases are drawn.
const SEED: Seed = Seed(9);

fn seed(class: &str, case: u64) -> Seed {
    SEED.child(class).nth(case)
}

/// Says something at once, which the capture of a test's output would keep back.
fn say(words: &str) {
    // Who cannot be told anything does not need to be.
    let _ = writeln!(std::io::stderr(), "{words}");
}

/// Cases of a class until they have had so many rows; says how far it has come, if that is wanted.
fn until(name: &str, class: Class, rows: usize, most: usize, loudly: bool) {
    let begin = Instant::now();
    let (mut seen, mut told) = (0, 0);
    for number in 0_u64.. {
        let case = Case::draw(class, seed(name, number), most);
        if let Err(difference) = case.check() {
            panic!("class `{name}`, case {number} of at most {most} rows: {difference}");
        }
        seen += case.rows;
        if loudly && (seen >= rows || seen - told >= rows / 4) {
            told = seen;
            let seconds = begin.elapsed().as_secs_f64();
            let cases = number + 1;
            say(&format!("{name}: {seen} of {rows} rows in {cases} cases, {seconds:.1} s"));
        }
        if seen >= rows {
            return;
        }
    }
}

/// All classes, by as many threads as there are processors.
fn every_class(rows: usize, most: usize, loudly: bool) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((name, class)) = CLASSES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    until(name, *class, rows, most, loudly);
                }
            });
        }
    });
}

#[test]
fn every_class_of_schema_is_what_insert_makes_it() {
    every_class(3_000, 1_500, false);
}

/// `PRAGMARK_TEST_ROWS` says another number of rows for each class; `PRAGMARK_TEST_CLASS` and
/// `PRAGMARK_TEST_CASE` one case alone.
#[test]
#[ignore = "takes minutes"]
fn a_million_rows_of_every_class_are_what_insert_makes_them() {
    const MOST: usize = 50_000;
    let variable = |name: &str| std::env::var(name).ok();
    if let Some(name) = variable("PRAGMARK_TEST_CLASS") {
        let known = CLASSES.iter().find(|(known, _)| *known == name);
        let (name, class) = known.expect("a class of this name");
        let number = variable("PRAGMARK_TEST_CASE").map_or(0, |number| number.parse().unwrap());
        let checked = Case::draw(*class, seed(name, number), MOST).check();
        return checked.unwrap_or_else(|difference| panic!("{name}, case {number}: {difference}"));
    }
    let rows = variable("PRAGMARK_TEST_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
    every_class(rows, MOST, true);
}
