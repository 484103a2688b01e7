//! Where a table's tree and its indexes are to grow, and whether the page writer may let them.
//!
//! What SQL would do with a row and pages cannot do is found here, from the schema, before the first row:
//! a reason instead of a layout sends the rows through SQL. Of SQL itself only words are looked for, and
//! a word found in the wrong place (a comment, a name) costs nothing but speed.

use std::path::Path;

use engine::{Connection, EngineError, Step, Value};

use super::file::{FileFormat, PageFile};
use super::link::read_page;
use super::page::{DEEPEST, INTERIOR_HEADER, u16_at, u32_at};
use super::tree::RightEdge;
use crate::error::{LoadError, Result};
use crate::request::Request;
use crate::schema::rowid_name;
use crate::sql::quoted;
use crate::target::Target;

/// An index to be filled, or a table WITHOUT ROWID, which is an index over all of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexPlan {
    pub(crate) root: u32,
    /// The columns of its entries.
    pub(crate) columns: Vec<IndexColumn>,
    /// How many of them, from the first, are its key.
    pub(crate) key: usize,
    /// Which columns of the key descend.
    pub(crate) descending: Vec<bool>,
    pub(crate) unique: bool,
    /// Whether it is the table itself.
    pub(crate) is_table: bool,
    /// The columns as messages name them: `t.a, t.b`.
    pub(crate) label: String,
}

impl IndexPlan {
    /// Returns the plan of a table whose rows do not come in the order of their rowids: an index over all of its
    /// `columns` in their order.
    pub(super) fn of_rows(
        root: u32,
        columns: impl Iterator<Item = IndexColumn>,
        label: String,
    ) -> IndexPlan {
        IndexPlan {
            root,
            columns: std::iter::once(IndexColumn::Rowid).chain(columns).collect(),
            key: 1,
            descending: vec![false],
            unique: true,
            is_table: true,
            label,
        }
    }

    /// Returns whether rows that come one after the other are in order already if their first columns are the
    /// same: then nothing but the rowid follows, if rowids ascend, or nothing that the order depends on.
    pub(super) fn first_column_decides(&self, rowids_ascend: bool) -> bool {
        let only_rowid = rowids_ascend && self.columns.get(1) == Some(&IndexColumn::Rowid);
        self.key == 1 && (self.is_table || only_rowid)
    }
}

/// A column of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexColumn {
    /// A column of the table, by its place there.
    Of(usize),
    Rowid,
    /// NULL: what a table's record has in the place of the rowid by another name.
    Null,
}

/// Where the table's tree is to grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(super) form: FileFormat,
    /// The root of the table; `None` for a table WITHOUT ROWID, which is the first of the indexes.
    pub(super) root: Option<u32>,
    /// The right edge of the table, empty for a table without rows.
    pub(super) edge: RightEdge,
    /// The columns of the table in its order, as numbers of the source's.
    pub(super) columns: Vec<usize>,
    /// Its indexes; a table WITHOUT ROWID is the first itself.
    pub(super) indexes: Vec<IndexPlan>,
    /// About how many entries each of its indexes has.
    pub(super) entries: u64,
    /// How its rows are sorted if they do not come in the order of their keys; `None` if they cannot be sorted.
    pub(super) rows: Option<IndexPlan>,
}

/// The reason why pages cannot be written.
pub(crate) enum NoLayout {
    /// The page writer cannot do this, for this reason.
    Refused(String),
    /// It cannot be determined.
    Failed(LoadError),
}

/// A part of a plan, or the reason why there is none.
pub(crate) type Planned<T = Layout> = Result<T, NoLayout>;

impl<E: Into<LoadError>> From<E> for NoLayout {
    fn from(error: E) -> NoLayout {
        NoLayout::Failed(error.into())
    }
}

/// Refuses, with a reason.
pub(crate) fn refused<T>(why: impl Into<String>) -> Planned<T> {
    Err(NoLayout::Refused(why.into()))
}

impl Layout {
    /// Reads where SQLite has put a table that it has just made in a new database, and refuses, with the
    /// reason, forms of database that are not written.
    pub(crate) fn of_new(connection: &Connection, target: &Target, request: &Request) -> Planned {
        check_form(connection)?;
        if request.table.sql.is_some() {
            check_table(connection, target)?;
        }
        if auto_vacuum(connection)? {
            return refused("new databases have auto_vacuum");
        }
        let columns = table_order(connection, target)?;
        Layout::read(connection, target, columns, 0, RightEdge::default())
    }

