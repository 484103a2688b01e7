//! What each knob does and what two do together, and the settings to use ready to paste.

use lab::analysis::effects::Effects;
use lab::analysis::{Analysis, ExperimentAnalysis};

use super::marks::{code, dressed, escaped, fenced_as};
use crate::advice::{Advice, advice};
use crate::effects::{self, found_interactions, setting, standing};
use crate::figures;

/// Adds the effects of an experiment whose variants cross several factors, an empty line before each
/// piece.
pub(super) fn add(text: &mut String, experiment: &ExperimentAnalysis) {
    let Some(effects) = &experiment.effects else {
        return;
    };
    let mut lines = vec!["\n**What each knob does**\n".to_owned()];
    let sentences = effects::sentences(experiment);
    lines.extend(sentences.iter().map(|it| format!("- {}", dressed(it))));
    lines.extend(main_table(effects, &experiment.metric));
    lines.extend(pair_table(effects, &experiment.metric));
    if let Some(shares) = effects::shares_in_words(effects) {
        lines.push(format!(
            "\nDifferences between variants come from: {}.",
            escaped(&shares)
        ));
    }
    lines.push(format!("\n{}", escaped(&effects::how(effects))));
    lines.extend(effects::left_out(effects).map(|it| escaped(&it)));
    text.push_str(&(lines.join("\n") + "\n"));
}

fn main_table(effects: &Effects, metric: &str) -> Vec<String> {
    let mut lines = vec![
        "\n| level | instead of | ratio | smallest to largest | settings |".to_owned(),
        "|---|---|---|---|--:|".to_owned(),
    ];
    lines.extend(effects.main.iter().map(|effect| {
        let contrast = &effect.contrast;
        let range = contrast.range;
        format!(
            "| {} | {} | {} {} | {} to {} | {} |",
            code(&setting(&effect.factor, &effect.level)),
            code(&effect.instead_of.to_string()),
            standing(contrast, metric).sign(),
            escaped(&figures::ratio(contrast.ratio, contrast.interval)),
            figures::ratio_without_interval(range.low),
            figures::ratio_without_interval(range.high),
            contrast.settings
        )
    }));
    lines
}

fn pair_table(effects: &Effects, metric: &str) -> Vec<String> {
    let found = found_interactions(effects);
    if found.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        "\n| together | | of the product of the two | settings |".to_owned(),
        "|---|---|---|--:|".to_owned(),
    ];
    lines.extend(found.iter().map(|([one, two], interaction)| {
        let contrast = &interaction.contrast;
        format!(
            "| {} | {} | {} {} | {} |",
            code(one),
            code(two),
            standing(contrast, metric).sign(),
            escaped(&figures::ratio(contrast.ratio, contrast.interval)),
            contrast.settings
        )
    }));
    lines
}

/// Adds the settings to use in every form, folded where Markdown can fold.
pub(super) fn add_settings(
    text: &mut String,
    analysis: &Analysis,
    experiment: &ExperimentAnalysis,
) {
    let advice = advice(analysis, experiment);
    if advice.is_empty() {
        return;
    }
    text.push_str("\n**Settings to use**\n");
    for one in &advice {
        text.push_str(&format!("\n{}\n", dressed(&one.sentence)));
        text.push_str(&forms(one));
    }
}

fn forms(advice: &Advice) -> String {
    if let Some(problem) = &advice.problem {
        return format!("\n{}.\n", escaped(problem));
    }
    let mut text = "\n<details><summary>Ready to paste</summary>\n".to_owned();
    if let Some(once) = &advice.once {
        text.push_str(
            "\nOnce for each database file, with `sqlite3 app.db` while nothing else has it open:\n\n",
        );
        text.push_str(&format!("{}\n", fenced_as("sql", once)));
        text.push_str("\nAnd on every connection:\n");
    }
    for form in &advice.forms {
        let title = escaped(form.binding.title());
        let block = fenced_as(form.binding.language(), &form.text);
        text.push_str(&format!("\n{title}\n\n{block}\n"));
        for remark in &form.remarks {
            text.push_str(&format!("\n{}\n", escaped(remark)));
        }
    }
    text + "\n</details>\n"
}
