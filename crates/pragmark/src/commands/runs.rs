//! `pragmark runs`: lists runs with question, answer, age and size, and removes old ones.

use std::path::PathBuf;
use std::time::Duration;

use app::report::analyse;
use app::runs::{Kept, list as find, no_run};
use app::{Error, Interface, Result};
use lab::metric::Unit;
use tuning::Analysis;

use crate::exit::Exit;
use crate::output;
use crate::terminal::Terminal;

/// Old runs to remove.
pub struct Prune {
    /// The number of latest runs to keep.
    pub keep: usize,
    /// The age from which runs are removed, in seconds.
    pub older_than_s: Option<f64>,
    /// Whether they are only listed.
    pub dry_run: bool,
    /// Whether the user has confirmed it.
    pub confirmed: bool,
    /// The folders below which they are.
    pub folders: Vec<PathBuf>,
}

/// Lists the runs.
pub fn list(folders: &[PathBuf]) -> Result<Exit> {
    let found = find(folders)?;
    if found.runs.is_empty() && found.unreadable.is_empty() {
        return Err(no_run(folders));
    }
    let runs = found.runs.iter().map(entry);
    let unreadable = found
        .unreadable
        .iter()
        .map(|(folder, why)| format!("{}  cannot be read: {why}\n", folder.display()));
    output::display(&runs.chain(unreadable).collect::<String>())
}

/// Returns a run in the list: a line for the run, then a question and an answer for each experiment.
fn entry(run: &Kept) -> String {
    let answers = match analyse(&run.folder) {
        Ok(analysis) => answers(&analysis),
        Err(error) => format!("    cannot be read: {}\n", error.words()),
    };
    format!("{}\n{answers}", line(run))
}

fn answers(analysis: &Analysis) -> String {
    let mut text = String::new();
    if !analysis.is_complete() {
        text += "    not complete: `pragmark run --resume` goes on with it\n";
    }
    for answer in report::answers(analysis) {
        text += &format!("    {}\n      {}\n", answer.question, answer.answer);
    }
    text
}

/// Lists the runs to remove, asks, and removes them.
pub fn prune(prune: &Prune) -> Result<Exit> {
    let found = find(&prune.folders)?;
    for (folder, why) in &found.unreadable {
        tell!("kept {}: it cannot be read ({why})", folder.display());
    }
    // The latest runs come first.
    let runs = found.runs.into_iter().skip(prune.keep);
    let is_old = |run: &Kept| prune.older_than_s.is_none_or(|limit| run.age.as_secs_f64() > limit);
    let old: Vec<Kept> = runs.filter(is_old).collect();
    if old.is_empty() {
        return output::display("there is nothing to remove\n");
    }
    let lines: String = old.iter().map(|run| line(run) + "\n").collect();
    output::display(&lines)?;
    let what = counted(&old);
    if prune.dry_run {
        return output::display(&format!("these would be removed: {what}\n"));
    }
    let terminal = Terminal::lines();
    // From now on, Ctrl-C counts as no.
    terminal.interrupted()?;
    if !prune.confirmed && !terminal.can_ask() {
        return Err(Error::mistake("nobody can be asked whether to remove these runs")
            .hint("add --yes to remove them, or --dry-run to list them"));
    }
    if prune.confirmed || terminal.confirm(&format!("Remove {what}?"))? {
        remove_all(old)
    } else {
        output::display("nothing was removed\n")
    }
}

/// Removes the runs. One that cannot be removed is named and does not stop the others.
fn remove_all(runs: Vec<Kept>) -> Result<Exit> {
    let (mut removed, mut exit) = (Vec::new(), Exit::Success);
    for run in runs {
        let folder = run.folder.display();
        match run.remove() {
            Ok(None) => removed.push(run),
            Ok(Some(name)) => {
                tell!("kept {folder}: it contains {name}, which is not part of a run");
            }
            Err(error) => {
                exit = Exit::Unusable;
                tell!("kept {folder}: {}", error.message);
            }
        }
    }
    output::display(&format!("removed {}\n", counted(&removed)))?;
    Ok(exit)
}

/// Returns the number and the size of runs.
fn counted(runs: &[Kept]) -> String {
    let bytes = runs.iter().map(|run| run.bytes).sum();
    let noun = if runs.len() == 1 { "run" } else { "runs" };
    format!("{} {noun}, {}", runs.len(), size_words(bytes))
}

/// Returns folder, age and size of a run in a line.
fn line(run: &Kept) -> String {
    format!("{}  {}  {}", run.folder.display(), age_words(run.age), size_words(run.bytes))
}

/// Returns a size as a person reads it.
fn size_words(bytes: u64) -> String {
    report::figures::with_unit(bytes as f64, Unit::Bytes)
}

/// Returns an age as a person would say it.
fn age_words(age: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let ago = |count: u64, unit: &str| match count {
        1 => format!("1 {unit} ago"),
        many => format!("{many} {unit}s ago"),
    };
    match age.as_secs() {
        seconds if seconds < MINUTE => "less than a minute ago".to_owned(),
        seconds if seconds < HOUR => ago(seconds / MINUTE, "minute"),
        seconds if seconds < DAY => ago(seconds / HOUR, "hour"),
        seconds => ago(seconds / DAY, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_given_in_its_largest_whole_unit() {
        let words = |seconds| age_words(Duration::from_secs(seconds));
        assert_eq!(words(59), "less than a minute ago");
        assert_eq!(words(60), "1 minute ago");
        assert_eq!(words(3_599), "59 minutes ago");
        assert_eq!(words(7_200), "2 hours ago");
        assert_eq!(words(90_000), "1 day ago");
        assert_eq!(words(40 * 86_400), "40 days ago");
    }
}
