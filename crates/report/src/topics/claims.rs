//! The claims of an experiment with their verdicts.

use lab::claims::Judged;

use super::Subject;
use crate::document::{Block, Cell, Column, Item, Row, Sentence, Strip, Table, Tone};
use crate::figures;
use crate::words::verdict_mark;

/// A list, or a table where there is room.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let claims = &subject.experiment.claims;
    if claims.is_empty() {
        return Vec::new();
    }
    let columns = ["verdict", "claim"].map(|it| Column::left(it).prose());
    let figures = [
        Column::right("measured"),
        Column::left("where it lies"),
        Column::right("published"),
        Column::right("confirmed if"),
    ];
    let table = Table::new(
        "Claims",
        columns.into_iter().chain(figures),
        claims.iter().map(row),
    );
    let heading = Block::Heading("Claims".to_owned());
    let depth = Block::Depth {
        brief: Block::list(claims.iter().map(item)).into_iter().collect(),
        full: vec![Block::table(table)],
    };
    vec![heading, depth]
}

/// The figure with its interval.
fn measured(judged: &Judged) -> Option<String> {
    let interval = figures::claim_interval(judged).map(|it| format!(" {it}"));
    Some(figures::claim_figure(judged)? + &interval.unwrap_or_default())
}

fn item(judged: &Judged) -> Item {
    let (sign, tone) = verdict_mark(judged.verdict);
    let head = format!(
        "{} ({}): {}",
        judged.verdict, judged.claim.id, judged.claim.says
    );
    let parts = [
        measured(judged).map(|it| format!("measured {it}")),
        Some(format!("confirmed if {}", figures::claim_bounds(judged))),
        figures::claim_published(judged).map(|it| format!("published {it}")),
        judged.preliminary.then(|| "preliminary".to_owned()),
        judged.why.clone(),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Item {
        sign: Some(sign),
        tone,
        below: vec![parts.join("; ").into()],
        ..Item::new(head)
    }
}

fn row(judged: &Judged) -> Row {
    let (sign, tone) = verdict_mark(judged.verdict);
    let verdict = Cell::new(judged.verdict.to_string()).signed(sign, tone);
    let preliminary = if judged.preliminary {
        "preliminary"
    } else {
        ""
    };
    let id = format!("{} ({})", judged.claim.says, judged.claim.id);
    let why = judged.why.as_deref().unwrap_or_default();
    let interval = figures::claim_interval(judged);
    let exact = (judged.claim.exact && interval.is_none()).then(|| "in every round".to_owned());
    let level = figures::percent(1.0 - judged.alpha);
    let strip = strip(judged, tone);
    Row::new([
        verdict.with_below(preliminary),
        Cell {
            title: Some(judged.measure.clone()),
            ..Cell::new(id)
        }
        .with_below(why),
        Cell {
            strong: true,
            title: interval.is_some().then(|| format!("interval at {level}")),
            ..Cell::number(figures::claim_figure(judged))
        }
        .with_below(interval.map_or_else(|| exact.unwrap_or_default().into(), Sentence::number)),
        Cell {
            strip,
            ..Cell::default()
        },
        Cell::number(figures::claim_published(judged)),
        Cell::new(figures::claim_bounds(judged)),
    ])
}

/// Where the bound lies, where the figure, where the published one; none where there is no figure.
fn strip(judged: &Judged, tone: Tone) -> Option<Strip> {
    let dot = judged.figure.filter(|figure| figure.is_finite())?;
    let published = figures::claim_published(judged).map(|it| format!(", published {it}"));
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
        other: judged.claim.published,
        none,
        words: format!(
            "measured {}{}, confirmed if {}",
            measured(judged).unwrap_or_default(),
            published.unwrap_or_default(),
            figures::claim_bounds(judged)
        ),
        tone,
    })
}
