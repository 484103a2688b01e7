//! The runs below some folders, without their trials.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lab::metric::Unit;
use runner::RunFolder;

use crate::commands::history::runs_below;
use crate::failure::Failure;

/// A run as a list shows it.
pub struct Kept {
    /// Its folder.
    pub folder: PathBuf,
    /// How long ago it was planned; zero where the clock was set back since.
    pub age: Duration,
    /// Size of all files in its folder.
    pub bytes: u64,
}

impl Kept {
    fn of(folder: &Path) -> Result<Kept, Failure> {
        let created = RunFolder::open(folder)?.plan()?.created;
        let created = humantime::parse_rfc3339(&created)
            .map_err(|error| Failure::unusable(format!("when it began is not known: {error}")))?;
        let bytes = size(folder).map_err(|error| {
            Failure::unusable(format!("cannot read {}: {error}", folder.display()))
        })?;
        Ok(Kept {
            folder: folder.to_owned(),
            age: SystemTime::now().duration_since(created).unwrap_or_default(),
            bytes,
        })
    }

    /// Folder, age and size in a line.
    pub fn line(&self) -> String {
        format!("{}  {}  {}", self.folder.display(), age_words(self.age), size_words(self.bytes))
    }
}

/// Runs by age, the latest first, and the folders of those that cannot be read with the reason.
pub type Listing = (Vec<Kept>, Vec<(PathBuf, String)>);

/// The runs below these folders.
pub fn below(folders: &[PathBuf]) -> Result<Listing, Failure> {
    let (mut kept, mut unreadable) = (Vec::new(), Vec::new());
    for folder in runs_below(folders)? {
        match Kept::of(&folder) {
            Ok(run) => kept.push(run),
            Err(failure) => unreadable.push((folder, failure.words())),
        }
    }
    kept.sort_by(|a, b| (a.age, &b.folder).cmp(&(b.age, &a.folder)));
    Ok((kept, unreadable))
}

/// Bytes of the files in a folder; links are not followed.
fn size(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => size(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}

/// A size as a person reads it.
pub fn size_words(bytes: u64) -> String {
    ::report::figures::with_unit(bytes as f64, Unit::Bytes)
}

/// An age as a person would say it.
fn age_words(age: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let ago = |count: u64, unit: &str| match count {
        1 => format!("1 {unit} ago"),
        many => format!("{many} {unit}s ago"),
    };
    match age.as_secs() {
        seconds if seconds < MINUTE => "less than a minute ago".to_owned(),
        seconds if seconds < HOUR => ago(seconds / MINUTE, "minute"),
        seconds if seconds < DAY => ago(seconds / HOUR, "hour"),
        seconds => ago(seconds / DAY, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_given_in_its_largest_whole_unit() {
        let words = |seconds| age_words(Duration::from_secs(seconds));
        assert_eq!(words(59), "less than a minute ago");
        assert_eq!(words(60), "1 minute ago");
        assert_eq!(words(3_599), "59 minutes ago");
        assert_eq!(words(7_200), "2 hours ago");
        assert_eq!(words(90_000), "1 day ago");
        assert_eq!(words(40 * 86_400), "40 days ago");
    }
}
