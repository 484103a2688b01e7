//! `pragmark anonymize`: a copy of a database that can be shared.

use std::fmt::Write;
use std::path::Path;

use app::Result;
use app::words::{grouped, plural};
use bench::anonymize::{Anonymized, CopiedTable};

use crate::exit::Exit;
use crate::output;

/// Writes the copy and says what was replaced.
pub fn execute(database: &Path, keep: &[String], out: &Path) -> Result<Exit> {
    let done = app::anonymize::anonymize(database, keep, out)?;
    output::display(&words(out, &done))
}

fn words(out: &Path, done: &Anonymized) -> String {
    let mut text = String::new();
    let all = done.tables.iter().map(|table| table.rows).sum();
    let tables = plural(done.tables.len() as u64, "table", "tables");
    let _ = writeln!(text, "{}: {tables}, {}", out.display(), plural(all, "row", "rows"));
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

fn replaced(table: &CopiedTable) -> String {
    let of = |(column, number): &(String, u64)| format!("{} in {column}", grouped(*number));
    let columns: Vec<String> = table.replaced.iter().map(of).collect();
    let rows = plural(table.rows, "row", "rows");
    if columns.is_empty() {
        return format!("{rows}, nothing to replace");
    }
    format!("{rows}, replaced {}", columns.join(", "))
}
