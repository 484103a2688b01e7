//! The page: one file that holds everything, needs no network and works from a disk.
//!
//! The templates in `templates/` hold the elements, the style sheet and the few lines of script
//! that make tables sortable; the modules here only lay out what they fill in. Everything that
//! comes from files or machines is escaped by the templates.

mod bindings;
mod claims;
mod contents;
mod environment;
mod experiment;
mod pragmas;
mod tables;

use askama::Template;
use lab::analysis::{Analysis, ExperimentAnalysis, Finding};
use lab::claims::Verdict;

use crate::answer::{self, Piece, Sentence};
use crate::place::place;
use crate::side_by_side::{self, Directories};
use crate::words::{VERDICTS, verdict_sign};
use crate::{Result, facts, figures};
use contents::Contents;
use environment::EnvironmentView;
use experiment::ExperimentView;

#[derive(Template)]
#[template(path = "page.html", whitespace = "minimize")]
struct Page<'a> {
    title: String,
    machine: String,
    about: Vec<String>,
    trials: String,
    quick: bool,
    warnings: Vec<String>,
    verdicts: Vec<VerdictCount>,
    findings: Vec<FindingView>,
    contents: Contents,
    experiments: Vec<ExperimentView<'a>>,
    directories: Vec<Directories<'a>>,
    directories_lead: String,
    environment: EnvironmentView,
    plan: &'a lab::record::RunPlan,
    command: String,
}

/// How many claims ended so.
struct VerdictCount {
    verdict: Verdict,
    sign: &'static str,
    class: &'static str,
    count: usize,
}

/// One of the things that matter.
struct FindingView {
    anchor: String,
    gain: String,
    interval: String,
    sentence: Sentence,
    tied: Option<Sentence>,
    question: String,
    preliminary: bool,
}

/// The report of a run as one HTML page.
///
/// # Errors
/// When a template cannot be filled in.
pub fn html(analysis: &Analysis) -> Result<String> {
    let plan = &analysis.plan;
    let anchors = anchors(&analysis.experiments);
    let page = Page {
        title: facts::sqlite(analysis),
        machine: facts::machine(&analysis.environment.machine),
        about: vec![
            format!("{} scale", plan.scale),
            format!("seed {}", plan.seed.0),
            facts::minute(&plan.created),
            facts::time_taken(analysis),
        ],
        trials: facts::trials(analysis),
        quick: plan.quick,
        warnings: facts::warnings(analysis),
        verdicts: counted(|verdict| analysis.verdicts(verdict)),
        findings: findings(analysis, &anchors),
        contents: Contents::of(analysis, &anchors),
        experiments: experiment::views(analysis, &anchors),
        directories: side_by_side::tables(analysis),
        directories_lead: side_by_side::lead(plan),
        environment: environment::view(analysis),
        plan,
        command: facts::command(plan),
    };
    Ok(page.render()?)
}

/// The name under which an experiment is linked to: its key in letters that need no encoding, and
/// its number, so that no two are the same.
fn anchors(experiments: &[ExperimentAnalysis]) -> Vec<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let anchor = |(index, experiment): (usize, &ExperimentAnalysis)| {
        format!(
            "e{}-{}",
            index + 1,
            experiment.key.chars().map(plain).collect::<String>()
        )
    };
    experiments.iter().enumerate().map(anchor).collect()
}

/// The verdicts that occur, with their number.
fn counted(count: impl Fn(Verdict) -> usize) -> Vec<VerdictCount> {
    VERDICTS
        .into_iter()
        .map(|verdict| VerdictCount {
            verdict,
            sign: verdict_sign(verdict),
            class: verdict_class(verdict),
            count: count(verdict),
        })
        .filter(|counted| counted.count > 0)
        .collect()
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Confirmed => "v-confirmed",
        Verdict::Refuted => "v-refuted",
        Verdict::Inconclusive => "v-inconclusive",
        Verdict::NotApplicable => "v-na",
    }
}

fn findings(analysis: &Analysis, anchors: &[String]) -> Vec<FindingView> {
    let view = |finding: &Finding| {
        let index = analysis
            .experiments
            .iter()
            .position(|it| it.key == finding.experiment)?;
        let experiment = &analysis.experiments[index];
        Some(FindingView {
            anchor: anchors[index].clone(),
            gain: figures::ratio_alone(finding.gain, finding.interval),
            interval: figures::interval_of_ratio(finding.gain, finding.interval),
            sentence: answer::told(finding, experiment),
            tied: answer::tied(finding, experiment),
            question: match place(analysis, experiment) {
                Some(place) => format!("{} · {place}", finding.question),
                None => finding.question.clone(),
            },
            preliminary: finding.preliminary,
        })
    };
    analysis.findings.iter().filter_map(view).collect()
}
