//! The form of a raw recording.
//!
//! A recording is one file, `raw`, that all recorded processes map and fill at the same time. Numbers in
//! headers have the byte order of the machine. The file consists of chunks of [`CHUNK`] bytes:
//!
//! - Chunk 0 is the header: [`MAGIC`], version, byte order mark, settings, the two clocks at the start, and
//!   counters that processes increment: next chunk, next ticket, next process, connection and snapshot. The
//!   one who reads it meanwhile says up to which chunk it may grow.
//!   From [`SNAPSHOT_TABLE`] on, it has one entry for each database whose snapshot was taken, and from
//!   [`SNAPSHOT_TAKERS`] on the process that took each.
//! - Every other chunk belongs to one writer. Its header of [`CHUNK_HEADER`] bytes has [`CHUNK_MAGIC`], its
//!   length (a multiple of [`CHUNK`]; long values get longer chunks), the bytes of its complete records, the
//!   process, the time to which its first record is relative, and the connection whose records it has.
//!
//! Records follow one another. The low four bits of a record's first byte are its kind, and the high four
//! bits the place of a statement among the open ones of its connection (15: the place follows). Numbers are
//! varints of seven bits, lowest first; texts are preceded by their length; times are nanoseconds since
//! the record before.
//!
//! | kind | content |
//! | --- | --- |
//! | process | pid, pid of the parent, program, arguments ended by NUL |
//! | library | number, door, flags, version, source id, path of the module |
//! | connection | number, time (since the clock's origin), library, flags, file, VFS, and as a flag says the connection whose database in memory it shares; later records are its |
//! | text | number in this process, flags, SQL |
//! | begin | time, number of the text (0: the text follows), flags, values |
//! | end | time, flags, rows, VM steps, then as the flags say: result, changes, full-scan steps with sorts and rows of automatic indexes, nanoseconds of waiting for locks |
//! | commit | time, ticket |
//! | changes | rows that the statement which ended last changed when it was reset |
//! | close | time |
//! | note | code, words |
//! | setting | name, value as read back at the end of a connection |
//! | snapshot | state, number, file, result code |
//! | exit | time |
//!
//! `c/layout.h` has the same numbers for the recorder.

/// The version of this form.
pub const VERSION: u32 = 3;
/// The first bytes of a recording.
pub const MAGIC: &[u8; 16] = b"pragmark-record\0";
/// Reads as this number on machines of the same byte order only.
pub const BYTE_ORDER_MARK: u32 = 0x0102_0304;
/// The size of the header and of an ordinary chunk, in bytes.
pub const CHUNK: usize = 65_536;
/// The first bytes of a chunk.
pub const CHUNK_MAGIC: u32 = 0x4b43_4d50;
/// The size of a chunk's header, in bytes.
pub const CHUNK_HEADER: usize = 32;
/// Where the table of snapshots begins in the header, in bytes.
pub const SNAPSHOT_TABLE: usize = 4096;
/// Where the processes that took the snapshots begin in the header, in bytes.
pub const SNAPSHOT_TAKERS: usize = 36864;
/// The entries of the table of snapshots.
pub const SNAPSHOT_ENTRIES: usize = 4096;
/// The most statements of a connection that are open at the same time and recorded.
pub const OPEN_STATEMENTS: usize = 64;
/// The bytes of the code by which hashed texts and blobs are in their order.
pub const ORDER_CODE: usize = 32;

/// Offsets in the header, in bytes.
pub(crate) mod at {
    pub const VERSION: usize = 16;
    pub const BYTE_ORDER: usize = 20;
    pub const DOOR: usize = 24;
    pub const REDACT: usize = 28;
    pub const KEY: usize = 32;
    pub const STARTED_MONOTONIC: usize = 48;
    pub const STARTED_WALL: usize = 56;
    pub const NEXT_CHUNK: usize = 64;
    pub const NEXT_TICKET: usize = 72;
    pub const SEALED: usize = 92;
    pub const LOST: usize = 96;
    pub const PRELOADED: usize = 100;
    pub const CHUNK_LIMIT: usize = 104;
}

pub(crate) mod record {
    pub const PROCESS: u8 = 1;
    pub const LIBRARY: u8 = 2;
    pub const CONNECTION: u8 = 3;
    pub const TEXT: u8 = 4;
    pub const BEGIN: u8 = 5;
    pub const END: u8 = 6;
    pub const COMMIT: u8 = 7;
    pub const CLOSE: u8 = 8;
    pub const NOTE: u8 = 9;
    pub const SETTING: u8 = 10;
    pub const SNAPSHOT: u8 = 11;
    pub const EXIT: u8 = 12;
    pub const FILE: u8 = 13;
    pub const CHANGES: u8 = 14;
}

