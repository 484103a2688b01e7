//! A case of a class: what is drawn for it, and loading it by every strategy beside INSERT.

use std::fmt::Write as _;
use std::path::Path;

use engine::{Connection, Value, ffi};
use lab::seed::Seed;
use pragmark_load::{
    Column, Dates, Index, LoadError, LoadStrategy, Mode, OnError, Opening, Request, Summary, Table,
};

use super::Class;
use super::compare::compare;
use super::plans::{Content, Made, PAGES, Plan};
use super::values::{Drawn, Values};
use crate::strategies::{batch, library, open, reserve, run};

fn field(value: &Value, content: Content) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(day) if content == Content::Days => {
            let parts: Vec<&str> = day.split('-').rev().collect();
            parts.join(".")
        }
        value => value.to_string(),
    }
}

/// A case of a class.
pub(super) struct Case {
    plan: Plan,
    /// Rows in batches, as columns of values.
    batches: Vec<Vec<Vec<Value>>>,
    /// How many of the batches are in the table before the load.
    before: usize,
    workers: usize,
    pub(super) rows: usize,
}

impl Case {
    pub(super) fn draw(class: Class, seed: Seed, most: usize) -> Case {
        let mut random = seed.generator();
        let plan = class(&mut random);
        let rows = (most / 2 + random.below(most as u64 / 2 + 1) as usize).max(1);
        let drawn = Drawn::new(&mut random, rows, plan.lowest_key);
        let parts = 1 + random.below(6) as usize;
        let workers = 1 + random.below(3) as usize;
        let mut values = Values { page_size: u64::from(plan.page_size), random: &mut random };
        let size = rows.div_ceil(parts);
        let part = |first: usize| {
            let part = first..rows.min(first + size);
            let column = |input| values.column(input, part.clone(), &drawn);
            plan.columns.iter().map(column).collect()
        };
        let batches: Vec<_> = (0..rows).step_by(size).map(part).collect();
        let before = if plan.rows_before { batches.len() / 2 } else { 0 };
        Case { plan, batches, before, workers, rows }
    }

    fn names(&self) -> Vec<String> {
        let names = (0..self.plan.columns.len()).map(|number| format!("c{number}"));
        names.collect()
    }

    /// What is there before the load.
    fn prepare(&self, database: &Path) {
        let size = self.plan.page_size;
        match &self.plan.made {
            Made::ByLoad { exists: false, .. } => {}
            Made::ByLoad { .. } => {
                let sql = format!("PRAGMA page_size = {size}; PRAGMA user_version = 1");
                open(database).execute(&sql).unwrap();
                reserve(database, size as u16, self.plan.reserved);
            }
            Made::BySql(sql) => {
                let connection = open(database);
                let pragmas = self.plan.pragmas;
                connection.execute(&format!("PRAGMA page_size = {size}; {pragmas}")).unwrap();
                let columns: Vec<String> = (self.names().iter().zip(&self.plan.columns))
                    .map(|(name, column)| format!("{name} {}", column.declared))
                    .collect();
                let sql = sql.replace("{columns}", &columns.join(", "));
                connection.execute(&sql).unwrap();
                self.insert(&connection, &self.batches[..self.before]);
            }
        }
    }

    /// One INSERT for each row; returns how many were refused.
    fn insert(&self, connection: &Connection, batches: &[Vec<Vec<Value>>]) -> u64 {
        let names = self.names();
        let places = vec!["?"; names.len()].join(", ");
        let sql = format!("INSERT INTO t({}) VALUES ({places})", names.join(", "));
        connection.execute("BEGIN").unwrap();
        let mut insert = connection.prepare(&sql).unwrap();
        let mut refused = 0;
        for columns in batches {
            for row in 0..columns[0].len() {
                for (number, values) in columns.iter().enumerate() {
                    insert.bind_value(number as i32 + 1, &values[row]).unwrap();
                }
                match insert.run() {
                    Ok(()) => {}
                    Err(error) if self.is_skipped(&error) => refused += 1,
                    Err(error) => panic!("INSERT refuses what the class should not have: {error}"),
                }
            }
        }
        drop(insert);
        connection.execute("COMMIT").unwrap();
        refused
    }

