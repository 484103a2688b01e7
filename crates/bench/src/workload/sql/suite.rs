//! The scripts of a trial, read from their files.

use std::collections::BTreeMap;
use std::path::Path;

use engine::Connection;
use lab::seed::Seed;
use script::effect::{first_word, line_that_reaches_files};
use script::{Form, Names, Script, Slot, choose, parse, weighted};

use super::parameters::{Parameters, Unit};
use super::pgbench;
use super::prompt::Wrong;
use crate::error::TrialError;

/// Scripts with their weights and the names of their variables.
pub(super) struct Suite {
    pub(super) scripts: Vec<Script>,
    pub(super) weights: Vec<u32>,
    pub(super) names: Names,
    /// Checksum of all texts and weights.
    pub(super) checksum: u64,
    /// The variable of each column of the statements with `\gset`, by script and statement.
    gset: BTreeMap<(usize, usize), Vec<(i32, Slot)>>,
}

/// Refuses SQL that reaches files which are no copies: those are the user's, and nothing of them may change.
///
/// # Errors
/// `ATTACH` or `VACUUM INTO`, with the file and the line; that of the first statement is given.
pub(super) fn refuse_other_files(file: &str, line: usize, sql: &str) -> Result<(), TrialError> {
    let Some(further) = line_that_reaches_files(sql) else {
        return Ok(());
    };
    Err(TrialError::Script {
        file: file.to_owned(),
        line: line + further - 1,
        why: "ATTACH and VACUUM INTO reach files that are no copies, and these could change: leave this statement out, or \
              attach ':memory:'"
            .to_owned(),
    })
}

/// The first words of statements that begin or end transactions.
const TRANSACTIONS: [&str; 6] = ["begin", "commit", "end", "rollback", "savepoint", "release"];

/// Whether a script is nothing but such a statement.
fn begins_or_ends(script: &Script) -> bool {
    let statements = &script.statements;
    statements.len() == 1 && TRANSACTIONS.contains(&first_word(&statements[0].sql).as_str())
}

impl Suite {
    /// Reads what the parameters name.
    ///
    /// # Errors
    /// A file cannot be read; the first mistake in a script, with its file and line.
    pub(super) fn read(parameters: &Parameters) -> Result<Suite, TrialError> {
        let mut suite = Suite {
            scripts: Vec::new(),
            weights: Vec::new(),
            names: Names::default(),
            checksum: 0,
            gset: BTreeMap::new(),
        };
        let form = match parameters.unit {
            Unit::File => Form::Transaction,
            Unit::Statement => Form::Statements,
        };
        if let Some(builtin) = parameters.pgbench() {
            suite.add(pgbench::name(builtin), pgbench::text(builtin), 1, Form::Transaction)?;
        }
        if let Some(sql) = &parameters.sql {
            suite.add("sql", sql, 1, form)?;
        }
        for file in parameters.scripts.iter().flat_map(|list| list.split(',')) {
            let (path, weight) = weighted(file.trim()).map_err(TrialError::cannot_run)?;
            let text = read_text(Path::new(path))?;
            suite.add(path, &text, weight, form)?;
        }
        for script in &suite.scripts {
            for statement in &script.statements {
                refuse_other_files(&script.file, statement.line, &statement.sql)?;
            }
        }
        match suite.weights.iter().any(|weight| *weight > 0) {
            true => Ok(suite),
            false => Err(TrialError::cannot_run("the weights of all scripts are 0")),
        }
    }

