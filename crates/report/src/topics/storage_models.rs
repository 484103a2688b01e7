//! Crash results under each storage model, compared with what SQLite's documentation promises: the crash
//! matrix.

use lab::level::distinct;
use lab::tier::{
    CRASHED, Counts, Documented, Loss, Losses, ModelSafety, OnOccasion, Promise, Safety, Schedules,
    Tier, UnderSettings,
};
use lab::trial::DataTable;

use super::subject::Subject;
use super::{tiers, versions};
use crate::document::{
    Block, Cell, Column, Fold, Item, Row, Sentence, Table, Tone, blocks, joined, led,
};
use crate::glossary::explained;
use crate::names::listed;
use crate::words::{NOT_MEASURED, count, grouped, loss_mark, plural, tier_legend};

/// Storage models that a sentence names.
const MODELS: usize = 5;
/// Variants that are named where several have the same findings.
const NAMED: usize = 3;

/// Findings with the variants that share them.
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
    let broken: Vec<Item> = rows.iter().flat_map(|row| broken(subject, row)).collect();
    let matrix = Block::table(matrix(subject, &rows, &columns));
    let how = "The model kill decides what a dying process loses, the worst of the others what a power cut loses. Models marked * are outside what SQLite assumes of hardware and decide nothing. Counts are corrupt or losing images among the distinct crash images of ordinary commits; no number of clean images proves safety. The promise is that of SQLite’s documentation. The last column counts schedules of two connections, which need no crash.";
    let sampled = extent(&rows);
    let left_out = left_out(subject, &rows);
    let explanation = format!("Lost: {}. {how}{sampled}{left_out}", tier_legend());
    let explanation = Block::small(explained(&explanation));
    let broken = Block::list(broken);
    let tries_crashes = subject.experiment.tries_crashes();
    let title = "Safety by storage model";
    let full = blocks![
        crashed(subject),
        explanation,
        broken.clone(),
        safer(subject, &rows),
        matrix.clone()
    ];
    let legend = format!("Lost: {}; ! less safe than documented.{left_out}", tier_legend());
    let legend = Block::small(legend);
    let has_answer = subject.current().is_some();
    let has_many_engines = versions::engines(subject.experiment).len() > versions::FEW;
    let brief = match (has_many_engines, has_answer) {
        (true, _) => Vec::new(),
        (false, true) => blocks![crashed(subject), broken],
        (false, false) => {
            blocks![Block::heading(title), crashed(subject), matrix, legend, broken]
        }
    };
    let fold = Block::Fold(Fold {
        open: tries_crashes && !has_many_engines,
        printed: true,
        ..Fold::new(title, full)
    });
    vec![Block::Depth { brief: if tries_crashes { brief } else { Vec::new() }, full: vec![fold] }]
}

/// How much of the user's own workload was crashed, and with which settings; nothing for the built-in one.
fn crashed(subject: &Subject<'_>) -> Vec<Block> {
    let all = grouped(subject.tables().filter(|(table, _)| table.title == CRASHED));
    let several = all.len() > 1;
    let sentence = |(table, variants): (&DataTable, Vec<usize>)| {
        let words = table.rows.iter().map(|row| row.join(": ")).collect::<Vec<_>>().join("; ");
        let of = variants.into_iter().map(|variant| subject.names.sentence(variant));
        if several {
            Sentence::from("Crashed with ")
                .and(listed(of.collect(), usize::MAX - 1))
                .words(format!(": {words}."))
        } else {
            Sentence::from(format!("Crashed: {words}."))
        }
    };
    all.into_iter().map(sentence).map(Block::small).collect()
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

/// Under which models all states were judged; empty where it was a sample under each of them.
fn extent(rows: &[Alike<'_>]) -> String {
    let models = || rows.iter().flat_map(|(safety, _)| &safety.models);
    let is_whole =
        |name: &str| models().filter(|model| model.model == name).all(|model| model.all_states);
    let whole = models().map(|model| model.model.as_str());
    let whole = distinct(whole.filter(|name| is_whole(name)));
    if whole.is_empty() {
        String::new()
    } else {
        format!(
            " All states were judged under {}; under the other models, a sample.",
            whole.join(", ")
        )
    }
}

/// Returns the omissions of a quick look, and how rare a loss must be for its smallest clean sample to miss it.
fn left_out(subject: &Subject<'_>, rows: &[Alike<'_>]) -> String {
    if !subject.analysis.plan.quick {
        return String::new();
    }
    let variants = subject.experiment.variants.iter();
    let mut locking =
        variants.filter_map(|variant| variant.settings.get("locking_mode")?.as_text());
    let exclusive = (!locking.any(|mode| mode == "exclusive")).then_some("exclusive locking");
    let is_alone = rows.iter().all(|(safety, _)| safety.schedules.is_none());
    let schedules = is_alone.then_some("schedules of two connections");
    let parts: Vec<&str> = exclusive.into_iter().chain(schedules).chain(["most images"]).collect();
    let models = rows.iter().flat_map(|(safety, _)| &safety.models);
    let sampled = models.filter(|model| model.assumed && !model.all_states);
    let clean =
        sampled.filter_map(|model| model.ordinary.counts().filter(|counts| counts.damaged() == 0));
    let rarest = clean.min_by_key(|counts| counts.images).map_or(String::new(), |counts| {
        let (images, percent) = (count(counts.images), 100.0 * counts.bound_of_none());
        format!(": the smallest clean sample, {images} images, misses a loss in up to {percent:.2} % of such images")
    });
    format!(" --quick leaves out {}{rarest}.", parts.join(", "))
}

fn matrix(subject: &Subject<'_>, rows: &[Alike<'_>], columns: &[(&str, bool)]) -> Table {
    let has_schedules = rows.iter().any(|(safety, _)| safety.schedules.is_some());
    let heading = |(name, assumed): &(&str, bool)| {
        let mark = if *assumed { "" } else { "*" };
        Column::left(explained(&format!("{name}{mark}")))
    };
    let schedules = has_schedules.then(|| Column::left("schedules"));
    let row = |(safety, variants): &Alike<'_>| {
        let of = |(name, _): &(&str, bool)| {
            let model = safety.models.iter().find(|model| model.model == *name);
            model.map_or_else(|| missing(&safety.tier), model_cell)
        };
        let schedules = has_schedules.then(|| schedules_cell(safety.schedules.as_ref()));
        let names = Cell::new(subject.names.list(variants, NAMED));
        let models = columns.iter().map(of).chain(schedules);
        Row::led(names, tiers::cells(Some(&safety.tier)).into_iter().chain(models))
    };
    let models = columns.iter().map(heading).chain(schedules);
    let columns = tiers::columns().into_iter().chain(models);
    Table::new(
        "Safety by storage model",
        led(Column::left("variant").prose(), columns),
        rows.iter().map(row),
    )
    .dense()
}

