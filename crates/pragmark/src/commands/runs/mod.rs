//! `pragmark runs`: which runs there are, with question, answer, age and size.

mod kept;
mod prune;

use std::path::{Path, PathBuf};

use self::kept::Kept;
use super::{output, report};
use crate::cli::{RunsArgs, RunsCommand};
use crate::failure::{Exit, Failure};

/// Lists the runs, or removes some.
pub fn execute(args: &RunsArgs) -> Result<Exit, Failure> {
    match &args.command {
        Some(RunsCommand::Prune(args)) => prune::execute(args),
        None => list(&args.folders),
    }
}

/// The latest run below a folder.
pub(super) fn latest(folder: &Path) -> Result<PathBuf, Failure> {
    let (kept, _) = kept::below(&[folder.to_owned()])?;
    let latest = kept.into_iter().next().map(|run| run.folder);
    latest.ok_or_else(|| no_run(&[folder.to_owned()]))
}

fn list(folders: &[PathBuf]) -> Result<Exit, Failure> {
    let (runs, unreadable) = kept::below(folders)?;
    if runs.is_empty() && unreadable.is_empty() {
        return Err(no_run(folders));
    }
    let runs = runs.iter().map(entry);
    let unreadable = unreadable
        .iter()
        .map(|(folder, why)| format!("{}  cannot be read: {why}\n", folder.display()));
    let text: String = runs.chain(unreadable).collect();
    output::display(&text)
}

/// A run in the list: a line for the run, then a question and an answer for each experiment.
fn entry(run: &Kept) -> String {
    let answers = match report::analyse(&run.folder) {
        Ok(analysis) => answers(&analysis),
        Err(failure) => format!("    cannot be read: {}\n", failure.words()),
    };
    format!("{}\n{answers}", run.line())
}

fn answers(analysis: &tuning::Analysis) -> String {
    let state = match analysis.is_complete() {
        true => "",
        false => "    not complete: `pragmark run --resume` goes on with it\n",
    };
    let answers = ::report::answers(analysis).into_iter();
    let answers = answers.map(|it| format!("    {}\n      {}\n", it.question, it.answer));
    std::iter::once(state.to_owned()).chain(answers).collect()
}

fn no_run(folders: &[PathBuf]) -> Failure {
    let names: Vec<String> = folders.iter().map(|it| it.display().to_string()).collect();
    Failure::unusable(format!("there is no run below {}", names.join(", ")))
        .hint("`pragmark run` and `pragmark measure` make some")
}
