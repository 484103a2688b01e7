//! Runs of the same experiments, compared with the first.

use std::path::PathBuf;

use lab::analysis::Analysis;
use lab::experiment::DesignKind;
use lab::level::Level;
use lab::runs::RunComparison;

use super::write;
use crate::cli::CompareArgs;
use crate::commands::report;
use crate::failure::{Exit, Failure};

/// Compares the runs in these folders.
pub fn execute(args: &CompareArgs, folders: &[PathBuf]) -> Result<Exit, Failure> {
    let Some((first, others)) = folders
        .split_first()
        .filter(|(_, others)| !others.is_empty())
    else {
        return Err(Failure::usage("there is nothing to compare the run with")
            .hint("name two runs: `pragmark compare BASE NEW`"));
    };
    let base = report::analyse(first)?;
    let (mut comparisons, mut settle) = (Vec::new(), Vec::new());
    for folder in others {
        let new = report::analyse(folder)?;
        comparisons.push(RunComparison::of(&base, &new));
        settle.extend(commands(&base, &new));
    }
    write(
        args.format,
        args.out.as_deref(),
        &::report::runs(&comparisons, &settle),
        &comparisons,
    )
}

/// Commands that measure what differs between two runs in one, where a command line can say it.
fn commands(base: &Analysis, new: &Analysis) -> Vec<String> {
    let engines = [&base.plan.engine, &new.plan.engine];
    if engines[0] == engines[1] {
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
