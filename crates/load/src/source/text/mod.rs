//! Sources of text: CSV and JSON Lines, which differ only in where records end and how they are parsed.
//!
//! Texts are read in parallel: one thread cuts the input into blocks of whole records, several others turn
//! blocks into batches, and the batches come out in the order of the input. Memory
//! is bounded by the number of blocks in progress.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::infer::{ColumnKind, Kind};
use super::{Deciding, Input, Locations, ReadOptions, Seen, Source, SourceInfo, Unit};
use crate::batch::Batch;
use crate::error::{LoadError, Result};
use crate::table::Column;

/// Bytes in a block, unless one record is longer: enough that what is done once for a block costs
/// nothing, and few enough that text, fields and columns stay in the processor's cache, and that the memory
/// of one block is used again for the next.
const BLOCK: usize = 256 << 10;
/// Bytes that are read first, from which types are chosen.
const BEGINNING: usize = 1 << 20;
/// Bytes in the longest record. A quote that is never closed must not draw a whole file into memory.
const LONGEST_RECORD: usize = 256 << 20;
/// Threads that parse, unless there are fewer processors.
const MOST_PARSERS: usize = 4;
/// How often the stop flag is checked while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A text format: where its records end, and how they are parsed.
pub trait TextFormat: Send + Sync + 'static {
    /// Takes note of how the columns will be stored, before anything is parsed.
    fn begin(&mut self, options: &ReadOptions);

    /// Returns the unit in which its records are counted.
    fn unit(&self) -> Unit;

    /// Returns whether every column holds texts, whatever they look like.
    fn is_all_text(&self) -> bool {
        false
    }

    /// Returns how many of these bytes, which begin with a record, are whole records; 0 where the first does not
    /// end within them.
    fn cut(&self, bytes: &[u8]) -> usize;

    /// Takes what is no record away at the end of the input. [`cut`](TextFormat::cut) leaves that much uncut.
    fn end(&self, _bytes: &mut Vec<u8>) {}

    /// Turns whole records into batches.
    fn parse(&self, bytes: &[u8]) -> Result<Parsed>;

    /// Returns the error of a record that is longer than this number of MiB.
    fn too_long(&self, megabytes: usize) -> String;
}

/// The batches of a block. Rows are numbered from 1 within it.
#[derive(Debug, Default)]
pub struct Parsed {
    pub(super) batches: Vec<Batch>,
    /// The count of row numbers, of good rows and malformed ones.
    pub(super) numbers: u64,
}

/// A text whose beginning has been read.
pub(super) struct Text {
    pub(super) input: Input,
    /// The bytes that have been read and not taken.
    pub(super) bytes: Vec<u8>,
    /// Whether the bytes hold the end of the input.
    last: bool,
    /// Whether what is no record was taken away there.
    is_ended: bool,
    /// Bytes that the longest record may have.
    longest: usize,
}

impl Text {
    /// Reads the beginning.
    ///
    /// # Errors
    /// Reading fails, or there is nothing to read.
    pub(super) fn open(input: Input) -> Result<Text> {
        let mut text = Text {
            input,
            bytes: Vec::new(),
            last: false,
            is_ended: false,
            longest: LONGEST_RECORD,
        };
        // A small file is read as a whole into as much memory as it takes.
        let whole = text.input.total.map_or(BEGINNING, |bytes| bytes as usize + 1);
        text.fill(whole.min(BEGINNING))?;
        while !text.last && text.bytes.len() < BEGINNING {
            text.fill(BEGINNING)?;
        }
        if text.bytes.is_empty() {
            return Err(LoadError::Unusable(format!("{} is empty", text.input.name)));
        }
        Ok(text)
    }

    /// Drops bytes at the beginning.
    pub(super) fn skip(&mut self, count: usize) {
        self.bytes.drain(..count);
    }

