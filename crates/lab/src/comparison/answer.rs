//! Whether two sides answered the same: one judgement for `guard`, `compare` and `measure`.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::text::grouped;
use crate::trial::{Answer, Facet, StatementRecord};

/// Whether both sides answered the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerChange {
    /// The same rows, in the same order where the statement orders them.
    Same,
    /// As many rows, with the same columns; their content depends on chance or on the present time.
    SameNumber,
    /// The same as far as SQL determines it, and different where SQL leaves it open.
    Open {
        /// The open part, and how to determine it.
        what: String,
    },
    /// Another answer.
    Other {
        /// The difference.
        words: String,
        /// Whether SQL may leave it open, which was not tested.
        #[serde(skip)]
        is_untested: bool,
    },
    /// Not compared.
    NotCompared {
        /// Why not.
        why: &'static str,
    },
}

impl AnswerChange {
    /// Compares the trials of the base with those of the new side. Only answers over the same number of executions are
    /// compared. A part that SQL leaves open, or that the base does not repeat, does not count as a difference.
    pub fn between(
        base: &[&StatementRecord],
        new: &[&StatementRecord],
        versions: [&str; 2],
    ) -> AnswerChange {
        let not = |why| AnswerChange::NotCompared { why };
        let (Some(first), Some(_)) = (base.first(), new.first()) else {
            return not("its answer was not read");
        };
        if base.iter().chain(new).any(|statement| statement.answers().next().is_none()) {
            return not("its answer was not read");
        }
        if versions[0] != versions[1] && asks_for_version(&first.sql) {
            return not("it asks for SQLite's version");
        }
        let over = |statement: &StatementRecord, executions: u64| {
            statement.answers().find(|answer| answer.executions == executions).cloned()
        };
        let mut common = first.answers().rev().map(|answer| answer.executions);
        let common =
            common.find(|count| base.iter().chain(new).all(|trial| over(trial, *count).is_some()));
        let Some(executions) = common else {
            return not("the sides executed it a different number of times");
        };
        let of = |side: &[&StatementRecord]| -> Vec<Answer> {
            side.iter().filter_map(|statement| over(statement, executions)).collect()
        };
        let Some(right) = Right::of(&of(base), versions) else {
            return not("the base does not repeat its own answer");
        };
        let judged = of(new).into_iter().map(|found| right.judge(&found, &first.sql));
        judged.max_by_key(AnswerChange::gravity).unwrap_or(AnswerChange::Same)
    }

    /// Returns the difference in words, if there is one.
    pub fn difference(&self) -> Option<String> {
        let AnswerChange::Other { words, .. } = self else { return None };
        Some(words.clone())
    }

    /// Returns whether it is a difference that SQL may leave open.
    pub fn is_untested(&self) -> bool {
        matches!(self, AnswerChange::Other { is_untested: true, .. })
    }

    fn gravity(&self) -> u8 {
        match self {
            AnswerChange::NotCompared { .. } | AnswerChange::Same => 0,
            AnswerChange::SameNumber => 1,
            AnswerChange::Open { .. } => 2,
            AnswerChange::Other { .. } => 3,
        }
    }
}

fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

/// Returns whether a statement calls a function whose result differs between versions by intent.
fn asks_for_version(sql: &str) -> bool {
    let of_version = ["sqlite_version", "sqlite_source_id"];
    words(sql).any(|word| of_version.iter().any(|name| word.eq_ignore_ascii_case(name)))
}

/// The answers of the base.
struct Right<'a> {
    answer: Answer,
    /// Parts of an answer that SQL leaves open, or the base does not repeat.
    open: BTreeSet<Facet>,
    versions: [&'a str; 2],
}

