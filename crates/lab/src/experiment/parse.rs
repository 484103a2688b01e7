//! From the text of an experiment file to an [`Experiment`], or to every problem it has.

use std::collections::BTreeSet;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::positions::{Step, line_of, offset_of};
use super::{Experiment, nearest, schema, validate};
use crate::catalogue::Catalogue;

/// One thing wrong with an experiment file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the user named it.
    pub file: String,
    /// The line, counted from one.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// The nearest valid name, where a name was wrong and one is like it.
    pub nearest: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)?;
        match &self.nearest {
            Some(name) => write!(f, "; did you mean `{name}`?"),
            None => Ok(()),
        }
    }
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
    problems: Vec<Problem>,
    /// The names that were found to be wrong.
    named: BTreeSet<String>,
}

/// The most problems that are pointed out at once.
const MOST_PROBLEMS: usize = 100;

impl Findings<'_> {
    /// How many problems were found so far.
    pub(super) fn count(&self) -> usize {
        self.problems.len()
    }

    /// Whether this name is found to be wrong for the first time: one misspelt name is one problem, however
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
    fn unknown_key(&mut self, path: &[Step], key: &str, known: &[String]) {
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

/// Reads an experiment and checks it against what exists.
///
/// # Errors
/// Every problem of the file at once, each with its line and, for names, the nearest valid one.
/// Text that is not TOML, and values of a wrong type, end the reading at the first problem.
pub fn parse(file: &str, text: &str, catalogue: &Catalogue) -> Result<Experiment, Problems> {
    let syntax = |error: toml::de::Error| {
        let offset = error.span().map_or(0, |span| span.start);
        let what = error.message().to_owned();
        Problems(vec![Problem {
            file: file.to_owned(),
            line: line_of(text, offset),
            what,
            nearest: None,
        }])
    };
    let document = DeTable::parse(text).map_err(syntax)?;
    let mut findings =
        Findings { file, text, document: &document, problems: Vec::new(), named: BTreeSet::new() };

    find_unknown_keys(&mut findings, &document);
    if findings.problems.is_empty() {
        let experiment: Experiment = toml::from_str(text).map_err(syntax)?;
        validate::check(&experiment, catalogue, &mut findings);
        if findings.problems.is_empty() {
            return Ok(experiment);
        }
    }
    let mut problems = findings.problems;
    problems.sort_by_key(|problem| problem.line);
    problems.dedup();
    Err(Problems(problems))
}

/// Compares every key with the published schema, so that form and check have one source.
fn find_unknown_keys(findings: &mut Findings<'_>, document: &Spanned<DeTable<'_>>) {
    let schema = schema::Form::of_experiment();
    walk_table(findings, &schema, document.get_ref(), &mut Vec::new());
}

fn walk_table(
    findings: &mut Findings<'_>,
    form: &schema::Form,
    table: &DeTable<'_>,
    path: &mut Vec<Step>,
) {
    let Some(keys) = form.keys() else { return };
    for (key, value) in table {
        let key: &str = key.get_ref().as_ref();
        path.push(key.into());
        match form.child(key) {
            Some(child) => walk_value(findings, &child, value.get_ref(), path),
            None => findings.unknown_key(path, key, &keys),
        }
        path.pop();
    }
}

fn walk_value(
    findings: &mut Findings<'_>,
    form: &schema::Form,
    value: &DeValue<'_>,
    path: &mut Vec<Step>,
) {
    match value {
        DeValue::Table(table) => walk_table(findings, form, table, path),
        DeValue::Array(array) => {
            let Some(items) = form.items() else { return };
            for (index, item) in array.iter().enumerate() {
                path.push(index.into());
                walk_value(findings, &items, item.get_ref(), path);
                path.pop();
            }
        }
        _ => {}
    }
}
