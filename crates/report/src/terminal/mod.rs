//! The summary at the end of a run, as plain text.
//!
//! It is made for a window of 60 columns as for one of 200, with colour and without, and reads
//! the same in a pipe: colour only repeats what words and signs say.

mod beside;
mod bindings;
mod choice;
mod effects;
mod notes;
mod paint;
mod side_by_side;
mod table;
mod text;
mod tiers;

use lab::analysis::{Analysis, ExperimentAnalysis, Finding};
use lab::claims::Judged;

use crate::durability;
use crate::place::place;
use crate::words::verdict_sign;
use crate::{answer, facts, figures, knees};
use paint::Paint;
use text::Text;

/// How the terminal view is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the window; fewer than 40 count as 40.
    pub width: usize,
    /// Whether ANSI colours may be used.
    pub colour: bool,
}

/// The summary of a run: what matters most, then each experiment with its variants, claims and small
/// print.
pub fn terminal(analysis: &Analysis, style: Style) -> String {
    let mut text = Text::new(style);
    head(&mut text, analysis);
    findings(&mut text, analysis);
    for experiment in &analysis.experiments {
        let found = analysis
            .findings
            .iter()
            .find(|finding| finding.experiment == experiment.key);
        section(&mut text, analysis, experiment, found);
    }
    side_by_side::side_by_side(&mut text, analysis);
    effects::how_to_paste(&mut text, analysis);
    text.finish()
}

fn head(text: &mut Text, analysis: &Analysis) {
    let plan = &analysis.plan;
    text.heading(&format!(
        "{} on {}",
        facts::sqlite(analysis),
        facts::machine(&analysis.environment.machine)
    ));
    text.line(
        Paint::Dim,
        &format!(
            "{} · {} scale · seed {} · {}",
            plan.id,
            plan.scale,
            plan.seed.0,
            facts::minute(&plan.created)
        ),
    );
    text.line(
        Paint::Dim,
        &format!(
            "{} · {}",
            facts::trials(analysis),
            facts::time_taken(analysis)
        ),
    );
    if let Some(counts) = facts::verdict_counts(analysis) {
        text.line(Paint::Plain, &format!("Claims: {counts}"));
    }
    for warning in facts::warnings(analysis) {
        text.item(Paint::Warning, "!", &warning);
    }
}

fn findings(text: &mut Text, analysis: &Analysis) {
    text.gap();
    text.heading("What matters on this machine");
    if analysis.findings.is_empty() {
        text.line(
            Paint::Plain,
            "No variant was found to be better than the baseline of its experiment.",
        );
    }
    for (index, finding) in analysis.findings.iter().enumerate() {
        let of = analysis
            .experiments
            .iter()
            .find(|experiment| experiment.key == finding.experiment);
        let Some(experiment) = of else { continue };
        text.item(
            Paint::Strong,
            &format!("{}.", index + 1),
            &one_finding(analysis, finding, experiment),
        );
    }
}

fn one_finding(analysis: &Analysis, finding: &Finding, experiment: &ExperimentAnalysis) -> String {
    let place = place(analysis, experiment);
    let mut line = place.map_or_else(String::new, |place| format!("{place}: "));
    line.push_str(&answer::plain(&answer::told(finding, experiment)));
    line.push_str(&format!(
        " {}",
        figures::ratio(finding.gain, finding.interval)
    ));
    if let Some(tied) = answer::tied(finding, experiment) {
        line.push_str(&format!(" {}", answer::plain(&tied)));
    }
    if finding.preliminary {
        line.push_str(" (preliminary)");
    }
    line
}

fn section(
    text: &mut Text,
    analysis: &Analysis,
    experiment: &ExperimentAnalysis,
    found: Option<&Finding>,
) {
    text.gap();
    text.rule();
    text.heading(&experiment.question);
    text.line(
        Paint::Dim,
        &format!(
            "{} · {} in {}",
            experiment.key,
            experiment.workload,
            experiment.directory.display()
        ),
    );
    text.line(
        Paint::Plain,
        &answer::plain(&answer::answer(experiment, found)),
    );
    for (name, why) in facts::doubts(experiment) {
        text.item(Paint::Warning, "!", &format!("{name}: {why}"));
    }
    if !crate::tiers::tries_crashes(experiment) {
        text.block(&table::variants(experiment, text.width()));
    }
    for note in notes::notes(experiment) {
        text.item(Paint::Plain, "·", &note);
    }
    beside::beside(text, analysis, experiment);
    for knee in knees::knees(experiment) {
        text.item(Paint::Plain, "·", &answer::plain(&knee));
    }
    bindings::bindings(text, experiment);
    effects::effects(text, experiment);
    tiers::tiers(text, experiment);
    for line in durability::lines(experiment) {
        text.item(Paint::Plain, "·", &line);
    }
    if !experiment.claims.is_empty() {
        text.gap();
    }
    for judged in &experiment.claims {
        claim(text, judged);
    }
    effects::settings(text, analysis, experiment);
    text.gap();
    text.line(
        Paint::Dim,
        &format!("{}.", facts::footnotes(experiment).join("; ")),
    );
}

fn claim(text: &mut Text, judged: &Judged) {
    let head = format!(
        "{} ({}): {}",
        judged.verdict, judged.claim.id, judged.claim.says
    );
    text.item(
        Paint::Verdict(judged.verdict),
        verdict_sign(judged.verdict),
        &head,
    );
    let measured = figures::claim_figure(judged).map(|figure| {
        let interval = figures::claim_interval(judged)
            .map(|it| format!(" {it}"))
            .unwrap_or_default();
        format!("measured {figure}{interval}")
    });
    let published = figures::claim_published(judged).map(|figure| format!("published {figure}"));
    let bounds = Some(format!("confirmed by {}", figures::claim_bounds(judged)));
    let preliminary = judged.preliminary.then(|| "preliminary".to_owned());
    let parts: Vec<String> = [measured, bounds, published, preliminary, judged.why.clone()]
        .into_iter()
        .flatten()
        .collect();
    text.under(Paint::Dim, &parts.join("; "));
}
