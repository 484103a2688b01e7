//! Where an experiment was done, in a word: questions are the same on every directory of a run.

use std::path::Path;

use lab::analysis::{Analysis, ExperimentAnalysis};

/// The name of the experiment's directory, its whole path where another one ends alike; none where the run
/// had one directory only.
pub(crate) fn place(analysis: &Analysis, experiment: &ExperimentAnalysis) -> Option<String> {
    let own: &Path = &experiment.directory;
    let experiments = analysis.experiments.iter();
    let mut others = experiments
        .map(|experiment| experiment.directory.as_path())
        .filter(|other| *other != own)
        .peekable();
    others.peek()?;
    let name = own.file_name();
    let is_clear = name.is_some() && others.all(|other| other.file_name() != name);
    let shown = if is_clear { name.map(Path::new)? } else { own };
    Some(shown.display().to_string())
}
