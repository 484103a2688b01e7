//! The matrix in words: for the terminal and as Markdown. It stands apart because nothing here measures
//! or decides.

use crate::compare::Difference;
use crate::matrix::{Cell, Matrix};
use crate::model::Model;
use lab::tier::{ModelSafety, Promise, Tier};
use std::fmt::Write;

/// What was measured with what, for the head of a table.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Heading {
    /// The version of SQLite.
    pub sqlite: String,
    /// Check-in date and hash of its source.
    pub source_id: String,
    /// The engine as it was named.
    pub engine: String,
    /// What was run.
    pub workload: String,
    /// The seed.
    pub seed: u64,
    /// Images asked for in each cell.
    pub images: usize,
}

/// The widest line, in characters.
const WIDTH: usize = 80;

/// A model in at most six characters.
fn short(model: Model) -> &'static str {
    match model {
        Model::Kill => "kill",
        Model::Ordered => "order",
        Model::Ext4Ordered => "ext4",
        Model::Reorder => "reord",
        Model::Torn => "torn",
        Model::NonPowersafeOverwrite => "npso",
        Model::LyingFifo => "l-fifo",
        Model::LyingReorder => "l-reor",
    }
}

/// A verdict in one word.
fn word(cell: &Cell) -> &'static str {
    match (&cell.safety.tier, cell.safety.narrowed.is_some()) {
        (Tier::NoViolation { .. }, _) => "ok",
        (Tier::LosesCommits { .. }, false) => "loses",
        (Tier::LosesCommits { .. }, true) => "(loses)",
        (Tier::CanCorrupt { .. }, false) => "BAD",
        (Tier::CanCorrupt { .. }, true) => "(BAD)",
        (Tier::CorruptsUncrashed { .. } | Tier::NotMeasured { .. }, _) => "-",
    }
}

fn only(narrowed: &lab::tier::Narrowed) -> String {
    let only = narrowed.only.join(" or ");
    format!("only {only}; otherwise {}", narrowed.otherwise)
}

fn promise(cell: &Cell) -> Promise {
    let documented = cell.safety.documented.as_ref();
    documented.map_or(Promise::Silent, |documented| documented.promise)
}

fn mark(cell: &Cell) -> &'static str {
    match cell.safety.breaks_a_promise() {
        true => "!",
        false => "",
    }
}

/// The cells variant by variant; every variant has the same models.
fn rows(matrix: &Matrix) -> Vec<&[Cell]> {
    matrix
        .cells
        .chunk_by(|one, other| one.variant == other.variant)
        .collect()
}

fn models(matrix: &Matrix) -> Vec<Model> {
    let mut models: Vec<Model> = matrix.cells.iter().map(|cell| cell.model).collect();
    models.sort_unstable();
    models.dedup();
    models
}

/// The matrix for a terminal of 80 columns, without colour.
pub fn terminal(heading: &Heading, matrix: &Matrix) -> String {
    let mut text = head(heading, matrix);
    let models = models(matrix);
    let mut group = None;
    for row in rows(matrix) {
        let variant = row[0].variant;
        let here = (variant.locking_mode, variant.page_size);
        if group != Some(here) {
            group = Some(here);
            let title = format!(
                "locking_mode={}, page_size={}",
                variant.locking_mode, variant.page_size
            );
            let _ = write!(text, "\n{title}\n{:18}", "");
            for model in &models {
                let _ = write!(text, "{:>7}", short(*model));
            }
            text.push('\n');
        }
        let _ = write!(
            text,
            "{:18}",
            format!("{}/{}", variant.journal_mode, variant.synchronous)
        );
        for model in &models {
            let cell = row.iter().find(|cell| cell.model == *model);
            let word = cell.map_or(String::new(), |cell| {
                format!("{}{}", word(cell), mark(cell))
            });
            let _ = write!(text, "{word:>7}");
        }
        text.push('\n');
    }
    text.push_str(&legend(&models));
    text.push_str(&findings(matrix));
    wrapped(&text)
}

fn head(heading: &Heading, matrix: &Matrix) -> String {
    let mut text = format!(
        "Crash safety of SQLite {} (engine {}), {}, seed {}\n",
        heading.sqlite, heading.engine, heading.workload, heading.seed
    );
    let _ = writeln!(
        text,
        "{} distinct images, {} recoveries; databases up to {} KiB",
        matrix.images,
        matrix.recoveries,
        matrix.largest_database.div_ceil(1024)
    );
    if matrix.stopped {
        text.push_str("Stopped early: some cells are missing.\n");
    }
    text
}

