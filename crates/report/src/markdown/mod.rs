//! The report as Markdown (GitHub flavour: it needs tables), for an issue, a wiki or a diff.

mod bindings;
mod effects;
mod evidence;
mod marks;
mod side_by_side;
mod tiers;

use std::fmt::Write;

use lab::analysis::{Analysis, ExperimentAnalysis, Finding, UpperBoundAnalysis};
use lab::claims::Judged;

use crate::answer;
use crate::beside::Medians;
use crate::durability;
use crate::facts;
use crate::figures;
use crate::knees;
use crate::names::Names;
use crate::place::place;
use crate::words::{
    Standing, UPPER_BOUND, UPPER_BOUND_SIGN, by_rank, metric_heading, upper_bound_problem,
    verdict_sign,
};
use marks::{code, dressed, escaped};

/// The report of a run as Markdown.
pub fn markdown(analysis: &Analysis) -> String {
    let mut text = String::new();
    head(&mut text, analysis);
    findings(&mut text, analysis);
    for experiment in &analysis.experiments {
        let found = analysis
            .findings
            .iter()
            .find(|finding| finding.experiment == experiment.key);
        section(&mut text, analysis, experiment, found);
    }
    side_by_side::add(&mut text, analysis);
    repeat(&mut text, analysis);
    text
}

/// A paragraph. Writing to a string cannot fail.
macro_rules! say {
    ($text:expr) => { $text.push('\n') };
    ($text:expr, $($arg:tt)*) => { writeln!($text, $($arg)*).expect("strings take everything") };
}

fn head(text: &mut String, analysis: &Analysis) {
    let plan = &analysis.plan;
    say!(
        text,
        "# {} on {}\n",
        escaped(&facts::sqlite(analysis)),
        escaped(&facts::machine(&analysis.environment.machine))
    );
    let when = escaped(&facts::minute(&plan.created));
    say!(
        text,
        "Run {}, {} scale, seed {}, {when}.",
        code(&plan.id),
        plan.scale,
        plan.seed.0
    );
    say!(
        text,
        "{}, {}.",
        facts::trials(analysis),
        facts::time_taken(analysis)
    );
    if let Some(counts) = facts::verdict_counts(analysis) {
        say!(text, "\nClaims: {counts}");
    }
    for (index, warning) in facts::warnings(analysis).iter().enumerate() {
        say!(
            text,
            "{}- **Warning:** {}",
            if index == 0 { "\n" } else { "" },
            escaped(warning)
        );
    }
}

fn findings(text: &mut String, analysis: &Analysis) {
    say!(text, "\n## What matters on this machine\n");
    if analysis.findings.is_empty() {
        say!(
            text,
            "No variant was found to be better than the baseline of its experiment."
        );
    }
    for finding in &analysis.findings {
        let of = analysis
            .experiments
            .iter()
            .find(|experiment| experiment.key == finding.experiment);
        let Some(experiment) = of else { continue };
        let place = place(analysis, experiment);
        let mut line = place.map_or_else(String::new, |place| format!("{}: ", code(&place)));
        line.push_str(&dressed(&answer::told(finding, experiment)));
        line.push_str(&format!(
            " {}",
            escaped(&figures::ratio(finding.gain, finding.interval))
        ));
        if let Some(tied) = answer::tied(finding, experiment) {
            line.push_str(&format!(" {}", dressed(&tied)));
        }
        say!(
            text,
            "1. {line}{}",
            if finding.preliminary {
                " *(preliminary)*"
            } else {
                ""
            }
        );
    }
}

fn section(
    text: &mut String,
    analysis: &Analysis,
    experiment: &ExperimentAnalysis,
    found: Option<&Finding>,
) {
    say!(
        text,
        "\n## {}\n",
        dressed(&answer::of_text(&experiment.question))
    );
    let directory = code(&experiment.directory.display().to_string());
    say!(
        text,
        "{}, workload {} in {directory}\n",
        code(&experiment.key),
        code(&experiment.workload)
    );
    say!(text, "{}\n", dressed(&answer::answer(experiment, found)));
    for (name, why) in facts::doubts(experiment) {
        say!(text, "- **{name}:** {}", escaped(&why));
    }
    if let Some(note) = &experiment.note {
        say!(text, "\n> {}\n", dressed(&answer::of_text(note)));
    }
    if !crate::tiers::tries_crashes(experiment) {
        variants(text, experiment);
    }
    beside(text, analysis, experiment);
    survivors(text, experiment);
    for knee in knees::knees(experiment) {
        say!(text, "\n{}", dressed(&knee));
    }
    bindings::add(text, experiment);
    effects::add(text, experiment);
    if !experiment.claims.is_empty() {
        claims(text, &experiment.claims);
    }
    effects::add_settings(text, analysis, experiment);
    tiers::add(text, experiment);
    evidence::add(text, experiment);
    let notes: Vec<String> = facts::footnotes(experiment)
        .iter()
        .map(|note| escaped(note))
        .collect();
    say!(text, "\n<sub>{}.</sub>", notes.join("; "));
}

