//! One experiment on several directories, side by side: a variant a line, a directory a column.

use lab::analysis::{ExperimentAnalysis, SideBySide};
use lab::stats::Estimate;
use tuning::Analysis;

use super::subject::Subject;
use crate::document::{Abridge, Block, Cell, Column, Kind, Row, Section, Sentence, Table, led};
use crate::figures;
use crate::words::{by_rank, mark, metric_heading};

/// Explanation of the tables.
const LEAD: &str = "The same variants on each directory: the median, and the ratio to the baseline there. Rounds on different directories are not interleaved, so ratios between directories are less certain than ratios to the baseline.";

/// Addition if PostgreSQL is not a server of pragmark's own, which lies in the directory.
const ELSEWHERE: &str = " The data of the PostgreSQL server given by --postgres is in that server's own directory, in none of these.";

/// A table for each experiment that was done on several directories.
pub(super) fn sections(analysis: &Analysis) -> Vec<Section> {
    let of = |side_by_side| blocks(analysis, side_by_side);
    let tables: Vec<Block> = analysis.side_by_side.iter().flat_map(of).collect();
    if tables.is_empty() {
        return Vec::new();
    }
    let plan = &analysis.plan;
    let elsewhere = if plan.postgres_given && plan.drives_postgres() { ELSEWHERE } else { "" };
    let lead = Block::small(format!("{LEAD}{elsewhere}"));
    vec![Section::new(
        "directories",
        Kind::Chapter,
        "The directories side by side",
        [lead].into_iter().chain(tables).collect(),
    )]
}

fn blocks(analysis: &Analysis, side_by_side: &SideBySide) -> Vec<Block> {
    let all = side_by_side.experiments.iter().map(|index| Subject::of(analysis, *index));
    let all: Vec<Subject<'_>> = all.collect();
    let Some(first) = all.first() else { return Vec::new() };
    let question = Sentence::marked(&first.experiment.question).plain();
    let columns = all.iter().map(|subject| column(analysis, subject.experiment));
    let row = |variant: usize| {
        let cells = all.iter().map(|subject| cell(subject.experiment, variant));
        Row::led(first.names.cell(variant), cells)
    };
    let heading = Column::left(metric_heading(first.metric()).to_lowercase());
    let ratio = |estimate: &Estimate| figures::ratio(estimate.centre, estimate.interval);
    let ratios = side_by_side.to_first.iter();
    let ratios = ratios.map(|first| Cell::number(first.as_ref().map(ratio)));
    let table = Table {
        foot: vec![Row::led(Cell::new("all variants, compared with the first"), ratios)],
        sortable: true,
        abridge: Abridge::End,
        ..Table::new(
            question.clone(),
            led(heading, columns),
            by_rank(first.experiment).into_iter().map(row),
        )
    };
    vec![Block::heading(question), Block::table(table)]
}

fn column(analysis: &Analysis, experiment: &ExperimentAnalysis) -> Column {
    let volume = analysis.environment.machine.volume(&experiment.directory);
    Column {
        below: volume.and_then(|volume| volume.file_system.clone()),
        ..Column::right(Sentence::code(experiment.directory.display().to_string()))
    }
}

fn cell(experiment: &ExperimentAnalysis, index: usize) -> Cell {
    let variant = &experiment.variants[index];
    let metric = &experiment.metric;
    let median = variant.median(metric);
    let (sign, tone) = mark(variant.compared(metric));
    let estimate = variant.estimate().filter(|_| !variant.baseline);
    let ratio = estimate.map(|estimate| figures::ratio_alone(estimate.centre, estimate.interval));
    let figure = median.map_or("–".to_owned(), |median| figures::figure(median, metric));
    let ratio = format!(" {sign} {}", ratio.unwrap_or_default());
    Cell {
        value: median,
        tone,
        strong: median.is_some() && experiment.ranking.first() == Some(&index),
        ..Cell::new(Sentence::number(figure).words(ratio.trim_end()))
    }
}
