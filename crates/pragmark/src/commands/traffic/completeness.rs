//! What a trace lacks, and what limits the use of it.

use report::document::{Block, Item};
use trace::{Meta, Note, Process, Snapshot};

use super::Traffic;
use super::document::error_name;
use super::words::plural;

/// What there is to say, if anything.
pub fn blocks(traffic: &Traffic) -> Vec<Block> {
    let notes = traffic.notes.iter().map(of_note);
    let failed = traffic.snapshots.iter().filter(|it| it.state == "failed");
    let items = of_processes(&traffic.processes)
        .into_iter()
        .chain(of_recording(&traffic.meta, traffic.analysis.unfinished))
        .chain(notes)
        .chain(failed.map(of_snapshot))
        .map(|words| Item::doubt(None, words));
    Block::list(items).into_iter().collect()
}

fn of_processes(processes: &[Process]) -> Vec<String> {
    let count = |is_so: fn(&&Process) -> bool| processes.iter().filter(is_so).count() as u64;
    let killed = count(|process| !process.ended);
    let inexact = count(|process| !process.exact_values);
    let words = |count: u64| plural(count, "process", "processes");
    [
        (killed > 0).then(|| {
            format!("{} ended without saying so: killed, or still running.", words(killed))
        }),
        (inexact > 0).then(|| {
            format!(
                "In {}, values are inexact: REAL has 15 digits, and a text ends at NUL.",
                words(inexact)
            )
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_recording(meta: &Meta, unfinished: u64) -> Vec<String> {
    let statements = || plural(unfinished, "statement", "statements");
    let lost = "A part of the recording is missing; the table `meta` says why.";
    let redacted =
        "Texts and blobs are hashed and there are no snapshots, so the trace cannot be replayed.";
    [
        (unfinished > 0).then(|| format!("The end of {} was not recorded.", statements())),
        (meta.unreadable_bytes > 0)
            .then(|| format!("{} bytes of the recording were unreadable.", meta.unreadable_bytes)),
        meta.lost.then(|| lost.to_owned()),
        meta.redacted.then(|| redacted.to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_note(note: &Note) -> String {
    let words = &note.words;
    match note.code {
        1 => format!("The SQLite library in {words} could not be recorded."),
        2 => format!(
            "The program replaced the recorder's callback in {words}; statements after that are missing."
        ),
        3 => format!("A key was set for {words}; values of that connection are omitted."),
        4 => format!("SQLite in {words} is older than 3.14 and was not recorded."),
        code => format!("Note {code}: {words}"),
    }
}

fn of_snapshot(snapshot: &Snapshot) -> String {
    let code = snapshot.result.unwrap_or(0);
    format!("There is no snapshot of {}: {}.", snapshot.database, error_name(code & 0xff))
}
