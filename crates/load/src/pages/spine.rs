//! The right edge of a table that has rows: where a tree goes on when only larger rowids follow.
//!
//! From the root down to the last leaf, each page is the last of its level. New leaves become children of
//! the lowest of these pages; what it cannot hold goes into new sibling pages, which in turn become
//! children of the page above. So the tree keeps its depth until the root is full, and of the pages that
//! are there only those of the edge change.

use engine::{Connection, EngineError, Step, Value};

use super::file::PageFile;
use super::tree::{self, Child, TABLE_INTERIOR};
use crate::error::LoadError;

/// The most levels that a table can have: a page holds two children at least.
const DEEPEST: usize = 40;
/// The header of a leaf.
const LEAF_HEADER: usize = 8;

/// The interior pages of the right edge, the lowest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Spine {
    levels: Vec<Level>,
    /// What the root holds if it is a leaf with rows.
    leaf: Option<Vec<u8>>,
    /// The largest rowid.
    last: Option<i64>,
}

/// An interior page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Level {
    page: u32,
    /// All children but the rightmost.
    children: Vec<Child>,
    rightmost: u32,
}

impl Spine {
    /// Reads the edge of the table with this root, of which `last` is the largest rowid; `None` if its
    /// pages are not understood.
    pub(super) fn read(
        connection: &Connection,
        root: u32,
        last: Option<i64>,
    ) -> Result<Option<Spine>, EngineError> {
        let mut levels = Vec::new();
        let mut page = root;
        loop {
            let Some(bytes) = read_page(connection, page)? else {
                return Ok(None);
            };
            match bytes.first() {
                Some(&TABLE_INTERIOR) if levels.len() < DEEPEST => {
                    let Some((children, rightmost)) = tree::children(&bytes) else {
                        return Ok(None);
                    };
                    levels.push(Level { page, children, rightmost });
                    page = rightmost;
                }
                // A tree of several levels without a row is nothing that SQLite leaves.
                Some(&tree::TABLE_LEAF) if levels.is_empty() || last.is_some() => {
                    levels.reverse();
                    let is_root = levels.is_empty() && last.is_some();
                    return Ok(Some(Spine { levels, leaf: is_root.then_some(bytes), last }));
                }
                _ => return Ok(None),
            }
        }
    }

    /// The largest rowid; none in an empty table.
    pub(super) fn last(&self) -> Option<i64> {
        self.last
    }

    /// Whether the table has no rows, so that it can be written as a new one.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Hangs leaves, of which there is at least one, to the right edge of the table with this root.
    pub(super) fn append(
        self,
        file: &PageFile,
        root: u32,
        leaves: Vec<Child>,
    ) -> Result<(), LoadError> {
        let mut new = leaves;
        // The largest rowid below the page that has been the last one of the level.
        let mut key = self.last.unwrap_or(0);
        if let Some(leaf) = self.leaf {
            let range = file.reserve(1)?;
            file.write_tree(range, tree::moved(&leaf).bytes())?;
            new.insert(0, Child { page: range.page(0), key });
        }
        for level in self.levels {
            let mut children = level.children;
            children.push(Child { page: level.rightmost, key });
            children.append(&mut new);
            if level.page == root {
                return tree::write_interior(file, root, children);
            }
            let groups = tree::groups(&children, file.usable());
            let (first, others) = (&groups[0], &groups[1..]);
            let kept = &children[first.clone()];
            file.write_page(level.page, tree::interior_page(file, kept).bytes())?;
            if others.is_empty() {
                return Ok(());
            }
            key = kept[kept.len() - 1].key;
            new = tree::write_level(file, &children, others)?;
        }
        tree::write_interior(file, root, new)
    }
}

/// A page as the transaction sees it; `None` if there is none of this number.
pub(super) fn read_page(
    connection: &Connection,
    page: u32,
) -> Result<Option<Vec<u8>>, EngineError> {
    let mut select = connection.prepare("SELECT data FROM sqlite_dbpage WHERE pgno = ?1")?;
    select.bind_i64(1, i64::from(page))?;
    Ok(match select.step()? {
        Step::Row => match select.column_value(0) {
            Value::Blob(bytes) if bytes.len() > LEAF_HEADER => Some(bytes),
            _ => None,
        },
        Step::Done => None,
    })
}
