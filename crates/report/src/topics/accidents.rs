//! Results of crash tests besides tiers: differences between engines, the results of kills and of schedules, and
//! the files with evidence of damage.

use lab::analysis::{EngineDifference, ExperimentAnalysis, VariantAnalysis};
use lab::engine_name::ENGINE;
use lab::measures::Measures;
use lab::tier::Schedules;

use super::storage_models::model_words;
use super::subject::Subject;
use super::versions;
use crate::document::{Block, Cell, Column, Item, Row, Sentence, Table, blocks};
use crate::words::count;

/// Artifacts that are named at most; the folder of the run holds all.
const ARTIFACTS: usize = 8;

/// The blocks of an experiment whose trials are crash tests.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let experiment = subject.experiment;
    if !experiment.tries_crashes() {
        return Vec::new();
    }
    // Of many engines the table says enough.
    let differences = if versions::engines(experiment).len() > versions::FEW {
        Vec::new()
    } else {
        differences(experiment)
    };
    let found = match experiment.measures() {
        Measures::Kills => kills(subject),
        Measures::Schedules => schedules(experiment),
        _ => Vec::new(),
    };
    blocks![Block::list(differences), found, Block::list(artifacts(subject))]
}

/// Where engines were found to be safe in different degrees; nothing where one engine was tested.
fn differences(experiment: &ExperimentAnalysis) -> Vec<Item> {
    let mut variants = experiment.variants.iter();
    if !variants.any(|variant| variant.levels.contains_key(ENGINE)) {
        return Vec::new();
    }
    match experiment.engine_differences.as_slice() {
        // The table of engines says it.
        [] if experiment.variants.iter().any(|variant| variant.class().uncrashed) => Vec::new(),
        [] if experiment.variants.iter().any(|variant| !variant.class().is_measured()) => {
            vec![Item::new(
                "No difference between engines was found; some settings were not measured.",
            )]
        }
        [] => vec![Item::new("The engines differ in counts only.")],
        differences => differences.iter().map(difference).collect(),
    }
}

fn difference(difference: &EngineDifference) -> Item {
    let found = difference.found.iter();
    let found: Vec<String> =
        found.map(|(engine, model)| format!("{engine}: {}", model_words(model))).collect();
    Item::new(Sentence::from("Engines differ with ").and_code(&difference.settings).words(format!(
        " under {}: {}.",
        difference.model,
        found.join("; ")
    )))
}

/// A row for every variant whose processes were killed.
fn kills(subject: &Subject<'_>) -> Vec<Block> {
    const COUNTS: [(&str, &str); 4] = [
        ("kills", "kills"),
        ("unfinished_kills", "unfinished"),
        ("checked_databases", "databases checked"),
        ("acknowledged_commits", "commits acknowledged"),
    ];
    let row = |(index, variant): (usize, &VariantAnalysis)| {
        let counted = |(metric, _): &(&str, &str)| {
            let number = variant.counts.get(*metric);
            Cell::number(number.map(|number| count(*number as u64)))
        };
        let result = Cell::new(kill_result(variant));
        Row::new(
            [subject.names.full_cell(index), result].into_iter().chain(COUNTS.iter().map(counted)),
        )
    };
    let columns = COUNTS.iter().map(|(_, heading)| Column::right(*heading));
    let table = Table::new(
        "Processes killed while they write",
        [Column::left("variant"), Column::left("result").prose()].into_iter().chain(columns),
        subject.experiment.variants.iter().enumerate().map(row),
    );
    let how = "Unfinished: kills that left a journal or log to recover. Checked: databases that were opened and compared; the others were passed to the next process first. A killed process leaves its writes to the system, so this says nothing about power failures.";
    vec![Block::table(table), Block::small(how)]
}

fn kill_result(variant: &VariantAnalysis) -> String {
    let models = || variant.safety.iter().flat_map(|safety| &safety.models);
    let counts = || models().filter_map(|model| model.ordinary.counts());
    let corrupt: u64 = counts().map(|counts| counts.corrupt).sum();
    let losing: u64 = counts().map(|counts| counts.losing).sum();
    let witness = models().find_map(|model| model.witness.as_ref());
    let witness = witness.map_or(String::new(), |witness| format!(": {witness}"));
    let (damaged, without) = (count(corrupt), "without acknowledged transactions");
    match (&variant.problem, corrupt, losing) {
        (Some(problem), ..) => problem.clone(),
        (None, 0, 0) => "no violation".to_owned(),
        (None, 0, _) => format!("{} databases {without}{witness}", count(losing)),
        (None, _, 0) => format!("{damaged} damaged databases{witness}"),
        _ => format!("{damaged} damaged databases, {} {without}{witness}", count(losing)),
    }
}

/// Each scenario with its result, and how many schedules went wrong.
fn schedules(experiment: &ExperimentAnalysis) -> Vec<Block> {
    let tables = experiment.variants.iter().flat_map(|variant| &variant.tables);
    let rows = tables.flat_map(|table| &table.rows);
    let scenario = |row: &Vec<String>| {
        let (name, result) = (row.first()?, row.last()?);
        Some(Item::new(Sentence::code(name).words(format!(": {result}"))))
    };
    let safeties = experiment.variants.iter().filter_map(|safety| safety.safety.as_ref());
    let (mut all, mut wrongs, mut repeat) = (0, 0, None);
    for schedules in safeties.filter_map(|safety| safety.schedules.as_ref()) {
        if let Schedules::Played { played, wrong, first } = schedules {
            all += played;
            wrongs += wrong;
            repeat = repeat.or(first.as_ref().map(|first| &first.again));
        }
    }
    let words = format!("{} of {} schedules went wrong.", count(wrongs), count(all));
    let mut summary = Sentence::from(words);
    if let Some(again) = repeat {
        summary = summary.words(" To see one call by call: ").and_code(again);
    }
    blocks![Block::list(rows.filter_map(scenario)), (all > 0).then(|| Block::paragraph(summary))]
}

/// The files that show damage, the first by name.
fn artifacts(subject: &Subject<'_>) -> Vec<Item> {
    let experiment = subject.experiment;
    let all = || experiment.variants.iter();
    let total = all().map(|variant| variant.artifacts.len()).sum::<usize>();
    // For the user's own workload, the artifacts of the current settings.
    let current = subject.current().map(|index| &experiment.variants[index]);
    let named =
        all().filter(|variant| current.is_none_or(|current| variant.label == current.label));
    let named: Vec<_> = named.flat_map(|variant| &variant.artifacts).take(ARTIFACTS).collect();
    let more = total > named.len();
    let named = named.into_iter().map(|artifact| {
        let path = Sentence::code(artifact.path.display().to_string());
        Item::new(path.words(format!(": {}", artifact.about)))
    });
    let folder = Sentence::code(format!("artifacts/{}", experiment.key));
    let more = more.then(|| {
        let words = format!(" holds {} witnesses in all.", count(total as u64));
        Item::new(folder.words(words))
    });
    named.chain(more).collect()
}
