//! One thing that is checked, and the gate that all of them make.

use serde::Serialize;

use crate::stats::Interval;

/// One thing that is checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What: a metric, `plan`, `answer` or `safety`.
    pub subject: String,
    /// Of which statement; none for the whole work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
    /// What is allowed.
    pub allowed: String,
    /// The new figure divided by that of the base, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The figure of the new side, where it is limited by itself; in the unit of the metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figure: Option<f64>,
    /// The interval of the ratio or of the figure, where it was measured in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The smallest difference that the blocks would have shown, as a fraction; of what is undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    /// Whether further blocks would have followed, so that a longer time would decide more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// The ratio or the figure of each block, where it was measured in time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<f64>,
    /// What came of it.
    pub status: Status,
    /// What happened, in words.
    pub words: String,
}

impl Check {
    /// The name under which a budget names what was checked.
    pub fn name(&self) -> String {
        match &self.statement {
            Some(statement) => format!("{}.{statement}", self.subject),
            None => self.subject.clone(),
        }
    }

    /// One of this metric, which may end in the name of a statement, or of another subject, without any figure.
    pub(super) fn of(name: &str, allowed: &str, status: Status, words: String) -> Check {
        let (subject, statement) = match name.split_once('.') {
            Some((subject, statement)) => (subject, Some(statement.to_owned())),
            None => (name, None),
        };
        Check {
            subject: subject.to_owned(),
            statement,
            allowed: allowed.to_owned(),
            ratio: None,
            figure: None,
            interval: None,
            detectable: None,
            open: false,
            blocks: Vec::new(),
            status,
            words,
        }
    }
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is within what is allowed.
    Passed,
    /// It could not be decided.
    Undecided,
    /// It is not allowed.
    Failed,
}

/// All checks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gate {
    /// The checks; those that failed first.
    pub checks: Vec<Check>,
}

impl Gate {
    /// The gate of these checks.
    pub fn of(mut checks: Vec<Check>) -> Gate {
        checks.sort_by_key(|check| std::cmp::Reverse(check.status));
        Gate { checks }
    }

    /// The gravest status; passed without any check.
    pub fn status(&self) -> Status {
        let all = self.checks.iter().map(|check| check.status);
        all.max().unwrap_or(Status::Passed)
    }
}