    /// The same of a table in a database that others use, within the transaction that will add to it.
    pub(crate) fn of_existing(connection: &Connection, target: &Target) -> Planned {
        check_form(connection)?;
        let reserved = reserved_bytes(connection)?;
        check_table(connection, target)?;
        let columns = table_order(connection, target)?;
        let last = last_rowid(connection, target)?;
        let root = root(connection, "table", &target.table)?;
        let Some(edge) = RightEdge::read(connection, root, last)? else {
            return refused("the table's pages are not supported");
        };
        let mut layout = Layout::read(connection, target, columns, reserved, edge)?;
        if layout.has_entries() && layout.form.auto_vacuum {
            return refused("the database has auto_vacuum, and the table rows and indexes already");
        }
        if layout.has_entries() {
            layout.entries = entries(connection, layout.indexes[0].root)?;
        }
        Ok(layout)
    }

    /// Returns whether there are entries in indexes.
    pub(super) fn has_entries(&self) -> bool {
        !self.edge.is_empty() && !self.indexes.is_empty()
    }

    /// Refuses forms of a database that others use, which are not written; `replaces` says whether a table with
    /// pages is to be replaced.
    pub(crate) fn check_existing(connection: &Connection, replaces: bool) -> Planned<()> {
        check_form(connection)?;
        if replaces && connection.query_i64("PRAGMA auto_vacuum")? == FULL {
            return refused(FREE_PAGES);
        }
        reserved_bytes(connection).map(drop)
    }

    fn read(
        connection: &Connection,
        target: &Target,
        columns: Vec<usize>,
        reserved: u8,
        edge: RightEdge,
    ) -> Planned {
        let indexes = index_plans(connection, target, &columns)?;
        // Page sizes and page numbers are 32 bits wide.
        let form = FileFormat {
            page_size: connection.query_i64("PRAGMA page_size")? as u32,
            pages: connection.query_i64("PRAGMA page_count")? as u32,
            reserved,
            auto_vacuum: auto_vacuum(connection)?,
        };
        let has_rowid = !indexes.iter().any(|plan| plan.is_table);
        let root = root(connection, "table", &target.table)?;
        Ok(Layout {
            form,
            root: has_rowid.then_some(root),
            rows: rows(target, root, &columns).filter(|_| has_rowid && edge.is_empty()),
            edge,
            columns,
            indexes,
            entries: 0,
        })
    }

    /// Leaves rows that do not come in the order of their keys to SQL, which can skip rows with known keys.
    pub(crate) fn without_sorting(self) -> Layout {
        Layout { rows: None, ..self }
    }

    /// Returns whether a row may be refused by one of the indexes.
    pub(crate) fn is_unique(&self) -> bool {
        self.indexes.iter().any(|index| index.unique)
    }

    /// Opens the file to add pages to it while the connection has it open.
    pub(crate) fn open_beyond(&self, path: &Path) -> Result<PageFile> {
        PageFile::beyond(path, &self.form)
    }
}

/// Refuses forms of a database that are not written.
fn check_form(connection: &Connection) -> Planned<()> {
    if connection.query_text("PRAGMA encoding")? != "UTF-8" {
        refused("the database is not in UTF-8")
    } else {
        Ok(())
    }
}

/// Returns whether the database has auto_vacuum, on which its form depends.
fn auto_vacuum(connection: &Connection) -> Planned<bool> {
    let mode = connection.query_i64("PRAGMA auto_vacuum")?;
    if mode == FULL && connection.query_i64("PRAGMA freelist_count")? != 0 {
        // SQLite would move the new pages to the free ones at the end of the transaction.
        return refused(FREE_PAGES);
    }
    Ok(mode != 0)
}

const FREE_PAGES: &str = "auto_vacuum moves pages to free ones";

/// The `auto_vacuum` that leaves no page free.
const FULL: i64 = 1;

/// Returns the reserved bytes of each page, from the header of a database that can be added to behind SQLite's back
/// (<https://sqlite.org/fileformat2.html#the_database_header>).
fn reserved_bytes(connection: &Connection) -> Planned<u8> {
    let mode = connection.query_text("PRAGMA main.journal_mode")?;
    if !["delete", "truncate", "persist", "wal"].contains(&&*mode) {
        return refused(format!("the journal mode is {mode}"));
    }
    let page = match read_page(connection, 1) {
        Err(LoadError::Engine(EngineError::Sqlite(error)))
            if error.message().contains("sqlite_dbpage") =>
        {
            return refused("the SQLite library has no table sqlite_dbpage");
        }
        page => page?.unwrap_or_default(),
    };
    let number = |at: usize| page.get(at..at + 4);
    if page.len() < 100 || number(24) == Some(&[0; 4]) {
        // An empty file would not be one any more if the load were cut off.
        refused("the database is empty")
    } else if number(24) != number(92) {
        // Its size would follow from the length of the file.
        refused("the database was last changed by SQLite older than 3.7.0")
    } else if number(44) != Some(&[0, 0, 0, 4]) {
        refused("the database has the legacy format")
    } else {
        Ok(page[20])
    }
}

