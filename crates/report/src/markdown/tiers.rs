//! Safety tiers in Markdown: the best variant at each, and what was found under each storage model.

use lab::analysis::{ExperimentAnalysis, VariantAnalysis};

use super::marks::{code, dressed, escaped};
use crate::tiers::{gaps, has_column, legend, models, rows, sign, whole_words};
use crate::words::metric_heading;

/// The cell of a variant in the table of variants; nothing where that has no column for it.
pub(super) fn cell(experiment: &ExperimentAnalysis, variant: &VariantAnalysis) -> String {
    if !has_column(experiment) {
        return String::new();
    }
    let told = variant.safety.as_ref().map(whole_words);
    format!(
        " {} {} |",
        sign(variant.class()),
        escaped(told.as_deref().unwrap_or_default())
    )
}

/// Adds what there is, with an empty line before each piece.
pub(super) fn add(text: &mut String, experiment: &ExperimentAnalysis) {
    add_best(text, experiment);
    for gap in gaps(experiment) {
        text.push_str(&format!("\n{}.\n", escaped(&capital(&gap))));
    }
    add_models(text, experiment);
    for remark in crate::accidents::remarks(experiment) {
        text.push_str(&format!("\n- {}", escaped(&remark)));
    }
    if crate::tiers::tries_crashes(experiment) {
        text.push('\n');
    }
}

fn add_best(text: &mut String, experiment: &ExperimentAnalysis) {
    let rows = rows(experiment);
    if rows.is_empty() {
        return;
    }
    let metric = metric_heading(&experiment.metric).to_lowercase();
    text.push_str("\n**The best variant at each safety tier.** In bold what no safer variant equals: the Pareto set of speed and safety.\n\n");
    text.push_str(&format!(
        "| safety tier | best variant | {metric} | to the baseline | notes |\n|---|---|--:|---|---|\n"
    ));
    for row in rows {
        let name = code(&row.name);
        text.push_str(&format!(
            "| {} {} | {} | {} | {} | {} |\n",
            sign(Some(row.class)),
            row.class.words(),
            if row.pareto {
                format!("**{name}**")
            } else {
                name
            },
            row.figure,
            escaped(&row.ratio),
            escaped(row.remark.as_deref().unwrap_or_default())
        ));
    }
}

fn add_models(text: &mut String, experiment: &ExperimentAnalysis) {
    let Some(models) = models(experiment) else {
        return;
    };
    text.push_str(&format!(
        "\n**Safety by storage model.** Tiers: {}. Counts are bad or losing images of distinct ones; they are properties of the sample, not probabilities. Models marked * are outside what SQLite assumes of hardware. In brackets what SQLite's documentation promises. The last column counts schedules of two connections, which need no crash.\n\n",
        escaped(&legend())
    ));
    let headings: Vec<String> = models
        .columns
        .iter()
        .map(|(name, assumed)| format!("{name}{}", if *assumed { "" } else { "\\*" }))
        .collect();
    text.push_str(&format!(
        "| variant | {} |\n|---|{}\n",
        headings.join(" | "),
        "---|".repeat(headings.len())
    ));
    for (variants, cells) in &models.rows {
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| {
                let promise = cell.promise.map(|promise| match cell.broken {
                    true => format!(" (**{promise}**)"),
                    false => format!(" ({promise})"),
                });
                let only = cell.only.as_ref().map(|only| format!(", {only}"));
                format!(
                    "{} {}{}{}",
                    cell.sign,
                    cell.counts,
                    escaped(&only.unwrap_or_default()),
                    promise.unwrap_or_default()
                )
            })
            .collect();
        text.push_str(&format!(
            "| {} | {} |\n",
            dressed(variants),
            cells.join(" | ")
        ));
    }
    for broken in &models.broken {
        text.push_str(&format!(
            "\n- **Less safe than documented:** {}",
            escaped(broken)
        ));
    }
    for safer in &models.safer {
        text.push_str(&format!(
            "\n- **Safer than documented, in these images:** {}",
            escaped(safer)
        ));
    }
    if !models.broken.is_empty() || !models.safer.is_empty() {
        text.push('\n');
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