fn legend(models: &[Model]) -> String {
    let mut text = String::from(
        "\nok     no violation in the images looked at, which is no proof\n\
         loses  acknowledged commits can be missing; never corrupt\n\
         BAD    can corrupt: a witness was found\n\
         (…)    only on an occasion that is named below\n\
         -      not measured\n\
         !      worse than SQLite's documentation promises\n\n",
    );
    for model in models {
        let outside = match model.is_within_assumptions() {
            true => "",
            false => " [outside SQLite's assumptions]",
        };
        let _ = writeln!(
            text,
            "{:7}{}: {}{outside}",
            short(*model),
            model,
            model.meaning()
        );
    }
    text
}

/// What differs from the documentation, and what was not measured.
fn findings(matrix: &Matrix) -> String {
    let mut text = String::new();
    let worse: Vec<&Cell> = matrix
        .cells
        .iter()
        .filter(|cell| cell.safety.breaks_a_promise())
        .collect();
    if worse.is_empty() {
        text.push_str("\nNo cell is worse than documented.\n");
    } else {
        text.push_str("\nWorse than documented:\n");
    }
    for cell in worse {
        let _ = writeln!(text, "  {}", sentence(cell));
    }
    text.push_str(&narrowed(matrix));
    let better = matrix
        .cells
        .iter()
        .filter(|cell| cell.safety.is_safer_than_documented());
    let better = better.count();
    if better > 0 {
        let _ = writeln!(
            text,
            "In {better} cells the documentation allows more than the images showed; the Markdown and \
             JSON forms list them."
        );
    }
    let splits: u64 = matrix
        .cells
        .iter()
        .filter_map(|cell| cell.tally.as_ref())
        .map(|tally| tally.split_unpromised)
        .sum();
    if splits > 0 {
        let _ = writeln!(
            text,
            "{splits} images hold different transactions in attached databases where no super-journal \
             ties them together, as documented of journal modes WAL, MEMORY and OFF; they count as no \
             violation, nor with synchronous=OFF."
        );
    }
    text.push_str(&not_measured(matrix));
    text
}

/// The cells whose verdict holds on occasions only, but for those that are listed as worse anyway.
fn narrowed(matrix: &Matrix) -> String {
    let mut text = String::new();
    for cell in &matrix.cells {
        if let Some(narrowed) = &cell.safety.narrowed
            && !cell.safety.breaks_a_promise()
        {
            let _ = writeln!(
                text,
                "  {} under {}: {}, {}",
                cell.variant,
                cell.model,
                cell.safety.tier,
                only(narrowed)
            );
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("\nOn occasions only, as documented:\n{text}"),
    }
}

fn not_measured(matrix: &Matrix) -> String {
    let mut text = String::new();
    for row in rows(matrix) {
        if let Tier::NotMeasured { why } = &row[0].safety.tier {
            let _ = writeln!(text, "{}: not measured: {why}", row[0].variant);
        }
    }
    text
}

/// A cell that differs from the documentation, in one sentence.
fn sentence(cell: &Cell) -> String {
    let narrowed = cell.safety.narrowed.as_ref();
    let only = narrowed.map_or(String::new(), |narrowed| format!(", {}", only(narrowed)));
    let mut text = format!(
        "{} under {}: {}{only}; documented: {} ({})",
        cell.variant,
        cell.model,
        cell.safety.tier,
        promise(cell).words(),
        cell.safety
            .documented
            .as_ref()
            .map_or("", |documented| &documented.source)
    );
    match &cell.safety.cause {
        Some(cause) => {
            let _ = write!(text, ". Cause: {cause}");
        }
        None => text.push_str(". Cause: not known"),
    }
    text
}

/// Breaks long lines at blanks; what follows is indented as deep as the line and two more.
fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        if line.chars().count() <= WIDTH {
            lines.push_str(line);
            lines.push('\n');
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let mut current = " ".repeat(indent);
        // At single blanks, so that columns stay where they are.
        for word in line.trim_start().split(' ') {
            let is_first = current.trim().is_empty();
            if !is_first && current.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push_str(&current);
                lines.push('\n');
                current = " ".repeat(indent + 2);
            } else if !is_first {
                current.push(' ');
            }
            current.push_str(word);
        }
        lines.push_str(&current);
        lines.push('\n');
    }
    lines
}

