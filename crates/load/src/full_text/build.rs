//! Fills an index of FTS5 by what it is made of. FTS5's tokenizer divides blocks of rows on several threads, the words of each block are
//! sorted, and all blocks are merged to a segment. FTS5 itself would insert row by row.

use std::sync::OnceLock;

use engine::{Connection, EngineError, Statement, Step};

use super::segment::Record;
use super::words::{Occurrence, Words, leaves};
use crate::error::Result;
use crate::pages::varint;
use crate::sql::quoted;
use crate::threads::in_order;

/// The tokenizer of an index that names none.
const TOKENIZER: &str = "unicode61";

/// The version of the format that is written, as `…_config` has it.
const VERSION: i64 = 4;

/// The most bytes of a word that FTS5 keeps (`FTS5_MAX_TOKEN_SIZE`).
const LONGEST: usize = 32768;

/// Bytes of text that a thread takes at once.
const BLOCK: usize = 2 << 20;

/// The most threads that divide texts: with more, the one that reads rows is the limit.
const MOST: usize = 8;

/// Parts of the words, which threads write at the same time.
const PARTS: usize = 16;

/// The rows of two tables that FTS5 keeps in `…_data`: how many rows and words there are, and which segments.
const AVERAGES: i64 = 1;
const STRUCTURE: i64 = 10;

/// About the leaves that FTS5 writes at once for later rows. Segments of four times as many are a level above.
const LEAVES: usize = 256;

/// An index that is empty, and the rows for it.
pub(super) struct Source<'s> {
    /// The name of the index.
    pub(super) index: &'s str,
    /// The number of its columns.
    pub(super) columns: usize,
    /// Returns the rowids, ascending, and the columns as texts or NULL.
    pub(super) rows: &'s str,
    /// Bytes of text that become one segment.
    pub(super) segment: usize,
}

/// Some rows.
#[derive(Default)]
struct Block {
    rowids: Vec<i64>,
    /// Their values, one after another, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// The words of a block, in parts that all blocks have.
type Parts = Vec<Vec<u8>>;

/// The words that are found in a block.
struct BlockWords {
    rowids: Vec<i64>,
    /// How many words each value has.
    sizes: Vec<u32>,
    words: Parts,
}

/// Fills an index; `false` if the engine has no such tokenizer or another format. `report` is called now and then, and ends the work by
/// an error.
pub(super) fn fill(
    connection: &Connection,
    source: &Source<'_>,
    report: &mut dyn FnMut() -> Result<()>,
) -> Result<bool> {
    let Some(mut tokenizing) = connections(connection, source.index)? else { return Ok(false) };
    let mut rows = connection.prepare(source.rows)?;
    let mut sizes = Sizes::new(connection, source)?;
    let (mut segments, mut is_last) = (Vec::new(), false);
    while !is_last {
        let (mut blocks, mut bytes, bounds) = (Vec::new(), 0, OnceLock::new());
        let next = || {
            let is_full = is_last || bytes >= source.segment;
            let block = (!is_full).then(|| next_block(&mut rows, source))?;
            Some(block.map(|(block, is_end)| {
                (bytes, is_last) = (bytes + block.text.len(), is_end);
                block
            }))
        };
        in_order(
            tokenizing.iter_mut().map(|connection| (connection, Words::default())),
            std::iter::from_fn(next),
            |(connection, words), block, give| {
                give(divided(connection, source.columns, block, words, &bounds)?)
            },
            |found| {
                sizes.write(&found)?;
                blocks.push(found.words);
                report()
            },
        )?;
        let number = segments.len() as i64 + 1;
        segments.push(write(connection, source.index, number, &blocks, tokenizing.len())?);
        report()?;
    }
    segments.retain(|leaves| *leaves > 0);
    finish(connection, source.index, &segments, &sizes)?;
    Ok(true)
}

/// Returns connections with tokenizers, one for each thread.
fn connections(connection: &Connection, index: &str) -> Result<Option<Vec<Connection>>> {
    let version =
        format!("SELECT v FROM {} WHERE k = 'version'", quoted(&format!("{index}_config")));
    if connection.query_i64(&version)? != VERSION {
        return Ok(None);
    }
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(MOST));
    let open = || {
        let made = Connection::in_memory(connection.library())?;
        made.tokenizer(TOKENIZER)?;
        Ok::<_, EngineError>(made)
    };
    // Engines that allow no second connection fill the index themselves.
    Ok((0..threads).map(|_| open()).collect::<Result<Vec<_>, _>>().ok())
}

/// Reads rows; returns whether the last one is among them.
fn next_block(rows: &mut Statement<'_, '_>, source: &Source<'_>) -> Result<(Block, bool)> {
    let mut block = Block::default();
    while block.text.len() < BLOCK.min(source.segment) {
        if rows.step()? == Step::Done {
            return Ok((block, true));
        }
        block.rowids.push(rows.column_i64(0));
        for column in 1..=source.columns as i32 {
            if !rows.column_is_null(column) {
                block.text.extend_from_slice(rows.column_text_bytes(column)?);
            }
            block.ends.push(block.text.len());
        }
    }
    Ok((block, false))
}

