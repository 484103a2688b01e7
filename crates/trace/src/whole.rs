//! Whether a file has all of the database that its header announces.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The first bytes of a database that is not encrypted.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The bytes of the header of a database.
const HEADER: usize = 100;

/// Returns whether a database is whole, as far as its size can show it. Of an encrypted one it cannot.
pub fn is_whole(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut header = [0; HEADER];
    match length {
        0..100 => Ok(false),
        _ => {
            file.read_exact(&mut header)?;
            Ok(fits(&header, length))
        }
    }
}

/// Returns whether a database of this length has the pages of its header.
/// <https://sqlite.org/fileformat2.html#the_database_header>
fn fits(header: &[u8; HEADER], length: u64) -> bool {
    let number = |at: usize| {
        let bytes = header[at..at + 4].iter();
        bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let page_size = match number(16) >> 16 {
        1 => 65_536,
        size => size,
    };
    // The number of pages is right where the version that wrote the file last knew it.
    let is_known = number(24) == number(92);
    !header.starts_with(MAGIC)
        || (page_size > 0 && length.is_multiple_of(page_size))
            && (!is_known || length == page_size * number(28))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_has_to_be_that_of_the_header() {
        let mut header = [0; HEADER];
        header[..16].copy_from_slice(MAGIC);
        header[16] = 0x10;
        header[31] = 2;
        assert!(fits(&header, 8192));
        assert!(!fits(&header, 4096) && !fits(&header, 8191));
        header[95] = 1;
        assert!(fits(&header, 4096), "an old version does not count pages");
        assert!(fits(&[7; HEADER], 5000), "encrypted");
    }
}
