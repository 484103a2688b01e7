//! The moment at which pages behind the end of a database become part of it: within SQLite's own
//! transaction, through the table `sqlite_dbpage` (<https://sqlite.org/dbpage.html>), so that SQLite's
//! journal makes it atomic.
//!
//! Until the header counts more pages, those behind the end do not exist for anybody. What makes them
//! exist is one transaction of SQLite: the header, and the pages of the trees to which they are hung. A
//! crash before its end rolls these back, and what is left is a file longer than its header says, which
//! SQLite allows and uses up when the database grows.
//!
//! SQLite keeps what it has parsed of a page with the page, and would go on believing it when the
//! bytes change underneath. It understands a page anew after a savepoint was rolled back, and it counts
//! the database's pages anew, by the header, when one is released.

use engine::{Connection, EngineError};

use super::file::{NewPage, PageFile};
use super::map;
use super::spine::read_page;
use crate::error::LoadError;

/// Where the header has the size of the database in pages.
const SIZE_IN_PAGES: std::ops::Range<usize> = 28..32;

/// Syncs the pages added to the file, and links them within the transaction that is open.
///
/// # Errors
/// The file cannot be synced; SQLite refuses to change pages (`SQLITE_DBCONFIG_DEFENSIVE`).
pub(crate) fn link(connection: &Connection, file: &PageFile) -> Result<(), LoadError> {
    let mut replaced = file.finish_beyond()?;
    for (number, new) in file.new_in_map() {
        let Some(mut bytes) = read_page(connection, number)? else {
            let message = format!("its page {number} cannot be read");
            return Err(LoadError::Check(message));
        };
        map::merge(&mut bytes, &new);
        replaced.push(NewPage { number, bytes });
    }
    let (before, pages) = (file.pages_before(), file.pages());
    connection.execute("SAVEPOINT pragmark_pages")?;
    let of_trees = replaced.iter().map(|page| page.number);
    for page in std::iter::once(1).chain(of_trees) {
        rewrite(connection, page)?;
    }
    connection.execute("ROLLBACK TO pragmark_pages")?;
    let Some(mut header) = read_page(connection, 1)? else {
        return Err(LoadError::Check("its first page cannot be read".to_owned()));
    };
    header[SIZE_IN_PAGES].copy_from_slice(&pages.to_be_bytes());
    replace(connection, &NewPage { number: 1, bytes: header })?;
    connection.execute("RELEASE pragmark_pages")?;
    for page in &replaced {
        replace(connection, page)?;
    }
    // SQLite does not read behind what it believes to be the end, so that it has to be given the page
    // that shows it how long the file is to be.
    if pages > before {
        replace(connection, &file.last_page()?)?;
    }
    Ok(())
}

/// Makes SQLite write a page as it is.
fn rewrite(connection: &Connection, page: u32) -> Result<(), EngineError> {
    connection.execute(&format!("UPDATE sqlite_dbpage SET data = data WHERE pgno = {page}"))
}

/// Gives a page new contents.
pub(super) fn replace(connection: &Connection, page: &NewPage) -> Result<(), EngineError> {
    let mut update = connection.prepare("UPDATE sqlite_dbpage SET data = ?1 WHERE pgno = ?2")?;
    update.bind_blob(1, &page.bytes)?;
    update.bind_i64(2, i64::from(page.number))?;
    update.run()
}
