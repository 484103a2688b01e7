//! Reading text files that users name: what is no file, too large or no text is refused before it is read
//! whole.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// The text of a file of at most `most` bytes; `what` the file is to the user begins the error.
///
/// # Errors
/// For devices, pipes and folders, for larger files, for what is not UTF-8, and if reading fails.
pub fn text_of(what: &str, path: &Path, most: u64) -> Result<String, Failure> {
    let words = |why: &dyn Display| format!("cannot read {what} {}: {why}", path.display());
    let failure = |why: &dyn Display| Failure::usage(words(why));
    let unusable = |error: std::io::Error| Failure::unusable(words(&error));
    let metadata = std::fs::metadata(path).map_err(unusable)?;
    if !metadata.is_file() {
        return Err(failure(&"it is not a regular file"));
    }
    let mut text = Vec::new();
    let file = File::open(path).map_err(unusable)?;
    let read = file.take(most + 1).read_to_end(&mut text);
    read.map_err(unusable)?;
    if text.len() as u64 > most {
        return Err(failure(&format!("it is larger than {} KiB", most / 1024)));
    }
    String::from_utf8(text).map_err(|_| failure(&"it is not UTF-8 text"))
}