pub(crate) mod value {
    pub const NULL: u8 = 0;
    pub const INTEGER: u8 = 1;
    pub const REAL: u8 = 2;
    pub const TEXT: u8 = 3;
    pub const BLOB: u8 = 4;
    pub const ZEROBLOB: u8 = 5;
    pub const POINTER: u8 = 6;
    pub const HASHED_TEXT: u8 = 7;
    pub const HASHED_BLOB: u8 = 8;
    pub const OMITTED: u8 = 9;
    pub const EXPANDED: u8 = 10;
    pub const SMALL: u8 = 16;
}

pub(crate) mod flag {
    pub const BEGIN_PREPARED: u8 = 1;
    pub const BEGIN_VALUES: u8 = 2;
    pub const END_AUTOCOMMIT: u64 = 1;
    pub const END_TRANSACTION: u64 = 6;
    pub const END_EARLY: u64 = 8;
    pub const END_RESULT: u64 = 16;
    pub const END_CHANGES: u64 = 32;
    pub const END_SCANS: u64 = 64;
    pub const END_WAITED: u64 = 128;
    pub const END_UNKNOWN: u64 = 256;
    pub const END_NO_WAITS: u64 = 512;
    pub const CONNECTION_READONLY: u64 = 1;
    pub const CONNECTION_INHERITED: u64 = 2;
    pub const CONNECTION_SHARED: u64 = 4;
    pub const TEXT_READONLY: u8 = 1;
    pub const TEXT_SECRET: u8 = 2;
    pub const LIBRARY_EXACT: u64 = 1;
    pub const LIBRARY_RESULTS: u64 = 2;
    pub const LIBRARY_CHAINS: u64 = 4;
}

pub(crate) mod lost {
    pub const SPACE: u32 = 1;
    pub const FILE: u32 = 2;
    pub const MEMORY: u32 = 4;
    pub const STATEMENTS: u32 = 8;
    pub const COMMITS: u32 = 16;
    pub const UNREAD: u32 = 32;
}

#[cfg(test)]
mod tests {
    /// Returns the value that `layout.h` gives to a name.
    fn in_header(name: &str) -> i64 {
        let text = include_str!("../c/layout.h");
        let after = text
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .skip_while(|word| *word != name)
            .skip(1)
            .find(|word| !word.is_empty())
            .unwrap_or_else(|| panic!("layout.h has no {name}"));
        let hexadecimal = after.strip_prefix("0x");
        hexadecimal
            .map_or_else(|| after.parse(), |digits| i64::from_str_radix(digits, 16))
            .unwrap_or_else(|_| panic!("{name} is {after} in layout.h"))
    }

    #[test]
    fn the_recorder_and_the_reader_agree() {
        let same = |name: &str, here: i64| assert_eq!(in_header(name), here, "{name}");
        same("RECORDING_VERSION", super::VERSION.into());
        same("BYTE_ORDER_MARK", super::BYTE_ORDER_MARK.into());
        same("CHUNK_SIZE", super::CHUNK as i64);
        same("CHUNK_MAGIC", super::CHUNK_MAGIC.into());
        same("CHUNK_HEADER", super::CHUNK_HEADER as i64);
        same("SNAPSHOT_TABLE", super::SNAPSHOT_TABLE as i64);
        same("SNAPSHOT_TAKERS", super::SNAPSHOT_TAKERS as i64);
        same("SNAPSHOT_ENTRIES", super::SNAPSHOT_ENTRIES as i64);
        same("OPEN_STATEMENTS", super::OPEN_STATEMENTS as i64);
        same("ORDER_CODE", super::ORDER_CODE as i64);
        same("CONNECTION_SHARED", super::flag::CONNECTION_SHARED as i64);
        macro_rules! all {
            ($prefix:literal $module:ident: $($name:ident)*) => {
                $(same(concat!($prefix, stringify!($name)), super::$module::$name as i64);)*
            };
        }
        all!("RECORD_" record: PROCESS LIBRARY CONNECTION TEXT BEGIN END COMMIT CLOSE NOTE SETTING SNAPSHOT EXIT FILE CHANGES);
        all!("VALUE_" value: NULL INTEGER REAL TEXT BLOB ZEROBLOB POINTER HASHED_TEXT HASHED_BLOB OMITTED EXPANDED SMALL);
        all!("" flag: BEGIN_PREPARED BEGIN_VALUES END_AUTOCOMMIT END_TRANSACTION END_EARLY END_RESULT END_CHANGES
            END_SCANS END_WAITED END_UNKNOWN END_NO_WAITS CONNECTION_READONLY CONNECTION_INHERITED TEXT_READONLY TEXT_SECRET
            LIBRARY_EXACT LIBRARY_RESULTS LIBRARY_CHAINS);
        all!("LOST_" lost: SPACE FILE MEMORY STATEMENTS COMMITS UNREAD);
    }
}