    fn add(&mut self, file: &str, text: &str, weight: u32, form: Form) -> Result<(), TrialError> {
        let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy());
        let title = self.free(&stem.unwrap_or_default());
        let mut parsed = |form| {
            let scripts = parse(file, &title, text, form, &mut self.names);
            scripts.map_err(TrialError::because)
        };
        let mut scripts = parsed(form)?;
        if scripts.len() > 1 && scripts.iter().any(begins_or_ends) {
            // Its statements make sense in their order only.
            scripts = parsed(Form::Transaction)?;
        }
        for script in &scripts {
            if self.scripts.iter().any(|known| known.name == script.name) {
                let name = &script.name;
                let why = format!("{file}: another file has a query named `{name}`, too");
                return Err(TrialError::cannot_run(why));
            }
        }
        self.weights.extend(scripts.iter().map(|_| weight));
        self.scripts.extend(scripts);
        let seed = Seed(self.checksum).child(text).nth(u64::from(weight));
        self.checksum = seed.0;
        Ok(())
    }

    /// The name for the scripts of a file, which two files of one name must not share.
    fn free(&self, stem: &str) -> String {
        let taken = |name: &str| {
            let mut scripts = self.scripts.iter();
            scripts.any(|it| it.name == name || it.name.starts_with(&format!("{name}:")))
        };
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let mut names = std::iter::once(stem.to_owned()).chain(numbered);
        names.find(|name| !taken(name)).unwrap_or_default()
    }

    /// Numbers the variables that `\gset` sets: their names are those of the columns.
    ///
    /// # Errors
    /// SQLite refuses such a statement, with its file and line.
    pub(super) fn resolve(&mut self, connection: &Connection) -> Result<(), TrialError> {
        for (number, script) in self.scripts.iter().enumerate() {
            for (index, statement) in script.statements.iter().enumerate() {
                let Some(prefix) = &statement.gset else {
                    continue;
                };
                let prepared = connection.prepare(&statement.sql);
                let refused = |error| Wrong::Engine(error).at(&script.file, statement.line);
                let prepared = prepared.map_err(refused)?;
                let columns = (0..prepared.column_count()).filter_map(|column| {
                    let name = format!("{prefix}{}", prepared.column_name(column)?);
                    Some((column, self.names.slot(&name)))
                });
                self.gset.insert((number, index), columns.collect());
            }
        }
        Ok(())
    }

    /// Has transactions begin with this statement where a script does not say how.
    pub(super) fn begin_with(&mut self, begin: &str) {
        let statements = self.scripts.iter_mut().flat_map(|it| &mut it.statements);
        for statement in statements.filter(|it| is_plain_begin(&it.sql)) {
            begin.clone_into(&mut statement.sql);
        }
    }

    /// Whether a script begins transactions without saying how.
    pub(super) fn leaves_begin_open(&self) -> bool {
        let mut statements = self.scripts.iter().flat_map(|it| &it.statements);
        statements.any(|it| is_plain_begin(&it.sql))
    }

    /// Whether a script writes, and none begins or ends transactions.
    pub(super) fn commits_by_itself(&self) -> bool {
        let statements = || self.scripts.iter().flat_map(|it| &it.statements);
        let begins_with =
            |words: &[&str]| statements().any(|it| words.contains(&first_word(&it.sql).as_str()));
        begins_with(&["insert", "update", "delete", "replace"]) && !begins_with(&TRANSACTIONS)
    }

    /// The variables that the columns of a statement set.
    pub(super) fn gset_of(&self, script: usize, statement: usize) -> &[(i32, Slot)] {
        let of = self.gset.get(&(script, statement));
        of.map_or(&[], Vec::as_slice)
    }

    /// Every variable that a `\gset` sets.
    pub(super) fn set_by_gset(&self) -> Vec<Slot> {
        self.gset.values().flatten().map(|(_, slot)| *slot).collect()
    }

    /// The numbers of the scripts that are executed: those whose weight is not 0.
    pub(super) fn in_use(&self) -> impl Iterator<Item = usize> + Clone {
        let weights = self.weights.iter().enumerate();
        weights.filter(|(_, weight)| **weight > 0).map(|(number, _)| number)
    }

    /// The number of the script for the next transaction.
    pub(super) fn choose(&self, prng: &mut script::Prng) -> usize {
        choose(&self.weights, prng)
    }
}

/// Whether a statement is `BEGIN` or `BEGIN TRANSACTION`.
fn is_plain_begin(sql: &str) -> bool {
    let words = sql.trim_end_matches([';', ' ', '\n']).split_whitespace();
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    matches!(words[..], ["begin"] | ["begin", "transaction"])
}

/// The text of a file of SQL.
pub(super) fn read_text(path: &Path) -> Result<String, TrialError> {
    let cannot = |why: &dyn std::fmt::Display| {
        TrialError::cannot_run(format!("cannot read {}: {why}", path.display()))
    };
    let bytes = std::fs::read(path).map_err(|error| cannot(&error))?;
    String::from_utf8(bytes).map_err(|error| cannot(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters as _;
    use lab::level::overlaid;

    #[test]
    fn only_a_begin_without_a_mode_is_left_to_the_setting() {
        for (sql, plain) in [
            ("BEGIN;", true),
            ("begin transaction", true),
            ("BEGIN IMMEDIATE", false),
            ("BEGIN DEFERRED TRANSACTION", false),
            ("SELECT 1", false),
        ] {
            assert_eq!(is_plain_begin(sql), plain, "{sql}");
        }
    }
    #[test]
    fn statements_with_a_transaction_of_their_own_stay_in_their_order() {
        let scripts = |sql: &str| {
            let settings =
                [("sql".to_owned(), sql.into()), ("unit".to_owned(), "statement".into())];
            let settings = overlaid(&Parameters::defaults(), &settings.into());
            let suite = Suite::read(&Parameters::read(&settings).unwrap()).unwrap();
            suite.scripts.len()
        };
        assert_eq!(scripts("BEGIN; INSERT INTO t VALUES (1); COMMIT;"), 1);
        assert_eq!(scripts("INSERT INTO t VALUES (1); SELECT 1;"), 2);
        assert_eq!(scripts("-- name: one\nSELECT 1;\n-- name: two\nSELECT 2;"), 2);
    }
}
