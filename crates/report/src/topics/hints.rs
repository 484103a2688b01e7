//! Next steps for a reader: measure more, in the words of the command that measured, repeat the run, and read the marks.

use lab::analysis::ExperimentAnalysis;
use tuning::Analysis;

use super::subject::Subject;
use crate::document::{Block, Kind, Piece, Section, Sentence};
use crate::glossary::TERMS;
use crate::words::plural;

/// Returns how smaller differences are detected, if an option does it.
pub(super) fn finer(experiment: &ExperimentAnalysis) -> Sentence {
    /// A difference that is worth finding, as a fraction.
    const WORTH: f64 = 0.1;
    /// More rounds take longer than anybody waits.
    const MOST: usize = 200;
    if !experiment.is_measured_by_command() {
        return Sentence::default();
    }
    let coarse = experiment.detectable.is_some_and(|size| size > WORTH);
    let code = |rounds| Sentence::code(format!("--rounds {rounds}"));
    match experiment.rounds_to_detect(WORTH).filter(|_| coarse) {
        Some(rounds) if rounds <= MOST => Sentence::from("; with as much noise, ")
            .and(code(rounds))
            .words(" detects 10 %"),
        Some(_) => "; trials vary too much for more rounds to help: make them longer, with --seconds or a longer recording".into(),
        None => Sentence::from("; more rounds detect smaller ones").and(more_rounds(experiment)),
    }
}

/// Returns the time limit with which a search has time for its rounds, if the run's own was too short for them.
pub(super) fn longer(subject: &Subject<'_>) -> Sentence {
    let Some(limit_s) = subject.tuning().and_then(|tuning| tuning.limit_for_rounds_s) else {
        return Sentence::default();
    };
    // Whole minutes: it is a guess by the time of few rounds.
    let minutes = (limit_s / 60.0).ceil();
    Sentence::from(" The time limit left time for ")
        .words(plural(subject.experiment.rounds as usize, "round", "rounds"))
        .words("; by the time that they took, ")
        .and_code(format!("--time-limit {minutes}m"))
        .words(" is long enough.")
}

/// Returns the words for a tie of this many variants.
pub(super) fn too_noisy(tied: usize) -> String {
    let variants = plural(tied, "variant", "variants");
    format!("the measurements are too noisy to choose between {variants}; more rounds may decide")
}

/// Returns how to measure more rounds, if an option does it.
pub(super) fn more_rounds(experiment: &ExperimentAnalysis) -> Sentence {
    let twice = 2 * experiment.rounds.max(10);
    if experiment.is_measured_by_command() {
        Sentence::from(": ").and_code(format!("--rounds {twice}"))
    } else {
        Sentence::default()
    }
}

/// Explanation of marks and figures: a line for each mark, with its meaning.
const MARKS: &str = include_str!("../../templates/marks.txt");

/// The guide.
pub(super) fn guide(_: &Analysis) -> Vec<Section> {
    let marks = MARKS.lines().filter_map(|line| line.split_once(" | "));
    let marks = marks.map(|(mark, meaning)| (mark.into(), meaning.into()));
    let terms = TERMS.iter().map(|term| {
        let term_itself = Sentence(vec![Piece::Term(term)]);
        (term_itself, Sentence::from(term.meaning))
    });
    vec![Section::new(
        "reading",
        Kind::Glossary,
        "How to read this page",
        vec![Block::Facts(marks.chain(terms).collect())],
    )]
}

/// The command, and what makes its answers the same.
///
/// It takes the plan from the folder of the run: an experiment of the command line, of a search or of the user's own file
/// has no name by which another command could plan it.
pub(super) fn repeat(analysis: &Analysis) -> Vec<Section> {
    let plan = &analysis.plan;
    let planned = Sentence::from(format!(
        "Planned {} by pragmark {}. The same seed gives the same data and the same order of trials; the plan with its \
         claims and bounds was written to ",
        plan.created, plan.pragmark
    ))
    .and_code("run.json")
    .words(" in the folder of the run before the first trial.");
    let folder = analysis.folder.as_ref().map(|folder| folder.display().to_string());
    let folder = folder.unwrap_or_else(|| format!("pragmark-runs/{}", plan.id));
    let is_plain = folder.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    let folder = if is_plain { folder } else { format!("'{}'", folder.replace('\'', r"'\''")) };
    // The plan does not keep the address of a server, because it may hold a password.
    let postgres = if plan.postgres_given { " --postgres URI" } else { "" };
    let text = format!("pragmark run --repeat {folder}{postgres}");
    vec![Section::new(
        "repeat",
        Kind::Background,
        "To repeat this run",
        vec![Block::code("sh", text), Block::small(planned)],
    )]
}
