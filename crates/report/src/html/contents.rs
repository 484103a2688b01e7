//! The table of contents: the questions, grouped by where they come from.

use lab::analysis::{Analysis, ExperimentAnalysis};

use super::{VerdictCount, counted};
use crate::answer::{of_text, plain};
use crate::place::place;

/// From this number of questions on the list scrolls by itself on a narrow screen.
const LONG: usize = 12;

/// The table of contents.
pub(super) struct Contents {
    /// Whether it is too long to be passed over on a narrow screen.
    pub(super) long: bool,
    /// Whether experiments were done on several directories.
    pub(super) directories: bool,
    /// The questions, those of one source together.
    pub(super) groups: Vec<Group>,
}

/// The questions of one source.
pub(super) struct Group {
    /// Where they come from; none where the run has one group only.
    pub(super) heading: Option<String>,
    pub(super) entries: Vec<Entry>,
}

/// One question.
pub(super) struct Entry {
    pub(super) anchor: String,
    pub(super) question: String,
    /// The directory, where there are several.
    pub(super) place: Option<String>,
    pub(super) key: String,
    pub(super) marks: Vec<VerdictCount>,
}

impl Contents {
    /// The contents of a run: sources in the order in which they first occur, questions without
    /// one last.
    pub(super) fn of(analysis: &Analysis, anchors: &[String]) -> Contents {
        let mut groups: Vec<(Option<&str>, Vec<Entry>)> = Vec::new();
        for (experiment, anchor) in analysis.experiments.iter().zip(anchors) {
            let source = experiment.source.as_deref();
            let entry = entry(analysis, experiment, anchor);
            match groups.iter_mut().find(|group| group.0 == source) {
                Some(group) => group.1.push(entry),
                None => groups.push((source, vec![entry])),
            }
        }
        groups.sort_by_key(|(source, _)| source.is_none());
        let several = groups.len() > 1;
        let heading = |source: Option<&str>| match source {
            Some(source) => format!("Source {source}"),
            None => "Without a source".to_owned(),
        };
        Contents {
            long: analysis.experiments.len() > LONG,
            directories: !analysis.side_by_side.is_empty(),
            groups: groups
                .into_iter()
                .map(|(source, entries)| Group {
                    heading: several.then(|| heading(source)),
                    entries,
                })
                .collect(),
        }
    }
}

fn entry(analysis: &Analysis, experiment: &ExperimentAnalysis, anchor: &str) -> Entry {
    let claims = &experiment.claims;
    Entry {
        anchor: anchor.to_owned(),
        question: plain(&of_text(&experiment.question)),
        place: place(analysis, experiment),
        key: experiment.key.clone(),
        marks: counted(|verdict| {
            let of_verdict = claims.iter().filter(|judged| judged.verdict == verdict);
            of_verdict.count()
        }),
    }
}
