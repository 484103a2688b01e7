//! Survival of an acknowledged change, and the best variant for each degree of survival.

use lab::analysis::{AgainstStronger, AtDurability};

use super::subject::Subject;
use crate::document::{Block, Cell, Column, Row, Sentence, Table};
use crate::figures::ratio_without_interval;
use crate::names::listed;
use crate::words::metric_heading;

/// Other variants of a class that are named; of more only the number is given.
const NAMED: usize = 4;

/// The classes of an experiment, the strongest first; nothing where no target said what survives, or
/// where the same survives in every variant, whose table says the rest.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let classes = &subject.experiment.by_durability;
    if classes.len() < 2 {
        return Vec::new();
    }
    let table = Table::new(
        "By the durability of an acknowledged change",
        [
            Column::left("what survives").prose(),
            Column::left("best"),
            Column::right(metric_heading(subject.metric()).to_lowercase()),
            Column::left("others, median ÷ that of the best").prose(),
            Column::left("the best, compared with the classes above").prose(),
        ],
        classes.iter().map(|class| row(subject, class)),
    );
    vec![Block::heading("By the durability of an acknowledged change"), Block::table(table)]
}

/// The class that all variants have.
pub(super) fn footnote(subject: &Subject<'_>) -> Option<String> {
    match subject.experiment.by_durability.as_slice() {
        [only] => Some(format!("survives in every variant: {}", only.class)),
        _ => None,
    }
}

fn row(subject: &Subject<'_>, class: &AtDurability) -> Row {
    let best = class.tied.clamp(1, class.variants.len());
    let (best, behind) = class.variants.split_at(best);
    let shares = &class.to_best[best.len()..];
    let names = best.iter().map(|variant| subject.names.sentence(*variant));
    let behind = behind.iter().zip(shares).map(|(variant, share)| {
        let name = subject.names.sentence(*variant);
        match share {
            Some(share) => name.words(format!(" ({})", ratio_without_interval(*share))),
            None => name,
        }
    });
    Row::new([
        Cell::new(class.class.to_string()),
        Cell::new(crate::document::joined(names, " or ")),
        Cell::number(subject.median(best[0])),
        Cell::new(listed(behind.collect::<Vec<Sentence>>(), NAMED)),
        Cell::new(
            class
                .against_stronger
                .map_or_else(Sentence::default, |stronger| against(subject, best[0], stronger)),
        ),
    ])
}

/// Whether giving up durability brings anything, and with what it was compared.
fn against(subject: &Subject<'_>, own: usize, against: AgainstStronger) -> Sentence {
    let to = |words: &str, other: usize| Sentence::from(words).and(subject.names.sentence(other));
    match against {
        AgainstStronger::Better => "better".into(),
        AgainstStronger::Same(other) if subject.experiment.has_too_few_rounds(own, other) => {
            to("too few rounds to tell from ", other)
        }
        AgainstStronger::Same(other) => to("not distinguishable from ", other),
        AgainstStronger::Worse(other) => to("worse than ", other),
    }
}