/// Divides the texts of a block. The words are in the parts of the block that is divided first, which are good enough for the others.
fn divided(
    connection: &Connection,
    columns: usize,
    block: Block,
    words: &mut Words,
    bounds: &OnceLock<Vec<Vec<u8>>>,
) -> Result<BlockWords> {
    let mut tokenizer = connection.tokenizer(TOKENIZER)?;
    let (mut start, mut sizes) = (0, Vec::with_capacity(block.ends.len()));
    for (number, end) in block.ends.iter().enumerate() {
        let (row, column) = ((number / columns) as u32, (number % columns) as u32);
        let mut count = 0;
        tokenizer.tokens(&block.text[start..*end], |word, is_colocated| {
            count += u32::from(!is_colocated || count == 0);
            let place = Occurrence { row, column, position: count - 1 };
            words.add(&word[..word.len().min(LONGEST)], place);
        })?;
        sizes.push(count);
        start = *end;
    }
    let words = words.take(&block.rowids, PARTS, |own| bounds.get_or_init(|| own));
    Ok(BlockWords { rowids: block.rowids, sizes, words })
}

/// How many words rows have: of each row, and in all.
struct Sizes<'c> {
    insert: Statement<'c, 'static>,
    rows: usize,
    words: Vec<u64>,
}

impl<'c> Sizes<'c> {
    fn new(connection: &'c Connection, source: &Source<'_>) -> Result<Sizes<'c>> {
        let docsize = quoted(&format!("{}_docsize", source.index));
        let insert = connection.prepare(&format!("INSERT INTO {docsize} VALUES (?1, ?2)"))?;
        Ok(Sizes { insert, rows: 0, words: vec![0; source.columns] })
    }

    fn write(&mut self, found: &BlockWords) -> Result<()> {
        let mut bytes = Vec::new();
        for (rowid, sizes) in found.rowids.iter().zip(found.sizes.chunks(self.words.len())) {
            bytes.clear();
            for (all, size) in self.words.iter_mut().zip(sizes) {
                *all += u64::from(*size);
                varint::push(&mut bytes, u64::from(*size));
            }
            self.insert.bind_i64(1, *rowid)?;
            self.insert.bind_blob(2, &bytes)?;
            self.insert.run()?;
        }
        self.rows += found.rowids.len();
        Ok(())
    }
}

/// Writes a segment, while other threads merge the words of blocks, a part each. Returns the number of its leaves.
fn write(
    connection: &Connection,
    index: &str,
    segment: i64,
    blocks: &[Parts],
    threads: usize,
) -> Result<usize> {
    let (data, idx) = (quoted(&format!("{index}_data")), quoted(&format!("{index}_idx")));
    let mut record = connection.prepare(&format!("INSERT INTO {data} VALUES (?1, ?2)"))?;
    let mut start = connection.prepare(&format!("INSERT INTO {idx} VALUES (?1, ?2, ?3)"))?;
    let mut insert = |Record { id, block }: Record<'_>| {
        record.bind_i64(1, id)?;
        record.bind_blob(2, &block)?;
        record.run()
    };
    start.bind_i64(1, segment)?;
    let (mut first, mut indexes) = (1, Vec::new());
    let parts = blocks.first().map_or(0, Vec::len);
    in_order(
        (0..threads).map(|_| ()),
        (0..parts).map(Ok),
        |(), part, give| {
            let words: Vec<&[u8]> = blocks.iter().map(|block| &block[part][..]).collect();
            give(leaves(&words))
        },
        |leaves| {
            leaves.records(segment, first).try_for_each(&mut insert)?;
            indexes.extend(leaves.indexes(segment, first));
            for (term, leaf) in leaves.starts(first) {
                start.bind_blob(2, term)?;
                start.bind_i64(3, leaf)?;
                start.run()?;
            }
            first += leaves.count();
            Ok(())
        },
    )?;
    indexes.into_iter().try_for_each(insert)?;
    Ok(first - 1)
}

/// Writes which segments there are, and the totals of rows and words; then FTS5 makes one segment of several.
fn finish(
    connection: &Connection,
    index: &str,
    segments: &[usize],
    sizes: &Sizes<'_>,
) -> Result<()> {
    let data = quoted(&format!("{index}_data"));
    let mut query =
        connection.prepare(&format!("SELECT block FROM {data} WHERE id = {STRUCTURE}"))?;
    query.step()?;
    // The cookie of the configuration stays.
    let mut structure: Vec<u8> = query.column_blob(0)?.iter().copied().take(4).collect();
    drop(query);
    let leaves: usize = segments.iter().sum();
    let level = (leaves / LEAVES).checked_ilog(4).unwrap_or(0) as usize;
    for number in [level + 1, segments.len(), leaves] {
        varint::push(&mut structure, number as u64);
    }
    // Of each level, how many segments are being merged and how many there are.
    structure.resize(structure.len() + 2 * level + 1, 0);
    varint::push(&mut structure, segments.len() as u64);
    for (number, leaves) in segments.iter().enumerate() {
        for number in [number + 1, 1, *leaves] {
            varint::push(&mut structure, number as u64);
        }
    }
    let mut averages = Vec::new();
    varint::push(&mut averages, sizes.rows as u64);
    sizes.words.iter().for_each(|count| varint::push(&mut averages, *count));
    let mut update = connection.prepare(&format!("UPDATE {data} SET block = ?2 WHERE id = ?1"))?;
    for (id, block) in [(STRUCTURE, &structure), (AVERAGES, &averages)] {
        update.bind_i64(1, id)?;
        update.bind_blob(2, block)?;
        update.run()?;
    }
    if segments.len() > 1 {
        let name = quoted(index);
        connection.execute(&format!("INSERT INTO {name}({name}) VALUES ('optimize')"))?;
    }
    Ok(())
}
