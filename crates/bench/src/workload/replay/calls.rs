//! Calls on a spool: each recorded connection has a stream.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use engine::Value;
use trace::{Bound, Call, Values};
use twox_hash::XxHash3_128;

use super::spool::{Input, Spool, SpoolIndex, SpoolWriter, Stream, put, put_signed};
use crate::error::Result;

/// Number of bytes from which a value is stored once, however often it is bound.
const LONG: usize = 4 << 10;

/// The bits of a call.
const PREPARED: u64 = 1;
const EARLY: u64 = 2;
const AUTOCOMMIT: u64 = 4;
const TRANSACTION_SHIFT: u32 = 3;

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
    pub(crate) fn add(&mut self, header: &CallHeader) {
        self.first = self.first.min(header.start);
        self.last = self.last.max(header.end);
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

/// A call without its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallHeader {
    pub(crate) statement: i64,
    /// The start in nanoseconds.
    pub(crate) start: i64,
    /// The same as the start if the end is not known.
    pub(crate) end: i64,
    /// Whether the end is known.
    pub(crate) has_ended: bool,
    pub(crate) ticket: Option<u64>,
    pub(crate) prepared: bool,
    pub(crate) autocommit: bool,
    pub(crate) transaction: i64,
}

impl CallHeader {
    fn of(call: &Call) -> CallHeader {
        let start = call.start_us.saturating_mul(1_000);
        CallHeader {
            statement: call.statement,
            start,
            end: start.saturating_add(call.duration_ns.unwrap_or(0)),
            has_ended: call.duration_ns.is_some(),
            ticket: call.ticket,
            prepared: call.prepared,
            autocommit: call.autocommit,
            transaction: call.transaction,
        }
    }
}

/// Writes calls to a spool.
pub(crate) struct CallWriter {
    writer: SpoolWriter,
    spans: BTreeMap<i64, Span>,
    /// The places of long values, by their hashes.
    long: HashMap<u128, u64>,
    record: Vec<u8>,
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
            record: Vec::new(),
        })
    }

    /// Writes a call. The calls of a connection come in the order of their starts.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn add(&mut self, call: &Call) -> Result<()> {
        self.spans.entry(call.connection).or_insert(Span::NONE).add(&CallHeader::of(call));
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        put_facts(&mut record, call);
        self.put_values(&mut record, &call.values)?;
        self.writer.append(call.connection, &record)?;
        self.record = record;
        Ok(())
    }

    fn put_values(&mut self, out: &mut Vec<u8>, values: &Values) -> Result<()> {
        match values {
            Values::Bound(values) => {
                out.push(b'b');
                put(out, values.len() as u64);
                values.iter().try_for_each(|bound| self.put(out, bound.value()))
            }
            Values::Expanded(sql) => {
                out.push(b'e');
                out.extend_from_slice(sql.as_bytes());
                Ok(())
            }
            Values::Missing(_) => {
                out.push(b'm');
                Ok(())
            }
        }
    }

    fn put(&mut self, out: &mut Vec<u8>, value: &Value) -> Result<()> {
        match value {
            Value::Null => out.push(b'n'),
            Value::Integer(number) => {
                out.push(b'i');
                put_signed(out, *number);
            }
            Value::Real(real) => {
                out.push(b'r');
                out.extend_from_slice(&real.to_bits().to_le_bytes());
            }
            Value::Text(text) => self.put_bytes(out, (b't', b'T'), text.as_bytes())?,
            Value::Blob(bytes) => self.put_bytes(out, (b'x', b'X'), bytes)?,
        }
        Ok(())
    }

    /// Writes bytes with their kind, which is another one for bytes that are stored apart.
    fn put_bytes(
        &mut self,
        out: &mut Vec<u8>,
        (short, apart): (u8, u8),
        bytes: &[u8],
    ) -> Result<()> {
        if bytes.len() < LONG {
            out.push(short);
            put(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
            return Ok(());
        }
        let hash = XxHash3_128::oneshot(bytes);
        let offset = match self.long.get(&hash) {
            Some(offset) => *offset,
            None => self.writer.store(bytes)?,
        };
        self.long.insert(hash, offset);
        out.push(apart);
        put(out, bytes.len() as u64);
        put(out, offset);
        Ok(())
    }

    /// Ends the spool.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn finish(self) -> Result<CallSpool> {
        Ok(CallSpool { spool: self.writer.finish()?, spans: self.spans })
    }
}

fn put_facts(out: &mut Vec<u8>, call: &Call) {
    let bit = |is: bool, bit| if is { bit } else { 0 };
    put_signed(out, call.event);
    put_signed(out, call.statement);
    put_signed(out, call.start_us);
    put_signed(out, call.duration_ns.map_or(0, |time| time.saturating_add(1)));
    put(out, call.ticket.map_or(0, |ticket| ticket.saturating_add(1)));
    put(
        out,
        bit(call.prepared, PREPARED)
            | bit(call.early, EARLY)
            | bit(call.autocommit, AUTOCOMMIT)
            | (call.transaction as u64) << TRANSACTION_SHIFT,
    );
    put(out, call.rows);
    put_signed(out, call.changes);
    put_signed(out, call.result.map_or(0, |code| i64::from(code) + 1));
}