fn model_cell(model: &ModelSafety) -> Cell {
    let loss = model.ordinary.loss();
    let (sign, tone) = loss_mark(loss);
    let witness = model.witness.clone().filter(|_| loss > Some(Loss::Nothing));
    let cause = model.cause.as_ref().map(|cause| format!("cause: {cause}"));
    let words = Some(model_words(model));
    let title: Vec<String> = [words, witness, cause].into_iter().flatten().collect();
    let promise = model.documented.as_ref().map(|documented| documented.promise.to_string());
    let is_broken =
        model.breaks_a_promise(model.worst()) || model.broken_in_force().next().is_some();
    let cell = Cell {
        strong: is_broken,
        title: Some(title.join("; ")),
        ..Cell::new(counted(&model.ordinary, is_broken))
    }
    .signed((sign, if is_broken { Tone::Doubt } else { tone }));
    model
        .worse_occasions()
        .map(|on| occasion_words(on, model))
        .fold(cell, Cell::with_below)
        .with_below(promise.map_or(String::new(), |promise| format!("promised: {promise}")))
}

/// Returns the findings under a model, in ordinary commits and on rare occasions.
pub(super) fn model_words(model: &ModelSafety) -> String {
    let rare = model.worse_occasions().map(|on| occasion_words(on, model));
    let in_force = model.in_force.iter().map(under_settings_words);
    let all = std::iter::once(model.ordinary.words(count)).chain(rare).chain(in_force);
    all.collect::<Vec<_>>().join("; ")
}

/// Returns the findings while some settings were in force.
fn under_settings_words(under: &UnderSettings) -> String {
    let promise = under.documented.promise;
    let counts = under.counts.words(count);
    format!("under {}: {counts}, promised: {promise}", under.settings)
}

/// Returns the findings on an occasion, and how often they may happen otherwise: no sample shows that they never do.
fn occasion_words(on: &OnOccasion, model: &ModelSafety) -> String {
    let seen = format!("seen only on {}: {}", on.occasion, on.counts.words(count));
    match model.ordinary.counts() {
        Some(ordinary) if !model.all_states => {
            let percent = 100.0 * ordinary.bound_of_none();
            let images = count(ordinary.images);
            format!(
                "{seen}; otherwise in none of {images} images, so in at most {percent:.2} % of such images"
            )
        }
        _ => seen,
    }
}

/// Returns the counts, with a mark if they, or counts of an occasion, break what is documented.
fn counted(losses: &Losses, is_broken: bool) -> Sentence {
    let mark = if is_broken { "! " } else { "" };
    let counts = losses.counts().map(damaged_of).unwrap_or_default();
    Sentence::number(format!("{mark}{counts}"))
}

/// Corrupt or losing images, of all.
fn damaged_of(counts: Counts) -> String {
    format!("{} of {}", count(counts.damaged()), count(counts.images))
}

fn unknown(why: impl Into<String>) -> Cell {
    Cell { title: Some(why.into()), ..Cell::default() }.signed((loss_mark(None).0, Tone::Missing))
}

