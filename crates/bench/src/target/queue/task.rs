//! A task, and its form in a file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of a task: 128 random bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TaskId(pub(crate) u128);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl TaskId {
    /// Parses an id.
    pub(crate) fn parse(text: &str) -> Option<TaskId> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = u128::from_str_radix(text, 16).ok().filter(|_| digits)?;
        Some(TaskId(id))
    }
}

impl Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<TaskId, D::Error> {
        let text = String::deserialize(deserializer)?;
        TaskId::parse(&text).ok_or_else(|| serde::de::Error::custom("not the id of a task"))
    }
}

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// It waits.
    Pending,
    /// Someone works on it.
    Processing,
}

impl Status {
    /// Returns the status as it is stored.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Processing => "processing",
        }
    }

    /// Parses a stored status.
    pub(crate) fn parse(name: &str) -> Option<Status> {
        [Status::Pending, Status::Processing].into_iter().find(|status| status.name() == name)
    }
}

/// A task in the application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) id: TaskId,
    pub(crate) status: Status,
    pub(crate) cmd: String,
    /// The arguments, as JSON.
    pub(crate) args: String,
    /// When it is due, in any unit.
    pub(crate) scheduled_at: i64,
    pub(crate) output: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_reads_back_from_its_digits(id: u128) {
            prop_assert_eq!(TaskId::parse(&TaskId(id).to_string()), Some(TaskId(id)));
        }
    }

    #[test]
    fn what_is_no_id_or_status_is_refused() {
        let long = "0".repeat(33);
        let signed = format!("+{}", "0".repeat(31));
        for text in ["", "12", long.as_str(), signed.as_str(), &"g".repeat(32)] {
            assert_eq!(TaskId::parse(text), None, "{text}");
        }
        assert_eq!(Status::parse("processing"), Some(Status::Processing));
        assert_eq!(Status::parse("Pending"), None);
    }
}
