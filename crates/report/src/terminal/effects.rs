//! What each knob does and what two do together, and the settings to use.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};
use lab::analysis::effects::Effects;
use lab::analysis::{Analysis, ExperimentAnalysis};

use super::paint::Paint;
use super::text::Text;
use crate::effects::{self, found_interactions, setting, standing};
use crate::words::plural;
use crate::{advice, answer, figures};

/// In narrower windows a ratio and its interval stand on two lines.
const NARROW: usize = 72;
/// Levels that the table shows.
const ROWS: usize = 12;
/// Interactions that are listed.
const PAIRS: usize = 6;

/// The effects of an experiment whose variants cross several factors; nothing for another.
pub(super) fn effects(text: &mut Text, experiment: &ExperimentAnalysis) {
    let Some(effects) = &experiment.effects else {
        return;
    };
    text.gap();
    text.heading("What each knob does");
    for sentence in effects::sentences(experiment) {
        text.item(Paint::Plain, "–", &answer::plain(&sentence));
    }
    text.block(&table(effects, &experiment.metric, text.width()));
    interactions(text, effects, &experiment.metric);
    if let Some(shares) = effects::shares_in_words(effects) {
        let line = format!("differences between variants come from: {shares}");
        text.item(Paint::Plain, "·", &line);
    }
    let left_out = effects::left_out(effects).map(|it| format!(" {it}"));
    let how = effects::how(effects);
    text.line(
        Paint::Dim,
        &format!("{how}{}", left_out.unwrap_or_default()),
    );
}

fn table(effects: &Effects, metric: &str, width: usize) -> String {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─');
    table
        .load_style(TableStyle::new().header_separator(line))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .set_header([
            Cell::new("level"),
            Cell::new("instead of"),
            Cell::new("ratio"),
            right("settings"),
        ]);
    for effect in effects.main.iter().take(ROWS) {
        let contrast = &effect.contrast;
        let sign = standing(contrast, metric).sign();
        let ratio = figures::ratio_alone(contrast.ratio, contrast.interval);
        let interval = figures::interval_of_ratio(contrast.ratio, contrast.interval);
        let between = if width < NARROW { "\n  " } else { " " };
        table.add_row([
            Cell::new(setting(&effect.factor, &effect.level)),
            Cell::new(&effect.instead_of),
            Cell::new(format!("{sign} {ratio}{between}{interval}")),
            right(&contrast.settings.to_string()),
        ]);
    }
    if effects.main.len() > ROWS {
        let more = effects.main.len() - ROWS;
        table.add_row([Cell::new(format!("… {more} more in the report"))]);
    }
    const GAP: u16 = 2;
    let names = table.column_cells_iter(0).flatten();
    let longest = names.map(|cell| cell.content().chars().count()).max();
    let longest = longest.unwrap_or(0).min(width / 2) as u16 + GAP;
    let name = ColumnConstraint::LowerBoundary(Width::Fixed(longest));
    table.set_constraints([name]);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == 3 { 0 } else { GAP }));
    }
    table.to_string()
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn interactions(text: &mut Text, effects: &Effects, metric: &str) {
    let found = found_interactions(effects);
    for ([one, two], interaction) in found.iter().take(PAIRS) {
        let contrast = &interaction.contrast;
        let line = format!(
            "{one} with {two}: {} {} of the product of the two",
            standing(contrast, metric).sign(),
            figures::ratio(contrast.ratio, contrast.interval)
        );
        text.item(Paint::Plain, "·", &line);
    }
    if found.len() > PAIRS {
        let more = plural(found.len() - PAIRS, "more pair", "more pairs");
        text.item(
            Paint::Plain,
            "·",
            &format!("… {more} of levels in the report"),
        );
    }
}

/// The settings that the experiment recommends, as SQL, and how to get them in another form.
pub(super) fn settings(text: &mut Text, analysis: &Analysis, experiment: &ExperimentAnalysis) {
    let own = analysis
        .recommendations
        .iter()
        .filter(|one| one.experiment == experiment.key);
    let own: Vec<_> = own.collect();
    if own.is_empty() {
        return;
    }
    text.gap();
    text.heading("Settings to use");
    for one in own {
        text.item(
            Paint::Plain,
            "–",
            &answer::plain(&advice::sentence(one, experiment)),
        );
        let sql = match advice::chosen(one) {
            Ok(chosen) => chosen
                .pragmas()
                .iter()
                .map(|(name, value)| format!("PRAGMA {name} = {value};"))
                .collect::<Vec<_>>()
                .join(" "),
            Err(problem) => format!("{problem}."),
        };
        if !sql.is_empty() {
            text.under(Paint::Plain, &sql);
        }
    }
}

/// How to get the settings of all experiments in another form; nothing where there are none.
pub(super) fn how_to_paste(text: &mut Text, analysis: &Analysis) {
    if analysis.recommendations.is_empty() {
        return;
    }
    text.gap();
    text.rule();
    text.line(
        Paint::Plain,
        "Settings to use, ready to paste for twelve bindings: `pragmark settings RUN`, or with `--for django` for one.",
    );
}
