//! The changes themselves, and what the table should hold after them.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use script::effect::quoted;

use super::super::load::bind;
use super::super::table::{TABLE, TextTable, differing, listed};
use crate::generate::{Corpus, Documents};
use crate::measure::CpuTime;
use crate::workload::prelude::*;

choice! {
    /// Kind of change of the rows.
    enum Kind {
        /// Rows are inserted.
        Insert = "insert",
        /// Rows are rewritten.
        Update = "update",
        /// Rows are deleted.
        Delete = "delete",
        /// Each in turn.
        Mixed = "mixed",
    }
}

/// One change; documents are named by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Insert { document: u64 },
    Update { rowid: i64, document: u64 },
    Delete { rowid: i64 },
}

/// Expected contents of the table: before any change, the row of rowid r has document r - 1.
pub(super) struct Model {
    rows: usize,
    kind: Kind,
    generator: SplitMix64,
    /// Rows that were changed: none is changed twice.
    taken: HashSet<i64>,
    /// The document of every row that has another one than at first; none for rows that are gone.
    changed: BTreeMap<i64, Option<u64>>,
    next_document: u64,
    next_rowid: i64,
    made: usize,
}

impl Model {
    pub(super) fn new(rows: usize, kind: Kind, seed: Seed) -> Model {
        Model {
            rows,
            kind,
            generator: seed.child("changes").generator(),
            taken: HashSet::new(),
            changed: BTreeMap::new(),
            next_document: rows as u64,
            next_rowid: rows as i64 + 1,
            made: 0,
        }
    }

    /// Returns the next changes, which are taken to be done.
    pub(super) fn next(&mut self, count: usize) -> Vec<Change> {
        (0..count).map(|_| self.one()).collect()
    }

    fn one(&mut self) -> Change {
        let kind = match self.kind {
            Kind::Mixed => [Kind::Insert, Kind::Update, Kind::Delete][self.made % 3],
            kind => kind,
        };
        self.made += 1;
        match kind {
            Kind::Insert => {
                let document = self.document();
                self.changed.insert(self.next_rowid, Some(document));
                self.next_rowid += 1;
                Change::Insert { document }
            }
            Kind::Delete => {
                let rowid = self.untouched();
                self.changed.insert(rowid, None);
                Change::Delete { rowid }
            }
            Kind::Update | Kind::Mixed => {
                let (rowid, document) = (self.untouched(), self.document());
                self.changed.insert(rowid, Some(document));
                Change::Update { rowid, document }
            }
        }
    }

    fn document(&mut self) -> u64 {
        self.next_document += 1;
        self.next_document - 1
    }

    /// Returns a row of the first ones that no change has touched, each equally likely.
    fn untouched(&mut self) -> i64 {
        loop {
            let rowid = 1 + self.generator.below(self.rows as u64) as i64;
            if self.taken.insert(rowid) {
                return rowid;
            }
        }
    }

    /// Returns every row with its document, in ascending order.
    fn expected(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let first = (1..=self.rows as i64).filter_map(|rowid| match self.changed.get(&rowid) {
            None => Some((rowid, rowid as u64 - 1)),
            Some(document) => Some((rowid, (*document)?)),
        });
        let added = self.changed.range(self.rows as i64 + 1..);
        first.chain(added.filter_map(|(rowid, document)| Some((*rowid, (*document)?))))
    }

    /// Checks that the table has as many rows as it should.
    pub(super) fn count(&self, connection: &Connection) -> Result<()> {
        let count = connection.query_i64(&format!("SELECT count(*) FROM {TABLE}"))?;
        expect("the count of rows", count, self.expected().count() as i64)
    }

    /// Checks every row against the document that it should have.
    pub(super) fn compare(&self, table: TextTable<'_>) -> Result<()> {
        let TextTable { connection, options, source } = table;
        let corpus = source.corpus()?;
        let columns = &source.columns;
        let sql =
            format!("SELECT rowid, {} FROM {} ORDER BY rowid", listed(columns), options.written());
        let mut select = connection.prepare(&sql)?;
        let mut document = Documents::new(columns.len());
        let (mut found, mut wrong) = (0_usize, 0_usize);
        let mut expected = self.expected();
        while select.step()? == Step::Row {
            found += 1;
            let Some((rowid, number)) = expected.next() else { continue };
            document.clear();
            corpus.write(number, &mut document);
            let same = select.column_i64(0) == rowid && differing(&select, 1, &document, 0)? == 0;
            wrong += usize::from(!same);
        }
        expect("the count of rows", found, self.expected().count())?;
        expect("the count of wrong rows", wrong, 0)
    }
}

