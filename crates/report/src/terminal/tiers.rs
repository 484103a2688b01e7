//! Safety tiers in the terminal: the best variant at each, and for experiments that try crashes what
//! was found under each storage model.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use lab::analysis::ExperimentAnalysis;

use super::paint::Paint;
use super::text::Text;
use crate::answer::plain;
use crate::tiers::{gaps, has_column, legend, models, rows, sign, tries_crashes};
use crate::words::metric_heading;

/// Adds what there is to say.
pub(super) fn tiers(text: &mut Text, experiment: &ExperimentAnalysis) {
    if has_column(experiment) {
        text.item(Paint::Plain, "·", &format!("safety tiers: {}", legend()));
    }
    for gap in gaps(experiment) {
        text.item(Paint::Plain, "·", &gap);
    }
    best(text, experiment);
    if tries_crashes(experiment) {
        by_model(text, experiment);
    }
    for remark in crate::accidents::remarks(experiment) {
        text.item(Paint::Plain, "·", &remark);
    }
}

fn best(text: &mut Text, experiment: &ExperimentAnalysis) {
    let rows = rows(experiment);
    if rows.is_empty() {
        return;
    }
    let mut table = table(text.width());
    table.set_header([
        Cell::new("best at each tier"),
        Cell::new("variant"),
        right(&metric_heading(&experiment.metric).to_lowercase()),
        Cell::new("to the baseline"),
    ]);
    for row in &rows {
        table.add_row([
            Cell::new(format!("{} {}", sign(Some(row.class)), row.class.words())),
            Cell::new(&row.name),
            right(&row.figure),
            Cell::new(&row.ratio),
        ]);
    }
    text.block(&padded(table));
    for row in rows {
        if let Some(remark) = &row.remark {
            text.item(Paint::Plain, "·", &format!("{}: {remark}", row.name));
        }
    }
}

/// Signs alone: a window is too narrow for the counts of eight models.
fn by_model(text: &mut Text, experiment: &ExperimentAnalysis) {
    let Some(models) = models(experiment) else {
        return;
    };
    let mut table = table(text.width());
    let heading = |(number, (_, assumed)): (usize, &(String, bool))| {
        Cell::new(format!("{}{}", number + 1, if *assumed { "" } else { "*" }))
    };
    let headings = models.columns.iter().enumerate().map(heading);
    table.set_header([Cell::new("storage model")].into_iter().chain(headings));
    for (variants, cells) in &models.rows {
        let signs = cells.iter().map(|cell| {
            let broken = if cell.broken { "!" } else { "" };
            Cell::new(match &cell.only {
                Some(_) => format!("({}){broken}", cell.sign),
                None => format!("{}{broken}", cell.sign),
            })
        });
        table.add_row([Cell::new(plain(variants))].into_iter().chain(signs));
    }
    text.block(&padded(table));
    let names: Vec<String> = models
        .columns
        .iter()
        .enumerate()
        .map(|(number, (name, assumed))| {
            format!("{}{} {name}", number + 1, if *assumed { "" } else { "*" })
        })
        .collect();
    text.line(
        Paint::Dim,
        &format!(
            "{}; * outside what SQLite assumes of hardware; ! less safe than documented; (…) only on occasions: where the journal mode is changed or the file shrinks.",
            names.join(", ")
        ),
    );
    for broken in &models.broken {
        text.item(
            Paint::Warning,
            "!",
            &format!("less safe than documented: {broken}"),
        );
    }
    if !models.safer.is_empty() {
        text.item(
            Paint::Plain,
            "·",
            "some cells are safer than documented, in these images: the page and the Markdown form say why",
        );
    }
}

fn table(width: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table
}

/// The lines of a table whose columns stand two spaces apart.
fn padded(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.to_string()
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
