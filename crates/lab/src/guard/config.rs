//! The file `pragmark-guard.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bounds::{Budget, BudgetError, Comparator, Limit};
use crate::level::Settings;
use crate::metric;

/// Guarded work and allowed changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Guard {
    /// Whether statements may read tables whole that were searched before.
    #[serde(default)]
    pub scans: Scans,
    /// Whether answers may change.
    #[serde(default)]
    pub answers: Answers,
    /// Additional loss that the new settings may have in a crash.
    #[serde(default)]
    pub may_lose: MayLose,
    /// The work of each side.
    pub work: Work,
    /// The bound of each metric, relative to the base; a name may end in the name of a statement (`vm_steps.find_user`).
    #[serde(default = "usual_budgets")]
    pub budgets: BTreeMap<String, Budget>,
    /// The bound of each figure of the new side by itself, such as `<= 20 ms`.
    #[serde(default)]
    pub limits: BTreeMap<String, Limit>,
}

/// Work of each side. Paths are relative to its own directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Work {
    /// Files of SQL, as for `pragmark measure`.
    pub scripts: Option<String>,
    /// A trace of `pragmark record` instead.
    pub trace: Option<String>,
    /// An experiment file instead, whose baseline is guarded.
    pub experiment: Option<String>,
    /// A directory of drivers for it.
    pub drivers: Option<String>,
    /// A command of the shell that builds the side, executed in its directory. It makes the database, if there is
    /// one to make, in the file that `PRAGMARK_DATABASE` names.
    pub build: Option<String>,
    /// A database file, unless the build makes one.
    pub database: Option<String>,
    /// A file of SQL that is executed on each copy of the database before the work.
    pub setup: Option<String>,
    /// A file with the PRAGMA statements that the application executes on each connection.
    pub pragmas: Option<String>,
    /// Executions of each query or script for counters.
    #[serde(default = "usual_executions")]
    pub executions: u32,
    /// Further settings, such as `cache_size` or `clients`.
    #[serde(default)]
    pub settings: Settings,
}

/// Whether statements may read tables whole that were searched before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scans {
    /// No.
    #[default]
    Refused,
    /// Yes.
    Allowed,
}

/// Whether answers may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answers {
    /// No.
    #[default]
    Same,
    /// Yes.
    Any,
}

/// Additional loss that the new settings may have in a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MayLose {
    /// None: their tier is as safe as the base tier.
    #[default]
    Nothing,
    /// Recent transactions in a power cut.
    Recent,
    /// Anything: safety is not checked.
    Anything,
}

fn usual_executions() -> u32 {
    10
}

/// Returns the budgets for a file that names none: of the greatest costs, with a tolerance for versions of SQLite.
fn usual_budgets() -> BTreeMap<String, Budget> {
    let usual =
        [("vm_steps", 1.10), ("syncs", 1.0), ("bytes_written", 1.10), ("pages_written", 1.10)];
    let budget = |bound| Budget { comparator: Comparator::AtMost, bound };
    usual.map(|(name, bound)| (name.to_owned(), budget(bound))).into()
}

/// Returns the full name of a metric for a short one, and the unit that it names: `p99` is `p99_us`, and `p99_ms.find` is
/// `p99_us.find` in milliseconds.
fn full_name(name: &str) -> (String, Option<&'static str>) {
    let (metric, statement) = name.split_at(name.find('.').unwrap_or(name.len()));
    let in_us = |stem: &str| {
        let full = format!("{stem}_us");
        metric::find(&full).map(|_| format!("{full}{statement}"))
    };
    if metric::find(metric).is_some() {
        return (name.to_owned(), None);
    }
    if metric == "throughput" {
        return (format!("txns_per_s{statement}"), None);
    }
    for unit in ["ms", "s"] {
        let stem = metric.strip_suffix(&format!("_{unit}"));
        if let Some(full) = stem.and_then(in_us) {
            return (full, Some(unit));
        }
    }
    (in_us(metric).unwrap_or_else(|| name.to_owned()), None)
}

/// Returns bounds by the full names of their metrics.
fn renamed<T>(
    bounds: BTreeMap<String, T>,
    with_unit: impl Fn(T, Option<&str>) -> T,
) -> Result<BTreeMap<String, T>, BudgetError> {
    let mut all = BTreeMap::new();
    for (name, bound) in bounds {
        let (full, unit) = full_name(&name);
        if all.insert(full.clone(), with_unit(bound, unit)).is_some() {
            return Err(BudgetError::Twice(full));
        }
    }
    Ok(all)
}

impl Guard {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Guard, String> {
        let guard = Guard::read(text)?;
        guard.check()?;
        Ok(guard)
    }

