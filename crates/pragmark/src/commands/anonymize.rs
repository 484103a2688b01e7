//! `pragmark anonymize`: a copy of a database that can be shared.

use std::fmt::Write;
use std::path::Path;

use bench::anonymize::{Anonymized, CopiedTable, anonymize};
use report::figures::count;

use super::output;
use super::work_folder::work_folder;
use crate::cli::AnonymizeArgs;
use crate::failure::{Exit, Failure};

/// Writes the copy and says what was replaced.
pub fn execute(args: &AnonymizeArgs) -> Result<Exit, Failure> {
    let cannot = |why: &dyn std::fmt::Display| {
        Failure::unusable(format!("cannot write {}: {why}", args.out.display()))
    };
    if args.out.exists() {
        return Err(cannot(&"the file exists"));
    }
    let parent = match args.out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !parent.is_dir() {
        return Err(cannot(&"there is no such directory"));
    }
    // What a killed command leaves there is the original; the next one removes it.
    let folder = work_folder(parent)?;
    let unfinished = folder.path().join("new.db");
    let done = anonymize(&args.database, &args.keep, folder.path(), &unfinished)
        .map_err(Failure::unusable)?;
    std::fs::rename(&unfinished, &args.out).map_err(|error| cannot(&error))?;
    output::display(&words(&args.out, &done))
}

fn words(out: &Path, done: &Anonymized) -> String {
    let mut text = String::new();
    let all = done.tables.iter().map(|table| table.rows).sum();
    let tables = done.tables.len();
    let tables = format!("{tables} {}", if tables == 1 { "table" } else { "tables" });
    let _ = writeln!(text, "{}: {tables}, {}", out.display(), rows(all));
    for table in &done.tables {
        let _ = writeln!(text, "  {}: {}", table.name, replaced(table));
    }
    for (table, why) in &done.left_out {
        let _ = writeln!(text, "  {table}: left empty, because {why}");
    }
    if !done.with_texts.is_empty() {
        let _ = writeln!(
            text,
            "texts in these definitions stay, and may fit no row of the copy: {}",
            done.with_texts.join(", ")
        );
    }
    text
}

fn rows(number: u64) -> String {
    let noun = if number == 1 { "row" } else { "rows" };
    format!("{} {noun}", count(number as usize))
}

fn replaced(table: &CopiedTable) -> String {
    let of = |(column, number): &(String, u64)| format!("{} in {column}", count(*number as usize));
    let columns: Vec<String> = table.replaced.iter().map(of).collect();
    let what = match columns.is_empty() {
        true => "nothing to replace".to_owned(),
        false => format!("replaced {}", columns.join(", ")),
    };
    format!("{}, {what}", rows(table.rows))
}