    /// Drops the first line with its end, however long it is; nothing at the end of the input.
    ///
    /// # Errors
    /// Reading fails.
    pub(super) fn skip_line(&mut self) -> Result<()> {
        loop {
            let end = memchr::memchr2(b'\n', b'\r', &self.bytes);
            let length = end.map(|at| match self.bytes[at..] {
                [b'\r', b'\n', ..] => at + 2,
                _ => at + 1,
            });
            match length {
                // The next byte decides whether the line ends with the carriage return.
                Some(length) if length < self.bytes.len() || self.last => {
                    self.skip(length);
                    return Ok(());
                }
                None if self.last => {
                    self.skip(self.bytes.len());
                    return Ok(());
                }
                _ => self.fill(BLOCK)?,
            }
        }
    }

    /// Removes lines that are not records, if the end of the input has been read.
    pub(super) fn end(&mut self, format: &impl TextFormat) {
        if self.last && !self.is_ended {
            format.end(&mut self.bytes);
            self.is_ended = true;
        }
    }

    /// Reads at least this number of bytes more, or as much as there is already: a record longer than a block doubles it.
    fn fill(&mut self, least: usize) -> Result<()> {
        let held = self.bytes.len();
        self.fill_to(held + least.max(held))
    }

    /// Reads on until this number of bytes are there, or the end.
    fn fill_to(&mut self, length: usize) -> Result<()> {
        let held = self.bytes.len();
        self.bytes.resize(length, 0);
        let count = self.input.fill(&mut self.bytes[held..])?;
        self.bytes.truncate(held + count);
        self.last = held + count < length;
        if self.last {
            self.input.close();
        }
        Ok(())
    }

    /// Returns the length of the whole records that were read, after reading as far as it takes for one; 0 at
    /// the end.
    ///
    /// # Errors
    /// Reading fails; or a record is too long.
    pub(super) fn whole(&mut self, format: &impl TextFormat) -> Result<usize> {
        loop {
            if self.last {
                return Ok(self.bytes.len());
            }
            let cut = format.cut(&self.bytes);
            if cut > 0 {
                return Ok(cut);
            }
            if self.bytes.len() > self.longest {
                let reason = format.too_long(self.longest >> 20);
                return Err(LoadError::form(&self.input.name, reason));
            }
            self.fill(BLOCK)?;
        }
    }

    /// Takes every block, until the end.
    ///
    /// # Errors
    /// Reading fails, or `stop` has become true.
    pub(super) fn for_each_block(
        &mut self,
        format: &impl TextFormat,
        stop: &AtomicBool,
        mut take: impl FnMut(&[u8]),
    ) -> Result<()> {
        while let Some(block) = self.next_block(format)? {
            if stop.load(Ordering::Relaxed) {
                return Err(LoadError::Interrupted);
            }
            take(&block);
        }
        Ok(())
    }

    /// Returns the next block; `None` at the end.
    fn next_block(&mut self, format: &impl TextFormat) -> Result<Option<Vec<u8>>> {
        if self.bytes.is_empty() && !self.last {
            self.fill(BLOCK)?;
        }
        self.end(format);
        let mut whole = self.whole(format)?;
        if self.last && !self.is_ended {
            self.end(format);
            whole = self.bytes.len();
        }
        if whole == 0 {
            return Ok(None);
        }
        let mut rest = Vec::with_capacity(if self.last { 0 } else { 2 * BLOCK });
        rest.extend_from_slice(&self.bytes[whole..]);
        let mut block = std::mem::replace(&mut self.bytes, rest);
        block.truncate(whole);
        if !self.last && self.bytes.len() < BLOCK {
            self.fill_to(BLOCK)?;
        }
        Ok(Some(block))
    }
}

/// A block on its way through a parser.
struct Job {
    bytes: Vec<u8>,
    bytes_read: u64,
    answer: SyncSender<Answer>,
}

/// The batches of a block, and how much of the input had been read by then.
type Answer = Result<(Parsed, u64)>;

/// Where the answers come from.
enum Supply<F> {
    /// Other threads, in the order of the input, `None` at its end; or until the flag is set.
    Threads(Receiver<Option<Receiver<Answer>>>, Arc<AtomicBool>),
    /// The thread that asks.
    Demand(Box<Text>, F),
}

