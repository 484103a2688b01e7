//! The records of a chunk.

use crate::folder::Door;
use crate::layout::{OPEN_STATEMENTS, ORDER_CODE, flag, record as kind, value};
use crate::read::Chunk;

/// To what a record belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Where {
    /// The process.
    pub process: u32,
    /// The connection; 0 for records of the process.
    pub connection: u32,
    /// The time of the record, or of the last one before it that has a time, in nanoseconds.
    pub time: u64,
}

/// The text of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// A text of the process, by its number.
    Known(u32),
    /// A text that is nowhere else.
    Inline(&'a [u8]),
}

/// The transaction of a connection after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// None that holds a lock.
    None,
    /// It has read.
    Read,
    /// It has written.
    Write,
    /// The library cannot say.
    Unknown,
}

/// The result of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ended {
    /// Rows that the program stepped to.
    pub rows: u64,
    /// SQLite's extended result code, where it is known; 0 for success.
    pub result: Option<u32>,
    /// Whether the program stopped before the last row.
    pub early: bool,
    /// Whether the connection was outside of `BEGIN` and `COMMIT` afterwards.
    pub autocommit: bool,
    /// The transaction afterwards.
    pub transaction: Transaction,
    /// Rows that it changed, triggers included.
    pub changes: u32,
    /// Steps of SQLite's virtual machine.
    pub vm_steps: u64,
    /// Steps in full scans of tables.
    pub scan_steps: u64,
    /// Sorts.
    pub sorts: u64,
    /// Rows put into automatic indexes.
    pub automatic_index_rows: u64,
    /// How long it waited for locks, in nanoseconds, where that is known.
    pub waited_ns: Option<u64>,
}

/// A process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessRecord<'a> {
    /// Its id in the system.
    pub pid: u64,
    /// The id of its parent.
    pub parent: u64,
    /// Its program.
    pub program: &'a [u8],
    /// Its arguments, each ended by NUL.
    pub arguments: &'a [u8],
}

/// A library that a process uses.
#[derive(Clone, Copy, Debug)]
pub struct LibraryRecord<'a> {
    /// Its number in the process.
    pub number: u64,
    /// How the recorder got into it.
    pub door: Door,
    /// Whether bound values are exact; otherwise the expanded text replaces them.
    pub exact: bool,
    /// Whether the results of statements are known.
    pub results: bool,
    /// Whether callbacks that the program sets later are chained.
    pub chains: bool,
    /// Its version.
    pub version: &'a [u8],
    /// Its source id.
    pub source: &'a [u8],
    /// The module that contains it.
    pub path: &'a [u8],
}