/// Refuses an existing table that needs more than pages.
fn check_table(connection: &Connection, target: &Target) -> Planned<()> {
    let mut query = connection.prepare(
        "SELECT type, sql, rootpage FROM sqlite_master \
         WHERE lower(tbl_name) = lower(?1) AND type IN ('table', 'view', 'trigger')",
    )?;
    query.bind_text(1, &target.table)?;
    while query.step()? == Step::Row {
        let sql = query.column_text(1).unwrap_or_default().to_ascii_uppercase();
        let reason = match query.column_text(0)? {
            "trigger" => Some("has a trigger"),
            "view" => Some("is a view"),
            _ if query.column_i64(2) == 0 => Some("is virtual"),
            _ => {
                let has = |word: &str| {
                    let mut words = sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                    words.any(|found| found == word)
                };
                WORDS.iter().find(|(word, _)| has(word)).map(|(_, reason)| *reason)
            }
        };
        if let Some(reason) = reason {
            return refused(format!("the table {reason}"));
        }
    }
    drop(query);
    let foreign = format!("PRAGMA foreign_key_list({})", quoted(&target.table));
    let enforced = connection.query_i64("PRAGMA foreign_keys")? != 0;
    if enforced && !connection.query_all(&foreign)?.is_empty() {
        return refused("foreign keys of the table are enforced");
    }
    if connection.query_i64("PRAGMA defer_foreign_keys")? != 0 {
        return refused(REFERRED_TO);
    }
    Ok(())
}

pub(crate) const REFERRED_TO: &str = "rows of other tables refer to those that are replaced";

/// Words in the SQL of a table that call for more than storing values.
const WORDS: [(&str, &str); 5] = [
    ("CHECK", "has CHECK constraints"),
    ("CONFLICT", "says what to do about conflicts"),
    ("AUTOINCREMENT", "has AUTOINCREMENT"),
    ("WITHOUT", "is WITHOUT ROWID"),
    ("AS", "has generated columns"),
];

/// Returns the numbers of the source's columns in the order of the table's columns. The source must have all of them.
fn table_order(connection: &Connection, target: &Target) -> Planned<Vec<usize>> {
    let sql = format!("PRAGMA table_xinfo({})", quoted(&target.table));
    let mut order = Vec::new();
    for column in connection.query_all(&sql)? {
        let Value::Text(name) = &column[1] else { return refused("a column is not supported") };
        if column.get(6) != Some(&Value::Integer(0)) {
            return refused(format!("the column {name} is generated"));
        }
        match target.columns.iter().position(|known| known.name == *name) {
            Some(number) => order.push(number),
            None => return refused(format!("the input has no column {name}")),
        }
    }
    if order.len() != target.columns.len() {
        return refused("the input repeats a column");
    }
    Ok(order)
}

/// Returns the largest rowid, unless the rowid cannot be named: columns may have its names.
fn last_rowid(connection: &Connection, target: &Target) -> Planned<Option<i64>> {
    let Some(name) = rowid_name(connection, &target.table)? else {
        return refused("its columns use every name of the rowid");
    };
    let table = quoted(&target.table);
    let sql = format!("SELECT max({}) FROM main.{table}", quoted(&name));
    Ok(match connection.query_value(&sql)? {
        Value::Integer(last) => Some(last),
        _ => None,
    })
}

/// Returns how rows are sorted by the column that is the rowid by another name; `order` are the source's columns in the
/// order of the table's.
fn rows(target: &Target, root: u32, order: &[usize]) -> Option<IndexPlan> {
    let alias = target.rowid_alias?;
    let column = |(at, number): (usize, &usize)| {
        if *number == alias { IndexColumn::Null } else { IndexColumn::Of(at) }
    };
    let columns = order.iter().enumerate().map(column);
    let label = format!("{}.{}", target.table, target.columns[alias].name);
    Some(IndexPlan::of_rows(root, columns, label))
}

