//! The moment at which pages behind the end of a database become part of it: within SQLite's own
//! transaction, through the table `sqlite_dbpage` (<https://sqlite.org/dbpage.html>), so that SQLite's
//! journal makes it atomic.
//!
//! Until the header counts more pages, those behind the end do not exist for anybody. What makes them
//! exist is one transaction of SQLite: the header, and the pages of the trees to which they are hung. A
//! crash before its end rolls these back, and what is left is a file longer than its header says, which
//! SQLite allows and uses up when the database grows.
//!
//! SQLite caches its parsed view of a page, and would keep it when the
//! bytes change underneath. It understands a page anew after a savepoint was rolled back, and it counts
//! the database's pages anew, by the header, when one is released.

use std::ops::Range;

use engine::{Connection, Step, Value};

use super::file::{NewPage, PageFile};
use super::map;
use super::page::LEAF_HEADER;
use crate::error::{LoadError, Result};

/// Where the header has the size of the database in pages.
const SIZE_IN_PAGES: Range<usize> = 28..32;

/// Syncs the pages added to the file, and links them within the transaction that is open.
///
/// # Errors
/// The file cannot be synced; SQLite refuses to change pages (`SQLITE_DBCONFIG_DEFENSIVE`).
pub(crate) fn link(connection: &Connection, file: &PageFile) -> Result<()> {
    let mut replaced = file.finish_beyond()?;
    for (number, new) in file.new_in_map() {
        let Some(mut bytes) = read_page(connection, number)? else {
            let message = format!("its page {number} cannot be read");
            return Err(LoadError::Check(message));
        };
        map::merge(&mut bytes, &new);
        replaced.push(NewPage { number, bytes });
    }
    let (before, pages) = (file.pages_before, file.pages());
    connection.execute("SAVEPOINT pragmark_pages")?;
    let of_trees = replaced.iter().map(|page| page.number);
    // Makes SQLite write each page as it is.
    for page in std::iter::once(1).chain(of_trees) {
        connection.execute(&format!("UPDATE sqlite_dbpage SET data = data WHERE pgno = {page}"))?;
    }
    connection.execute("ROLLBACK TO pragmark_pages")?;
    let mut header = read_header(connection)?;
    header[SIZE_IN_PAGES].copy_from_slice(&pages.to_be_bytes());
    replace(connection, &NewPage { number: 1, bytes: header })?;
    connection.execute("RELEASE pragmark_pages")?;
    for page in &replaced {
        replace(connection, page)?;
    }
    // SQLite does not read behind what it believes to be the end, so that it has to be given the page
    // that shows it how long the file is to be.
    if pages > before {
        replace(connection, &NewPage { number: pages, bytes: file.read(pages)? })?;
    }
    Ok(())
}

/// Returns a page as the transaction sees it; `None` if there is none of this number.
pub(super) fn read_page(connection: &Connection, page: u32) -> Result<Option<Vec<u8>>> {
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

/// Returns the first page, with the header of the database.
fn read_header(connection: &Connection) -> Result<Vec<u8>> {
    let header = read_page(connection, 1)?;
    header.ok_or_else(|| LoadError::Check("its first page cannot be read".to_owned()))
}

/// Gives a page new contents.
fn replace(connection: &Connection, page: &NewPage) -> Result<()> {
    let mut update = connection.prepare("UPDATE sqlite_dbpage SET data = ?1 WHERE pgno = ?2")?;
    update.bind_blob(1, &page.bytes)?;
    update.bind_i64(2, i64::from(page.number))?;
    Ok(update.run()?)
}

/// Where the header has the first trunk of the list, and the number of free pages.
const FIRST_TRUNK: Range<usize> = 32..36;
const FREE_PAGES: Range<usize> = 36..40;
/// Where the header has the bytes of a page that extensions use.
const RESERVED: usize = 20;

/// Puts pages that are not needed any more on the list of free ones
/// (<https://sqlite.org/fileformat2.html#the_freelist>), as the last change of the transaction that is open.
///
/// SQLite does not save the contents of a free page before it writes something else there. Nothing may be written in
/// the transaction afterwards, or the pages would be lost if it were taken back.
///
/// # Errors
/// SQLite refuses to change pages.
pub(crate) fn free(connection: &Connection, pages: &[u32]) -> Result<()> {
    if pages.is_empty() {
        return Ok(());
    }
    let mut header = read_header(connection)?;
    let usable = header.len() - usize::from(header[RESERVED]);
    // SQLite leaves six entries of a trunk unused, for versions before 3.6.0.
    let in_trunk = usable / 4 - 8;
    for group in pages.chunks(in_trunk + 1) {
        let mut bytes = header[FIRST_TRUNK].to_vec();
        bytes.extend((group.len() as u32 - 1).to_be_bytes());
        bytes.extend(group[1..].iter().flat_map(|page| page.to_be_bytes()));
        bytes.resize(header.len(), 0);
        let number = group[0];
        replace(connection, &NewPage { number, bytes })?;
        header[FIRST_TRUNK].copy_from_slice(&number.to_be_bytes());
    }
    let before =
        header[FREE_PAGES].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let free = before + pages.len() as u32;
    header[FREE_PAGES].copy_from_slice(&free.to_be_bytes());
    let page = NewPage { number: 1, bytes: header };
    replace(connection, &page)
}
