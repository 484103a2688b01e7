//! SQLite's explanations: the bytecode of a statement and the plan of a query.
//!
//! Nothing here is timed for its speed. The statement is also run once, to check that the statement with this bytecode does what
//! its title says.

use crate::workload::prelude::*;
use engine::{Array, Connection, EngineError, Step, Value};

/// The workload `explain`.
pub(super) struct Explain;

choice! {
    /// Which statement is explained.
    enum Statement {
        /// An INSERT of one row.
        Insert = "insert",
        /// A join of two sides by their rowid.
        Join = "join",
    }
}

parameters! {
    /// The parameters of one trial.
    struct Parameters {
        /// Statement to explain.
        statement: Statement = Statement::Insert;
        /// Table that the INSERT goes to.
        table: Table = Table::Rowid;
        /// What is joined.
        joined: Joined = Joined::Carrays;
    }
}

impl Declared for Explain {
    const NAME: &'static str = "explain";
    const METRIC: &'static str = "opcodes";
    const ABOUT: &'static str =
        "Shows the bytecode (EXPLAIN) and the plan (EXPLAIN QUERY PLAN) of a statement.";
    const COUNTS: bool = false;
    type Parameters = Parameters;

    fn run(trial: &mut Trial<'_>, parameters: &Parameters) -> Result<Measured> {
        let subject = parameters.subject();
        if subject.joined == Some(Joined::Carrays) && !trial.library.has_carray() {
            return Err(TrialError::cannot_run("this engine lacks carray"));
        }
        (trial.phase)("explain");
        let path = trial.directory.join("test.db");
        let connection = sqlite::open(trial, &path)?;
        connection.execute(subject.schema)?;
        let watch = Stopwatch::start()?;
        let bytecode = table(&connection, "EXPLAIN", "bytecode", &subject)?;
        let plan = table(&connection, "EXPLAIN QUERY PLAN", "query plan", &subject)?;
        let mut measured = watch.stop()?.times();

        (trial.phase)("verify");
        check_bytecode(&bytecode)?;
        subject.check_result(&connection)?;
        set(&mut measured, "opcodes", bytecode.rows.len() as f64);
        if subject.joined.is_some() {
            set(&mut measured, "plan_scans", steps(&plan, "SCAN ") as f64);
            let searches = steps(&plan, "SEARCH ");
            set(&mut measured, "plan_searches", searches as f64);
        }
        measured.tables =
            [bytecode, plan].into_iter().filter(|table| !table.rows.is_empty()).collect();
        close(connection, Some(&path), &mut measured)?;
        Ok(measured)
    }
}

/// Returns the answer of `explain` for the statement.
fn table(
    connection: &Connection,
    explain: &str,
    what: &str,
    subject: &Subject,
) -> Result<DataTable, EngineError> {
    let mut statement = connection.prepare(&format!("{explain} {}", subject.sql))?;
    let columns =
        (0..statement.column_count()).filter_map(|column| statement.column_name(column)).collect();
    let mut rows = Vec::new();
    while statement.step()? == Step::Row {
        let cell = |column| match statement.column_value(column) {
            Value::Null => String::new(),
            value => value.to_string(),
        };
        rows.push((0..statement.column_count()).map(cell).collect());
    }
    Ok(DataTable { title: format!("{what} of {} ({})", subject.sql, subject.about), columns, rows })
}

/// Every program of SQLite begins with Init and halts somewhere
/// (<https://sqlite.org/opcode.html>).
fn check_bytecode(bytecode: &DataTable) -> Result<()> {
    let opcodes: Vec<&str> = bytecode.rows.iter().map(|row| row[1].as_str()).collect();
    expect("the heading of the second column", bytecode.columns[1].as_str(), "opcode")?;
    expect("the first instruction", opcodes.first().copied().unwrap_or("none"), "Init")?;
    expect("whether there is a Halt", opcodes.contains(&"Halt"), true)
}

/// Returns the number of steps of a plan whose description has this beginning.
fn steps(plan: &DataTable, beginning: &str) -> usize {
    plan.rows
        .iter()
        .filter(|row| row.last().is_some_and(|detail| detail.starts_with(beginning)))
        .count()
}

choice! {
    /// The kind of table that an INSERT goes to.
    enum Table {
        /// SQLite numbers the rows.
        Rowid = "rowid",
        /// The value is the rowid (<https://sqlite.org/lang_createtable.html#rowid>).
        IntegerPrimaryKey = "integer-primary-key",
        /// The table is a B-tree of its primary key (<https://sqlite.org/withoutrowid.html>).
        WithoutRowid = "without-rowid",
    }

    /// The sides of a join.
    enum Joined {
        /// Two arrays of the program, by carray.
        Carrays = "carrays",
        /// Two tables.
        Tables = "tables",
    }
}

/// A statement to explain.
struct Subject {
    about: &'static str,
    schema: &'static str,
    sql: &'static str,
    /// The sides of a join; `None` for an INSERT.
    joined: Option<Joined>,
}

/// Values of both sides of a join, by rowid.
const LEFT: [i64; 3] = [10, 20, 30];
const RIGHT: [i64; 3] = [1, 2, 3];