    fn is_skipped(&self, error: &engine::EngineError) -> bool {
        let sqlite = error.as_sqlite();
        self.plan.on_error == OnError::Skip
            && sqlite.is_some_and(|error| error.primary() == ffi::SQLITE_CONSTRAINT)
    }

    fn load(&self, database: &Path, strategy: Option<LoadStrategy>) -> Result<Summary, LoadError> {
        let mut request = Request::new(database, self.table());
        request.mode = match self.plan.made {
            Made::ByLoad { .. } => Mode::Create,
            Made::BySql(_) => Mode::Append,
        };
        request.strategy = strategy;
        request.on_error = self.plan.on_error;
        request.workers = Some(self.workers);
        if let Made::ByLoad { exists: false, .. } = self.plan.made {
            request.page_size = Some(self.plan.page_size);
        }
        let batches = &self.batches[self.before..];
        if self.plan.from_file {
            return self.load_file(&database.with_extension("csv"), batches, &request);
        }
        run(batches.iter().map(|columns| batch(columns)).collect(), &request)
    }

    fn load_file(
        &self,
        path: &Path,
        batches: &[Vec<Vec<Value>>],
        request: &Request,
    ) -> Result<Summary, LoadError> {
        std::fs::write(path, self.csv(batches)).unwrap();
        let mut opening = Opening::new(&library());
        opening.dates = Some(Dates::default());
        let mut source = pragmark_load::open(&[path.to_owned()], &opening)?;
        pragmark_load::load(&library(), &mut *source, request, &mut |_| true)
    }

    /// Batches as a file: NULL is nothing, and days are written as people do.
    fn csv(&self, batches: &[Vec<Vec<Value>>]) -> String {
        let mut text = self.names().join(",") + "\n";
        for columns in batches {
            for row in 0..columns[0].len() {
                let values = columns.iter().zip(&self.plan.columns);
                let fields = values.map(|(values, input)| field(&values[row], input.content));
                text += &fields.collect::<Vec<_>>().join(",");
                text.push('\n');
            }
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new("t");
        let columns = self.names().into_iter().zip(&self.plan.columns);
        table.types = columns.map(|(name, column)| Column::new(name, column.declared)).collect();
        let Made::ByLoad { strict, key, without_rowid, indexes, .. } = &self.plan.made else {
            return table;
        };
        let named = |columns: &[usize]| columns.iter().map(|n| format!("c{n}")).collect();
        table.strict = *strict;
        table.primary_key = named(key);
        table.without_rowid = *without_rowid;
        let indexes = indexes
            .iter()
            .map(|(columns, unique)| Index { columns: named(columns), unique: *unique });
        table.indexes = indexes.collect();
        table
    }

    /// Loads by each strategy and compares with INSERT.
    ///
    /// # Errors
    /// The first difference.
    pub(super) fn check(&self) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let inserted = folder.path().join("insert");
        for strategy in self.plan.strategies {
            let loaded = folder.path().join("load");
            self.prepare(&loaded);
            let summary =
                self.load(&loaded, *strategy).map_err(|error| format!("{strategy:?}: {error}"))?;
            if !inserted.exists() {
                self.prepare_as(&inserted, &loaded);
                let connection = open(&inserted);
                let refused = self.insert(&connection, &self.batches[self.before..]);
                if refused != summary.rejected {
                    let rejected = summary.rejected;
                    return Err(format!("{rejected} rows rejected, not {refused}"));
                }
            }
            let rows: usize = self.batches[self.before..].iter().map(|b| b[0].len()).sum();
            if *strategy == PAGES && summary.rows_by_pages != rows as u64 {
                return Err(format!("not all went by pages: {:?}", summary.why_arrays));
            }
            compare(&loaded, &inserted, &self.plan.order)
                .map_err(|difference| format!("{strategy:?}: {difference}"))?;
            std::fs::remove_file(&loaded).unwrap();
        }
        Ok(())
    }

    /// The database that INSERT fills: as it is before the load, with the table as the load made it.
    fn prepare_as(&self, database: &Path, loaded: &Path) {
        self.prepare(database);
        if let Made::BySql(_) = self.plan.made {
            return;
        }
        let made = open(loaded)
            .query_all("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
            .unwrap();
        let mut sql = format!("PRAGMA page_size = {};", self.plan.page_size);
        for object in made {
            write!(sql, "{};", object[0]).unwrap();
        }
        open(database).execute(&sql).unwrap();
    }
}