    /// Reads a file without checking its metrics: drivers may declare some that are not known yet.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(text: &str) -> Result<Guard, String> {
        let mut guard: Guard = toml::from_str(text).map_err(|error| error.to_string())?;
        let twice = |error: BudgetError| error.to_string();
        guard.budgets = renamed(guard.budgets, |budget, _| budget).map_err(twice)?;
        let with_unit = |limit: Limit, unit: Option<&str>| match unit {
            Some(unit) => limit.in_unit(unit),
            None => limit,
        };
        guard.limits = renamed(guard.limits, with_unit).map_err(twice)?;
        Ok(guard)
    }

    /// Returns whether the file names no budgets.
    pub(super) fn has_usual_budgets(&self) -> bool {
        self.budgets == usual_budgets()
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.work.check()?;
        let budgets = self.budgets.iter().map(|(name, budget)| budget.check(name));
        let limits = self.limits.iter().map(|(name, limit)| limit.of_metric(name).map(drop));
        let checked: Result<Vec<()>, BudgetError> = budgets.chain(limits).collect();
        checked.map(drop).map_err(|error| error.to_string())
    }
}

impl Work {
    /// Reads the work in a file and ignores the rest: nothing else of the base counts, so a new side may repair the rest.
    ///
    /// # Errors
    /// What is wrong with its `[work]`, and where.
    pub fn parse(text: &str) -> Result<Work, String> {
        #[derive(Deserialize)]
        struct File {
            work: Work,
        }
        let File { work } = toml::from_str(text).map_err(|error| error.to_string())?;
        work.check()?;
        Ok(work)
    }

    fn check(&self) -> Result<(), String> {
        let work = [&self.scripts, &self.trace, &self.experiment];
        if work.iter().filter(|work| work.is_some()).count() != 1 {
            return Err("[work] needs either `scripts`, `trace` or `experiment`".to_owned());
        }
        if self.drivers.is_some() && self.experiment.is_none() {
            return Err("`drivers` are those of an `experiment`".to_owned());
        }
        match self.executions {
            0 => Err("`executions` must be at least 1".to_owned()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_enough_and_the_rest_is_strict() {
        let guard = Guard::parse("work = { scripts = \"q.sql\" }").unwrap();
        assert_eq!((guard.scans, guard.answers), (Scans::Refused, Answers::Same));
        assert_eq!(guard.may_lose, MayLose::Nothing);
        assert_eq!(guard.work.executions, 10);
        assert!(guard.budgets["vm_steps"].allows(1.1));
    }

    #[test]
    fn of_the_base_only_the_work_is_read() {
        let rest = "may-lose = \"all\"\nbudgets = { p9 = \"1.1\" }\nfuture = 1\n";
        let base = Work::parse(&format!("{rest}work = {{ scripts = \"a.sql\" }}")).unwrap();
        assert_eq!(base.scripts.as_deref(), Some("a.sql"));
        for (work, words) in [("{ script = \"a\" }", "script"), ("{}", "`scripts`")] {
            let problem = Work::parse(&format!("{rest}work = {work}")).unwrap_err();
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn short_names_stand_for_metrics() {
        let guard = Guard::parse(
            "work = { scripts = \"a\" }\nbudgets = { p99 = \"<= 1.1\", throughput = \">= 0.9\" }\nlimits = { \"p99_ms.find\" = \"<= 20\", p50_us = \"<= 1 ms\" }",
        )
        .unwrap();
        let names: Vec<&str> = guard.budgets.keys().map(String::as_str).collect();
        assert_eq!(names, ["p99_us", "txns_per_s"]);
        assert_eq!(guard.limits["p99_us.find"].to_string(), "<= 20 ms");
        assert_eq!(guard.limits["p50_us"].to_string(), "<= 1 ms");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, words) in [
            ("", "work"),
            ("work = {}", "`scripts`, `trace` or `experiment`"),
            ("work = { scripts = \"a\", trace = \"b\" }", "`scripts`, `trace` or `experiment`"),
            ("work = { scripts = \"a\", drivers = \"b\" }", "`drivers`"),
            (
                "work = { scripts = \"a\" }\nbudgets = { p99 = \"<= 1\", p99_us = \"<= 1\" }",
                "named twice",
            ),
            ("work = { scripts = \"a\" }\nlimits = { syncs = \"<= 4 ms\" }", "not measured in ms"),
            ("work = { script = \"a\" }", "script"),
            ("may-lose = \"all\"\nwork = { scripts = \"a\" }", "all"),
            ("work = { scripts = \"a\" }\nbudgets = { p99_us = \"1.1\" }", "<= 1.10"),
            ("work = { scripts = \"a\" }\nbudgets = { p9 = \"<= 1.1\" }", "no metric `p9`"),
            ("work = { scripts = \"a\", executions = 0 }", "executions"),
        ] {
            let problem = Guard::parse(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }
}
