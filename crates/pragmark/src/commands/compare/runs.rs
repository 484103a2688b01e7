//! Runs of the same experiments, compared with the first.

use std::path::PathBuf;

use lab::experiment::DesignKind;
use lab::level::Level;
use lab::runs::{RunComparison, RunDigest};

use super::write;
use crate::cli::CompareArgs;
use crate::commands::digests;
use crate::failure::{Exit, Failure};

/// Compares the runs in these folders and exports.
pub fn execute(args: &CompareArgs, paths: &[PathBuf]) -> Result<Exit, Failure> {
    if paths.len() < 2 {
        return Err(Failure::usage("there is nothing to compare the run with")
            .hint("name two runs: `pragmark compare BASE NEW`"));
    }
    let mut read = digests::read(paths).into_iter();
    let Some((_, base)) = read.next() else {
        return Ok(Exit::Success);
    };
    let base = base?;
    let (mut comparisons, mut settle, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
    for (name, new) in read {
        match new {
            Ok(new) => {
                comparisons.push(RunComparison::of(&base, &new));
                settle.extend(commands(&base, &new));
            }
            Err(failure) if paths.len() == 2 => return Err(failure),
            Err(failure) => unreadable.push((name, failure.words())),
        }
    }
    let document = ::report::runs(&comparisons, &settle, &unreadable);
    write(args.format, args.out.as_deref(), &document, &comparisons)?;
    Ok(match unreadable.is_empty() {
        true => Exit::Success,
        false => Exit::TrialsFailed,
    })
}

/// Commands that measure what differs between two runs in one, where a command line can say it.
fn commands(base: &RunDigest, new: &RunDigest) -> Vec<String> {
    let engines = [&base.plan.engine, &new.plan.engine];
    let unknown = base.trials_alone || new.trials_alone;
    if unknown || engines[0] == engines[1] {
        return Vec::new();
    }
    let experiments = base.plan.experiments.iter().map(|it| &it.experiment);
    let own = experiments.filter(|it| it.factors.is_empty() && it.design.kind != DesignKind::List);
    own.filter_map(|experiment| {
        let text = |name: &str| experiment.base.get(name).and_then(Level::as_text);
        let work = match (text("trace"), text("scripts"), text("database")) {
            (Some(trace), ..) => format!("--trace {}", quoted(trace)),
            (None, Some(scripts), Some(database)) => {
                format!("{} --db {}", quoted(scripts), quoted(database))
            }
            _ => return None,
        };
        let [one, other] = engines.map(|it| quoted(it));
        Some(format!(
            "pragmark measure {work} --engine {one} --engine {other}"
        ))
    })
    .collect()
}

/// A word of a shell's command line.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
