//! Which rows of two answers differ: a small sample, by key or number.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::level::Settings;
use crate::record::PlannedExperiment;
use crate::trial::AnswerRows;

/// Rows that a sample shows.
const SHOWN: usize = 3;

/// Rows of each answer that are looked at.
const KEPT: i64 = 100_000;

/// Returns the same work with the rows of its answers kept, which is done again where answers differ; `None` if it cannot keep
/// them.
pub fn keeping_rows(planned: &PlannedExperiment) -> Option<PlannedExperiment> {
    let mut planned = planned.clone();
    for variant in &mut planned.variants {
        variant.settings.insert("answer_rows".to_owned(), KEPT.into());
    }
    (planned.experiment.workload == "sql").then_some(planned)
}

/// Has a trial keep the first rows of its answers: few enough for the record.
pub fn keep_few_rows(workload: &str, settings: &mut Settings) {
    const FEW: i64 = 50;
    let room = settings.get_mut("answer_rows").filter(|room| **room == 0.into());
    if let (Some(room), "sql") = (room, workload) {
        *room = FEW.into();
    }
}

/// The rows that differ in the first execution with a difference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DifferingRows {
    /// The values of its parameters, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, String)>,
    /// Rows with other values.
    pub changed: usize,
    /// Rows that only the base has.
    pub missing: usize,
    /// Rows that only the new side has.
    pub additional: usize,
    /// Whether only the first rows were looked at.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// The first of them.
    pub rows: Vec<DifferingRow>,
}

/// One row that differs. Values are written as in SQL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferingRow {
    /// A column that identifies it, with its value, or its number.
    pub row: String,
    /// The columns that differ: all if one side has no such row.
    pub columns: Vec<String>,
    /// Their values on the base, if it has the row.
    pub base: Option<Vec<String>>,
    /// Their values on the new side, if it has the row.
    pub new: Option<Vec<String>>,
}

/// A row with its number, from 0.
type Numbered<'a> = (usize, &'a Vec<String>);

impl DifferingRows {
    /// Returns the first execution with the same values in which kept rows differ; `None` if they do not, or the columns are
    /// others.
    pub fn between(base: &[AnswerRows], new: &[AnswerRows]) -> Option<DifferingRows> {
        let values = |side: &AnswerRows| BTreeSet::from_iter(side.values.clone());
        let mut pairs = base.iter().zip(new).filter(|(base, new)| values(base) == values(new));
        pairs.find_map(|(base, new)| of_execution(base, new))
    }
}

fn of_execution(base: &AnswerRows, new: &AnswerRows) -> Option<DifferingRows> {
    if base.columns.len() != new.columns.len() || base.rows == new.rows {
        return None;
    }
    let (ours, theirs) = (left_over(base, new), left_over(new, base));
    let mut found = DifferingRows {
        values: base.values.clone(),
        is_partial: base.is_cut || new.is_cut,
        ..DifferingRows::default()
    };
    let row = |name: String, sides: [Option<&Vec<String>>; 2]| row(&base.columns, name, sides);
    if ours.is_empty() && theirs.is_empty() {
        let pairs = base.rows.iter().zip(&new.rows).enumerate();
        let moved = pairs.filter(|(_, (one, other))| one != other);
        let moved = moved
            .map(|(at, (one, other))| row(format!("row {}", at + 1), [Some(one), Some(other)]));
        return Some(DifferingRows { rows: moved.take(SHOWN).collect(), ..found });
    }
    let key = key(base, new, &ours, &theirs);
    // Where the sides were cut, a row may follow on the other one.
    let is_certain = !found.is_partial;
    let identity = |(number, row): &Numbered<'_>| match key {
        Some(key) => row[key].clone(),
        None => number.to_string(),
    };
    let name = |(number, row): Numbered<'_>| match key {
        Some(key) => format!("{} = {}", base.columns[key], row[key]),
        None => format!("row {}", number + 1),
    };
    let by_identity: BTreeMap<String, Numbered<'_>> =
        theirs.iter().map(|numbered| (identity(numbered), *numbered)).collect();
    let mut paired = BTreeSet::new();
    let mut rows = [Vec::new(), Vec::new(), Vec::new()];
    for own in &ours {
        let identity = identity(own);
        match by_identity.get(&identity) {
            Some((_, other)) => {
                rows[0].push(row(name(*own), [Some(own.1), Some(other)]));
                paired.insert(identity);
            }
            None if is_certain => rows[1].push(row(name(*own), [Some(own.1), None])),
            None => {}
        }
    }
    for other in theirs.iter().filter(|other| is_certain && !paired.contains(&identity(other))) {
        rows[2].push(row(name(*other), [None, Some(other.1)]));
    }
    [found.changed, found.missing, found.additional] = rows.each_ref().map(Vec::len);
    found.rows = rows.into_iter().flatten().take(SHOWN).collect();
    (!found.rows.is_empty()).then_some(found)
}

/// Returns a row with the columns that differ.
fn row(columns: &[String], row: String, sides: [Option<&Vec<String>>; 2]) -> DifferingRow {
    let differs = |at: &usize| match sides {
        [Some(base), Some(new)] => base[*at] != new[*at],
        _ => true,
    };
    let differing: Vec<usize> = (0..columns.len()).filter(differs).collect();
    let of = |values: &Vec<String>| differing.iter().map(|at| values[*at].clone()).collect();
    let [base, new] = sides.map(|side| side.map(of));
    let columns = differing.iter().map(|at| columns[*at].clone()).collect();
    DifferingRow { row, columns, base, new }
}

