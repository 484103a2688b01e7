//! The texts of statements, each once for all processes.

use std::collections::{HashMap, HashSet};

use recorder::read::{Chunk, Record, Text, Value};
use twox_hash::XxHash3_128;

use crate::content::{Classes, with_classes};
use crate::normalised;

/// A text of a statement.
#[derive(Debug)]
pub struct Statement {
    pub sql: String,
    pub readonly: bool,
}

/// All texts, numbered from 1.
#[derive(Debug, Default)]
pub struct Texts {
    /// The number of each text, by its hash.
    numbers: HashMap<u128, i64>,
    /// The number of each text by its number in a process.
    of_processes: HashMap<(u32, u32), i64>,
    /// The numbers of those that only read.
    reads: HashSet<i64>,
    /// Texts that have not been written yet.
    new: Vec<(i64, Statement)>,
    /// The number of each normalised text, by its hash.
    normalised: HashMap<u128, i64>,
    is_redacted: bool,
    /// The order of hashed texts and blobs, where the recording is redacted.
    pub classes: Classes,
}

impl Texts {
    pub fn new(is_redacted: bool) -> Texts {
        Texts { is_redacted, ..Texts::default() }
    }

    /// Takes the texts of a chunk that others refer to, and the order of all that is hashed.
    pub fn collect(&mut self, chunk: Chunk<'_>) {
        for (at, record) in chunk.records() {
            match record {
                Record::Text { id, readonly, sql, .. } => {
                    let number = self.number(sql, readonly);
                    self.of_processes.insert((at.process, id), number);
                    self.note_order(sql);
                }
                Record::Begin { text, values, .. } if self.is_redacted => {
                    values.iter().for_each(|value| self.note_value(&value));
                    if let Text::Inline(sql) = text {
                        self.note_order(sql);
                    }
                }
                _ => {}
            }
        }
    }

    fn note_value(&mut self, value: &Value<'_>) {
        match value {
            Value::HashedText(hashed) => self.classes.note(false, hashed.order),
            Value::HashedBlob(hashed) => self.classes.note(true, hashed.order),
            _ => {}
        }
    }

    fn note_order(&mut self, sql: &[u8]) {
        if !self.is_redacted {
            return;
        }
        with_classes(&String::from_utf8_lossy(sql), |is_blob, code| {
            self.classes.note(is_blob, code);
            0
        });
    }

    /// Returns the number of a text in the trace; 0 for one that the recording lacks.
    pub fn of(&mut self, process: u32, text: Text<'_>) -> i64 {
        match text {
            Text::Known(id) => self.of_processes.get(&(process, id)).copied().unwrap_or(0),
            Text::Inline(sql) => self.number(sql, false),
        }
    }

    /// Returns whether a statement with this text only reads.
    pub fn reads(&self, number: i64) -> bool {
        self.reads.contains(&number)
    }

    fn number(&mut self, sql: &[u8], readonly: bool) -> i64 {
        let next = self.numbers.len() as i64 + 1;
        let number = *self.numbers.entry(XxHash3_128::oneshot(sql)).or_insert(next);
        if number == next {
            let sql = String::from_utf8_lossy(sql).into_owned();
            self.new.push((number, Statement { sql, readonly }));
            self.reads.extend(readonly.then_some(number));
        }
        number
    }

    /// Returns the texts that are new since the last time.
    pub fn drain(&mut self) -> Vec<(i64, Statement)> {
        let mut new = std::mem::take(&mut self.new);
        for (_, statement) in new.iter_mut().filter(|_| self.is_redacted) {
            let class = |is_blob, code| self.classes.of(is_blob, code);
            statement.sql = with_classes(&statement.sql, class);
        }
        new
    }

    /// Returns the number of the normalised form of a text, and the form if it is new.
    pub fn normalised(&mut self, sql: &str) -> (i64, Option<String>) {
        let form = normalised(sql);
        let next = self.normalised.len() as i64 + 1;
        let number = *self.normalised.entry(XxHash3_128::oneshot(form.as_bytes())).or_insert(next);
        (number, (number == next).then_some(form))
    }
}