/// Batches of a text.
///
/// The threads that read and parse it end by themselves when this is dropped. They are not waited for: one
/// of them may be waiting for standard input, which may never end.
pub(super) struct Batches<F> {
    /// The name of the input.
    input: String,
    supply: Supply<F>,
    ready: VecDeque<Batch>,
    /// The numbers given to rows before.
    numbers: u64,
    unit: Unit,
}

impl<F: TextFormat> Batches<F> {
    /// Reads ahead on threads of its own, until `stop`.
    pub(super) fn ahead(text: Text, format: F, stop: Arc<AtomicBool>) -> Batches<F> {
        let parsers =
            std::thread::available_parallelism().map_or(1, |count| count.get().min(MOST_PARSERS));
        let format = Arc::new(format);
        let (jobs, waiting) = sync_channel::<Job>(parsers);
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..parsers {
            let (waiting, format) = (Arc::clone(&waiting), Arc::clone(&format));
            std::thread::spawn(move || parse(&waiting, &*format));
        }
        let (input, unit) = (text.input.name.to_owned(), format.unit());
        let (order, answers) = sync_channel(2 * parsers);
        std::thread::spawn(move || read(text, &*format, &jobs, &order));
        let supply = Supply::Threads(answers, stop);
        Batches { input, supply, ready: VecDeque::new(), numbers: 0, unit }
    }

    /// Reads and parses only when a batch is wanted.
    pub(super) fn on_demand(text: Text, format: F) -> Batches<F> {
        let (input, unit) = (text.input.name.to_owned(), format.unit());
        let supply = Supply::Demand(Box::new(text), format);
        Batches { input, supply, ready: VecDeque::new(), numbers: 0, unit }
    }

    /// Returns the next batch; `None` at the end, or after a stop.
    pub(super) fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(answer) = self.answer() else { return Ok(None) };
            let (parsed, bytes_read) = answer.map_err(|error| self.named(error))?;
            let before = self.numbers;
            self.numbers += parsed.numbers;
            self.ready.extend(parsed.batches.into_iter().map(|mut batch| {
                shift(&mut batch, before);
                batch.bytes_read = bytes_read;
                batch
            }));
        }
    }

    /// Returns the result of the next block.
    fn answer(&mut self) -> Option<Answer> {
        match &mut self.supply {
            Supply::Threads(answers, stop) => {
                let answer = match receive(answers, stop, &self.input) {
                    Ok(Some(Some(answer))) => receive(&answer, stop, &self.input),
                    other => other.map(|_| None),
                };
                answer.unwrap_or_else(|error| Some(Err(error)))
            }
            Supply::Demand(text, format) => {
                let block = text.next_block(format).transpose()?;
                let parsed = block.and_then(|block| format.parse(&block));
                Some(parsed.map(|parsed| (parsed, text.input.bytes_read())))
            }
        }
    }

    /// Names the record with which a block has failed: its first one, which is too long to be read.
    fn named(&self, error: LoadError) -> LoadError {
        match error {
            LoadError::Form(input, reason) => {
                let (unit, number) = (self.unit, self.numbers + 1);
                LoadError::form(input, format!("{unit} {number}: {reason}"))
            }
            error => error,
        }
    }
}

/// Adds to the numbers of a batch's rows.
pub(super) fn shift(batch: &mut Batch, by: u64) {
    batch.numbers.first += by;
    for number in &mut batch.numbers.left_out {
        *number += by;
    }
    for row in &mut batch.malformed {
        row.row += by;
    }
}

