//! Exports: the same figures with every digit, for other programs.
//!
//! Trials are streamed, because a record may hold any number of them; variants, claims and the whole
//! analysis are small and made in one piece. Figures are plain numbers in the base unit of their
//! metric (see [`lab::metric`]); an empty cell says that there is none. Text that a spreadsheet would take
//! for a formula has an apostrophe before it; JSON has every text as it is.

mod cells;
mod claims;
mod metrics;
mod read_tables;
mod read_trials;
mod services;
mod tables;
mod trials;
mod variants;

use lab::text::is_active;
use tuning::Analysis;

use crate::Result;

pub use cells::Columns;
pub use claims::claims_csv;
pub use metrics::metrics_csv;
pub use read_tables::{NEEDED_TABLES, RunOfTables};
pub use read_trials::run_of_trials_csv;
pub use services::{Benchstat, Direction, bencher, github_benchmark};
pub use tables::{Datum, Kind, TABLES, TableForm, TableRow, run_rows, trial_rows};
pub use trials::TrialsCsv;
pub use variants::variants_csv;

/// The whole analysis as indented JSON, in the form of [`Analysis`]. Ends of intervals that are
/// not bounded are `null`; characters that a terminal would act on are escaped.
///
/// # Errors
/// When the analysis holds what JSON cannot say, such as a path that is not UTF-8.
pub fn json(analysis: &Analysis) -> Result<String> {
    let text = serde_json::to_string_pretty(analysis)?;
    Ok(escaped_json(&text) + "\n")
}

/// JSON with every active character of its strings escaped; outside of strings there are line feeds only.
fn escaped_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if character != '\n' && is_active(character) {
            let units = character.encode_utf16(&mut [0; 2]).to_vec();
            escaped.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// The form of a table: its name in errors, all columns, and those of the narrow form.
struct Form {
    name: &'static str,
    header: &'static str,
    narrow: &'static [&'static str],
}

/// A whole table in memory.
fn table(form: &Form, columns: Columns, rows: impl Iterator<Item = Vec<String>>) -> Result<String> {
    let failed = crate::Error::csv(form.name);
    let header: Vec<&str> = form.header.split(',').collect();
    let wanted = columns.among(header.iter().copied(), form.narrow);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let head = wanted.iter().map(|place| header[*place]);
    writer.write_record(head).map_err(&failed)?;
    for row in rows {
        let row = wanted.iter().map(|place| &row[*place]);
        writer.write_record(row).map_err(&failed)?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(error.into_error().into()))?;
    // Every cell came from a `String`, and CSV adds ASCII only.
    Ok(String::from_utf8(bytes).expect("text stays text"))
}
