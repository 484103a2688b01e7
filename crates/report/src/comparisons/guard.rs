//! The gate of guard: the checks, then the changes.

use lab::comparison::ExactComparison;
use lab::guard::{Check, Gate, Status};
use lab::metric;
use lab::text::grouped;

use super::{cells, exact};
use crate::document::{
    Block, Cell, Column, Document, Item, Kind, Section, Sentence, Sign, Table, Tone, blocks,
};
use crate::figures::{figure, figure_with_interval, percent, ratio};
use crate::words::metric_heading;

/// Returns the result of `pragmark guard`.
pub fn guarded(gate: &Gate, comparison: &ExactComparison) -> Document {
    let mut document = Document::default();
    // Without a base there is nothing to compare.
    if comparison.is_complete() {
        document = exact::exact(std::slice::from_ref(comparison));
        // No time is measured, the last line says; checks may be of time.
        document.about.pop();
    }
    document.title = format!("Guard: {}", mark(gate.status()).1);
    let section = Section::new("gate", Kind::Highlights, "Checks", blocks(gate));
    document.sections.insert(0, section);
    document
}

fn blocks(gate: &Gate) -> Vec<Block> {
    let failed = gate.checks.iter().filter(|check| check.status != Status::Passed);
    let list = Block::list(failed.map(item));
    let table = Table::of(
        "checks",
        &gate.checks,
        &[
            (Column::left("check"), &|check| Cell::new(subject(check))),
            (Column::left("allowed"), &|check| Cell::new(allowed(check))),
            (Column::left("measured"), &|check| Cell::number(measured(check))),
            (Column::left("result"), &|check| {
                let (sign, word) = mark(check.status);
                Cell::new(word).signed(sign)
            }),
            (Column::left("what happened").prose(), &|check| {
                Cell::new(Sentence::marked(&happened(check)))
            }),
        ],
    );
    blocks![list, Block::table(table)]
}

fn item(check: &Check) -> Item {
    let is_bounded = metric::find(&check.subject).is_some();
    let happened = happened(check);
    let words = match measured(check).filter(|_| is_bounded) {
        Some(measured) => format!(": {measured}, allowed is {} ({happened}).", allowed(check)),
        None => format!(": {happened}."),
    };
    Item::signed(mark(check.status).0, subject(check).and(Sentence::marked(&words)))
}

/// Returns the allowed range, with its thousands set apart.
fn allowed(check: &Check) -> String {
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let words = check.allowed.split(' ');
    let words = words.map(|word| if is_number(word) { grouped(word) } else { word.to_owned() });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the result of a check, with the difference that an undecided one would have detected.
fn happened(check: &Check) -> String {
    let words = match check.detectable {
        None => check.words.clone(),
        Some(size) => format!("{}; {}", check.words, detectable(size)),
    };
    if check.open { format!("{words}; a longer --time-limit measures more") } else { words }
}

/// Returns the smallest difference that the blocks would have shown.
fn detectable(size: f64) -> String {
    /// A tenfold difference.
    const LARGEST: f64 = 9.0;
    if size <= LARGEST {
        format!("a difference of {} would have been detected", percent(size))
    } else {
        "even a tenfold difference might have gone undetected".to_owned()
    }
}

/// Returns the ratio to the base, or the figure of the new side if it is limited by itself.
fn measured(check: &Check) -> Option<String> {
    if let Some(value) = check.figure {
        return Some(match check.interval {
            Some(interval) => figure_with_interval(value, interval, &check.subject),
            None => figure(value, &check.subject),
        });
    }
    match (check.ratio?, check.interval) {
        (centre, Some(interval)) => Some(ratio(centre, interval)),
        (centre, None) if centre > 0.0 => Some(cells::times(centre)),
        _ => Some("none left".to_owned()),
    }
}

fn mark(status: Status) -> (Sign, &'static str) {
    match status {
        Status::Passed => (("✓", Tone::Good), "passed"),
        Status::Failed => (("✗", Tone::Bad), "failed"),
        Status::Undecided => (("?", Tone::Doubt), "undecided"),
    }
}

fn subject(check: &Check) -> Sentence {
    let heading = Sentence::from(metric_heading(&check.subject));
    match &check.statement {
        Some(statement) => heading.words(" of ").and_code(statement),
        None => heading,
    }
}

/// Returns the checks as JUnit XML: each is a test case.
pub fn junit(gate: &Gate) -> String {
    let count = |status: Status| gate.checks.iter().filter(|check| check.status == status).count();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"pragmark guard\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
        gate.checks.len(),
        count(Status::Failed),
        count(Status::Undecided)
    );
    for check in &gate.checks {
        // A metric may have a budget and a limit.
        let name = escaped(&format!("{}, {}", subject(check).plain(), check.allowed));
        let (allowed, words) = (escaped(&check.allowed), escaped(&happened(check)));
        let content = match check.status {
            Status::Passed => String::new(),
            Status::Failed => format!("<failure message=\"allowed: {allowed}\">{words}</failure>"),
            Status::Undecided => format!("<skipped message=\"undecided: {words}\"/>"),
        };
        xml += &format!(
            "    <testcase classname=\"pragmark.guard\" name=\"{name}\">{content}</testcase>\n"
        );
    }
    xml + "  </testsuite>\n</testsuites>\n"
}

/// Escapes text for XML and replaces control characters, which XML does not allow.
fn escaped(text: &str) -> String {
    let clean = lab::text::one_line(text);
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c => c.to_string(),
    };
    clean.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words of an undecided check.
    fn undecided(detectable: Option<f64>, open: bool) -> String {
        happened(&Check {
            subject: "txns_per_s".to_owned(),
            statement: None,
            allowed: ">= 0.8".to_owned(),
            ratio: None,
            figure: None,
            interval: None,
            detectable,
            open,
            blocks: Vec::new(),
            status: Status::Undecided,
            words: "448 blocks".to_owned(),
        })
    }

    #[test]
    fn a_longer_time_is_advised_only_where_it_measures_more() {
        assert_eq!(
            undecided(Some(0.12), true),
            "448 blocks; a difference of 12 % would have been detected; a longer --time-limit measures more"
        );
        assert_eq!(
            undecided(Some(37.0), false),
            "448 blocks; even a tenfold difference might have gone undetected"
        );
        assert_eq!(undecided(None, false), "448 blocks");
    }
}