/// Waits for a message of a thread; `None` after a stop.
///
/// # Errors
/// The thread has ended without an answer: it panicked, and nothing can be relied on.
pub(super) fn receive<T>(from: &Receiver<T>, stop: &AtomicBool, input: &str) -> Result<Option<T>> {
    loop {
        match from.recv_timeout(POLL_INTERVAL) {
            Ok(value) => return Ok(Some(value)),
            Err(_) if stop.load(Ordering::Relaxed) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return Err(LoadError::died(input)),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Cuts the text into blocks until its end, an error, or until the receiver is gone.
fn read(
    mut text: Text,
    format: &impl TextFormat,
    jobs: &SyncSender<Job>,
    order: &SyncSender<Option<Receiver<Answer>>>,
) {
    loop {
        let (answer, answered) = sync_channel(1);
        let block = match text.next_block(format) {
            Ok(Some(block)) => block,
            // The receiver may be gone.
            Ok(None) => {
                let _ = order.send(None);
                return;
            }
            Err(error) => {
                if answer.send(Err(error)).is_ok() {
                    let _ = order.send(Some(answered));
                }
                return;
            }
        };
        let job = Job { bytes: block, bytes_read: text.input.bytes_read(), answer };
        if order.send(Some(answered)).is_err() || jobs.send(job).is_err() {
            return;
        }
    }
}

/// Parses blocks as long as there are any.
fn parse(waiting: &Mutex<Receiver<Job>>, format: &impl TextFormat) {
    loop {
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let answer = format.parse(&job.bytes).map(|parsed| (parsed, job.bytes_read));
        // If the receiver is gone, the load has ended, and no block will follow.
        let _ = job.answer.send(answer);
    }
}

/// A text of rows, such as [`CsvSource`](crate::CsvSource) and
/// [`JsonLinesSource`](crate::JsonLinesSource).
pub struct TextSource<F> {
    pub(super) info: SourceInfo,
    /// The text until reading begins.
    opened: Option<(Text, F)>,
    /// The batches while reading.
    batches: Option<Batches<F>>,
}

impl<F: TextFormat> TextSource<F> {
    /// Makes a source of a text whose columns are known, with the kinds of their values.
    pub(super) fn new(text: Text, format: F, columns: Vec<(String, ColumnKind)>) -> TextSource<F> {
        let input = &text.input;
        let suggested = columns.iter();
        let suggested = suggested.map(|(name, column)| Column::new(name, column.kind.declared()));
        let mut info = SourceInfo::new(&input.name, suggested.collect());
        info.total_bytes = input.total;
        info.is_in_memory = text.last;
        info.locations = Locations::new(&info.name, format.unit());
        let mut source = TextSource { info, opened: Some((text, format)), batches: None };
        source.set_kinds(columns.into_iter().map(|(_, kind)| kind));
        source
    }

    /// Suggests types for columns with values of these kinds.
    pub(super) fn set_kinds(&mut self, columns: impl Iterator<Item = ColumnKind>) {
        let columns: Vec<ColumnKind> = columns.collect();
        let kinds = columns.iter().map(|column| column.kind);
        let is_all_text = self.opened.as_ref().is_some_and(|(_, format)| format.is_all_text());
        for (column, kind) in self.info.columns.iter_mut().zip(kinds) {
            kind.declared().clone_into(&mut column.declared);
        }
        let deciding =
            |(row, value): (u64, String)| Deciding { row: self.info.locations.find(row), value };
        let seen = columns.into_iter().map(|column| Seen {
            is_typed: column.kind != Kind::Unknown,
            is_beyond_real: column.kind.is_beyond_real(),
            is_text: column.kind == Kind::Text || is_all_text,
            no_number: column.first.filter(|_| !column.has_number),
            decided: column.decided.map(deciding),
        });
        self.info.seen = seen.collect();
    }
}

impl<F: TextFormat> Source for TextSource<F> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn begin(&mut self, options: ReadOptions) {
        if let Some((text, mut format)) = self.opened.take() {
            format.begin(&options);
            // An input that has been read as a whole is parsed sooner than threads are started.
            self.batches = Some(if options.on_demand || text.last {
                Batches::on_demand(text, format)
            } else {
                Batches::ahead(text, format, options.stop)
            });
        }
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        self.begin(ReadOptions::default());
        let Some(batches) = &mut self.batches else { return Ok(None) };
        let batch = batches.next();
        if !matches!(batch, Ok(Some(_))) {
            self.batches = None;
        }
        batch
    }
}
