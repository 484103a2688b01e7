//! Pages that are not needed any more, put on the list of free pages within SQLite's transaction
//! (<https://sqlite.org/fileformat2.html#the_freelist>).
//!
//! SQLite does not save what a free page held before it writes something else there. Nothing may be written in
//! the transaction afterwards, therefore, or the pages would be lost if it were taken back.

use engine::Connection;

use super::file::NewPage;
use super::link::replace;
use super::spine::read_page;
use crate::error::LoadError;

/// Where the header has the first trunk of the list, and the number of free pages.
const FIRST_TRUNK: std::ops::Range<usize> = 32..36;
const FREE_PAGES: std::ops::Range<usize> = 36..40;
/// Where the header has the bytes of a page that extensions use.
const RESERVED: usize = 20;

/// Puts pages on the list of free ones, as the last change of the transaction that is open.
///
/// # Errors
/// SQLite refuses to change pages.
pub(crate) fn free(connection: &Connection, pages: &[u32]) -> Result<(), LoadError> {
    if pages.is_empty() {
        return Ok(());
    }
    let Some(mut header) = read_page(connection, 1)? else {
        return Err(LoadError::Check("its first page cannot be read".to_owned()));
    };
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
    Ok(replace(connection, &page)?)
}
