//! The claims of an experiment with their verdicts, and what every trial verified.

use lab::claims::{Judged, Precondition};

use super::subject::Subject;
use crate::document::{Block, Cell, Column, Item, Row, Sentence, Strip, Table, Tone, blocks};
use crate::figures;
use crate::words::verdict_mark;

/// A list, or a table where there is room.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let claims = &subject.experiment.claims;
    let judged = Block::list(claims.iter().map(item)).map(|list| {
        let full = vec![Block::table(table(claims))];
        blocks![Block::heading("Claims"), Block::Depth { brief: vec![list], full }]
    });
    blocks![judged.unwrap_or_default(), fsync(subject), checks(subject)]
}

fn table(claims: &[Judged]) -> Table {
    let columns = ["verdict", "claim"].map(|heading| Column::left(heading).prose());
    let figures = [
        Column::right("measured"),
        Column::left("where it lies"),
        Column::right("published or expected"),
        Column::left("confirmed if").prose(),
    ];
    let columns = columns.into_iter().chain(figures);
    Table::new("Claims", columns, claims.iter().map(row))
}

/// The price of an fsync, where a claim depends on it.
fn fsync(subject: &Subject<'_>) -> Option<Block> {
    let experiment = subject.experiment;
    let mut claims = experiment.claims.iter();
    let fsync = experiment
        .fsync
        .filter(|_| claims.any(|judged| judged.claim.requires.contains(&Precondition::Fsync)))?;
    Some(Block::small(format!("Median time of an fsync during this experiment: {fsync}.")))
}

/// Returns the conditions that every trial verified, which no figure of a measured trial can refute.
fn checks(subject: &Subject<'_>) -> Vec<Block> {
    let checks = subject.experiment.checks.iter();
    let list = Block::list(checks.map(|check| Item::new(format!("{}: {}", check.id, check.says))));
    let said =
        || Block::paragraph("Every trial verifies the following, and fails if it does not hold:");
    list.map_or_else(Vec::new, |list| vec![said(), list])
}

/// The figure with its interval.
fn measured(judged: &Judged) -> Option<String> {
    let interval = figures::claim_interval(judged).map(|interval| format!(" {interval}"));
    Some(figures::claim_figure(judged)? + &interval.unwrap_or_default())
}

fn item(judged: &Judged) -> Item {
    let head = format!("{} ({}): {}", judged.verdict, judged.claim.id, judged.claim.says);
    let parts = [
        measured(judged).map(|figure| format!("measured {figure}")),
        Some(format!("confirmed if {}", figures::claim_bounds(judged))),
        compared_with(judged),
        judged.preliminary.then(|| "preliminary".to_owned()),
        why(judged),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let below = vec![parts.join("; ").into()];
    Item { below, ..Item::signed(verdict_mark(judged.verdict), head) }
}

/// The published figure, or the one that is expected.
fn compared_with(judged: &Judged) -> Option<String> {
    let published = figures::claim_published(judged).map(|figure| format!("published {figure}"));
    let expected = figures::claim_expected(judged).zip(judged.claim.expected);
    published.or_else(|| {
        expected.map(|(figure, expected)| format!("expected {figure} ({})", expected.origin))
    })
}

/// Why a claim does not apply or is not decided, and what it would have been.
fn why(judged: &Judged) -> Option<String> {
    let would_be = judged.would_be.map(|verdict| format!("; otherwise it would be {verdict}"));
    Some(judged.why.clone()? + &would_be.unwrap_or_default())
}

fn row(judged: &Judged) -> Row {
    let sign = verdict_mark(judged.verdict);
    let verdict = Cell::new(judged.verdict.to_string()).signed(sign);
    let preliminary = if judged.preliminary { "preliminary" } else { "" };
    let id = format!("{} ({})", judged.claim.says, judged.claim.id);
    let why = why(judged).unwrap_or_default();
    let because = judged.claim.bound_because.as_deref().unwrap_or_default();
    let interval = figures::claim_interval(judged);
    let exact = (judged.claim.exact && interval.is_none()).then(|| "in every round".to_owned());
    let level = figures::percent(1.0 - judged.alpha);
    let strip = strip(judged, sign.1);
    Row::new([
        verdict.with_below(preliminary),
        Cell { title: Some(judged.measure.clone()), ..Cell::new(id) }.with_below(why),
        Cell {
            strong: true,
            title: interval.is_some().then(|| format!("interval at {level}")),
            ..Cell::number(figures::claim_figure(judged))
        }
        .with_below(interval.map_or_else(|| exact.unwrap_or_default().into(), Sentence::number)),
        Cell { strip, ..Cell::default() },
        published_or_expected(judged),
        Cell::new(figures::claim_bounds(judged)).with_below(because),
    ])
}

/// The published figure, or the expected one with its origin below.
fn published_or_expected(judged: &Judged) -> Cell {
    match (figures::claim_expected(judged), judged.claim.expected) {
        (Some(figure), Some(expected)) => {
            Cell::number(Some(figure)).with_below(format!("expected: {}", expected.origin))
        }
        _ => Cell::number(figures::claim_published(judged)),
    }
}

/// Returns a strip with the bound, the figure and the published or expected one; none without a figure.
fn strip(judged: &Judged, tone: Tone) -> Option<Strip> {
    let dot = judged.figure.filter(|figure| figure.is_finite())?;
    let other = compared_with(judged).map(|figure| format!(", {figure}"));
    // No difference belongs into the picture: most claims are about being above or below it. An
    // absolute figure has no such value.
    let none = match (&judged.unit, figures::is_spread(judged)) {
        (Some(_), _) => None,
        (None, true) => Some(0.0),
        (None, false) => Some(1.0),
    };
    Some(Strip {
        allowed: (judged.bounds.low, judged.bounds.high),
        dot,
        interval: judged.interval,
        other: judged.claim.published_or_expected(),
        none,
        words: format!(
            "measured {}{}, confirmed if {}",
            measured(judged).unwrap_or_default(),
            other.unwrap_or_default(),
            figures::claim_bounds(judged)
        ),
        tone,
    })
}
