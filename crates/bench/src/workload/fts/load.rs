//! Filling the table: batches of documents, with a commit after every group of rows.
//!
//! The clock is stopped while a batch is generated and runs while it is inserted, so that neither the generation nor the
//! memory for all documents is measured.

use std::time::{Duration, Instant};

use super::table::TextTable;
use crate::generate::Documents;
use crate::measure::CpuTime;
use crate::workload::prelude::*;

/// Result of filling the table.
#[derive(Default)]
pub(super) struct Loaded {
    pub(super) rows: usize,
    /// Time of the inserting alone.
    pub(super) active: Duration,
    pub(super) cpu: CpuTime,
    /// Time of making the documents.
    pub(super) making: Duration,
    /// Bytes of the documents.
    pub(super) bytes: usize,
    pub(super) rates: Vec<f64>,
}

/// Rows that are handed over at once.
pub(super) const BATCH: usize = 1_000;

impl TextTable<'_> {
    /// Makes the table and fills it with every document. Commits after every `commit_every` rows; 0 commits once, at the end.
    pub(super) fn make_and_fill(self, trial: &Trial<'_>, commit_every: usize) -> Result<Loaded> {
        self.options.create(self.connection, &self.source.columns)?;
        self.load(trial, BATCH, commit_every)
    }

    /// Inserts every document.
    pub(super) fn load(
        self,
        trial: &Trial<'_>,
        batch: usize,
        commit_every: usize,
    ) -> Result<Loaded> {
        let TextTable { connection, options, source } = self;
        let mut reading = source.open()?;
        let mut writer = Writer {
            begin: connection.prepare(sqlite::begin_statement(trial.settings))?,
            commit: connection.prepare("COMMIT")?,
            insert: connection.prepare(&options.insert_sql(&source.columns))?,
            commit_every: if commit_every == 0 { usize::MAX } else { commit_every },
            open: 0,
        };
        let mut documents = Documents::new(source.columns.len());
        let mut windows = Windows::new(source.rows, batch, None);
        let start = Instant::now();
        windows.start(start);
        let mut loaded = Loaded::default();
        loop {
            let making = Instant::now();
            reading.fill(batch, &mut documents)?;
            loaded.making += making.elapsed();
            let count = documents.rows();
            let cpu = CpuTime::now()?;
            let began = Instant::now();
            match count {
                0 => writer.finish()?,
                _ => writer.insert(&documents)?,
            }
            loaded.active += began.elapsed();
            loaded.cpu = loaded.cpu.plus(CpuTime::now()?.since(cpu));
            if count == 0 {
                loaded.rates = windows.rates;
                return Ok(loaded);
            }
            loaded.rows += count;
            loaded.bytes += documents.bytes();
            // The clock is stopped while documents are generated, so moments count the inserting alone.
            windows.tick(count, start + loaded.active);
        }
    }
}

/// The statements of the inserting, and how far the open transaction has got.
struct Writer<'c> {
    begin: Statement<'c, 'static>,
    commit: Statement<'c, 'static>,
    insert: Statement<'c, 'static>,
    commit_every: usize,
    open: usize,
}

impl Writer<'_> {
    fn insert(&mut self, documents: &Documents) -> Result<(), EngineError> {
        let (begin, commit) = (&mut self.begin, &mut self.commit);
        let (open, commit_every) = (&mut self.open, self.commit_every);
        self.insert.with_borrowed(|insert| {
            for row in 0..documents.rows() {
                if *open == 0 {
                    begin.run()?;
                }
                bind(insert, documents, row)?;
                insert.run()?;
                *open += 1;
                if *open == commit_every {
                    commit.run()?;
                    *open = 0;
                }
            }
            Ok(())
        })
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        match self.open {
            0 => Ok(()),
            _ => self.commit.run(),
        }
    }
}

/// Binds the fields of a row where they lie, as the first parameters.
pub(super) fn bind<'d>(
    statement: &mut Statement<'_, 'd>,
    documents: &'d Documents,
    row: usize,
) -> Result<(), EngineError> {
    for column in 0..documents.columns {
        let place = column as i32 + 1;
        match documents.field(row, column) {
            Some(text) => statement.bind_text_borrowed(place, text)?,
            None => statement.bind_null(place)?,
        }
    }
    Ok(())
}
