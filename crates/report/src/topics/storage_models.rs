//! What crashes left under each storage model, compared with what SQLite's documentation promises: the crash
//! matrix.

use lab::tier::{Class, ModelSafety, Promise, Safety, Schedules, Tier};

use super::Subject;
use crate::document::{Block, Cell, Column, Fold, Item, Row, Sentence, Table, Tone, joined, led};
use crate::glossary::explained;
use crate::names::listed;
use crate::words::{NOT_MEASURED, count, grouped, plural, tier_legend, tier_mark, tier_words};

/// Storage models that a sentence names.
const MODELS: usize = 5;
/// Variants that are named where several have the same findings.
const NAMED: usize = 3;

/// What was found, with the variants of which it was.
type Alike<'a> = (&'a Safety, Vec<usize>);

/// Models under which variants are safer than documented, and these variants.
type Safer<'a> = (Vec<&'a str>, &'a [usize]);

/// The matrix; nothing where no model was tried.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let rows = rows(subject);
    let columns = columns(&rows);
    if columns.is_empty() {
        return Vec::new();
    }
    let broken = rows.iter().flat_map(|row| broken(subject, row));
    let broken: Vec<Item> = broken.collect();
    let matrix = Block::table(matrix(subject, &rows, &columns));
    let how = "Counts are bad or losing images among the distinct crash images judged. The promise is that of SQLite’s documentation. Models marked * are outside what SQLite assumes of hardware and decide no tier. The last column counts schedules of two connections, which need no crash.";
    let explanation = Block::small(explained(&format!("Tiers: {}. {how}", tier_legend())));
    let broken = Block::list(broken);
    let tries_crashes = subject.experiment.tries_crashes();
    let full = [explanation].into_iter().chain(broken.clone());
    let full = full.chain(safer(subject, &rows)).chain([matrix.clone()]);
    let heading = Block::Heading("Safety by storage model".to_owned());
    let legend = Block::small(format!(
        "Tiers: {}; ! less safe than documented.",
        tier_legend()
    ));
    let brief = [heading, matrix, legend]
        .into_iter()
        .chain(broken)
        .collect();
    let fold = Block::Fold(Fold {
        open: tries_crashes,
        printed: true,
        ..Fold::new("Safety by storage model", full.collect())
    });
    vec![Block::Depth {
        brief: if tries_crashes { brief } else { Vec::new() },
        full: vec![fold],
    }]
}

fn rows<'a>(subject: &Subject<'a>) -> Vec<Alike<'a>> {
    let variants = subject.experiment.variants.iter().enumerate();
    grouped(variants.filter_map(|(index, variant)| Some((variant.safety.as_ref()?, index))))
}

/// Names of the models, and whether SQLite's assumptions about hardware cover them.
fn columns<'a>(rows: &[Alike<'a>]) -> Vec<(&'a str, bool)> {
    let mut columns: Vec<(&str, bool)> = Vec::new();
    for model in rows.iter().flat_map(|(safety, _)| &safety.models) {
        if !columns.iter().any(|(name, _)| *name == model.model) {
            columns.push((&model.model, model.assumed));
        }
    }
    columns
}

fn matrix(subject: &Subject<'_>, rows: &[Alike<'_>], columns: &[(&str, bool)]) -> Table {
    let has_schedules = rows.iter().any(|(safety, _)| safety.schedules.is_some());
    let heading = |(name, assumed): &(&str, bool)| {
        Column::left(format!("{name}{}", if *assumed { "" } else { "*" }))
    };
    let schedules = has_schedules.then(|| Column::left("schedules"));
    let row = |(safety, variants): &Alike<'_>| {
        let of = |(name, _): &(&str, bool)| {
            let model = safety.models.iter().find(|model| model.model == *name);
            model.map_or_else(|| missing(&safety.tier), model_cell)
        };
        let schedules = has_schedules.then(|| schedules_cell(safety.schedules.as_ref()));
        let names = Cell::new(subject.names.list(variants, NAMED));
        Row::new(
            [names]
                .into_iter()
                .chain(columns.iter().map(of))
                .chain(schedules),
        )
    };
    let models = columns.iter().map(heading).chain(schedules);
    Table {
        dense: true,
        ..Table::new(
            "Safety by storage model",
            led(Column::left("variant").prose(), models),
            rows.iter().map(row),
        )
    }
}

fn model_cell(model: &ModelSafety) -> Cell {
    let (sign, tone) = tier_mark(model.tier.class());
    let tier = tier_words(&model.tier, model.narrowed.as_ref());
    let witness = model
        .witness
        .as_ref()
        .filter(|_| model.tier.class() != Some(Class::NoViolation));
    let cause = model.cause.as_ref().map(|cause| format!("cause: {cause}"));
    let title: Vec<String> = [Some(tier), witness.cloned(), cause]
        .into_iter()
        .flatten()
        .collect();
    let only = model.narrowed.as_ref();
    let only = only.map(|it| format!("only {}", it.only.join(" or ")));
    let promise = model.documented.as_ref().map(|it| it.promise.words());
    let is_broken = model.breaks_a_promise();
    Cell {
        strong: is_broken,
        title: Some(title.join("; ")),
        ..Cell::new(counted(&model.tier, is_broken))
    }
    .signed(sign, if is_broken { Tone::Doubt } else { tone })
    .with_below(only.unwrap_or_default())
    .with_below(promise.map_or(String::new(), |it| format!("promised: {it}")))
}

/// The counts, with a mark where they break what is documented.
fn counted(tier: &Tier, is_broken: bool) -> Sentence {
    let mark = if is_broken { "! " } else { "" };
    Sentence::number(format!("{mark}{}", counts(tier)))
}

