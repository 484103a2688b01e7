//! Runs of the same experiments, compared with the first.

use std::path::PathBuf;

use lab::comparison::{RunComparison, RunDigest};
use lab::experiment::DesignKind;
use lab::level::level_of;
use lab::record::PlannedExperiment;

use crate::error::{Error, Result};
use crate::runs::read;
use crate::words::shell_word;

/// Runs, each compared with the first.
pub struct ComparedRuns {
    /// The comparisons.
    pub comparisons: Vec<RunComparison>,
    /// Commands that measure in one run what differs.
    pub settle: Vec<String>,
    /// Runs that cannot be read, with the reason.
    pub unreadable: Vec<(String, String)>,
}

/// Compares the runs in these folders and exports with the first one.
///
/// # Errors
/// There is only one run, the first cannot be read, or there are two and the second cannot be read.
pub fn compare_runs(paths: &[PathBuf]) -> Result<ComparedRuns> {
    let read = read(paths);
    let is_pair = read.len() == 2;
    if read.len() < 2 {
        return Err(Error::mistake("there is nothing to compare the run with")
            .hint("name two runs: `pragmark compare BASE NEW`"));
    }
    let mut compared =
        ComparedRuns { comparisons: Vec::new(), settle: Vec::new(), unreadable: Vec::new() };
    let mut base: Option<RunDigest> = None;
    for (name, run) in read {
        match (run, &base) {
            (run, None) => base = Some(run?),
            (Ok(new), Some(base)) => {
                compared.comparisons.push(RunComparison::of(base, &new));
                compared.settle.extend(commands(base, &new));
            }
            (Err(error), Some(_)) if is_pair => return Err(error),
            (Err(error), Some(_)) => compared.unreadable.push((name, error.words())),
        }
    }
    Ok(compared)
}

/// Returns commands that measure what differs between two runs in one run: the same work with both engines.
fn commands(base: &RunDigest, new: &RunDigest) -> Vec<String> {
    let engines = [&base.plan.engine, &new.plan.engine];
    let unknown = base.trials_alone || new.trials_alone;
    if unknown || engines[0] == engines[1] {
        return Vec::new();
    }
    let planned = base.plan.experiments.iter();
    let same = planned.filter(|planned| {
        new.plan.experiments.iter().any(|other| {
            other.key == planned.key && other.experiment.base == planned.experiment.base
        })
    });
    same.filter_map(|planned| command(planned, engines)).collect()
}

/// Settings that `measure` gives every experiment.
const USUAL: [(&str, &str); 1] = [("unit", "statement")];

/// Returns the command for an experiment of `measure`, if its options can say everything that held.
fn command(planned: &PlannedExperiment, engines: [&String; 2]) -> Option<String> {
    let experiment = &planned.experiment;
    let is_own = experiment.factors.is_empty() && experiment.design.kind != DesignKind::List;
    let mut settings = experiment.base.clone();
    let mut take = |name: &str| settings.remove(name).map(|level| level.to_string());
    let (trace, scripts, sql) = (take("trace"), take("scripts"), take("sql"));
    let mut words = vec!["pragmark measure".to_owned()];
    let work = match (trace, scripts, sql) {
        (Some(trace), None, None) => format!("--trace {}", shell_word(&trace)),
        // Several files are variants there.
        (None, Some(script), None) if !script.contains([',', '@']) => {
            shell_word(&script).into_owned()
        }
        (None, None, Some(sql)) => format!("-c {}", shell_word(&sql)),
        _ => return None,
    };
    words.push(work);
    words.extend(take("database").map(|path| format!("--db {}", shell_word(&path))));
    for (name, level) in &settings {
        let text = level.to_string();
        if level_of(&text) != *level {
            return None;
        }
        let is_usual = USUAL.contains(&(name.as_str(), text.as_str()));
        words.extend(
            (!is_usual).then(|| format!("--set {}", shell_word(&format!("{name}={text}")))),
        );
    }
    words.push(format!("--dir {}", shell_word(planned.directory.to_str()?)));
    words.extend(engines.map(|engine| format!("--engine {}", shell_word(engine))));
    is_own.then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::level::Level;
    use lab::plan::ad_hoc;
    use lab::record::{EnvironmentFile, RunPlan};
    use tuning::Collector;

    /// A run of `measure` with these settings on an engine.
    fn run(engine: &str, base: &[(&str, Level)]) -> RunDigest {
        let mut experiment = ad_hoc("measure", "?", "sql", "txns_per_s");
        experiment.design.kind = DesignKind::OneAtATime;
        let base = base.iter().cloned();
        experiment.base = base.map(|(name, level)| (name.to_owned(), level)).collect();
        let planned = PlannedExperiment {
            key: "measure".to_owned(),
            experiment,
            directory: "/disk".into(),
            variants: vec![lab::design::Variant::default()],
            ..PlannedExperiment::default()
        };
        let plan =
            RunPlan { engine: engine.to_owned(), experiments: vec![planned], ..RunPlan::default() };
        RunDigest::from(Collector::new(plan, EnvironmentFile::default()).finish())
    }

    fn said(base: &[(&str, Level)]) -> Vec<String> {
        commands(&run("3.46.0", base), &run("3.54.1", base))
    }

    #[test]
    fn the_command_measures_the_same_work() {
        let all = [
            ("clients", 4.into()),
            ("database", "a b.db".into()),
            ("scripts", "q.sql".into()),
            ("setup", "s.sql".into()),
            ("synchronous", "off".into()),
            ("unit", "statement".into()),
        ];
        assert_eq!(
            said(&all),
            [
                "pragmark measure q.sql --db 'a b.db' --set 'clients=4' --set 'setup=s.sql' --set 'synchronous=off' --dir /disk --engine 3.46.0 --engine 3.54.1"
            ]
        );
        let trace = [("mode", "free".into()), ("trace", "a.trace".into())];
        assert!(said(&trace)[0].contains("--trace a.trace --set 'mode=free'"));
        let sql = [("sql", "SELECT 'x'".into())];
        assert!(said(&sql)[0].contains(r#"-c "SELECT 'x'""#));
    }

    #[test]
    fn what_no_command_line_says_is_not_printed() {
        assert!(said(&[("scripts", "a.sql@2,b.sql".into())]).is_empty());
        assert!(said(&[("rows", 5.into())]).is_empty());
        let number_as_text = [("scripts", "a.sql".into()), ("encoding", Level::Text("16".into()))];
        assert!(said(&number_as_text).is_empty());
        let other: [(&str, Level); 2] = [("scripts", "a.sql".into()), ("clients", 2.into())];
        assert!(commands(&run("a", &other), &run("b", &other[..1])).is_empty());
        assert!(commands(&run("a", &other), &run("a", &other)).is_empty());
        assert_eq!(said(&other[..1]).len(), 1);
    }
}