/// Everything prepared for changing.
pub(super) struct Changes<'c> {
    begin: Statement<'c, 'static>,
    commit: Statement<'c, 'static>,
    insert: Statement<'c, 'static>,
    /// None for tables without texts that can neither rewrite nor delete.
    update: Option<Statement<'c, 'static>>,
    delete: Option<Statement<'c, 'static>>,
    corpus: Corpus,
    documents: Documents,
    /// The time and CPU time of all transactions, and the latency of each.
    pub(super) active: Duration,
    pub(super) cpu: CpuTime,
    pub(super) latency: LatencyHistogram,
}

impl<'c> Changes<'c> {
    pub(super) fn prepare(table: TextTable<'c>, begin: &str) -> Result<Changes<'c>> {
        let TextTable { connection, options, source } = table;
        let table = options.written();
        let columns = &source.columns;
        let assignments: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(number, name)| format!("{} = ?{}", quoted(name), number + 1))
            .collect();
        let update = format!(
            "UPDATE {table} SET {} WHERE rowid = ?{}",
            assignments.join(", "),
            columns.len() + 1
        );
        let delete = format!("DELETE FROM {table} WHERE rowid = ?1");
        let rewritable = options.can_rewrite();
        let prepare = |sql: &str| rewritable.then(|| connection.prepare(sql)).transpose();
        Ok(Changes {
            begin: connection.prepare(begin)?,
            commit: connection.prepare("COMMIT")?,
            insert: connection.prepare(&options.insert_sql(columns))?,
            update: prepare(&update)?,
            delete: prepare(&delete)?,
            corpus: source.corpus()?,
            documents: Documents::new(columns.len()),
            active: Duration::ZERO,
            cpu: CpuTime::default(),
            latency: LatencyHistogram::default(),
        })
    }

    /// Carries out changes in one transaction, whose documents are made beforehand.
    pub(super) fn run(&mut self, changes: &[Change]) -> Result<()> {
        self.documents.clear();
        for change in changes {
            match change {
                Change::Insert { document } | Change::Update { document, .. } => {
                    self.corpus.write(*document, &mut self.documents);
                }
                Change::Delete { .. } => {}
            }
        }
        let cpu = CpuTime::now()?;
        let start = Instant::now();
        self.begin.run()?;
        let mut row = 0;
        for change in changes {
            match change {
                Change::Insert { .. } => {
                    with_row(&mut self.insert, &self.documents, row, None)?;
                    row += 1;
                }
                Change::Update { rowid, .. } => {
                    let update = can(&mut self.update)?;
                    with_row(update, &self.documents, row, Some(*rowid))?;
                    row += 1;
                }
                Change::Delete { rowid } => {
                    let delete = can(&mut self.delete)?;
                    delete.bind_i64(1, *rowid)?;
                    delete.run()?;
                }
            }
        }
        self.commit.run()?;
        let time = start.elapsed();
        self.cpu = self.cpu.plus(CpuTime::now()?.since(cpu));
        self.active += time;
        self.latency.record(time);
        Ok(())
    }
}

fn can<'s, 'c>(
    statement: &'s mut Option<Statement<'c, 'static>>,
) -> Result<&'s mut Statement<'c, 'static>> {
    statement.as_mut().ok_or_else(|| {
        TrialError::cannot_run("rows of this table can be neither rewritten nor deleted")
    })
}

/// Runs a statement with a row's fields, and the rowid after them where it takes one.
fn with_row(
    statement: &mut Statement<'_, 'static>,
    documents: &Documents,
    row: usize,
    rowid: Option<i64>,
) -> Result<(), EngineError> {
    statement.with_borrowed(|statement| {
        bind(statement, documents, row)?;
        if let Some(rowid) = rowid {
            statement.bind_i64(documents.columns as i32 + 1, rowid)?;
        }
        statement.run()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_touch_each_row_once_and_the_model_follows() {
        let mut model = Model::new(10, Kind::Mixed, Seed(1));
        let changes = model.next(9);
        assert_eq!(changes.len(), 9);
        assert!(matches!(changes[0], Change::Insert { document: 10 }));
        let expected: Vec<(i64, u64)> = model.expected().collect();
        assert_eq!(expected.len(), 10 + 3 - 3);
        assert_eq!(expected.iter().filter(|(rowid, _)| *rowid > 10).count(), 3);
        let rewritten =
            expected.iter().filter(|(rowid, number)| *rowid <= 10 && *number != *rowid as u64 - 1);
        assert_eq!(rewritten.count(), 3);
    }
}