fn schedules_cell(schedules: Option<&Schedules>) -> Cell {
    let (played, wrong, first) = match schedules {
        Some(Schedules::Played { played, wrong, first }) => (*played, *wrong, first),
        Some(Schedules::Alone { .. }) => return unknown("not played: one connection is enough"),
        Some(Schedules::NotMeasured { why }) => return unknown(format!("{NOT_MEASURED} ({why})")),
        None => return unknown(NOT_MEASURED),
    };
    let (mark, loss) = if wrong > 0 { ("! ", Loss::Corruption) } else { ("", Loss::Nothing) };
    let first = first.as_ref();
    let counts = format!("{mark}{} of {}", count(wrong), count(played));
    Cell {
        strong: wrong > 0,
        title: first.map(|first| format!("{}: {}; {}", first.schedule, first.what, first.again)),
        ..Cell::new(Sentence::number(counts))
    }
    .signed(loss_mark(Some(loss)))
    .with_below(format!("promised: {}", Promise::Safe))
}

fn missing(tier: &Tier) -> Cell {
    match tier.why_not() {
        Some(why) => unknown(format!("{NOT_MEASURED} ({why})")),
        None => unknown("not measured (the model was not tried)"),
    }
}

/// Where what was found breaks what is documented, with a witness, the cause and the command to repeat it.
fn broken(subject: &Subject<'_>, (safety, variants): &Alike<'_>) -> Vec<Item> {
    let names = subject.names.list(variants, NAMED);
    let item = |(what, again): (String, Option<&str>)| {
        let text = names.clone().words(what);
        let again = again.map(|again| Sentence::from("To repeat it: ").and_code(again));
        Item {
            below: again.into_iter().collect(),
            ..Item::doubt(Some("less safe than documented"), text)
        }
    };
    let broken = safety.models.iter().filter(|model| model.assumed).flat_map(broken_words);
    broken.chain(wrong_schedule(safety)).map(item).collect()
}

/// The promises that ordinary commits or rare occasions break under a model.
fn broken_words(model: &ModelSafety) -> Vec<(String, Option<&str>)> {
    let Some(documented) = &model.documented else { return Vec::new() };
    let words_of = |documented: &Documented,
                    shown: String,
                    cause: Option<&String>,
                    witness: Option<&String>| {
        format!(
            ", {}: {shown}; documented: {} ({}, {}); cause: {}; witness: {}.",
            model.model,
            documented.promise,
            documented.says,
            documented.source.trim_start_matches("https://"),
            cause.map_or("not known", String::as_str),
            witness.map_or("none was kept", String::as_str),
        )
    };
    let words = |shown, cause, witness| words_of(documented, shown, cause, witness);
    let of_settings = model.broken_in_force().map(|broken| {
        let shown = format!("under {}: {}", broken.settings, broken.counts.words(count));
        let words = words_of(&broken.documented, shown, None, broken.witness.as_ref());
        (words, model.again.as_deref())
    });
    let is_broken = model.in_force.is_empty() && model.breaks_a_promise(model.ordinary.loss());
    let ordinary = is_broken.then(|| {
        let shown = model.ordinary.words(count);
        let words = words(shown, None, model.witness.as_ref());
        (words, model.again.as_deref())
    });
    let rare = model.worse_occasions().filter(|on| model.breaks_a_promise(Some(on.counts.loss())));
    let rare = rare.map(|on| {
        let words = words(occasion_words(on, model), on.cause.as_ref(), on.witness.as_ref());
        (words, on.again.as_deref())
    });
    ordinary.into_iter().chain(of_settings).chain(rare).collect()
}

/// Damage without a crash: nothing is documented to go wrong without a crash.
fn wrong_schedule(safety: &Safety) -> Option<(String, Option<&str>)> {
    let found = safety.tier.words(count);
    match &safety.schedules {
        Some(Schedules::Played { first: Some(first), .. }) => {
            let what = &first.what;
            let words = format!(", two connections: {found}; documented: safe; witness: {what}.");
            Some((words, Some(&first.again)))
        }
        Some(Schedules::Alone { again, .. }) => {
            Some((format!(", one connection alone: {found}; documented: safe."), Some(again)))
        }
        _ => None,
    }
}

/// Where the documentation allows more than was found: by cause, under which models which variants.
fn safer(subject: &Subject<'_>, rows: &[Alike<'_>]) -> Option<Block> {
    let causes = rows.iter().flat_map(|(safety, variants)| {
        let models = safety.models.iter();
        let safer: Vec<&ModelSafety> =
            models.filter(|model| model.is_safer_than_documented()).collect();
        let by_cause = safer.chunk_by(|one, other| cause_of(one) == cause_of(other));
        let with_names = by_cause.map(|models| {
            let names: Vec<&str> = models.iter().map(|model| model.model.as_str()).collect();
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
        many => {
            under.words(format!(" {} (", plural(many, "variant", "variants"))).and(names).words(")")
        }
    }
}

fn cause_of(model: &ModelSafety) -> &str {
    let unknown = "cause not known; these images may not have shown it";
    model.cause.as_deref().unwrap_or(unknown)
}
