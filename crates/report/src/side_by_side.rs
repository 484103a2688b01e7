//! One experiment on several directories, laid out for every view: a variant a line, a directory a
//! column.

use lab::analysis::{Analysis, ExperimentAnalysis, SideBySide};
use lab::record::RunPlan;
use lab::stats::Estimate;

use crate::figures;
use crate::names::Names;
use crate::words::{Standing, by_rank, metric_heading};

/// What the tables say and what not.
const LEAD: &str = "The same variants on each directory: the median, and the ratio to the baseline there. Rounds on different directories were not done side by side, so that what one directory is to another is less sure than what a variant is to the baseline.";

/// What is added where PostgreSQL is no server of pragmark's own, which lies in the directory.
const ELSEWHERE: &str = "The PostgreSQL server was given by --postgres: its data lies where that server keeps it, in none of these directories.";

/// How the tables of a run are told, for all views.
pub(crate) fn lead(plan: &RunPlan) -> String {
    match plan.postgres_given && plan.drives_postgres() {
        true => format!("{LEAD} {ELSEWHERE}"),
        false => LEAD.to_owned(),
    }
}

/// The table of an experiment.
pub(crate) struct Directories<'a> {
    /// The question of the experiment.
    pub(crate) question: &'a str,
    /// The experiment's metric, in words.
    pub(crate) heading: String,
    /// The directories.
    pub(crate) columns: Vec<Column>,
    /// The variants, from the best on the first directory to the worst.
    pub(crate) rows: Vec<Row>,
}

/// One directory.
pub(crate) struct Column {
    /// Its path.
    pub(crate) path: String,
    /// The type of its file system, where it is known.
    pub(crate) file_system: Option<String>,
    /// All variants together beside the first directory.
    pub(crate) to_first: String,
}

/// One variant.
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: String,
    /// One for each directory.
    pub(crate) cells: Vec<Cell>,
}

/// One variant on one directory.
pub(crate) struct Cell {
    /// The median; none where it was not measured.
    pub(crate) value: Option<f64>,
    /// The median in words.
    pub(crate) figure: String,
    /// How it stands to the baseline there.
    pub(crate) standing: Standing,
    /// Its ratio to the baseline there, where it is not the baseline.
    pub(crate) ratio: Option<String>,
    /// Whether no variant has a better median there.
    pub(crate) best: bool,
}

/// The tables of a run; none where it had one directory.
pub(crate) fn tables(analysis: &Analysis) -> Vec<Directories<'_>> {
    let of = |side_by_side| table(analysis, side_by_side);
    analysis.side_by_side.iter().filter_map(of).collect()
}

fn table<'a>(analysis: &'a Analysis, side_by_side: &SideBySide) -> Option<Directories<'a>> {
    let all: Vec<&ExperimentAnalysis> = side_by_side
        .experiments
        .iter()
        .map(|index| &analysis.experiments[*index])
        .collect();
    let first = all.first()?;
    let names = Names::of(first);
    let row = |variant: usize| Row {
        name: names.get(variant).to_owned(),
        cells: all
            .iter()
            .map(|experiment| cell(experiment, variant))
            .collect(),
    };
    let ratios = side_by_side.to_first.iter();
    Some(Directories {
        question: &first.question,
        heading: metric_heading(&first.metric).to_lowercase(),
        columns: all
            .iter()
            .zip(ratios)
            .map(|(experiment, ratio)| column(analysis, experiment, ratio.as_ref()))
            .collect(),
        rows: by_rank(first).into_iter().map(row).collect(),
    })
}

fn column(
    analysis: &Analysis,
    experiment: &ExperimentAnalysis,
    to_first: Option<&Estimate>,
) -> Column {
    let volume = analysis.environment.machine.volume(&experiment.directory);
    Column {
        path: experiment.directory.display().to_string(),
        file_system: volume.and_then(|volume| volume.file_system.clone()),
        to_first: to_first.map_or_else(
            || "–".to_owned(),
            |estimate| figures::ratio(estimate.centre, estimate.interval),
        ),
    }
}

fn cell(experiment: &ExperimentAnalysis, variant: usize) -> Cell {
    let best = experiment.ranking.first() == Some(&variant);
    let variant = &experiment.variants[variant];
    let value = variant
        .summaries
        .get(&experiment.metric)
        .map(|it| it.median);
    let estimate = variant.effect.as_ref().map(|effect| &effect.estimate);
    Cell {
        value,
        figure: value.map_or_else(
            || "–".to_owned(),
            |value| figures::figure(value, &experiment.metric),
        ),
        standing: Standing::of(variant, &experiment.metric),
        ratio: estimate
            .filter(|_| !variant.baseline)
            .map(|estimate| figures::ratio_alone(estimate.centre, estimate.interval)),
        best: best && value.is_some(),
    }
}
