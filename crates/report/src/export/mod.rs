//! Exports: the same figures with every digit, for other programs.
//!
//! Trials are streamed, because a record may hold any number of them; variants, claims and the whole
//! analysis are small and made in one piece. Figures are plain numbers in the base unit of their
//! metric (see [`lab::metric`]); an empty cell says that there is none.

mod claims;
mod trials;
mod variants;

use lab::analysis::Analysis;

use crate::Result;

pub use claims::claims_csv;
pub use trials::TrialsCsv;
pub use variants::variants_csv;

/// The whole analysis as indented JSON, in the form of [`Analysis`]. Ends of intervals that are
/// not bounded are `null`.
///
/// # Errors
/// When the analysis holds what JSON cannot say, such as a path that is not UTF-8.
pub fn json(analysis: &Analysis) -> Result<String> {
    let mut text = serde_json::to_string_pretty(analysis)?;
    text.push('\n');
    Ok(text)
}

/// A number as CSV: shortest form that reads back as the same; empty where there is none or it is
/// not finite.
fn number(value: Option<f64>) -> String {
    value
        .filter(|value| value.is_finite())
        .map(|value| value.to_string())
        .unwrap_or_default()
}

/// A whole table in memory.
fn table(
    name: &'static str,
    header: &str,
    rows: impl Iterator<Item = Vec<String>>,
) -> Result<String> {
    let failed = crate::Error::csv(name);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header.split(',')).map_err(&failed)?;
    for row in rows {
        writer.write_record(&row).map_err(&failed)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| failed(error.into_error().into()))?;
    // Every cell came from a `String`, and CSV adds ASCII only.
    Ok(String::from_utf8(bytes).expect("text stays text"))
}