/// Reads the facts of a call without its values.
fn facts(input: &mut Input<'_>, connection: i64) -> Option<Call> {
    let (event, statement, start_us) = (input.signed()?, input.signed()?, input.signed()?);
    let (duration, ticket, bits) = (input.signed()?, input.number()?, input.number()?);
    let (rows, changes, result) = (input.number()?, input.signed()?, input.signed()?);
    Some(Call {
        event,
        connection,
        statement,
        start_us,
        duration_ns: (duration > 0).then(|| duration - 1),
        rows,
        changes,
        result: (result > 0).then(|| (result - 1) as i32),
        ticket: ticket.checked_sub(1),
        prepared: bits & PREPARED != 0,
        early: bits & EARLY != 0,
        autocommit: bits & AUTOCOMMIT != 0,
        transaction: (bits >> TRANSACTION_SHIFT) as i64,
        values: Values::Missing("values that are not read"),
    })
}

/// The calls of a recording on a spool.
#[derive(Debug)]
pub(crate) struct CallSpool {
    spool: Spool,
    /// The spans of the calls, by connection.
    pub(crate) spans: BTreeMap<i64, Span>,
}

impl CallSpool {
    /// Returns the part of the spool that another process needs to read some connections.
    pub(crate) fn index(&self, connections: impl Iterator<Item = i64>) -> SpoolIndex {
        self.spool.index(connections)
    }

    /// Opens the spool of another process, without its spans.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn open(index: SpoolIndex) -> Result<CallSpool> {
        Ok(CallSpool { spool: Spool::open(index)?, spans: BTreeMap::new() })
    }

    /// Returns the start of the first call, in nanoseconds.
    pub(crate) fn began(&self) -> i64 {
        self.spans.values().map(|span| span.first).min().unwrap_or(0)
    }

    /// Returns the calls of a connection.
    pub(crate) fn calls(&self, connection: i64) -> Calls<'_> {
        Calls { stream: self.spool.stream(connection), connection }
    }
}

/// The calls of a connection, one after the other.
#[derive(Debug)]
pub(crate) struct Calls<'t> {
    stream: Stream<'t>,
    connection: i64,
}

impl Calls<'_> {
    /// Reads the next call with its values; `None` after the last one.
    ///
    /// # Errors
    /// The spool cannot be read.
    pub(crate) fn call(&mut self) -> Result<Option<Call>> {
        let (spool, connection) = (self.stream.spool, self.connection);
        let Some(record) = self.stream.record()? else { return Ok(None) };
        let mut input = Input::new(record);
        let mut call = facts(&mut input, connection).ok_or_else(|| spool.torn())?;
        call.values = values(&mut input, spool)?;
        Ok(Some(call))
    }

    /// Reads the next call without its values; `None` after the last one.
    ///
    /// # Errors
    /// As [`Calls::call`].
    pub(crate) fn header(&mut self) -> Result<Option<CallHeader>> {
        let (spool, connection) = (self.stream.spool, self.connection);
        let Some(record) = self.stream.record()? else { return Ok(None) };
        let call = facts(&mut Input::new(record), connection);
        Ok(Some(CallHeader::of(&call.ok_or_else(|| spool.torn())?)))
    }
}

fn values(input: &mut Input<'_>, spool: &Spool) -> Result<Values> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| spool.torn());
    let kind = input.bytes(1).ok_or_else(|| spool.torn())?;
    match kind {
        b"b" => {
            let count = input.number().ok_or_else(|| spool.torn())?;
            (0..count).map(|_| bound(input, spool)).collect::<Result<_, _>>().map(Values::Bound)
        }
        b"e" => text(input.rest()).map(Values::Expanded),
        _ => Ok(Values::Missing("values that are missing")),
    }
}

fn bound(input: &mut Input<'_>, spool: &Spool) -> Result<Bound> {
    let torn = || spool.torn();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|_| spool.torn());
    let kind = input.bytes(1).ok_or_else(torn)?[0];
    let value = match kind {
        b'n' => Value::Null,
        b'i' => Value::Integer(input.signed().ok_or_else(torn)?),
        b'r' => {
            let bytes = input.bytes(8).and_then(|bytes| bytes.try_into().ok());
            Value::Real(f64::from_bits(u64::from_le_bytes(bytes.ok_or_else(torn)?)))
        }
        kind => {
            let length = input.number().ok_or_else(torn)? as usize;
            let bytes = match kind {
                b't' | b'x' => input.bytes(length).ok_or_else(torn)?.to_vec(),
                _ => spool.stored(input.number().ok_or_else(torn)?, length)?,
            };
            match kind {
                b't' | b'T' => Value::Text(text(bytes)?),
                _ => Value::Blob(bytes),
            }
        }
    };
    Ok(match kind {
        b'T' | b'X' => Bound::Shared(Arc::new(value)),
        _ => Bound::Own(value),
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
        assert_eq!((header.start, header.ticket, header.has_ended), (13_000, Some(1), true));
        assert_eq!(call_spool.spans[&0].calls, 2);
    }

    fn bounds(call: &mut Call) -> Vec<Bound> {
        match &mut call.values {
            Values::Bound(values) => std::mem::take(values),
            _ => Vec::new(),
        }
    }
}
