//! The scripts of a trial, read from their files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use script::effect::{first_word, line_that_reaches_files, names, written};
use script::{Form, Names, Script, Slot, parse, weighted, with_keys, without_limit};

use super::parameters::{Parameters, Unit};
use super::pgbench;
use super::statement::{Columns, StatementError};
use crate::workload::common::StatementNames;
use crate::workload::prelude::*;

/// Scripts with their weights and the names of their variables.
pub(super) struct Suite {
    pub(super) scripts: Vec<Script>,
    pub(super) weights: Vec<u32>,
    pub(super) names: Names,
    /// Checksum of all texts and weights.
    pub(super) checksum: u64,
    /// The columns of statements, by script and statement.
    columns: BTreeMap<(usize, usize), Columns>,
}

/// Refuses SQL that reaches files other than the copies of the trial, because the user's files must not change. `line` is the
/// line of the first statement.
///
/// # Errors
/// `ATTACH` or `VACUUM INTO`, with the file and the line.
pub(super) fn refuse_other_files(file: &str, line: usize, sql: &str) -> Result<()> {
    let Some(further) = line_that_reaches_files(sql) else { return Ok(()) };
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

/// Returns whether a script is a single statement of this kind.
fn begins_or_ends(script: &Script) -> bool {
    let statements = &script.statements;
    statements.len() == 1 && TRANSACTIONS.contains(&first_word(&statements[0].sql).as_str())
}

/// The name that mistakes in statements without a file have.
const COMMAND_LINE: &str = "sql";

/// Gives statements without a file or a name one that says what they do.
fn name_by_work(title: &str, scripts: &mut [Script]) {
    let is_unnamed =
        |script: &Script| script.name == title || script.name.starts_with(&format!("{title}:"));
    let given: BTreeSet<String> = (scripts.iter())
        .filter(|script| !is_unnamed(script))
        .map(|script| script.name.clone())
        .collect();
    let mut names = StatementNames::default();
    for script in scripts.iter_mut().filter(|script| is_unnamed(script)) {
        let [statement] = script.statements.as_mut_slice() else { continue };
        let mut name = names.name(&statement.sql);
        while given.contains(&name) {
            name = names.name(&statement.sql);
        }
        statement.name.clone_from(&name);
        script.name = name;
    }
}

impl Suite {
    /// Reads the scripts that the parameters name.
    ///
    /// # Errors
    /// A file cannot be read; the first mistake in a script, with its file and line.
    pub(super) fn read(parameters: &Parameters) -> Result<Suite> {
        let mut suite = Suite {
            scripts: Vec::new(),
            weights: Vec::new(),
            names: Names::default(),
            checksum: 0,
            columns: BTreeMap::new(),
        };
        let form = match parameters.unit {
            Unit::File => Form::Transaction,
            Unit::Statement => Form::Statements,
        };
        if let Some(builtin) = parameters.pgbench() {
            suite.add(builtin.name(), pgbench::text(builtin), 1, Form::Transaction)?;
        }
        if let Some(sql) = &parameters.sql {
            suite.add(COMMAND_LINE, sql, 1, form)?;
        }
        for file in parameters.scripts.iter().flat_map(|list| list.split(',')) {
            let (path, weight) = weighted(file.trim()).map_err(TrialError::Mistake)?;
            let text = read_text(Path::new(path))?;
            suite.add(path, &text, weight, form)?;
        }
        for script in &suite.scripts {
            for statement in &script.statements {
                refuse_other_files(&script.file, statement.line, &statement.sql)?;
            }
        }
        if suite.in_use().next().is_none() {
            return Err(TrialError::Mistake("the weights of all scripts are 0".to_owned()));
        }
        suite.spread_chance();
        Ok(suite)
    }

    /// Marks the statements that read tables into which others write by chance: their answers may depend on it, too.
    fn spread_chance(&mut self) {
        let by_chance = self.statements().filter(|statement| statement.volatile);
        let tables: BTreeSet<String> =
            by_chance.flat_map(|statement| written(&statement.sql)).collect();
        self.mark_volatile(|statement| {
            names(&statement.sql).iter().any(|name| tables.contains(name))
        });
    }

    fn add(&mut self, file: &str, text: &str, weight: u32, form: Form) -> Result<()> {
        let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy());
        let title = self.free(&stem.unwrap_or_default());
        let mut parsed = |form| {
            let scripts = parse(file, &title, text, form, &mut self.names);
            scripts.map_err(TrialError::from)
        };
        let mut scripts = parsed(form)?;
        if scripts.len() > 1 && scripts.iter().any(begins_or_ends) {
            // Its statements make sense in their order only.
            scripts = parsed(Form::Transaction)?;
        }
        if file == COMMAND_LINE {
            name_by_work(&title, &mut scripts);
        }
        for script in &scripts {
            if self.scripts.iter().any(|known| known.name == script.name) {
                let name = &script.name;
                let why = format!("{file}: another file has a query named `{name}`, too");
                return Err(TrialError::Mistake(why));
            }
        }
        self.weights.extend(scripts.iter().map(|script| weight.saturating_mul(script.weight)));
        self.scripts.extend(scripts);
        self.checksum = Seed(self.checksum).child(text).nth(u64::from(weight)).0;
        Ok(())
    }

    /// Returns a name for the scripts of a file. Two files of the same name get different ones.
    fn free(&self, stem: &str) -> String {
        let taken = |name: &str| {
            let mut scripts = self.scripts.iter();
            scripts
                .any(|script| script.name == name || script.name.starts_with(&format!("{name}:")))
        };
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let mut names = std::iter::once(stem.to_owned()).chain(numbered);
        names.find(|name| !taken(name)).unwrap_or_default()
    }

    /// Numbers the variables that `\gset` sets, which have the names of the columns.
    ///
    /// # Errors
    /// SQLite refuses such a statement, with its file and line.
    pub(super) fn resolve(&mut self, connection: &Connection) -> Result<()> {
        for (number, script) in self.scripts.iter().enumerate() {
            for (index, statement) in script.statements.iter().enumerate() {
                let Some(prefix) = &statement.gset else { continue };
                let prepared = connection.prepare(&statement.sql);
                let refused =
                    |error| StatementError::Engine(error).at(&script.file, statement.line);
                let prepared = prepared.map_err(refused)?;
                let columns = (0..prepared.column_count()).filter_map(|column| {
                    let name = format!("{prefix}{}", prepared.column_name(column)?);
                    Some((column, self.names.slot(&name)))
                });
                self.columns.entry((number, index)).or_default().gset = columns.collect();
            }
        }
        Ok(())
    }

    /// Replaces each plain BEGIN of a script by this statement.
    pub(super) fn begin_with(&mut self, begin: &str) {
        for statement in self.scripts.iter_mut().flat_map(|script| &mut script.statements) {
            if is_plain_begin(&statement.sql) {
                begin.clone_into(&mut statement.sql);
            }
        }
    }

    /// Lets queries show the keys of their order behind their columns, and be executed without their limit, too, where SQLite accepts that.
    /// One that it refuses, because it names a rowid or an index, is left out, and so is one whose answer is not needed.
    pub(super) fn adapt(
        &mut self,
        connection: &Connection,
        is_needed: impl Fn(&script::Statement) -> bool,
    ) {
        for (number, script) in self.scripts.iter_mut().enumerate() {
            for (index, statement) in script.statements.iter_mut().enumerate() {
                let columns = self.columns.entry((number, index)).or_default();
                // A table that is missing will be made.
                let is_refused = |error: EngineError| !error.message().contains("no such table");
                let is_query = ["select", "values"].contains(&first_word(&statement.sql).as_str());
                let is_unneeded = is_query && columns.gset.is_empty() && !is_needed(statement);
                columns.is_left_out = is_unneeded
                    || written(&statement.sql).is_empty()
                        && connection.prepare(&statement.sql).is_err_and(is_refused);
                columns.unlimited = without_limit(&statement.sql);
                let Some(sql) = with_keys(&statement.sql) else { continue };
                let columns =
                    |sql: &str| Some(connection.prepare(sql).ok()?.column_count() as usize);
                if let Some((shown, _)) = columns(&statement.sql).zip(columns(&sql)) {
                    self.columns.entry((number, index)).or_default().shown = Some(shown);
                    statement.sql = sql;
                }
            }
        }
    }

    /// Marks statements whose answers may depend on chance.
    pub(super) fn mark_volatile(&mut self, is_volatile: impl Fn(&script::Statement) -> bool) {
        for statement in self.scripts.iter_mut().flat_map(|script| &mut script.statements) {
            statement.volatile |= is_volatile(statement);
        }
    }

    /// Returns the statements of all scripts.
    pub(super) fn statements(&self) -> impl Iterator<Item = &script::Statement> {
        self.scripts.iter().flat_map(|script| &script.statements)
    }

    /// Returns the statements of all scripts, each with the weight of its script.
    pub(super) fn weighted(&self) -> impl Iterator<Item = (&script::Statement, u32)> {
        let scripts = self.scripts.iter().zip(&self.weights);
        scripts.flat_map(|(script, weight)| script.statements.iter().map(|it| (it, *weight)))
    }

    /// Returns whether a script begins transactions without saying how.
    pub(super) fn leaves_begin_open(&self) -> bool {
        self.statements().any(|statement| is_plain_begin(&statement.sql))
    }

    /// Returns whether a script writes, and none begins or ends transactions.
    pub(super) fn commits_by_itself(&self) -> bool {
        let begins_with = |words: &[&str]| {
            let mut statements = self.statements();
            statements.any(|statement| words.contains(&first_word(&statement.sql).as_str()))
        };
        begins_with(&["insert", "update", "delete", "replace"]) && !begins_with(&TRANSACTIONS)
    }

    /// Returns the purposes of the columns of a statement.
    pub(super) fn columns_of(&self, script: usize, statement: usize) -> Columns {
        self.columns.get(&(script, statement)).cloned().unwrap_or_default()
    }

    /// Returns every variable that a `\gset` sets.
    pub(super) fn set_by_gset(&self) -> Vec<Slot> {
        self.columns.values().flat_map(|columns| &columns.gset).map(|(_, slot)| *slot).collect()
    }

    /// Returns the numbers of the scripts that are executed, because their weight is not 0.
    pub(super) fn in_use(&self) -> impl Iterator<Item = usize> + Clone {
        self.weights.iter().enumerate().filter(|(_, weight)| **weight > 0).map(|(number, _)| number)
    }

    /// Returns the number of transactions at the beginning in which each script is executed once, so that a trial has figures of
    /// every script: none if scripts have weights, or share transactions.
    pub(super) fn first_turns(&self, group: usize) -> usize {
        let weights = self.weights.iter().filter(|weight| **weight > 0);
        let alike = weights.clone().min() == weights.clone().max();
        if alike && group == 0 { weights.count() } else { 0 }
    }
}

