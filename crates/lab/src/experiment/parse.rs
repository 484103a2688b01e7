//! From the text of an experiment file to an [`Experiment`], or to every problem it has.

use toml::de::{DeTable, DeValue};

use super::problems::{Findings, Problem, Problems, Step, line_of};
use super::{Experiment, form, validate};
use crate::catalogue::Catalogue;

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
    let mut findings = Findings::new(file, text, &document);

    // Compares every key with the published schema, so that form and check have one source.
    let schema = form::Form::of_experiment();
    findings.walk_table(&schema, document.get_ref(), &mut Vec::new());
    if findings.problems.is_empty() {
        let mut experiment: Experiment = toml::from_str(text).map_err(syntax)?;
        if experiment.metric.is_empty() {
            experiment.metric = catalogue.metric_of(&experiment.workload);
        }
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

impl Findings<'_> {
    fn walk_table(&mut self, form: &form::Form, table: &DeTable<'_>, path: &mut Vec<Step>) {
        let Some(keys) = form.keys() else { return };
        for (key, value) in table {
            let key: &str = key.get_ref().as_ref();
            path.push(key.into());
            match form.child(key) {
                Some(child) => self.walk_value(&child, value.get_ref(), path),
                None => self.unknown_key(path, key, &keys),
            }
            path.pop();
        }
    }

    fn walk_value(&mut self, form: &form::Form, value: &DeValue<'_>, path: &mut Vec<Step>) {
        match value {
            DeValue::Table(table) => self.walk_table(form, table, path),
            DeValue::Array(array) => {
                let Some(items) = form.items() else { return };
                for (index, item) in array.iter().enumerate() {
                    path.push(index.into());
                    self.walk_value(&items, item.get_ref(), path);
                    path.pop();
                }
            }
            _ => {}
        }
    }
}
