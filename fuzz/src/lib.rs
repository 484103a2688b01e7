#![forbid(unsafe_code)]
//! What each fuzz target does with some bytes: read them to the end. Whatever comes in, it ends in a value or in an error; a
//! panic, a hang or much memory is a defect.

use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use engine::Library;
use load::{Affinity, Format, LoadError, Opening, ReadOptions};

thread_local! {
    static LIBRARY: Arc<Library> =
        Arc::new(Library::load(&engine::Source::Embedded).expect("the built-in engine loads"));
    static CATALOGUE: RefCell<lab::catalogue::Catalogue> = RefCell::new(bench::catalogue());
}

/// Writes the bytes to a file and hands over its path.
fn in_a_file<T>(bytes: &[u8], then: impl FnOnce(&Path) -> T) -> T {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(bytes).expect("a temporary file can be written");
    then(file.path())
}

/// Ends the process only at panics that nothing catches. libFuzzer's hook ends it at each, so also at those of Arrow's
/// readers, of which `load` makes errors.
pub fn let_panics_be_caught() {
    drop(std::panic::take_hook());
}

/// Reads the rows of a file of this format.
pub fn rows(bytes: &[u8], format: Format) {
    let _ = in_a_file(bytes, |path| read_rows(path, format));
}

fn read_rows(path: &Path, format: Format) -> Result<(), LoadError> {
    let mut opening = Opening::new(&LIBRARY.with(Arc::clone));
    opening.format = Some(format);
    let mut source = load::open(&[path.to_owned()], &opening)?;
    let columns = source.columns().iter();
    let affinities: Vec<Affinity> = columns.map(|column| Affinity::of(&column.declared)).collect();
    source.begin(ReadOptions::new(affinities));
    while source.next()?.is_some() {}
    Ok(())
}

/// Parses an experiment file, and writes a valid one as TOML again.
pub fn experiment(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let parsed = CATALOGUE.with_borrow(|catalogue| lab::experiment::parse("fuzz.toml", text, catalogue));
    if let Ok(experiment) = parsed {
        experiment.to_toml().expect("a valid experiment can be written");
    }
}

/// Reads a record: `run.json`, a byte of zero, `outcomes.jsonl`.
pub fn record(bytes: &[u8]) {
    let middle = bytes.iter().position(|byte| *byte == 0);
    let (plan, outcomes) = bytes.split_at(middle.unwrap_or(bytes.len()));
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for (name, text) in [("run.json", plan), ("outcomes.jsonl", outcomes.get(1..).unwrap_or_default())] {
        std::fs::write(folder.path().join(name), text).expect("a temporary file can be written");
    }
    if let Ok(run) = runner::RunFolder::open(folder.path()) {
        let _ = run.plan();
        let _ = run.each_trial(|_| {});
    }
}

/// Reads a raw recording to its end.
pub fn recording(bytes: &[u8]) {
    let _ = in_a_file(bytes, |path| {
        recorder::read::Recording::open(path)?.for_each_chunk::<recorder::read::ReadError>(|chunk| {
            let mut records = chunk.records();
            for (_, record) in records.by_ref() {
                if let recorder::read::Record::Begin { values, .. } = record {
                    let _ = values.iter().count();
                }
            }
            Ok(())
        })
    });
}

/// Reads what a sealed trace says of itself.
pub fn trace(bytes: &[u8]) {
    let _ = in_a_file(bytes, |path| {
        let trace = trace::Trace::open(&LIBRARY.with(Arc::clone), path)?;
        trace.meta()?;
        trace.processes()?;
        trace.connections()?;
        trace.settings()?;
        trace.notes()?;
        trace.snapshots()
    });
}

/// Parses a script, as one of pgbench and as single statements.
pub fn script(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    for form in [script::Form::Transaction, script::Form::Statements] {
        let _ = script::parse("fuzz.sql", "fuzz", text, form, &mut script::Names::default());
    }
}
