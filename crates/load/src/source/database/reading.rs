//! The rows of a query, read on a thread of their own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use engine::{Connection, Statement, Step, Value, ValueRef};

use crate::affinity::Affinity;
use crate::batch::{Batch, Fault};
use crate::error::LoadError;
use crate::source::blocks::receive;
use crate::source::typed::Gathering;

/// Rows in a batch, as for CSV.
pub(super) const BATCH_ROWS: usize = 65_536;
/// Bytes of text and blobs in a batch: no more than this and one row.
const BATCH_BYTES: usize = 8 << 20;
/// Rows in a batch that cannot be read: all of their fields are kept until they are reported.
const BATCH_MALFORMED: usize = 1_024;
/// Batches read ahead.
const AHEAD: usize = 2;

/// Batches of the thread that reads.
pub(super) struct Batches {
    /// The name of the input.
    input: String,
    /// Asks for one more, where they are not read ahead.
    orders: Option<Sender<()>>,
    received: Receiver<Message>,
}

/// What the thread sends: a batch, an error, or `None` at the end.
type Message = Result<Option<Batch>, LoadError>;

/// A query to be read.
pub(super) struct Reading {
    pub(super) input: String,
    /// The length of the file.
    pub(super) bytes: u64,
    pub(super) names: Vec<String>,
    pub(super) affinities: Vec<Affinity>,
    pub(super) query: String,
}

/// Where batches go.
struct Outlet {
    batches: SyncSender<Message>,
    /// Whose orders are waited for before a batch is read.
    orders: Option<Receiver<()>>,
    stop: Arc<AtomicBool>,
}

impl Outlet {
    /// Waits until a batch is wanted; false where none is any more.
    fn wait(&self) -> bool {
        self.orders.as_ref().is_none_or(|orders| orders.recv().is_ok())
    }

    /// Sends a batch and waits until another one is wanted; false where none is any more.
    fn send(&self, batch: Batch) -> bool {
        self.batches.send(Ok(Some(batch))).is_ok()
            && !self.stop.load(Ordering::Relaxed)
            && self.wait()
    }
}

impl Batches {
    /// The next batch; `None` at the end, or once `stop` is true.
    pub(super) fn next(&self, stop: &AtomicBool) -> Result<Option<Batch>, LoadError> {
        if let Some(orders) = &self.orders {
            // A reader that has ended sends nothing more.
            let _ = orders.send(());
        }
        receive(&self.received, stop, &self.input)?.unwrap_or(Ok(None))
    }
}

impl Reading {
    /// Reads on a thread of its own: a statement borrows its connection, so both stay on one thread. It
    /// ends when nobody takes batches any more.
    pub(super) fn start(
        self,
        connection: Connection,
        on_demand: bool,
        stop: &Arc<AtomicBool>,
    ) -> Batches {
        let (sender, received) = sync_channel(AHEAD);
        let (orders, ordered) = channel();
        let outlet = Outlet {
            batches: sender,
            orders: on_demand.then_some(ordered),
            stop: Arc::clone(stop),
        };
        let input = self.input.clone();
        std::thread::spawn(move || {
            let end = self.read(&connection, &outlet);
            let end = end.map_err(|error| error.in_database(Path::new(&self.input)));
            // If nobody takes it, nobody wants to know.
            let _ = outlet.batches.send(end.map(|()| None));
        });
        Batches { input, orders: on_demand.then_some(orders), received }
    }

    /// Sends batches until the end, an error, or until nobody takes them.
    fn read(&self, connection: &Connection, outlet: &Outlet) -> Result<(), LoadError> {
        if !outlet.wait() {
            return Ok(());
        }
        let mut statement = connection.prepare(&self.query)?;
        let mut gathering = Gathering::new(&self.names, &self.affinities, 0);
        let mut bytes = 0;
        while statement.step()? == Step::Row {
            // A batch ends when there is a row for the next one, so that the last one is known as such.
            if is_full(&gathering, bytes) {
                gathering.end_batch(&self.input)?;
                bytes = 0;
            }
            bytes += self.take(&statement, &mut gathering)?;
            if !gathering.take().into_iter().all(|batch| outlet.send(batch)) {
                return Ok(());
            }
        }
        gathering.end_batch(&self.input)?;
        let mut batches = gathering.take();
        if let Some(last) = batches.last_mut() {
            last.bytes_read = self.bytes;
        }
        batches.into_iter().all(|batch| outlet.send(batch));
        Ok(())
    }

    /// Takes the row that the statement stands on, and returns the bytes that are kept of it: of its texts
    /// and blobs, or of its fields as they are reported where it cannot be read.
    fn take(
        &self,
        statement: &Statement<'_, '_>,
        gathering: &mut Gathering,
    ) -> Result<usize, LoadError> {
        let mut values = Vec::with_capacity(self.names.len());
        let mut wrong = None;
        for (number, name) in self.names.iter().enumerate() {
            let value = statement.column_value_ref(number as i32);
            if value.is_err() {
                wrong = wrong.or(Some(name));
            }
            values.push(value.unwrap_or(ValueRef::Null));
        }
        if let Some(name) = wrong {
            let fields: Vec<String> = (0..self.names.len() as i32)
                .map(|number| match statement.column_value(number) {
                    Value::Null => String::new(),
                    value => value.to_string(),
                })
                .collect();
            let bytes = fields.iter().map(String::len).sum();
            gathering.reject(
                Some(name.clone()),
                Fault::Form("its text is not valid UTF-8".to_owned()),
                fields,
            );
            return Ok(bytes);
        }
        gathering.push(&self.input, &values)?;
        let length = |value: &ValueRef<'_>| match value {
            ValueRef::Text(text) => text.len(),
            ValueRef::Blob(bytes) => bytes.len(),
            _ => 0,
        };
        Ok(values.iter().map(length).sum())
    }
}

/// Whether the batch under way, of so many bytes, is as long as a batch may be.
fn is_full(gathering: &Gathering, bytes: usize) -> bool {
    gathering.rows() >= BATCH_ROWS
        || gathering.malformed() >= BATCH_MALFORMED
        || bytes >= BATCH_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_dies_is_not_the_end_of_the_rows() {
        let (sender, received) = sync_channel(AHEAD);
        let batches = Batches { input: "a.db".to_owned(), orders: None, received };
        sender.send(Ok(None)).unwrap();
        drop(sender);
        let stop = AtomicBool::new(false);
        assert!(batches.next(&stop).unwrap().is_none());
        let error = batches.next(&stop).unwrap_err().to_string();
        assert!(error.starts_with("cannot read a.db: the thread"), "{error}");
        stop.store(true, Ordering::Relaxed);
        assert!(batches.next(&stop).unwrap().is_none());
    }
}
