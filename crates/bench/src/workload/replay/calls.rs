//! Calls on a spool: each recorded connection has a stream.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trace::{Bound, Call, Values};
use twox_hash::XxHash3_128;

use super::spool::{Spool, SpoolWriter, Stream};
use crate::workload::prelude::*;

/// Number of bytes from which a value is stored once, however often it is bound.
const LONG: usize = 4 << 10;

/// The values of a call on the spool.
#[derive(Serialize, Deserialize)]
enum StoredValues<V, E> {
    Bound(Vec<StoredValue<V>>),
    Expanded(E),
    Missing,
}

/// A value on the spool.
#[derive(Serialize, Deserialize)]
enum StoredValue<V> {
    /// It is stored with its call.
    Here(V),
    /// It is stored apart.
    Long { is_text: bool, offset: u64, length: usize },
}

/// The time span of the calls of a connection, in nanoseconds, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) calls: u64,
}

impl Span {
    /// The span of no call.
    pub(crate) const NONE: Span = Span { first: i64::MAX, last: i64::MIN, calls: 0 };

    /// Adds a call.
    pub(crate) fn add(&mut self, call: &Call) {
        self.first = self.first.min(call.start_ns());
        self.last = self.last.max(call.end_ns());
        self.calls += 1;
    }

    /// Returns the span of both.
    pub(crate) fn and(self, other: &Span) -> Span {
        Span {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            calls: self.calls + other.calls,
        }
    }
}

/// Writes calls to a spool.
pub(crate) struct CallWriter {
    writer: SpoolWriter,
    spans: BTreeMap<i64, Span>,
    /// The places of long values, by their hashes.
    long: HashMap<u128, u64>,
}

impl CallWriter {
    /// Creates a spool in a file of this path.
    ///
    /// # Errors
    /// The file exists or cannot be created.
    pub(crate) fn create(path: &Path) -> Result<CallWriter> {
        Ok(CallWriter {
            writer: SpoolWriter::create(path)?,
            spans: BTreeMap::new(),
            long: HashMap::new(),
        })
    }

    /// Writes a call. The calls of a connection come in the order of their starts.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn add(&mut self, call: &Call) -> Result<()> {
        self.spans.entry(call.connection).or_insert(Span::NONE).add(call);
        let values = match &call.values {
            Values::Bound(values) => {
                let values = values.iter().map(|bound| self.stored(bound.value()));
                StoredValues::Bound(values.collect::<Result<_>>()?)
            }
            Values::Expanded(sql) => StoredValues::Expanded(sql.as_str()),
            Values::Missing(_) => StoredValues::Missing,
        };
        self.writer.append(call.connection, &(call, values))
    }

    /// Stores a long value apart, unless it is there already.
    fn stored<'v>(&mut self, value: &'v Value) -> Result<StoredValue<&'v Value>> {
        let (bytes, is_text) = match value {
            Value::Text(text) if text.len() >= LONG => (text.as_bytes(), true),
            Value::Blob(bytes) if bytes.len() >= LONG => (&bytes[..], false),
            value => return Ok(StoredValue::Here(value)),
        };
        let hash = XxHash3_128::oneshot(bytes);
        let offset = match self.long.get(&hash) {
            Some(offset) => *offset,
            None => self.writer.store(bytes)?,
        };
        self.long.insert(hash, offset);
        Ok(StoredValue::Long { is_text, offset, length: bytes.len() })
    }

    /// Ends the spool.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn finish(self) -> Result<CallSpool> {
        Ok(CallSpool { spool: self.writer.finish()?, spans: self.spans })
    }
}

/// The calls of a recording on a spool.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CallSpool {
    spool: Spool,
    /// The spans of the calls, by connection; another process gets none.
    #[serde(skip)]
    pub(crate) spans: BTreeMap<i64, Span>,
}

impl CallSpool {
    /// Returns the calls of some connections, for another process.
    ///
    /// # Errors
    /// The file cannot be opened once more.
    pub(super) fn part(&self, connections: impl Iterator<Item = i64>) -> Result<CallSpool> {
        Ok(CallSpool { spool: self.spool.part(connections)?, spans: BTreeMap::new() })
    }

    /// Returns the start of the first call, in nanoseconds.
    pub(crate) fn began(&self) -> i64 {
        self.spans.values().map(|span| span.first).min().unwrap_or(0)
    }