/// A connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionRecord<'a> {
    /// Its library's number.
    pub library: u64,
    /// Whether it cannot write.
    pub readonly: bool,
    /// Whether it came with a fork.
    pub inherited: bool,
    /// The database; empty for one in memory.
    pub file: &'a [u8],
    /// The VFS.
    pub vfs: &'a [u8],
    /// The connection that opened the database in memory that it shares.
    pub shares: Option<u32>,
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// A process.
    Process(ProcessRecord<'a>),
    /// A library that the process uses.
    Library(LibraryRecord<'a>),
    /// A connection was opened; the records after it are its.
    Connection(ConnectionRecord<'a>),
    /// A text, before a statement of the process refers to it.
    Text {
        /// Its number.
        id: u32,
        /// Whether it does not write.
        readonly: bool,
        /// Whether its literals were left out.
        secret: bool,
        /// The SQL.
        sql: &'a [u8],
    },
    /// A statement starts.
    Begin {
        /// Its place among the open ones.
        place: usize,
        /// Its text.
        text: Text<'a>,
        /// Whether it is the first execution since it was prepared.
        prepared: bool,
        /// Its values.
        values: Values<'a>,
    },
    /// A statement ends.
    End {
        /// Its place among the open ones.
        place: usize,
        /// Its result.
        ended: Ended,
    },
    /// A transaction is being committed, and has the write lock.
    Commit {
        /// Its number in the order of all commits.
        ticket: u64,
    },
    /// Rows that the statement which ended last on the connection changed when it was reset.
    Changes(u32),
    /// The program closed the connection.
    Close,
    /// Something to know about the process.
    Note {
        /// The kind of note.
        code: u64,
        /// The file that it is about.
        words: &'a [u8],
    },
    /// A setting of the connection, read back when it was closed.
    Setting {
        /// The PRAGMA.
        name: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// The state of a database when it was first opened.
    Snapshot {
        /// Whether there is one: 1 taken, 2 the file was empty, 3 failed, 4 not wanted.
        state: u8,
        /// The number of the copy.
        number: u64,
        /// The database.
        file: &'a [u8],
        /// SQLite's result code if it failed.
        reason: &'a [u8],
    },
    /// The process ended by itself.
    Exit,
    /// The connection opened or attached a file.
    File(FileRecord<'a>),
}

/// A file as a connection found it.
#[derive(Clone, Copy, Debug)]
pub struct FileRecord<'a> {
    /// Which file it is, whatever its name.
    pub identity: FileIdentity,
    /// Whether it had no bytes.
    pub is_empty: bool,
    /// Its name.
    pub name: &'a [u8],
}

/// The device, the number and the time of creation of a file, in nanoseconds since 1970 (0 if the system does not say).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity(pub u64, pub u64, pub u64);

/// The records of a chunk, one after the other, up to the first that is torn.
pub struct Records<'a> {
    input: Input<'a>,
    at: Where,
}

impl<'a> Records<'a> {
    pub(super) fn new(chunk: &Chunk<'a>) -> Records<'a> {
        Records {
            input: Input::new(chunk.records),
            at: Where { process: chunk.process, connection: chunk.connection, time: chunk.time },
        }
    }

    /// Returns how many bytes could not be read, once all records are read.
    pub fn unreadable(&self) -> usize {
        self.input.rest().len()
    }

    fn record(&mut self, input: &mut Input<'a>) -> Option<Record<'a>> {
        let first = input.byte()?;
        let place = || usize::from(first >> 4);
        Some(match first & 15 {
            kind::PROCESS => Record::Process(ProcessRecord {
                pid: input.number()?,
                parent: input.number()?,
                program: input.bytes()?,
                arguments: input.bytes()?,
            }),
            kind::LIBRARY => library(input)?,
            kind::CONNECTION => self.connection(input)?,
            kind::TEXT => text(input)?,
            kind::BEGIN => {
                let place = input.position(place())?;
                self.pass_time(input)?;
                begin(input, place)?
            }
            kind::END => {
                let place = input.position(place())?;
                self.pass_time(input)?;
                let ended = ended(input)?;
                Record::End { place, ended }
            }
            kind::COMMIT => {
                self.pass_time(input)?;
                let ticket = input.number()?;
                Record::Commit { ticket }
            }
            kind::CHANGES => Record::Changes(input.number()? as u32),
            kind::CLOSE => {
                self.pass_time(input)?;
                Record::Close
            }
            kind::NOTE => Record::Note { code: input.number()?, words: input.bytes()? },
            kind::SETTING => Record::Setting { name: input.bytes()?, value: input.bytes()? },
            kind::SNAPSHOT => Record::Snapshot {
                state: input.byte()?,
                number: input.number()?,
                file: input.bytes()?,
                reason: input.bytes()?,
            },
            kind::EXIT => {
                self.pass_time(input)?;
                Record::Exit
            }
            kind::FILE => Record::File(FileRecord {
                identity: FileIdentity(input.number()?, input.number()?, input.number()?),
                is_empty: input.byte()? != 0,
                name: input.bytes()?,
            }),
            _ => return None,
        })
    }

    fn pass_time(&mut self, input: &mut Input<'a>) -> Option<()> {
        self.at.time = self.at.time.checked_add(input.number()?)?;
        Some(())
    }

    fn connection(&mut self, input: &mut Input<'a>) -> Option<Record<'a>> {
        self.at.connection = u32::try_from(input.number()?).ok()?;
        self.at.time = input.number()?;
        let library = input.number()?;
        let flags = input.number()?;
        let (file, vfs) = (input.bytes()?, input.bytes()?);
        let shares = match flags & flag::CONNECTION_SHARED {
            0 => None,
            _ => Some(u32::try_from(input.number()?).ok()?),
        };
        Some(Record::Connection(ConnectionRecord {
            library,
            readonly: flags & flag::CONNECTION_READONLY != 0,
            inherited: flags & flag::CONNECTION_INHERITED != 0,
            file,
            vfs,
            shares,
        }))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (Where, Record<'a>);

    fn next(&mut self) -> Option<(Where, Record<'a>)> {
        let mut input = self.input;
        let record = self.record(&mut input)?;
        self.input = input;
        Some((self.at, record))
    }
}

fn library<'a>(input: &mut Input<'a>) -> Option<Record<'a>> {
    let number = input.number()?;
    let door = Door::of_code(input.number()?);
    let flags = input.number()?;
    Some(Record::Library(LibraryRecord {
        number,
        door,
        exact: flags & flag::LIBRARY_EXACT != 0,
        results: flags & flag::LIBRARY_RESULTS != 0,
        chains: flags & flag::LIBRARY_CHAINS != 0,
        version: input.bytes()?,
        source: input.bytes()?,
        path: input.bytes()?,
    }))
}

fn text<'a>(input: &mut Input<'a>) -> Option<Record<'a>> {
    let id = u32::try_from(input.number()?).ok()?;
    let flags = input.byte()?;
    Some(Record::Text {
        id,
        readonly: flags & flag::TEXT_READONLY != 0,
        secret: flags & flag::TEXT_SECRET != 0,
        sql: input.bytes()?,
    })
}

fn begin<'a>(input: &mut Input<'a>, place: usize) -> Option<Record<'a>> {
    let text = match u32::try_from(input.number()?).ok()? {
        0 => Text::Inline(input.bytes()?),
        id => Text::Known(id),
    };
    let flags = input.byte()?;
    let has_values = flags & flag::BEGIN_VALUES != 0;
    Some(Record::Begin {
        place,
        text,
        prepared: flags & flag::BEGIN_PREPARED != 0,
        values: if has_values { Values::take(input)? } else { Values::default() },
    })
}

fn ended(input: &mut Input<'_>) -> Option<Ended> {
    let flags = input.number()?;
    let has = |bit: u64| flags & bit != 0;
    let rows = input.number()?;
    let vm_steps = input.number()?;
    let result = if has(flag::END_RESULT) {
        Some(u32::try_from(input.number()?).ok()?)
    } else {
        (!has(flag::END_UNKNOWN)).then_some(0)
    };
    let mut number_if = |is_there: bool| if is_there { input.number() } else { Some(0) };
    let changes = number_if(has(flag::END_CHANGES))? as u32;
    Some(Ended {
        rows,
        result,
        // A statement that failed to start for a lock counts as running in SQLite.
        early: has(flag::END_EARLY) && result.unwrap_or(0) == 0,
        autocommit: has(flag::END_AUTOCOMMIT),
        transaction: match (flags & flag::END_TRANSACTION) >> 1 {
            0 => Transaction::None,
            1 => Transaction::Read,
            2 => Transaction::Write,
            _ => Transaction::Unknown,
        },
        changes,
        vm_steps,
        scan_steps: number_if(has(flag::END_SCANS))?,
        sorts: number_if(has(flag::END_SCANS))?,
        automatic_index_rows: number_if(has(flag::END_SCANS))?,
        waited_ns: Some(number_if(has(flag::END_WAITED))?).filter(|_| !has(flag::END_NO_WAITS)),
    })
}

/// Bytes that are read from their beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Input<'a> {
        Input(bytes)
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn eight(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    /// Returns the place of a statement; `short` is its short form in the first byte of the record.
    fn position(&mut self, short: usize) -> Option<usize> {
        let place = match short {
            15 => usize::try_from(self.number()?).ok()?,
            short => short,
        };
        (place < OPEN_STATEMENTS).then_some(place)
    }
}

/// One bound value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL, or nothing bound.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text, normally UTF-8.
    Text(&'a [u8]),
    /// A blob.
    Blob(&'a [u8]),
    /// This many zeros.
    ZeroBlob(u64),
    /// A pointer, which means something in its process only.
    Pointer,
    /// A text that was hashed.
    HashedText(Hashed),
    /// A blob that was hashed.
    HashedBlob(Hashed),
    /// A value that was kept out of the recording.
    Omitted,
    /// The whole statement with its values in place, where they could not be read one by one.
    Expanded(&'a [u8]),
}

/// A text or a blob that was hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashed {
    /// The hash, equal for equal ones.
    pub hash: u64,
    /// The length in bytes.
    pub length: u64,
    /// By which those with different first bytes are in their order.
    pub order: [u8; ORDER_CODE],
}

/// The values of one execution, in the order of their places.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a> {
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// Reads the values at the beginning of `input`; nothing if they are torn.
    pub(super) fn take(input: &mut Input<'a>) -> Option<Values<'a>> {
        let count = input.number()?;
        let begin = input.rest();
        for _ in 0..count {
            take(input)?;
        }
        let bytes = &begin[..begin.len() - input.rest().len()];
        Some(Values { bytes })
    }

    /// Returns the values.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let mut input = Input::new(self.bytes);
        std::iter::from_fn(move || take(&mut input))
    }

    /// Returns whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

fn take<'a>(input: &mut Input<'a>) -> Option<Value<'a>> {
    Some(match input.byte()? {
        value::NULL => Value::Null,
        value::INTEGER => {
            let number = input.number()?;
            Value::Integer((number >> 1) as i64 ^ -((number & 1) as i64))
        }
        value::REAL => Value::Real(f64::from_bits(input.eight()?)),
        value::TEXT => Value::Text(input.bytes()?),
        value::BLOB => Value::Blob(input.bytes()?),
        value::ZEROBLOB => Value::ZeroBlob(input.number()?),
        value::POINTER => Value::Pointer,
        value::HASHED_TEXT => Value::HashedText(hashed(input)?),
        value::HASHED_BLOB => Value::HashedBlob(hashed(input)?),
        value::OMITTED => Value::Omitted,
        value::EXPANDED => Value::Expanded(input.bytes()?),
        small @ value::SMALL.. => Value::Integer(i64::from(small - value::SMALL)),
        _ => return None,
    })
}

fn hashed(input: &mut Input<'_>) -> Option<Hashed> {
    Some(Hashed { length: input.number()?, hash: input.eight()?, order: input.array()? })
}
