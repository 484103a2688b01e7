//! The short answer of a crash of the user's own workload: what the current settings lose, and which others lose less.

use lab::analysis::VariantAnalysis;
use lab::level::{Level, distinct};
use lab::tier::{Accident, Class, Loss, ModelSafety, Promise, Safety};

use super::subject::Subject;
use super::{storage_models, tiers};
use crate::document::{Block, Cell, Column, Item, Row, Sentence, Table, blocks};
use crate::words::{capital, class_words, count};

/// The settings that a crash is tried with, and an application can vary.
const TRIED: [&str; 2] = ["journal_mode", "synchronous"];

/// Where the terminal's readers have the rest.
const WHOLE: &str = "The page and `--format markdown` have all settings under each storage model.";

/// Remark on settings whose documentation is worse than the findings.
const UNPROMISED: &str = "not promised: SQLite documents that a crash can corrupt the database";

/// Sets of settings that are named where several lose the same.
const NAMED: usize = 4;

/// The short answer; nothing unless the current settings are among those that were crashed.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let variants = &subject.experiment.variants;
    let current =
        subject.current().and_then(|number| Some((number, variants[number].safety.as_ref()?)));
    let Some((number, safety)) = current else { return Vec::new() };
    let words = class_words(variants[number].class());
    let answer = Sentence::from("Losses with the current settings, ")
        .and(subject.names.detail(number))
        .words(format!(": {words}."));
    let others = (variants.len() > 1).then(|| Block::table(table(subject)));
    blocks![
        Block::paragraph(answer),
        Block::list(losing(safety)),
        others,
        next(subject).into_iter().flatten(),
        Block::brief(vec![Block::small(Sentence::marked(WHOLE))]),
    ]
}

/// Returns the losses with the current settings under each storage model within SQLite's assumptions.
fn losing(safety: &Safety) -> Vec<Item> {
    let models = safety.models.iter().filter(|model| model.assumed);
    let losing = models.filter(|model| model.worst() > Some(Loss::Nothing));
    let item = |model: &ModelSafety| {
        let words = capital(&storage_models::model_words(model));
        Item::new(format!("Under {}: {words}.", model.model))
    };
    losing.map(item).collect()
}

/// The sets of settings by what they lose, the safest first.
fn table(subject: &Subject<'_>) -> Table {
    let variants = || subject.experiment.variants.iter().enumerate();
    let row = |(class, promised): (Class, bool)| {
        let own: Vec<usize> = variants()
            .filter(|(_, it)| it.class() == class && is_promised(it) == promised)
            .map(|(index, _)| index)
            .collect();
        let losses = Accident::ALL.map(|accident| tiers::class_cell(class, accident));
        let number = Cell::number(Some(count(own.len() as u64)));
        let names = Cell::new(subject.names.list(&own, NAMED));
        let names = if promised { names } else { names.with_below(UNPROMISED) };
        (!own.is_empty()).then(|| Row::new(losses.into_iter().chain([number, names])))
    };
    let classes = subject.experiment.classes();
    let promised = classes.iter().map(|class| (*class, true));
    let all = promised.chain(classes.iter().map(|class| (*class, false)));
    Table::new(
        "Settings by their losses",
        tiers::columns()
            .into_iter()
            .chain([Column::right("sets"), Column::left("of settings").prose()]),
        all.filter_map(row),
    )
}

/// Returns whether the findings are not better than SQLite documents: if it documents that a crash can corrupt
/// the database, images without damage do not make settings safe.
fn is_promised(variant: &VariantAnalysis) -> bool {
    let models = variant.safety.iter().flat_map(|safety| &safety.models);
    !models.filter(|model| model.assumed).any(|model| {
        let documented = model.documented.as_ref();
        let may_corrupt =
            documented.is_some_and(|documented| documented.promise == Promise::MayCorrupt);
        may_corrupt && model.worst() < Some(Loss::Corruption)
    })
}

/// The command that compares the current settings with the safest ones by speed, which crash tests do not measure.
fn next(subject: &Subject<'_>) -> Option<[Block; 2]> {
    let variants = &subject.experiment.variants;
    let promised = || variants.iter().filter(|variant| is_promised(variant));
    let safest = promised().map(VariantAnalysis::class).min_by_key(|class| class.order())?;
    let current = subject.current().map(|index| &variants[index].label);
    let is_meant = |variant: &&VariantAnalysis| {
        (variant.class() == safest && is_promised(variant)) || current == Some(&variant.label)
    };
    let safest: Vec<&VariantAnalysis> = variants.iter().filter(is_meant).collect();
    let script = safest.first()?.settings.get("script");
    if script.and_then(Level::as_text).is_some_and(names_several) {
        return None;
    }
    let vary = TRIED.map(|name| {
        let levels = safest.iter().filter_map(|variant| variant.settings.get(name));
        let levels = distinct(levels.map(Level::to_string));
        format!(" --vary {name}={}", levels.join(","))
    });
    let command =
        format!("pragmark measure{}{} --combine", workload(safest.first()?), vary.concat());
    let words =
        "Crash tests measure no speed. To time the current settings and those that lose least:";
    (safest.len() > 1).then(|| [Block::paragraph(words), Block::code("sh", command)])
}

/// Whether these are scripts with weights, `a.sql@9,b.sql`: `measure` compares several files with one another.
fn names_several(script: &str) -> bool {
    script.contains([',', '@'])
}

/// The options that name what was crashed.
fn workload(variant: &VariantAnalysis) -> String {
    let text = |name: &str| {
        let level = variant.settings.get(name)?.as_text()?;
        (!level.is_empty()).then(|| word(level))
    };
    let options = [("--trace ", text("trace")), ("--db ", text("database")), ("", text("script"))];
    let given = options.into_iter().filter(|(name, _)| *name != "--db " || text("trace").is_none());
    given.filter_map(|(name, value)| Some(format!(" {name}{}", value?))).collect()
}

/// A word of a command line.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_with_weights_are_no_files_that_measure_compares() {
        for several in ["/shop/read.sql@9,/shop/write.sql", "/shop/read.sql@2"] {
            assert!(names_several(several));
        }
        assert!(!names_several("/shop/orders.sql") && !names_several(""));
    }
}