impl<'a> Right<'a> {
    /// Returns `None` if the trials disagree in the number of rows and SQL does not leave it open, or in the rows and nothing
    /// else is known of them.
    fn of(trials: &[Answer], versions: [&'a str; 2]) -> Option<Right<'a>> {
        let answer = trials.first()?.clone();
        let mut open: BTreeSet<Facet> =
            trials.iter().flat_map(|trial| trial.open.clone()).collect();
        for other in trials {
            if other.rows != answer.rows && !open.contains(&Facet::Number) {
                return None;
            }
            if other.checksum != answer.checksum && answer.facets.is_empty() {
                return None;
            }
            let differs = |facet: &Facet| other.facet(facet) != answer.facet(facet);
            open.extend(answer.known().into_iter().filter(differs));
        }
        if versions[0] != versions[1] {
            open.insert(Facet::Names);
        }
        Some(Right { answer, open, versions })
    }

    fn judge(&self, found: &Answer, sql: &str) -> AnswerChange {
        let (base, new) = (self.answer.rows, found.rows);
        let other = |what: &str| {
            let is_untested = self.answer.untested;
            let untested =
                if is_untested { "; whether SQL leaves it open was not tested" } else { "" };
            let executions = match self.answer.executions {
                // The contents of a table have no statement.
                several if several > 1 && !sql.is_empty() => format!(" of {several} executions"),
                _ => String::new(),
            };
            let rows = if new == 1 { "row" } else { "rows" };
            let rows = format!("{} {rows}{executions}", grouped(&new.to_string()));
            let words = if base == new {
                format!("{rows} as before, with {what}{untested}")
            } else {
                format!("{rows} instead of {}{untested}", grouped(&base.to_string()))
            };
            AnswerChange::Other { words, is_untested }
        };
        if base != new && !self.open.contains(&Facet::Number) {
            return other("another number of rows");
        }
        let is_ordered = |answer: &Answer| answer.facets.contains_key(&Facet::Order);
        let several = base > self.answer.executions;
        if is_ordered(&self.answer) && !is_ordered(found) && several && found.checksum.is_some() {
            return other("no order");
        }
        let differs = |facet: &Facet| {
            found.facet(facet).is_some_and(|own| Some(own) != self.answer.facet(facet))
        };
        let (open, determined): (Vec<Facet>, Vec<Facet>) = self
            .answer
            .known()
            .into_iter()
            .filter(differs)
            .partition(|facet| self.open.contains(facet));
        let rounded = self.answer.facet(&Facet::Rounded);
        let last_digits = self.versions[0] != self.versions[1]
            && rounded.is_some()
            && rounded == found.facet(&Facet::Rounded)
            && determined.iter().all(Facet::is_of_content);
        match determined.first() {
            Some(_) if last_digits => {
                AnswerChange::Open { what: digits_of_versions(self.versions) }
            }
            Some(_) if determined.contains(&Facet::Rows) => other(&content(&determined)),
            Some(facet) => other(&facet.words()),
            None if !open.is_empty() || base != new => {
                AnswerChange::Open { what: self.advice(&open, sql) }
            }
            None if self.answer.checksum.is_none() || found.checksum.is_none() => {
                AnswerChange::SameNumber
            }
            None => AnswerChange::Same,
        }
    }
}

/// Returns how the content of rows differs: in which columns, where these are few.
fn content(differing: &[Facet]) -> String {
    const MOST: usize = 3;
    let column = |facet: &Facet| match facet {
        Facet::Column(name) => Some(format!("`{name}`")),
        _ => None,
    };
    let columns: Vec<String> = differing.iter().filter_map(column).collect();
    let definition = differing.iter().find(|facet| **facet == Facet::Schema);
    match (columns.len(), definition) {
        (1..=MOST, _) => format!("other values of {}", columns.join(", ")),
        (0, Some(definition)) => definition.words(),
        // Rows may differ though no column does: values are together in other rows.
        _ => Facet::Rows.words(),
    }
}

fn digits_of_versions(versions: [&str; 2]) -> String {
    let number = |version: &str| -> Vec<u32> {
        version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
    };
    let later = versions.map(|version| number(version) >= vec![3, 43, 0]);
    let since = if later[0] == later[1] { "" } else { " (SQLite 3.43.0 sums more precisely)" };
    format!("open in SQL: the last digits of sums of REAL values{since}")
}

impl Right<'_> {
    /// Returns which part SQL leaves open, and what determines it.
    fn advice(&self, differing: &[Facet], sql: &str) -> String {
        let is_known = self.answer.facets.contains_key(&Facet::Rounded);
        let has_rounded = is_known && !self.open.contains(&Facet::Rounded);
        let lower = sql.to_lowercase();
        let has = |word: &str| words(&lower).any(|part| part == word);
        if differing.iter().all(|facet| matches!(facet, Facet::Order | Facet::InOrder(_))) {
            return "open in SQL: the order of ties; add a unique column, such as id, to ORDER BY"
                .to_owned();
        }
        let columns: Vec<String> = differing
            .iter()
            .filter_map(|facet| match facet {
                Facet::Column(name) => Some(format!("`{name}`")),
                _ => None,
            })
            .collect();
        let columns = if columns.is_empty() { "the rows".to_owned() } else { columns.join(", ") };
        let remedy = if self.answer.by_chance {
            "it depends on chance or the present time"
        } else if ["group_concat", "string_agg", "json_group_array", "json_group_object"]
            .iter()
            .any(|name| has(name))
        {
            "give the aggregate an ORDER BY"
        } else if (has("limit") || has("over")) && has("order") {
            "add a unique column, such as id, to ORDER BY"
        } else if has("limit") {
            "add an ORDER BY with a unique column, such as id"
        } else if has_rounded && (has("sum") || has("avg") || has("total")) {
            "last digits of sums of REAL values depend on the order of rows"
        } else if has("group") || has("max") || has("min") {
            "a bare column beside an aggregate may come from any row of its group"
        } else {
            "the order of rows decides it"
        };
        format!("open in SQL: {columns}; {remedy}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSIONS: [&str; 2] = ["3.54.1", "3.54.1"];

    fn answer(facets: &[(Facet, &str)], open: &[Facet]) -> Answer {
        Answer {
            executions: 1,
            rows: 3,
            checksum: Some("r".to_owned()),
            facets: facets.iter().map(|(facet, sum)| (facet.clone(), (*sum).to_owned())).collect(),
            open: open.iter().cloned().collect(),
            ..Answer::default()
        }
    }

    fn between(base: Answer, new: Answer, versions: [&str; 2]) -> AnswerChange {
        let record = |answer| StatementRecord {
            sql: "SELECT a FROM t ORDER BY b LIMIT 3".to_owned(),
            answer: Some(answer),
            ..StatementRecord::default()
        };
        AnswerChange::between(&[&record(base)], &[&record(new)], versions)
    }

    #[test]
    fn another_order_counts_unless_sql_leaves_it_open() {
        let one = |open: &[Facet]| answer(&[(Facet::Order, "1"), (Facet::Keys(1), "k")], open);
        let two = || answer(&[(Facet::Order, "2"), (Facet::Keys(1), "k")], &[]);
        let words = between(one(&[]), two(), VERSIONS).difference().unwrap();
        assert_eq!(words, "3 rows as before, with another order");
        let AnswerChange::Open { what } = between(one(&[Facet::Order]), two(), VERSIONS) else {
            panic!("not open")
        };
        assert!(what.contains("add a unique column"), "{what}");
        let reversed = answer(&[(Facet::Order, "2"), (Facet::Keys(1), "desc")], &[]);
        assert!(between(one(&[Facet::Order]), reversed, VERSIONS).difference().is_some());
        assert!(between(one(&[Facet::Order]), answer(&[], &[]), VERSIONS).difference().is_some());
    }

    #[test]
    fn of_an_untested_answer_by_chance_only_the_columns_are_compared() {
        let of = |names: &str, order: &str| {
            let facets = [(Facet::Names, names), (Facet::Order, order)];
            let mut answer = Answer { by_chance: true, ..answer(&facets, &[]) };
            answer.set_untested();
            answer
        };
        assert_eq!(between(of("n", "1"), of("n", "2"), VERSIONS), AnswerChange::SameNumber);
        assert!(between(of("n", "1"), of("m", "1"), VERSIONS).difference().is_some());
    }

    #[test]
    fn a_further_term_of_the_order_gives_an_answer_that_the_base_allows() {
        let of = |order: &str, open: &[Facet]| {
            answer(&[(Facet::Order, order), (Facet::Keys(1), "k")], open)
        };
        let mut unique = of("2", &[]);
        unique.facets.insert(Facet::Keys(2), "k, id".to_owned());
        let found = between(of("1", &[Facet::Order]), unique.clone(), VERSIONS);
        assert!(matches!(found, AnswerChange::Open { .. }), "{found:?}");
        let found = between(unique, of("1", &[]), VERSIONS);
        assert!(found.difference().is_some(), "the order was determined");
    }

    #[test]
    fn columns_with_other_values_are_named() {
        let of = |rows: &str, a: &str, b: &str| {
            let columns = [(Facet::Column("a".into()), a), (Facet::Column("b".into()), b)];
            Answer { checksum: Some(rows.to_owned()), ..answer(&columns, &[]) }
        };
        let words = |new| between(of("1", "1", "1"), new, VERSIONS).difference().unwrap();
        assert_eq!(words(of("2", "1", "2")), "3 rows as before, with other values of `b`");
        assert_eq!(words(of("2", "1", "1")), "3 rows as before, with other content");
        let named = |sum: &str| {
            let mut named = of(sum, "1", sum);
            named.facets.insert(Facet::Names, format!("names {sum}"));
            named
        };
        let words = between(named("1"), named("2"), VERSIONS).difference().unwrap();
        assert_eq!(words, "3 rows as before, with other values of `b`");
        let mut defined = Answer { checksum: Some("2".to_owned()), ..named("1") };
        defined.facets.insert(Facet::Schema, "one".to_owned());
        let mut other = defined.clone();
        other.checksum = Some("3".to_owned());
        other.facets.insert(Facet::Schema, "other".to_owned());
        let words = between(defined, other, VERSIONS).difference().unwrap();
        assert_eq!(words, "3 rows as before, with another definition of the table");
    }

    #[test]
    fn last_digits_differ_between_versions_only() {
        let sums = |order: &str| answer(&[(Facet::Order, order), (Facet::Rounded, "r")], &[]);
        let versions = ["3.40.1", "3.54.1"];
        let AnswerChange::Open { what } = between(sums("1"), sums("2"), versions) else {
            panic!("not open")
        };
        assert!(what.contains("3.43.0"), "{what}");
        assert!(between(sums("1"), sums("2"), VERSIONS).difference().is_some());
    }

    #[test]
    fn the_version_is_no_answer_to_compare_between_versions() {
        let record = |sum: &str| StatementRecord {
            sql: "SELECT sqlite_version(*)".to_owned(),
            answer: Some(Answer { checksum: Some(sum.to_owned()), ..answer(&[], &[]) }),
            ..StatementRecord::default()
        };
        let (a, b) = (record("a"), record("b"));
        let found = AnswerChange::between(&[&a], &[&b], ["3.40.1", "3.54.1"]);
        assert!(matches!(found, AnswerChange::NotCompared { .. }), "{found:?}");
        assert!(AnswerChange::between(&[&a], &[&b], VERSIONS).difference().is_some());
    }

    #[test]
    fn a_new_side_that_does_not_repeat_a_determined_answer_is_another() {
        let record = |sum: &str| StatementRecord {
            answer: Some(Answer {
                checksum: Some(sum.to_owned()),
                executions: 1,
                rows: 1,
                ..Answer::default()
            }),
            ..StatementRecord::default()
        };
        let (a, b) = (record("a"), record("b"));
        let found = AnswerChange::between(&[&a, &a], &[&a, &b], VERSIONS);
        assert!(found.difference().is_some());
        let found = AnswerChange::between(&[&a, &b], &[&a, &a], VERSIONS);
        assert!(matches!(found, AnswerChange::NotCompared { .. }));
    }
}