fn variants(text: &mut String, experiment: &ExperimentAnalysis) {
    let names = Names::of(experiment);
    let (heading, rule) = if crate::tiers::has_column(experiment) {
        (" safety tier |", "---|")
    } else {
        ("", "")
    };
    say!(
        text,
        "\n| variant | {} | range | to the baseline | groups |{heading} notes |",
        metric_heading(&experiment.metric).to_lowercase()
    );
    say!(text, "|---|--:|--:|---|---|{rule}---|");
    for variant in by_rank(experiment) {
        let analysed = &experiment.variants[variant];
        let summary = analysed.summaries.get(&experiment.metric);
        let median = summary.map(|summary| figures::figure(summary.median, &experiment.metric));
        let range = summary.map(|summary| figures::range(summary.range, &experiment.metric));
        let standing = Standing::of(analysed, &experiment.metric);
        let compared = match &analysed.effect {
            Some(effect) if standing == Standing::Same => format!(
                "{} {} no detectable difference (detectable difference {})",
                standing.sign(),
                escaped(&figures::ratio(
                    effect.estimate.centre,
                    effect.estimate.interval
                )),
                figures::percent(effect.estimate.detectable)
            ),
            Some(effect) => {
                let ratio = figures::ratio(effect.estimate.centre, effect.estimate.interval);
                format!("{} {}", standing.sign(), escaped(&ratio))
            }
            None => format!("{} {}", standing.sign(), standing.words()),
        };
        say!(
            text,
            "| {} | {} | {} | {compared} | {} |{} {} |",
            code(names.get(variant)),
            median.as_deref().unwrap_or("–"),
            range.as_deref().unwrap_or("–"),
            analysed.groups,
            tiers::cell(experiment, analysed),
            escaped(&facts::variant_notes(experiment, analysed).join("; "))
        );
    }
    for limit in &experiment.upper_bounds {
        upper_bound_row(text, limit, experiment);
    }
}

/// The figures to be read beside the experiment's own.
fn beside(text: &mut String, analysis: &Analysis, experiment: &ExperimentAnalysis) {
    let Some(beside) = Medians::beside(analysis, experiment) else {
        return;
    };
    let names = Names::of(experiment);
    let headings: Vec<String> = beside
        .metrics
        .iter()
        .map(|metric| metric_heading(metric).to_lowercase())
        .collect();
    say!(text, "\n| side by side | {} |", headings.join(" | "));
    say!(text, "|---|{}", "--:|".repeat(headings.len()));
    for (variant, medians) in &beside.rows {
        let figures: Vec<String> = (beside.metrics.iter().zip(medians))
            .map(|(metric, median)| median.map(|median| figures::figure(median, metric)))
            .map(|figure| figure.unwrap_or_else(|| "–".to_owned()))
            .collect();
        say!(
            text,
            "| {} | {} |",
            code(names.get(*variant)),
            figures.join(" | ")
        );
    }
}

/// The best variant for each class of what survives.
fn survivors(text: &mut String, experiment: &ExperimentAnalysis) {
    let rows = durability::rows(experiment);
    if rows.is_empty() {
        return;
    }
    let metric = metric_heading(&experiment.metric).to_lowercase();
    say!(
        text,
        "\n| what survives | best | {metric} | others, to the best | than the classes above |"
    );
    say!(text, "|---|---|--:|---|---|");
    for row in rows {
        say!(
            text,
            "| {} | {} | {} | {} | {} |",
            row.survives,
            code(&row.best),
            row.figure,
            escaped(&row.others),
            row.remark
        );
    }
}

/// Limits stand below the variants, neither ranked nor compared.
fn upper_bound_row(text: &mut String, limit: &UpperBoundAnalysis, experiment: &ExperimentAnalysis) {
    let metric = &experiment.metric;
    let tier = if crate::tiers::has_column(experiment) {
        " |"
    } else {
        ""
    };
    let summary = limit.summary;
    let median = summary.map(|summary| figures::figure(summary.median, metric));
    let range = summary.map(|summary| figures::range(summary.range, metric));
    let problem = upper_bound_problem(limit).map(|problem| format!("; {problem}"));
    say!(
        text,
        "| *{}* | {} | {} | {UPPER_BOUND_SIGN} {UPPER_BOUND} | |{tier} {}{} |",
        escaped(&limit.name),
        median.as_deref().unwrap_or("–"),
        range.as_deref().unwrap_or("–"),
        escaped(&limit.says),
        escaped(&problem.unwrap_or_default())
    );
}

fn claims(text: &mut String, claims: &[Judged]) {
    say!(
        text,
        "\n| verdict | claim | measured | confirmed by | published | why |"
    );
    say!(text, "|---|---|---|---|---|---|");
    for judged in claims {
        let interval = figures::claim_interval(judged).map(|interval| format!(" {interval}"));
        let measured = figures::claim_figure(judged)
            .map(|figure| format!("{figure}{}", interval.unwrap_or_default()));
        let preliminary = if judged.preliminary {
            " *(preliminary)*"
        } else {
            ""
        };
        say!(
            text,
            "| {} {}{preliminary} | {} ({}) | {} | {} | {} | {} |",
            verdict_sign(judged.verdict),
            judged.verdict,
            escaped(&judged.claim.says),
            escaped(&judged.claim.id),
            escaped(measured.as_deref().unwrap_or("–")),
            figures::claim_bounds(judged),
            figures::claim_published(judged).as_deref().unwrap_or("–"),
            escaped(judged.why.as_deref().unwrap_or_default())
        );
    }
}

fn repeat(text: &mut String, analysis: &Analysis) {
    say!(text, "\n## To repeat this run\n");
    say!(
        text,
        "Planned by pragmark {}.\n",
        escaped(&analysis.plan.pragmark)
    );
    say!(text, "```sh\n{}\n```", facts::command(&analysis.plan));
}
