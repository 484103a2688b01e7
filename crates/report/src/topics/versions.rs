//! Losses with each engine, if several were crashed with the same settings: engines whose settings all lose the
//! same stand together.

use std::cmp::Reverse;

use lab::analysis::{ExperimentAnalysis, VariantAnalysis};
use lab::engine_name::{ENGINE, engine_of, without_engine};
use lab::level::{Settings, distinct, label};
use lab::tier::{Accident, Class, Loss, Safety, Schedules};

use super::subject::Subject;
use crate::document::{Block, Cell, Column, Item, Row, Sentence, Table, blocks, led};
use crate::words::{NOT_MEASURED, UNCRASHED, class_mark, loss_short, tier_legend};

/// More engines than these are compared by the table alone, and not pair by pair.
pub(super) const FEW: usize = 4;

/// Title of the table.
const TITLE: &str = "What each version of SQLite could lose";

/// Losses of settings with an engine, without counts: versions write in another order, so counts differ where nothing is
/// better or worse.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finding {
    /// A tier was measured.
    Measured {
        class: Class,
        /// Losses on rare occasions alone.
        rare: Vec<(Accident, String, Loss)>,
    },
    /// Why nothing is known.
    Unknown(String),
}

/// Engines that lose the same with all settings, the newest first.
struct Alike<'a> {
    engines: Vec<&'a str>,
    found: &'a [Finding],
}

/// The table; nothing where one engine was crashed.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let experiment = subject.experiment;
    let engines = engines(experiment);
    if !experiment.tries_crashes() || engines.len() < 2 {
        return Vec::new();
    }
    let settings = distinct(experiment.variants.iter().map(settings_of));
    let version = |engine: &str| version(subject, engine);
    let mut found: Vec<(String, Vec<Finding>)> = engines
        .into_iter()
        .map(|engine| {
            let of = |settings: &Settings| finding(experiment, &engine, settings);
            let all = settings.iter().map(of).collect();
            (engine, all)
        })
        .collect();
    found.sort_by_key(|(engine, _)| Reverse(numbers(&version(engine))));
    let alike = found.chunk_by(|one, other| one.1 == other.1);
    let alike: Vec<Alike<'_>> = alike
        .map(|same| Alike {
            engines: same.iter().map(|(engine, _)| engine.as_str()).collect(),
            found: &same[0].1,
        })
        .collect();
    let legend = format!(
        "Lost when the process dies, then in a power cut: {}. Engines with the same losses share a row, the newest first.{}",
        tier_legend(),
        untried(experiment)
    );
    let table = table(&settings, &alike, &version);
    let items = alike.iter().filter(|group| group.engines.len() > 2);
    let items = items.map(|item| Item::new(members(item)));
    let heading = Block::small(format!("{TITLE}:"));
    blocks![heading, Block::table(table), Block::small(legend), Block::list(items)]
}

/// That nothing is known of damage without a crash, where no schedules of two connections were played.
fn untried(experiment: &ExperimentAnalysis) -> &'static str {
    let mut safety = experiment.variants.iter().filter_map(|variant| variant.safety.as_ref());
    let is_played = |safety: &Safety| {
        matches!(safety.schedules, Some(Schedules::Played { .. } | Schedules::Alone { .. }))
    };
    if safety.any(is_played) {
        ""
    } else {
        " Two connections at the same moment were not tried, so damage without a crash does not show here."
    }
}

/// The engines of an experiment, in the order of its variants.
pub(super) fn engines(experiment: &ExperimentAnalysis) -> Vec<String> {
    let named = experiment.variants.iter().filter(|variant| variant.levels.contains_key(ENGINE));
    distinct(named.map(|variant| engine_of(&variant.levels, "default")))
}

fn settings_of(variant: &VariantAnalysis) -> Settings {
    without_engine(&variant.levels)
}

/// The version of SQLite that an engine is.
fn version(subject: &Subject<'_>, engine: &str) -> String {
    let record = subject.analysis.environment.engines.iter().find(|record| record.name == engine);
    record.map_or_else(|| engine.to_owned(), |record| record.version.clone())
}

/// The numbers of a version, by which it is ordered.
fn numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn finding(experiment: &ExperimentAnalysis, engine: &str, settings: &Settings) -> Finding {
    let variant = experiment.variants.iter().find(|variant| {
        engine_of(&variant.levels, "default") == engine && settings_of(variant) == *settings
    });
    let safety = variant.and_then(|variant| variant.safety.as_ref());
    let Some(safety) = safety.filter(|safety| safety.tier.class() != Class::default()) else {
        let why = variant.and_then(|variant| variant.problem.clone());
        return Finding::Unknown(why.unwrap_or_else(|| NOT_MEASURED.to_owned()));
    };
    let rare = safety.tier.occasions.iter();
    let rare = rare.map(|rare| (rare.accident, rare.occasion.clone(), rare.counts.loss()));
    Finding::Measured { class: safety.tier.class(), rare: rare.collect() }
}

fn table(settings: &[Settings], alike: &[Alike<'_>], version: &impl Fn(&str) -> String) -> Table {
    let heading = |alike: &Alike<'_>| Column::left(heading(&alike.engines, version)).prose();
    let columns = led(Column::left("settings").prose(), alike.iter().map(heading));
    let row = |(number, settings): (usize, &Settings)| {
        let cells = alike.iter().map(|group| cell(&group.found[number]));
        Row::led(Cell::code(short(settings)), cells)
    };
    Table::new(TITLE, columns, settings.iter().enumerate().map(row)).dense()
}

/// The settings without their names, as `wal/full`; with them where they are others.
fn short(settings: &Settings) -> String {
    let named = ["journal_mode", "synchronous", "locking_mode"];
    let known = settings.keys().all(|name| named.contains(&name.as_str()));
    if known {
        let values = named.iter().filter_map(|name| settings.get(*name));
        let values: Vec<String> = values.map(ToString::to_string).collect();
        values.join("/")
    } else {
        label(settings)
    }
}

/// `3.51.3 to 3.54.1`, or the engine itself where it is not known by its version.
fn heading(engines: &[&str], version: &impl Fn(&str) -> String) -> String {
    let name = |engine: &str| {
        let version = version(engine);
        if engine.contains(&version) { engine.to_owned() } else { format!("{engine} ({version})") }
    };
    match engines {
        [] => String::new(),
        [one] => name(one),
        [newest, .., oldest] => format!("{} to {}", name(oldest), name(newest)),
    }
}

/// All engines of a group, where its heading names the first and the last.
fn members(alike: &Alike<'_>) -> Sentence {
    let words = format!("{} engines lose the same: ", alike.engines.len());
    Sentence::from(words).words(format!("{}.", alike.engines.join(", ")))
}

fn cell(found: &Finding) -> Cell {
    match found {
        Finding::Unknown(why) => Cell { title: Some(why.clone()), ..Cell::new(NOT_MEASURED) },
        Finding::Measured { class, rare } => {
            let (signs, tone) = class_mark(*class);
            let words = if class.uncrashed { UNCRASHED } else { loss_short(class.power) };
            let cell = Cell { tone, ..Cell::new(format!("{signs} {words}")) };
            let rare = rare.iter().map(|(_, occasion, loss)| {
                format!("seen only on {occasion}: {}", loss_short(Some(*loss)))
            });
            rare.fold(cell, Cell::with_below)
        }
    }
}
