//! Statements of a file that differ in values only, such as the INSERTs of an import.

use std::collections::HashMap;

use report::document::Sentence;
use trace::normalised;

use super::{Statement, first_word};
use crate::words::grouped;

/// The most of a kind that are all explained.
const MOST: usize = 10;

/// Returns the statements, and of many that differ in values only the first, with remarks on these and on writes without a transaction.
pub(super) fn first_of_each(statements: Vec<Statement>) -> (Vec<Statement>, Vec<Sentence>) {
    let mut remarks = Vec::new();
    let writes = writes_alone(&statements);
    if writes > MOST {
        remarks.push(Sentence::from(format!(
            "{} statements write outside of BEGIN and COMMIT. Each is then a transaction, which with SQLite's defaults waits for the disk; in one transaction they wait once.",
            grouped(writes as u64)
        )));
    }
    let mut kinds: HashMap<String, usize> = HashMap::new();
    let keys: Vec<String> = statements.iter().map(|statement| normalised(&statement.sql)).collect();
    keys.iter().for_each(|key| *kinds.entry(key.clone()).or_default() += 1);
    let mut kept: Vec<Statement> = Vec::new();
    for (mut statement, key) in statements.into_iter().zip(keys) {
        match kinds.get_mut(&key) {
            Some(0) => continue,
            Some(count) if *count > MOST => {
                let many = grouped(*count as u64);
                remarks.push(Sentence::from(format!(
                    "{} stands for {many} statements that differ at most in values.",
                    statement.name
                )));
                statement.weight *= *count as f64;
                *count = 0;
            }
            _ => {}
        }
        kept.push(statement);
    }
    (kept, remarks)
}

/// Returns how many statements write outside of a transaction.
fn writes_alone(statements: &[Statement]) -> usize {
    let (mut is_begun, mut savepoints, mut writes) = (false, 0_usize, 0);
    for statement in statements {
        match &*first_word(&statement.sql) {
            "BEGIN" => is_begun = true,
            "SAVEPOINT" => savepoints += 1,
            "RELEASE" => savepoints = savepoints.saturating_sub(1),
            // ROLLBACK TO a savepoint ends no transaction.
            "ROLLBACK" if script::effect::names(&statement.sql).iter().any(|word| word == "to") => {
            }
            "COMMIT" | "END" | "ROLLBACK" => (is_begun, savepoints) = (false, 0),
            "INSERT" | "REPLACE" | "UPDATE" | "DELETE" if !is_begun && savepoints == 0 => {
                writes += 1;
            }
            _ => {}
        }
    }
    writes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> (Vec<f64>, Vec<String>) {
        let statement = |(number, sql): (usize, &&str)| Statement {
            name: format!("s:{number}"),
            sql: (*sql).to_owned(),
            weight: 1.0,
            ..Statement::default()
        };
        let (kept, remarks) = first_of_each(texts.iter().enumerate().map(statement).collect());
        let weights = kept.iter().map(|statement| statement.weight).collect();
        (weights, remarks.iter().map(Sentence::plain).collect())
    }

    #[test]
    fn the_first_of_many_alike_stands_for_all() {
        let inserts: Vec<String> = (0..30).map(|n| format!("INSERT INTO t VALUES ({n})")).collect();
        let mut all: Vec<&str> = inserts.iter().map(String::as_str).collect();
        all.push("SELECT 1");
        let (weights, remarks) = of(&all);
        assert_eq!(weights, [30.0, 1.0]);
        assert!(remarks[0].starts_with("30 statements write outside of BEGIN"), "{remarks:?}");
        assert_eq!(remarks[1], "s:0 stands for 30 statements that differ at most in values.");
        let within = [&["BEGIN"], &all[..], &["COMMIT"]].concat();
        assert_eq!(of(&within).1.len(), 1);
        let undone = ["BEGIN", "SAVEPOINT a", "ROLLBACK TO a", "RELEASE a"];
        assert_eq!(of(&[&undone, &all[..], &["COMMIT"]].concat()).1.len(), 1);
    }

    #[test]
    fn a_few_values_are_explained_each() {
        assert_eq!(of(&["SELECT 1", "SELECT 2", "SELECT 1"]), (vec![1.0; 3], Vec::new()));
    }
}
