//! The file `pragmark-guard.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Budget, BudgetError};
use crate::level::Settings;

/// What is guarded, and what may change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Guard {
    /// Whether statements may read tables whole that were searched before.
    #[serde(default)]
    pub scans: Scans,
    /// Whether answers may change.
    #[serde(default)]
    pub answers: Answers,
    /// What the new settings may lose that those of the base do not.
    #[serde(default)]
    pub may_lose: MayLose,
    /// The work of each side.
    pub work: Work,
    /// The bound of each metric, relative to the base; a name may end in that of a statement (`vm_steps.find_user`).
    #[serde(default = "usual_budgets")]
    pub budgets: BTreeMap<String, Budget>,
}

/// What each side does. Paths are relative to its own directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Work {
    /// Files of SQL, as for `pragmark measure`.
    pub scripts: Option<String>,
    /// A trace of `pragmark record` instead.
    pub trace: Option<String>,
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

/// What the new settings may lose in a crash that those of the base do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MayLose {
    /// Nothing: their tier is as safe as that of the base.
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

/// The budgets where none are named: of what costs most, with a tolerance for versions of SQLite.
fn usual_budgets() -> BTreeMap<String, Budget> {
    let usual = [
        ("vm_steps", 1.10),
        ("syncs", 1.0),
        ("bytes_written", 1.10),
        ("pages_written", 1.10),
    ];
    let budget = |bound| Budget {
        comparator: super::Comparator::AtMost,
        bound,
    };
    let usual = usual.map(|(name, bound)| (name.to_owned(), budget(bound)));
    usual.into()
}

impl Guard {
    /// The content of a file.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Guard, String> {
        let guard: Guard = toml::from_str(text).map_err(|error| error.to_string())?;
        guard.check()?;
        Ok(guard)
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let Work { scripts, trace, .. } = &self.work;
        if scripts.is_some() == trace.is_some() {
            return Err("[work] needs either `scripts` or `trace`".to_owned());
        }
        if self.work.executions == 0 {
            return Err("`executions` must be at least 1".to_owned());
        }
        let checked = self.budgets.iter().map(|(name, budget)| budget.check(name));
        let checked: Result<Vec<()>, BudgetError> = checked.collect();
        checked.map(drop).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_enough_and_the_rest_is_strict() {
        let guard = Guard::parse("work = { scripts = \"q.sql\" }").unwrap();
        assert_eq!(
            (guard.scans, guard.answers),
            (Scans::Refused, Answers::Same)
        );
        assert_eq!(guard.may_lose, MayLose::Nothing);
        assert_eq!(guard.work.executions, 10);
        assert!(guard.budgets["vm_steps"].allows(1.1));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, words) in [
            ("", "work"),
            ("work = {}", "`scripts` or `trace`"),
            (
                "work = { scripts = \"a\", trace = \"b\" }",
                "`scripts` or `trace`",
            ),
            ("work = { script = \"a\" }", "script"),
            ("may-lose = \"all\"\nwork = { scripts = \"a\" }", "all"),
            (
                "work = { scripts = \"a\" }\nbudgets = { p99_us = \"1.1\" }",
                "<= 1.10",
            ),
            (
                "work = { scripts = \"a\" }\nbudgets = { p9 = \"<= 1.1\" }",
                "no metric `p9`",
            ),
            ("work = { scripts = \"a\", executions = 0 }", "executions"),
        ] {
            let problem = Guard::parse(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }
}
