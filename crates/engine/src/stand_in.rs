//! Built-in collations and SQL expressions in place of collations and functions that only an application has.

use std::cmp::Ordering;
use std::fmt::{Display, Formatter};

use crate::error::{EngineError, Result};

/// Compares two texts.
pub(crate) type Compare = fn(&[u8], &[u8]) -> Ordering;

/// The built-in collations (<https://sqlite.org/datatype3.html#collating_sequences>).
static COLLATIONS: [(&str, Compare); 3] = [
    ("binary", <[u8]>::cmp),
    ("nocase", |one, other| {
        one.iter().map(u8::to_ascii_lowercase).cmp(other.iter().map(u8::to_ascii_lowercase))
    }),
    ("rtrim", |one, other| without_spaces(one).cmp(without_spaces(other))),
];

fn without_spaces(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1)]
}

/// A stand-in for a collation or a function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StandIn {
    /// The name of the collation or function.
    pub name: String,
    /// A built-in collation, or an SQL expression over the arguments `?1`, `?2` and so on.
    pub by: String,
}

impl StandIn {
    /// Returns the stand-ins of a text with a line `NAME=COLLATION` or `NAME=EXPRESSION` for each.
    ///
    /// # Errors
    /// A line without a name or an equals sign.
    pub fn parse(text: &str) -> Result<Vec<StandIn>> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let one = |line: &str| match line.split_once('=').map(|(name, by)| (name.trim(), by.trim()))
        {
            Some((name, by)) if !name.is_empty() && !by.is_empty() => {
                Ok(StandIn { name: name.to_owned(), by: by.to_owned() })
            }
            _ => Err(EngineError::Usage(format!(
                "the stand-in `{line}` is neither NAME=COLLATION, such as unicase=nocase, nor NAME=EXPRESSION, such as slugify=lower(?1)"
            ))),
        };
        lines.map(one).collect()
    }

    /// Returns whether it stands in for a collation.
    pub fn is_collation(&self) -> bool {
        self.compare().is_some()
    }

    pub(crate) fn compare(&self) -> Option<&'static Compare> {
        let mut known = COLLATIONS.iter();
        known.find(|(name, _)| self.by.eq_ignore_ascii_case(name)).map(|(_, compare)| compare)
    }
}

impl Display for StandIn {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.by)
    }
}
