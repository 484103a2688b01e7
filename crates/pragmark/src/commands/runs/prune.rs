//! `pragmark runs prune`: removes old runs, and nothing else.

use std::sync::atomic::AtomicBool;

use runner::{Removal, RunFolder};

use super::kept::{self, Kept, size_words};
use crate::cli::PruneArgs;
use crate::commands::{ask, output, report, tune};
use crate::failure::{Exit, Failure};
use crate::interrupt;

/// What commands write into the folder of a run besides its record.
const WRITTEN: [&str; 2] = [report::PAGE, tune::EXPERIMENT];

/// Lists what is to be removed, asks, and removes it.
pub fn execute(args: &PruneArgs) -> Result<Exit, Failure> {
    let (runs, unreadable) = kept::below(&args.folders)?;
    for (folder, why) in &unreadable {
        tell!("kept {}: it cannot be read ({why})", folder.display());
    }
    let old = to_remove(runs, args);
    if old.is_empty() {
        return output::display("there is nothing to remove\n");
    }
    let lines: String = old.iter().map(|run| run.line() + "\n").collect();
    let bytes: u64 = old.iter().map(|run| run.bytes).sum();
    output::display(&lines)?;
    let what = format!("{}, {}", counted(old.len()), size_words(bytes));
    if args.dry_run {
        return output::display(&format!("these would be removed: {what}\n"));
    }
    let interrupted = interrupt::flag()?;
    match is_wanted(args, &what, &interrupted)? {
        true => remove_all(&old),
        false => output::display("nothing was removed\n"),
    }
}

/// Those after the ones to keep that are old enough; the latest come first.
fn to_remove(runs: Vec<Kept>, args: &PruneArgs) -> Vec<Kept> {
    let is_old = |run: &Kept| {
        let limit = args.older_than;
        limit.is_none_or(|limit| run.age.as_secs_f64() > limit)
    };
    let runs = runs.into_iter().skip(args.keep.unwrap_or(0));
    runs.filter(is_old).collect()
}

fn is_wanted(args: &PruneArgs, what: &str, interrupted: &AtomicBool) -> Result<bool, Failure> {
    if args.yes {
        return Ok(true);
    }
    match ask::can_ask() {
        true => ask::confirmed(&format!("Remove {what}?"), interrupted),
        false => Err(Failure::usage("nobody can be asked whether to remove these runs")
            .hint("add --yes to remove them, or --dry-run to list them")),
    }
}

/// Removes the runs; one that cannot be removed is named and does not stop the others.
fn remove_all(runs: &[Kept]) -> Result<Exit, Failure> {
    let (mut removed, mut bytes, mut failed) = (0, 0, false);
    for run in runs {
        let folder = run.folder.display();
        match RunFolder::open(&run.folder).and_then(|it| it.remove(&WRITTEN)) {
            Ok(Removal::Removed) => {
                removed += 1;
                bytes += run.bytes;
            }
            Ok(Removal::HasOther(name)) => {
                tell!("kept {folder}: it contains {name}, which is not part of a run");
            }
            Err(error) => {
                failed = true;
                tell!("kept {folder}: {error}");
            }
        }
    }
    let summary = format!("removed {}, {}\n", counted(removed), size_words(bytes));
    output::display(&summary)?;
    Ok(match failed {
        true => Exit::Unusable,
        false => Exit::Success,
    })
}

fn counted(runs: usize) -> String {
    match runs {
        1 => "1 run".to_owned(),
        many => format!("{many} runs"),
    }
}