impl Parameters {
    fn subject(&self) -> Subject {
        let insert = |about, schema| Subject {
            about,
            schema,
            sql: "INSERT INTO integers(value) VALUES (1)",
            joined: None,
        };
        match (self.statement, self.table, self.joined) {
            (Statement::Insert, Table::Rowid, _) => {
                insert("table with rowid", "CREATE TABLE integers(value INTEGER)")
            }
            (Statement::Insert, Table::IntegerPrimaryKey, _) => {
                insert("INTEGER PRIMARY KEY", "CREATE TABLE integers(value INTEGER PRIMARY KEY)")
            }
            (Statement::Insert, Table::WithoutRowid, _) => insert(
                "WITHOUT ROWID",
                "CREATE TABLE integers(value INT PRIMARY KEY) WITHOUT ROWID",
            ),
            (Statement::Join, _, Joined::Carrays) => Subject {
                about: "two arrays",
                schema: "",
                sql: "SELECT a.value, b.value FROM carray(?1) AS a CROSS JOIN carray(?2) AS b ON a.rowid = b.rowid",
                joined: Some(self.joined),
            },
            (Statement::Join, _, Joined::Tables) => Subject {
                about: "two tables",
                schema: "CREATE TABLE a(value INTEGER); CREATE TABLE b(value INTEGER); \
                         INSERT INTO a VALUES (10), (20), (30); INSERT INTO b VALUES (1), (2), (3)",
                sql: "SELECT a.value, b.value FROM a CROSS JOIN b ON a.rowid = b.rowid",
                joined: Some(self.joined),
            },
        }
    }
}

impl Subject {
    /// Runs the statement and checks what comes of it.
    fn check_result(&self, connection: &Connection) -> Result<()> {
        match self.joined {
            None => {
                connection.execute(self.sql)?;
                let found =
                    connection.query_i64("SELECT count(*) * 10 + sum(value) FROM integers")?;
                expect("ten times the count of rows, plus their sum", found, 11)
            }
            Some(joined) => {
                let mut join = connection.prepare(self.sql)?;
                if joined == Joined::Carrays {
                    join.bind_array(1, Array::I64(&LEFT))?;
                    join.bind_array(2, Array::I64(&RIGHT))?;
                }
                let mut pairs = Vec::new();
                while join.step()? == Step::Row {
                    pairs.push((join.column_i64(0), join.column_i64(1)));
                }
                let wanted: Vec<(i64, i64)> = LEFT.into_iter().zip(RIGHT).collect();
                expect("the joined rows", format!("{pairs:?}"), format!("{wanted:?}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::common::tests::run;
    use super::*;
    use engine::{Library, OpenFlags, Source};
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn the_bytecode_of_an_insert_differs_by_kind_of_table() {
        let opcodes = |table: &str| {
            let measured = run("explain", &[("table", table.into())]).unwrap();
            let bytecode = &measured.tables[0];
            assert_eq!(measured.metrics["opcodes"], bytecode.rows.len() as f64);
            assert!(bytecode.title.contains("INSERT INTO integers"));
            bytecode.rows.iter().map(|row| row[1].clone()).collect::<Vec<_>>()
        };
        let rowid = opcodes("rowid");
        assert!(rowid.contains(&"NewRowid".to_owned()));
        assert!(!rowid.contains(&"NotExists".to_owned()));
        assert!(opcodes("integer-primary-key").contains(&"NotExists".to_owned()));
        assert!(opcodes("without-rowid").contains(&"IdxInsert".to_owned()));
    }

    #[test]
    fn a_join_of_tables_searches_one_of_them() {
        let settings = [("statement", "join".into()), ("joined", "tables".into())];
        let metrics = run("explain", &settings).unwrap().metrics;
        assert_eq!((metrics["plan_scans"], metrics["plan_searches"]), (1.0, 1.0));
    }

    #[test]
    fn a_join_of_arrays_has_a_plan_with_two_steps() {
        let measured = run("explain", &[("statement", "join".into())]).unwrap();
        let steps = measured.metrics["plan_scans"] + measured.metrics["plan_searches"];
        assert_eq!(steps, 2.0);
        assert_eq!(measured.tables[1].rows.len(), 2);
    }

    #[test]
    fn what_is_no_program_is_a_wrong_result() {
        let program = |rows: &[&str]| DataTable {
            title: String::new(),
            columns: vec!["addr".to_owned(), "opcode".to_owned()],
            rows: rows.iter().map(|opcode| vec!["0".to_owned(), (*opcode).to_owned()]).collect(),
        };
        assert!(check_bytecode(&program(&["Init", "Halt"])).is_ok());
        assert!(check_bytecode(&program(&["Init", "Goto"])).is_err());
        assert!(check_bytecode(&program(&["Halt"])).is_err());
        assert!(check_bytecode(&program(&[])).is_err());
    }

    #[test]
    fn a_statement_that_does_something_else_is_a_wrong_result() {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
        let subject = |statement| {
            let (table, joined) = (Table::Rowid, Joined::Tables);
            Parameters { statement, table, joined }.subject()
        };
        let (join, insert) = (subject(Statement::Join), subject(Statement::Insert));
        connection.execute(join.schema).unwrap();
        assert!(join.check_result(&connection).is_ok());
        connection.execute("UPDATE b SET value = 7 WHERE value = 2").unwrap();
        assert!(join.check_result(&connection).is_err());
        connection.execute(insert.schema).unwrap();
        assert!(insert.check_result(&connection).is_ok());
        assert!(insert.check_result(&connection).is_err(), "a second row");
    }
}
