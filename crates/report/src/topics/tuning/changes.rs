//! Changes of the application, apart from settings.

use tuning::Advised;
use tuning::TuningAnalysis;

use super::{NO_TIME, TOO_FEW, not_distinguishable};
use crate::document::{Block, Cell, Code, Column, Row, Table};
use crate::figures;
use crate::words::plural;

/// What changes of the application bring, which are no settings.
pub(super) fn advice(tuning: &TuningAnalysis) -> Vec<Block> {
    if tuning.advised.is_empty() {
        return Vec::new();
    }
    let heading = Block::Heading("Changes of your application, apart from settings".to_owned());
    if tuning.advised.iter().all(|advised| advised.gain.is_none()) {
        return vec![heading, Block::paragraph(NO_TIME)];
    }
    let columns =
        [Column::left("change"), Column::right("brings"), Column::left("judgement").prose()];
    let rows = tuning.advised.iter().map(|advised| {
        let figure = advised.gain.map(|gain| figures::ratio(gain.ratio, gain.interval));
        Row::new([
            Cell::new(advised.advice.change.clone()),
            Cell::number(figure),
            Cell::new(judgement_of_change(advised)),
        ])
    });
    let table = Table::new("What changes of the application bring", columns, rows);
    let how = "The recommended settings with one change compared with the same without it, on the whole workload: what other \
               statements pay for a change is included. Intervals are corrected for the number of changes (Holm).";
    let blocks = [heading, Block::table(table), Block::small(how)];
    blocks.into_iter().chain(better_by_sql(tuning)).collect()
}

/// The changes that are better in one sentence.
pub(super) fn brief(tuning: &TuningAnalysis) -> Vec<Block> {
    better_in_words(tuning).map(Block::paragraph).into_iter().collect()
}

/// What to change in the application, or why nothing is said of it, for the first screen; none where no change was to be
/// measured.
pub(in crate::topics) fn in_application(tuning: &TuningAnalysis) -> Option<String> {
    let is_measured = tuning.advised.iter().any(|advised| advised.gain.is_some());
    let otherwise = if is_measured {
        let tried = tuning.advised.iter().filter(|advised| advised.gain.is_some());
        let tried = plural(tried.count(), "change", "changes");
        format!("{tried} of the application tried, none found to be better.")
    } else {
        "What changes of the application bring was not measured: no time was left.".to_owned()
    };
    let otherwise = (!tuning.advised.is_empty()).then_some(otherwise);
    better_in_words(tuning).or(otherwise)
}

fn better_in_words(tuning: &TuningAnalysis) -> Option<String> {
    let better = tuning.advised.iter().filter(is_better);
    let named = better.filter_map(|change| {
        let gain = change.gain?;
        let gain = figures::ratio(gain.ratio, gain.interval);
        Some(format!("{} ({gain})", change.advice.change))
    });
    let named = named.collect::<Vec<_>>().join("; ");
    (!named.is_empty()).then(|| format!("To change in the application: {named}."))
}

fn is_better(it: &&Advised) -> bool {
    it.gain.is_some_and(|gain| gain.detectable.is_finite() && gain.interval.low > 1.0)
}

/// The SQL of the changes that are better, to paste.
fn better_by_sql(tuning: &TuningAnalysis) -> Option<Block> {
    let better = tuning.advised.iter().filter(is_better);
    let with_gain = better.filter_map(|change| {
        let (sql, gain) = (change.advice.sql.as_ref()?, change.gain?);
        let gain = figures::ratio(gain.ratio, gain.interval);
        Some(format!("-- {}: {gain}\n{sql}", change.advice.change))
    });
    let text = with_gain.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(Block::Code(Code { language: "sql", text }))
}

fn judgement_of_change(it: &Advised) -> String {
    match it.gain {
        None => "not measured".to_owned(),
        Some(gain) if !gain.detectable.is_finite() => TOO_FEW.to_owned(),
        Some(gain) if gain.interval.low > 1.0 => "better".to_owned(),
        Some(gain) if gain.interval.high < 1.0 => "worse".to_owned(),
        Some(gain) => not_distinguishable(gain.detectable),
    }
}
