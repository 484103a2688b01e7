//! Problems of an experiment file: their lines, and the nearest valid names.

use std::collections::BTreeSet;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One thing wrong with an experiment file or a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}{}", .nearest.iter().map(|name| format!("; did you mean `{name}`?")).collect::<String>())]
pub struct Problem {
    /// The file, as the user named it.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
    /// The problem.
    pub what: String,
    /// The nearest valid name, where a name was wrong and one is like it.
    pub nearest: Option<String>,
}

/// Everything wrong with an experiment file, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Problems(pub Vec<Problem>);

/// Collects problems by their place in one document.
pub(super) struct Findings<'a> {
    file: &'a str,
    text: &'a str,
    document: &'a Spanned<DeTable<'a>>,
    pub(super) problems: Vec<Problem>,
    /// The names that were found to be wrong.
    named: BTreeSet<String>,
}

/// The most problems that are pointed out at once.
const MOST_PROBLEMS: usize = 100;

impl<'a> Findings<'a> {
    /// Returns no findings yet for the text of a file.
    pub(super) fn new(
        file: &'a str,
        text: &'a str,
        document: &'a Spanned<DeTable<'a>>,
    ) -> Findings<'a> {
        Findings { file, text, document, problems: Vec::new(), named: BTreeSet::new() }
    }

    /// Returns how many problems were found so far.
    pub(super) fn count(&self) -> usize {
        self.problems.len()
    }

    /// Returns whether this name is found to be wrong for the first time: one misspelt name is one problem, however
    /// often it is used.
    pub(super) fn is_first(&mut self, name: &str) -> bool {
        self.named.insert(name.to_owned())
    }

    /// Notes a problem at `path`.
    pub(super) fn at(&mut self, path: &[Step], what: impl Into<String>) {
        self.note(path, what.into(), None);
    }

    /// Notes an unknown name at `path` with the candidate nearest to it.
    pub(super) fn unknown<'n>(
        &mut self,
        path: &[Step],
        what: impl Into<String>,
        name: &str,
        candidates: impl IntoIterator<Item = &'n str>,
    ) {
        let nearest = nearest(name, candidates).map(str::to_owned);
        self.note(path, what.into(), nearest);
    }

    /// Notes an unknown key: one of an earlier vocabulary with its new name, another with the nearest key.
    pub(super) fn unknown_key(&mut self, path: &[Step], key: &str, known: &[String]) {
        let renamed = RENAMED.iter().find(|(old, _)| *old == key);
        let renamed = renamed.filter(|(_, new)| known.iter().any(|name| name == new));
        let what = format!("unknown key `{key}`");
        match renamed {
            Some((_, new)) => self.note(path, what, Some((*new).to_owned())),
            None => self.unknown(path, what, key, known.iter().map(String::as_str)),
        }
    }

    fn note(&mut self, path: &[Step], what: String, nearest: Option<String>) {
        if self.problems.len() >= MOST_PROBLEMS {
            return;
        }
        let line = line_of(self.text, offset_of(self.document, path));
        self.problems.push(Problem { file: self.file.to_owned(), line, what, nearest });
    }
}

/// Keys that experiment files once had, with the names they have now.
const RENAMED: [(&str, &str); 5] = [
    ("arm", "variant"),
    ("arms", "variants"),
    ("beside", "secondary_metrics"),
    ("limits", "upper_bounds"),
    ("reference", "baseline"),
];

/// A step into a TOML document: a key of a table or an index of an array.
#[derive(Clone, Debug)]
pub enum Step {
    /// A key.
    Key(String),
    /// An index.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Step::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// Returns the line, counted from one, on which byte `offset` of `text` stands.
pub fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Returns the byte offset of the deepest part of `path` that the document has: a key's own place where
/// the path ends in a key, an array element's otherwise.
pub fn offset_of(document: &Spanned<DeTable<'_>>, path: &[Step]) -> usize {
    let mut offset = document.span().start;
    let mut table = Some(document.get_ref());
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    for step in path {
        let found = match step {
            Step::Key(key) => table.and_then(|table| {
                table
                    .iter()
                    .find(|(name, _)| name.get_ref().as_ref() == key)
                    .map(|(name, value)| (name.span().start, value))
            }),
            Step::Index(index) => value
                .and_then(|value| value.get_ref().as_array())
                .and_then(|array| array.get(*index))
                .map(|value| (value.span().start, value)),
        };
        let Some((start, inner)) = found else { break };
        offset = start;
        value = Some(inner);
        table = inner.get_ref().as_table();
    }
    offset
}

/// Returns the candidate most like `name`, when one is like enough to be what was meant.
///
/// Likeness is Jaro–Winkler, which favours a common beginning; below 0.7 a suggestion would
/// puzzle more than help. One letter wrong, missing or in the wrong place is always like enough.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LIKE_ENOUGH: f64 = 0.7;
    // One letter wrong, missing or exchanged is more likely than another word that is as alike.
    const SLIP: f64 = 0.9;
    let wanted = name.to_lowercase();
    let likeness = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let is_slip = candidate.len() > 2 && strsim::osa_distance(&wanted, &candidate) == 1;
        let likeness = strsim::jaro_winkler(&wanted, &candidate);
        if is_slip { likeness.max(SLIP) } else { likeness }
    };
    candidates
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(likeness, _)| *likeness >= LIKE_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_and_stays_silent_otherwise() {
        let names = ["journal_mode", "synchronous", "cache_size"];
        assert_eq!(nearest("jurnal_mode", names), Some("journal_mode"));
        assert_eq!(nearest("SYNCHRONUS", names), Some("synchronous"));
        assert_eq!(nearest("xyzzy", names), None);
        assert_eq!(nearest("rnu", ["list", "run", "show"]), Some("run"));
        assert_eq!(nearest("on", ["off", "no"]), None);
    }
}