    /// Returns the calls of a connection.
    pub(crate) fn calls(&self, connection: i64) -> Calls<'_> {
        Calls(self.spool.stream(connection))
    }
}

/// The calls of a connection, one after the other.
pub(crate) struct Calls<'t>(Stream<'t>);

impl Calls<'_> {
    /// Reads the next call with its values; `None` after the last one.
    ///
    /// # Errors
    /// The spool cannot be read.
    pub(crate) fn call(&mut self) -> Result<Option<Call>> {
        let spool = self.0.spool;
        let Some(record) = self.0.record()? else { return Ok(None) };
        let (mut call, values) =
            postcard::from_bytes::<(Call, StoredValues<Value, String>)>(record)
                .map_err(|_| spool.torn())?;
        call.values = match values {
            StoredValues::Bound(values) => {
                let values = values.into_iter().map(|value| bound(value, spool));
                Values::Bound(values.collect::<Result<_>>()?)
            }
            StoredValues::Expanded(sql) => Values::Expanded(sql),
            StoredValues::Missing => Values::Missing("values that are missing"),
        };
        Ok(Some(call))
    }

    /// Reads the next call without its values; `None` after the last one.
    ///
    /// # Errors
    /// As [`Calls::call`].
    pub(crate) fn header(&mut self) -> Result<Option<Call>> {
        let spool = self.0.spool;
        let Some(record) = self.0.record()? else { return Ok(None) };
        postcard::take_from_bytes(record).map(|(call, _)| Some(call)).map_err(|_| spool.torn())
    }
}

fn bound(value: StoredValue<Value>, spool: &Spool) -> Result<Bound> {
    Ok(match value {
        StoredValue::Here(value) => Bound::Own(value),
        StoredValue::Long { is_text, offset, length } => {
            let bytes = spool.stored(offset, length)?;
            let text = |bytes| String::from_utf8(bytes).map_err(|_| spool.torn());
            let value = if is_text { Value::Text(text(bytes)?) } else { Value::Blob(bytes) };
            Bound::Shared(Arc::new(value))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let long = Value::Text("x".repeat(LONG));
        let bound = [
            Value::Null,
            Value::Integer(i64::MIN),
            Value::Real(-0.5),
            Value::Text("ä\0b".to_owned()),
            Value::Blob(vec![0; LONG + 1]),
        ];
        let bound = bound.map(Bound::Own).into_iter();
        let long = || Bound::Shared(Arc::new(long.clone()));
        let all = [
            Values::Bound(bound.chain([long(), long()]).collect()),
            Values::Expanded("SELECT 1".to_owned()),
            Values::Bound(Vec::new()),
        ];
        let call = |number: usize, values: &Values| Call {
            event: number as i64 + 1,
            connection: number as i64 % 2,
            statement: 7,
            start_us: 12 + number as i64,
            duration_ns: (number > 0).then_some(0),
            rows: 3,
            changes: -2,
            result: (number != 1).then_some(2067),
            ticket: (number == 1).then_some(1),
            prepared: number == 0,
            early: number == 1,
            autocommit: number == 2,
            transaction: 3,
            values: values.clone(),
        };
        let calls: Vec<Call> = all.iter().enumerate().map(|(n, it)| call(n, it)).collect();
        let mut recorded = CallWriter::create(&folder.path().join("tape")).unwrap();
        for call in &calls {
            recorded.add(call).unwrap();
        }
        let call_spool = recorded.finish().unwrap();
        let mut even = call_spool.calls(0);
        for wanted in [&calls[0], &calls[2]] {
            let mut found = even.call().unwrap().unwrap();
            for (found, wanted) in bounds(&mut found).iter().zip(bounds(&mut wanted.clone())) {
                assert_eq!(found.value(), wanted.value());
            }
            let mut wanted = wanted.clone();
            (found.values, wanted.values) = (Values::Missing(""), Values::Missing(""));
            assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
        }
        assert!(even.call().unwrap().is_none());
        let header = call_spool.calls(1).header().unwrap().unwrap();
        assert_eq!(
            (header.start_ns(), header.ticket, header.duration_ns),
            (13_000, Some(1), Some(0))
        );
        assert_eq!(call_spool.spans[&0].calls, 2);
    }

    fn bounds(call: &mut Call) -> Vec<Bound> {
        match &mut call.values {
            Values::Bound(values) => std::mem::take(values),
            _ => Vec::new(),
        }
    }
}
