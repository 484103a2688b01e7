//! The topics of a report, a file each: what there is to say of an analysis, as blocks of a document.
//!
//! Adding a topic is a file and a line of one of the two lists below; no renderer knows of it.

mod accidents;
mod answers;
mod bindings;
mod claims;
mod crash_answer;
mod curve;
mod directories;
mod durability;
mod effects;
mod environment;
mod evidence;
mod figures;
mod findings;
mod hints;
mod map;
mod notes;
mod pragmas;
mod replay;
mod run;
mod settings;
mod statements;
mod storage_models;
mod subject;
mod tiers;
mod tuning;
mod versions;

use ::tuning::Analysis;
use lab::analysis::ExperimentAnalysis;

use crate::document::{Block, Document, Kind, Section, Sentence};
use crate::words::verdict_counts;

pub use self::settings::{SettingsQuery, settings_to_use, usual_settings};
use self::subject::Subject;

/// The question of an experiment and its answer, as plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionAnswered {
    /// The question.
    pub question: String,
    /// The answer, which may be that there is none.
    pub answer: String,
}

/// The answers of a run, one for each experiment.
pub fn answers(analysis: &Analysis) -> Vec<QuestionAnswered> {
    let subjects = (0..analysis.experiments.len()).map(|index| Subject::of(analysis, index));
    let answered = subjects.map(|subject| QuestionAnswered {
        question: Sentence::marked(&subject.experiment.question).plain(),
        answer: answers::answer_words(&subject).plain(),
    });
    answered.collect()
}

/// A topic of one experiment.
type OfExperiment = fn(&Subject<'_>) -> Vec<Block>;

/// The topics of an experiment, in their order.
const OF_EXPERIMENT: [OfExperiment; 24] = [
    crash_answer::blocks,
    answers::answer,
    tuning::blocks,
    curve::blocks,
    map::blocks,
    figures::blocks,
    effects::blocks,
    effects::interactions,
    figures::after_effects,
    replay::blocks,
    statements::blocks,
    evidence::secondary,
    bindings::blocks,
    tiers::blocks,
    durability::blocks,
    claims::blocks,
    settings::blocks,
    versions::blocks,
    storage_models::blocks,
    accidents::blocks,
    evidence::blocks,
    pragmas::blocks,
    run::caveats,
    notes::blocks,
];

/// The sections of a run, in their order.
const OF_RUN: [fn(&Analysis) -> Vec<Section>; 6] = [
    findings::sections,
    experiments,
    directories::sections,
    environment::sections,
    hints::guide,
    hints::repeat,
];

/// The question of a run that has one.
fn question(analysis: &Analysis) -> Option<String> {
    match analysis.experiments.as_slice() {
        [only] => Some(Sentence::marked(&only.question).plain()),
        _ => None,
    }
}

/// The report of a run as a document.
pub fn report(analysis: &Analysis) -> Document {
    let (title, on) = run::title(analysis);
    Document {
        title,
        question: question(analysis),
        on: Some(on),
        about: run::about(analysis),
        head: run::head(analysis),
        sections: OF_RUN.iter().flat_map(|of_run| of_run(analysis)).collect(),
    }
}

fn experiments(analysis: &Analysis) -> Vec<Section> {
    let indices = 0..analysis.experiments.len();
    indices.map(|index| experiment_section(analysis, index)).collect()
}

fn experiment_section(analysis: &Analysis, index: usize) -> Section {
    let subject = Subject::of(analysis, index);
    let experiment = subject.experiment;
    let of = |verdict| {
        let judged = experiment.claims.iter();
        judged.filter(|judged| judged.verdict == verdict).count()
    };
    let source = experiment.source.as_ref();
    Section {
        anchor: anchor(index, experiment),
        kind: Kind::Chapter,
        group: Some(source.map_or("Without a source".to_owned(), |name| format!("Source {name}"))),
        eyebrow: eyebrow(index, experiment),
        title: Sentence::marked(&experiment.question),
        qualifier: run::directory_name(analysis, experiment),
        counts: verdict_counts(of),
        blocks: OF_EXPERIMENT.iter().flat_map(|topic| topic(&subject)).collect(),
    }
}

fn eyebrow(index: usize, experiment: &ExperimentAnalysis) -> Sentence {
    let source = experiment.source.as_ref();
    let source = source.map_or(String::new(), |source| format!(" · source {source}"));
    let directory = experiment.directory.display().to_string();
    Sentence::from(format!("{} · ", index + 1))
        .and_code(&experiment.key)
        .words(format!("{source} · workload "))
        .and_code(&experiment.workload)
        .words(" in ")
        .and_code(directory)
}

/// The name under which an experiment is linked to: its key in letters that need no encoding, and
/// its number, so that no two are the same.
fn anchor(index: usize, experiment: &ExperimentAnalysis) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let key: String = experiment.key.chars().map(plain).collect();
    format!("e{}-{key}", index + 1)
}
