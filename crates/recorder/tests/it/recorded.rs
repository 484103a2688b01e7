//! A whole recording in memory, for comparison.

use std::collections::HashMap;
use std::path::Path;

use pragmark_recorder::read::{Chunk, Ended, ReadError, Record, Recording, Text};

/// A statement.
#[derive(Debug)]
pub struct Statement {
    pub sql: String,
    pub values: String,
    pub ended: Option<Ended>,
}

/// What a recording has; statements in order of their starts within each connection.
#[derive(Debug, Default)]
pub struct Recorded {
    pub statements: Vec<Statement>,
    pub tickets: Vec<u64>,
    /// The connection of each ticket.
    pub committed: Vec<u32>,
    pub files: Vec<String>,
    /// Connections that share a database in memory, each with the one that opened it.
    pub shares: Vec<(u32, u32)>,
    pub snapshots: Vec<(u8, u64)>,
    pub snapshot_files: Vec<String>,
    pub settings: Vec<(String, String)>,
    pub notes: Vec<u64>,
    pub processes: usize,
    pub exits: usize,
    pub unreadable: u64,
    pub libraries: Vec<(bool, bool, bool)>,
    open: HashMap<(u32, usize), usize>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Recorded {
    pub fn read(raw: &Path) -> Recorded {
        let recording = Recording::open(raw).unwrap();
        let mut texts = HashMap::new();
        let find = |chunk: Chunk<'_>| {
            for (at, record) in chunk.records() {
                if let Record::Text { id, sql, .. } = record {
                    texts.insert((at.process, id), text(sql));
                }
            }
            Ok(())
        };
        recording.for_each_chunk::<ReadError>(find).unwrap();
        let mut it = Recorded::default();
        let mut torn = 0;
        let lost = recording.for_each_chunk::<ReadError>(|chunk| {
            torn += it.take(chunk, &texts);
            Ok(())
        });
        it.unreadable = lost.unwrap() + torn;
        it
    }

    fn take(&mut self, chunk: Chunk<'_>, texts: &HashMap<(u32, u32), String>) -> u64 {
        let mut records = chunk.records();
        for (at, record) in records.by_ref() {
            match record {
                Record::Begin { place, text: of, values, .. } => {
                    let sql = match of {
                        Text::Known(id) => texts[&(at.process, id)].clone(),
                        Text::Inline(sql) => text(sql),
                    };
                    self.open.insert((at.connection, place), self.statements.len());
                    let values: Vec<String> = values.iter().map(described).collect();
                    self.statements.push(Statement { sql, values: values.join(", "), ended: None });
                }
                Record::End { place, ended } => {
                    // A statement that SQLite prepares again ends twice.
                    let index = self.open[&(at.connection, place)];
                    self.statements[index].ended = Some(ended);
                }
                Record::Commit { ticket } => {
                    self.tickets.push(ticket);
                    self.committed.push(at.connection);
                }
                Record::Connection(connection) => {
                    self.files.push(text(connection.file));
                    self.shares.extend(connection.shares.map(|by| (at.connection, by)));
                }
                Record::Snapshot { state, number, file, .. } => {
                    self.snapshots.push((state, number));
                    self.snapshot_files.push(text(file));
                }
                Record::Setting { name, value } => self.settings.push((text(name), text(value))),
                Record::Note { code, .. } => self.notes.push(code),
                Record::Process(_) => self.processes += 1,
                Record::Exit => self.exits += 1,
                Record::Library(library) => {
                    self.libraries.push((library.exact, library.results, library.chains));
                }
                Record::Text { .. } | Record::Changes(_) | Record::Close | Record::File(_) => {}
            }
        }
        records.unreadable() as u64
    }

    fn of<'a>(&'a self, sql: &str) -> impl Iterator<Item = &'a Statement> {
        self.statements.iter().filter(move |statement| statement.sql == sql)
    }

    /// The values of each execution of a statement.
    pub fn values_of(&self, sql: &str) -> Vec<&str> {
        self.of(sql).map(|statement| statement.values.as_str()).collect()
    }

    /// The rows of all executions of a statement.
    pub fn rows_of(&self, sql: &str) -> u64 {
        self.of(sql).filter_map(|statement| statement.ended).map(|ended| ended.rows).sum()
    }

    /// How long all executions of a statement waited for locks, in nanoseconds.
    pub fn waited_by(&self, sql: &str) -> u64 {
        self.of(sql).filter_map(|statement| statement.ended?.waited_ns).sum()
    }

    /// The result of the first execution of a statement.
    pub fn result_of(&self, sql: &str) -> Option<u32> {
        self.of(sql).next()?.ended?.result
    }
}

fn described(value: pragmark_recorder::read::Value<'_>) -> String {
    match value {
        pragmark_recorder::read::Value::Text(bytes) => format!("Text({:?})", text(bytes)),
        other => format!("{other:?}"),
    }
}