/// Returns the rows of one side that the other does not have, as often as they occur more.
fn left_over<'a>(own: &'a AnswerRows, other: &AnswerRows) -> Vec<Numbered<'a>> {
    let mut others: BTreeMap<&Vec<String>, usize> = BTreeMap::new();
    for row in &other.rows {
        *others.entry(row).or_default() += 1;
    }
    let is_left = |(_, row): &Numbered<'_>| match others.get_mut(*row) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    own.rows.iter().enumerate().filter(is_left).collect()
}

/// Returns the first column that identifies every row. The rows that differ share some of its values, or there are more of them on
/// one side; otherwise they are one row after the other with other values.
fn key(
    base: &AnswerRows,
    new: &AnswerRows,
    ours: &[Numbered<'_>],
    theirs: &[Numbered<'_>],
) -> Option<usize> {
    let is_unique = |side: &AnswerRows, at: usize| {
        let mut seen = BTreeSet::new();
        side.rows.iter().all(|row| seen.insert(&row[at]))
    };
    let is_shared = |at: usize| {
        let known: BTreeSet<&String> = ours.iter().map(|(_, row)| &row[at]).collect();
        ours.len() != theirs.len() || theirs.iter().any(|(_, row)| known.contains(&row[at]))
    };
    let mut columns = 0..base.columns.len();
    columns.find(|at| is_unique(base, *at) && is_unique(new, *at) && is_shared(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[[&str; 2]]) -> AnswerRows {
        AnswerRows {
            columns: ["id", "city"].map(str::to_owned).into(),
            rows: rows.iter().map(|row| row.map(str::to_owned).into()).collect(),
            ..AnswerRows::default()
        }
    }

    fn between(base: &AnswerRows, new: &AnswerRows) -> Option<(String, [usize; 3])> {
        let found = DifferingRows::between(std::slice::from_ref(base), std::slice::from_ref(new))?;
        let side =
            |side: &Option<Vec<String>>| side.as_ref().map_or("-".to_owned(), |it| it.join(" "));
        let words = found.rows.iter().map(|row| {
            format!(
                "{} {}: {} > {}",
                row.row,
                row.columns.join(" "),
                side(&row.base),
                side(&row.new)
            )
        });
        let words = words.collect::<Vec<_>>().join("; ");
        Some((words, [found.changed, found.missing, found.additional]))
    }

    #[test]
    fn rows_are_paired_by_the_column_that_identifies_them() {
        let base = rows(&[["1", "'Rome'"], ["2", "'Oslo'"], ["3", "'Oslo'"]]);
        let new = rows(&[["3", "'Oslo'"], ["1", "'Roma'"], ["4", "NULL"]]);
        let words = "id = 1 city: 'Rome' > 'Roma'; id = 2 id city: 2 'Oslo' > -; id = 4 id city: - > 4 NULL";
        assert_eq!(between(&base, &new), Some((words.to_owned(), [1, 1, 1])));
    }

    #[test]
    fn rows_without_a_key_are_named_by_their_numbers() {
        let base = rows(&[["1", "'a'"], ["1", "'a'"], ["1", "'b'"]]);
        let new = rows(&[["1", "'a'"], ["1", "'c'"], ["1", "'b'"]]);
        let words = "row 2 city: 'a' > 'c'".to_owned();
        assert_eq!(between(&base, &new), Some((words, [1, 0, 0])));
    }

    #[test]
    fn rows_that_share_no_key_are_missing_or_additional_unless_there_are_as_many() {
        let (base, new) = (rows(&[["1", "x"]]), rows(&[["2", "x"], ["3", "x"]]));
        let words = "id = 1 id city: 1 x > -; id = 2 id city: - > 2 x; id = 3 id city: - > 3 x";
        assert_eq!(between(&base, &new), Some((words.to_owned(), [0, 1, 2])));
        let sums = between(&rows(&[["1", "x"], ["2", "x"]]), &rows(&[["3", "x"], ["4", "x"]]));
        assert_eq!(sums, Some(("row 1 id: 1 > 3; row 2 id: 2 > 4".to_owned(), [2, 0, 0])));
    }

    #[test]
    fn another_order_shows_the_first_rows_that_moved() {
        let (base, new) = (rows(&[["1", "x"], ["2", "x"]]), rows(&[["2", "x"], ["1", "x"]]));
        let words = "row 1 id: 1 > 2; row 2 id: 2 > 1".to_owned();
        assert_eq!(between(&base, &new), Some((words, [0, 0, 0])));
        assert_eq!(between(&base, &base), None);
    }

    #[test]
    fn executions_with_other_values_are_not_compared() {
        let of = |id: &str, all: &[[&str; 2]]| {
            let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            AnswerRows { values: vec![named(":id", id), named(":x", "1")], ..rows(all) }
        };
        let base = [of("5851", &[["5851", "'a'"]]), of("7", &[["7", "'a'"]])];
        let mut new = [of("5852", &[["5852", "'a'"]]), of("7", &[["7", "'b'"]])];
        // Another text may name its parameters in another order.
        new[1].values.reverse();
        let found = DifferingRows::between(&base, &new).unwrap();
        assert_eq!((found.values[0].1.as_str(), found.rows[0].row.as_str()), ("7", "id = 7"));
        assert_eq!(DifferingRows::between(&base[..1], &new[..1]), None);
    }

    #[test]
    fn no_row_is_called_missing_where_only_the_first_ones_are_known() {
        let cut = |all: &[[&str; 2]]| AnswerRows { is_cut: true, ..rows(all) };
        assert_eq!(between(&cut(&[["1", "x"]]), &cut(&[["2", "y"], ["3", "y"]])), None);
        let changed = between(&cut(&[["1", "x"], ["2", "x"]]), &cut(&[["1", "y"], ["3", "x"]]));
        assert_eq!(changed, Some(("id = 1 city: x > y".to_owned(), [1, 0, 0])));
    }
}