/// About how many entries an index has: as many as if every page had as many as those on the way to its middle.
fn entries(connection: &Connection, root: u32) -> Result<u64> {
    let (mut entries, mut page) = (1_u64, root);
    for _ in 0..DEEPEST {
        let Some((cells, child)) = middle(connection, page)? else { return Ok(0) };
        entries = entries.saturating_mul(cells);
        match child {
            Some(child) => page = child,
            None => break,
        }
    }
    Ok(entries)
}

/// Returns the cells of a page of an index, and the child in its middle if it is an interior one.
fn middle(connection: &Connection, page: u32) -> Result<Option<(u64, Option<u32>)>> {
    let bytes = read_page(connection, page)?.unwrap_or_default();
    let (Some(kind), Some(cells)) = (bytes.first(), u16_at(&bytes, 3)) else { return Ok(None) };
    let middle = INTERIOR_HEADER + 2 * (cells / 2).min(cells.saturating_sub(1));
    let child = u16_at(&bytes, middle).and_then(|cell| u32_at(&bytes, cell));
    Ok(match kind {
        2 => Some((cells as u64 + 1, child)),
        _ => Some((cells as u64, None)),
    })
}

fn root(connection: &Connection, kind: &str, name: &str) -> Result<u32> {
    let name = name.replace('\'', "''");
    let root = connection.query_i64(&format!(
        "SELECT rootpage FROM sqlite_master WHERE type = '{kind}' AND lower(name) = lower('{name}')"
    ))?;
    Ok(root as u32)
}

/// Returns the table's indexes, or why one of them is not written; `order` are the source's columns in the order
/// of the table's.
fn index_plans(
    connection: &Connection,
    target: &Target,
    order: &[usize],
) -> Planned<Vec<IndexPlan>> {
    let list = format!("PRAGMA index_list({})", quoted(&target.table));
    let mut plans = Vec::new();
    for index in connection.query_all(&list)? {
        let [_, Value::Text(name), Value::Integer(unique), _, Value::Integer(partial)] = &index[..]
        else {
            return refused("an index is not supported");
        };
        let columns = connection.query_all(&format!("PRAGMA index_xinfo({})", quoted(name)))?;
        let columns: Option<Vec<PlainColumn>> = columns.iter().map(|row| plain(row)).collect();
        let (Some(columns), 0) = (columns, partial) else {
            return refused(format!(
                "the index {name} has expressions, a condition or a collation"
            ));
        };
        let keys = columns.iter().filter(|column| column.is_key);
        let label = keys.clone().map(|column| match column.of {
            IndexColumn::Of(number) => {
                format!("{}.{}", target.table, target.columns[order[number]].name)
            }
            IndexColumn::Rowid | IndexColumn::Null => "rowid".to_owned(),
        });
        let has_rowid = (columns.iter()).any(|column| column.of == IndexColumn::Rowid);
        plans.push(IndexPlan {
            root: index_root(connection, target, name)?,
            label: label.collect::<Vec<_>>().join(", "),
            key: keys.clone().count(),
            descending: keys.map(|column| column.descends).collect(),
            // All columns and no rowid: the table itself. An index has the columns of the primary key.
            is_table: !has_rowid && index.get(3) == Some(&Value::Text("pk".to_owned())),
            columns: columns.iter().map(|column| column.of).collect(),
            unique: *unique != 0,
        });
    }
    plans.sort_by_key(|plan| !plan.is_table);
    Ok(plans)
}

/// A column of an index that orders as bytes and numbers do.
#[derive(Debug, Clone, Copy)]
struct PlainColumn {
    of: IndexColumn,
    descends: bool,
    is_key: bool,
}

/// A column as `PRAGMA index_xinfo` describes it; none of an expression or another collation.
fn plain(row: &[Value]) -> Option<PlainColumn> {
    let of = match row[1] {
        Value::Integer(number @ 0..) => IndexColumn::Of(number as usize),
        Value::Integer(-1) => IndexColumn::Rowid,
        _ => return None,
    };
    (row[4] == Value::Text("BINARY".to_owned())).then_some(PlainColumn {
        of,
        descends: row[3] == Value::Integer(1),
        is_key: row[5] == Value::Integer(1),
    })
}

/// Returns the root of an index; the one of the primary key of a table WITHOUT ROWID is the table.
fn index_root(connection: &Connection, target: &Target, name: &str) -> Result<u32> {
    match root(connection, "index", name) {
        Err(LoadError::Engine(EngineError::NoRow(_))) => root(connection, "table", &target.table),
        found => found,
    }
}