/// The matrix as Markdown, with the published expectation beside every verdict.
pub fn markdown(heading: &Heading, matrix: &Matrix) -> String {
    let mut text = format!("# Crash safety, measured\n\n{}\n", head(heading, matrix));
    text.push_str(
        "Each cell says what was found, and in brackets what SQLite's documentation says. Counts are of \
         distinct images and belong to the sample; they are no probabilities in the field. No number of \
         clean images proves safety.\n\n",
    );
    let models = models(matrix);
    let names: Vec<String> = models.iter().map(|model| model.to_string()).collect();
    let _ = writeln!(
        text,
        "| journal/synchronous/locking | {} |",
        names.join(" | ")
    );
    let _ = writeln!(text, "|{}", " --- |".repeat(models.len() + 1));
    for row in rows(matrix) {
        let _ = write!(text, "| {} |", row[0].variant);
        for model in &models {
            let cell = row.iter().find(|cell| cell.model == *model);
            let _ = write!(text, " {} |", cell.map_or(String::new(), cell_markdown));
        }
        text.push('\n');
    }
    text.push_str("\n## Models\n\n");
    for model in &models {
        let outside = match model.is_within_assumptions() {
            true => "",
            false => " (outside SQLite's assumptions)",
        };
        let _ = writeln!(text, "- **{model}**: {}{outside}", model.meaning());
    }
    disagreements(
        &mut text,
        matrix,
        ModelSafety::breaks_a_promise,
        "Worse than documented",
    );
    disagreements(
        &mut text,
        matrix,
        ModelSafety::is_safer_than_documented,
        "Better than documented, in these images",
    );
    let reasons = not_measured(matrix);
    if !reasons.is_empty() {
        let _ = write!(text, "\n## Not measured\n\n{reasons}");
    }
    text
}

fn cell_markdown(cell: &Cell) -> String {
    let verdict = match &cell.safety.tier {
        Tier::CanCorrupt { bad, images } => {
            format!("**can corrupt** ({bad} of {images})")
        }
        Tier::LosesCommits {
            losing,
            images,
            most,
        } => {
            format!("loses commits ({losing} of {images}, up to {most})")
        }
        Tier::NoViolation { images } => format!("none in {images}"),
        Tier::CorruptsUncrashed { .. } | Tier::NotMeasured { .. } => "not measured".to_owned(),
    };
    let verdict = match &cell.safety.narrowed {
        Some(narrowed) => format!("{verdict}, {}", only(narrowed)),
        None => verdict,
    };
    let mark = mark(cell);
    match promise(cell) {
        Promise::Silent => format!("{verdict} [–]"),
        promise => format!("{verdict} [{}]{mark}", promise.words()),
    }
}

fn disagreements(
    text: &mut String,
    matrix: &Matrix,
    is_listed: fn(&ModelSafety) -> bool,
    title: &str,
) {
    let cells: Vec<&Cell> = matrix
        .cells
        .iter()
        .filter(|cell| is_listed(&cell.safety))
        .collect();
    let _ = write!(text, "\n## {title}\n\n");
    if cells.is_empty() {
        text.push_str("None.\n");
    }
    for cell in cells {
        let _ = writeln!(text, "- {}", sentence(cell));
    }
}

/// How engines differ, in words: each by its name, with its verdict.
pub fn differences(headings: &[&Heading], differences: &[Difference]) -> String {
    let mut text = String::from("\n## Differences between engines\n\n");
    if differences.is_empty() {
        text.push_str("None: every cell that all of them have says the same but for its counts.\n");
    }
    for difference in differences {
        let verdicts = headings.iter().zip(&difference.tiers);
        let verdicts: Vec<String> = verdicts
            .map(|(heading, verdict)| {
                format!("{} (SQLite {}): {verdict}", heading.engine, heading.sqlite)
            })
            .collect();
        let _ = writeln!(
            text,
            "- {} under {}: {}",
            difference.variant,
            difference.model,
            verdicts.join("; ")
        );
    }
    text
}

/// Text that fits into a terminal of 80 columns.
pub fn for_terminal(text: &str) -> String {
    wrapped(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_at_blanks_and_columns_kept() {
        let line = format!("  ab     {}", "word ".repeat(20).trim_end());
        let broken = wrapped(&line);
        let lines: Vec<&str> = broken.lines().collect();
        assert!(lines[0].starts_with("  ab     word word"));
        assert!(lines[1].starts_with("    word"));
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(broken.matches("word").count(), 20);
    }
}