/// Returns whether a statement is `BEGIN` or `BEGIN TRANSACTION`.
fn is_plain_begin(sql: &str) -> bool {
    let words = sql.trim_end_matches([';', ' ', '\n']).split_whitespace();
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    matches!(words[..], ["begin"] | ["begin", "transaction"])
}

/// Reads a file of SQL.
pub(super) fn read_text(path: &Path) -> Result<String> {
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

    #[test]
    fn only_a_query_whose_answer_is_not_needed_or_that_is_refused_is_left_out() {
        let sql = "BEGIN; SELECT a FROM t WHERE a = 1; SELECT a FROM t WHERE a = 2 \\gset\n SELECT a FROM t LIMIT 1; SELECT rowid FROM t LIMIT 1; UPDATE t SET a = 2; COMMIT;";
        let settings = [("sql".to_owned(), sql.into())];
        let settings = overlaid(&Parameters::defaults(), &settings.into());
        let mut suite = Suite::read(&Parameters::read(&settings).unwrap()).unwrap();
        let library =
            std::sync::Arc::new(engine::Library::load(&engine::Source::Embedded).unwrap());
        let flags = engine::OpenFlags::default();
        let connection = Connection::open(&library, Path::new(":memory:"), flags, None).unwrap();
        connection.execute("CREATE TABLE t(a PRIMARY KEY) WITHOUT ROWID").unwrap();
        suite.resolve(&connection).unwrap();
        suite.adapt(&connection, |statement| statement.sql.contains("LIMIT"));
        let left_out = (0..7).map(|number| suite.columns_of(0, number).is_left_out);
        let expected = [false, true, false, false, true, false, false];
        assert_eq!(left_out.collect::<Vec<_>>(), expected);
    }
}