fn unknown(why: impl Into<String>) -> Cell {
    Cell {
        title: Some(why.into()),
        ..Cell::default()
    }
    .signed(tier_mark(None).0, Tone::Missing)
}

fn schedules_cell(schedules: Option<&Schedules>) -> Cell {
    let (played, wrong, first) = match schedules {
        Some(Schedules::Played {
            played,
            wrong,
            first,
        }) => (*played, *wrong, first),
        Some(Schedules::NotMeasured { why }) => return unknown(format!("{NOT_MEASURED} ({why})")),
        None => return unknown(NOT_MEASURED),
    };
    let class = match wrong {
        0 => Class::NoViolation,
        _ => Class::CorruptsUncrashed,
    };
    let (sign, tone) = tier_mark(Some(class));
    let first = first.as_ref();
    let mark = if wrong > 0 { "! " } else { "" };
    let counts = format!("{mark}{} of {}", count(wrong), count(played));
    Cell {
        strong: wrong > 0,
        title: first.map(|it| format!("{}: {}; {}", it.schedule, it.what, it.again)),
        ..Cell::new(Sentence::number(counts))
    }
    .signed(sign, tone)
    .with_below(format!("promised: {}", Promise::Safe.words()))
}

fn missing(tier: &Tier) -> Cell {
    match tier {
        Tier::NotMeasured { .. } => unknown(tier.words(count)),
        _ => unknown("not measured (the model was not tried)"),
    }
}

/// The counts of a tier: bad or losing images of all.
pub(super) fn counts(tier: &Tier) -> String {
    match tier {
        Tier::NoViolation { images } => format!("0 of {}", count(*images)),
        Tier::LosesCommits { losing, images, .. } => {
            format!("{} of {}", count(*losing), count(*images))
        }
        Tier::CanCorrupt { bad, images } => format!("{} of {}", count(*bad), count(*images)),
        Tier::CorruptsUncrashed { wrong, played, .. } => {
            format!("{} of {} schedules", count(*wrong), count(*played))
        }
        Tier::NotMeasured { .. } => String::new(),
    }
}

/// Where what was found breaks what is documented, with a witness, the cause and the command to repeat it.
fn broken(subject: &Subject<'_>, (safety, variants): &Alike<'_>) -> Vec<Item> {
    let models = safety.models.iter();
    let models = models.filter(|model| model.assumed && model.breaks_a_promise());
    let names = subject.names.list(variants, NAMED);
    let item = |(what, again): (String, Option<&str>)| {
        let text = names.clone().words(what);
        let again = again.map(|again| Sentence::from("To repeat it: ").and_code(again));
        Item {
            below: again.into_iter().collect(),
            ..Item::doubt(Some("less safe than documented"), text)
        }
    };
    let models = models.filter_map(broken_words);
    models.chain(wrong_schedule(safety)).map(item).collect()
}

fn broken_words(model: &ModelSafety) -> Option<(String, Option<&str>)> {
    let documented = model.documented.as_ref()?;
    let words = format!(
        ", {}: {}; documented: {} ({}, {}); cause: {}; witness: {}.",
        model.model,
        tier_words(&model.tier, model.narrowed.as_ref()),
        documented.promise.words(),
        documented.says,
        documented.source.trim_start_matches("https://"),
        model.cause.as_deref().unwrap_or("not known"),
        model.witness.as_deref().unwrap_or("none was kept"),
    );
    Some((words, model.again.as_deref()))
}

/// A schedule that went wrong: nothing is documented to go wrong without a crash.
fn wrong_schedule(safety: &Safety) -> Option<(String, Option<&str>)> {
    let Some(Schedules::Played {
        first: Some(first), ..
    }) = &safety.schedules
    else {
        return None;
    };
    let words = format!(
        ", two connections: {}; documented: safe; witness: {}.",
        safety.tier.words(count),
        first.what
    );
    Some((words, Some(first.again.as_str())))
}

/// Where the documentation allows more than was found: by cause, under which models which variants.
fn safer(subject: &Subject<'_>, rows: &[Alike<'_>]) -> Option<Block> {
    let causes = rows.iter().flat_map(|(safety, variants)| {
        let models = safety.models.iter();
        let safer: Vec<&ModelSafety> = models.filter(|it| it.is_safer_than_documented()).collect();
        let by_cause = safer.chunk_by(|one, other| cause_of(one) == cause_of(other));
        let with_names = by_cause.map(|models| {
            let names: Vec<&str> = models.iter().map(|it| it.model.as_str()).collect();
            (cause_of(models[0]), (names, variants.as_slice()))
        });
        with_names.collect::<Vec<_>>()
    });
    let item = |(cause, all): (&str, Vec<Safer<'_>>)| {
        let all = grouped(all).into_iter();
        let all = all.map(|(models, variants)| under(subject, models, &variants.concat()));
        Item::new(Sentence::from(format!("{cause}: ")).and(joined(all, "; ")))
    };
    let list = Block::list(grouped(causes).into_iter().map(item))?;
    let title = "Safer than documented, in these images, and why";
    Some(Block::unprinted(title, vec![list]))
}

/// The variants that are safer than documented under the same models.
fn under(subject: &Subject<'_>, models: Vec<&str>, variants: &[usize]) -> Sentence {
    let models = models.into_iter().map(Sentence::from);
    let names = subject.names.list(variants, NAMED);
    let under = Sentence::from("under ").and(listed(models.collect(), MODELS));
    match variants.len() {
        1 => under.words(" ").and(names),
        many => under
            .words(format!(" {} (", plural(many, "variant", "variants")))
            .and(names)
            .words(")"),
    }
}

fn cause_of(model: &ModelSafety) -> &str {
    let unknown = "cause not known; these images may not have shown it";
    model.cause.as_deref().unwrap_or(unknown)
}
