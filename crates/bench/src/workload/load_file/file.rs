//! The file: the table `user` as CSV, with one column in quotes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use lab::seed::Seed;

use super::verify::Sums;
use crate::error::TrialError;
use crate::generate::{User, Users};

/// Rows that are drawn at a time.
const PART: usize = 10_000;

/// Writes and syncs the file, so that nothing of it is left to be written while a tool is timed; returns
/// what a table of its rows holds.
pub(super) fn write(path: &Path, rows: usize, seed: Seed) -> Result<Sums, TrialError> {
    let users = Users::new(seed, rows, PART, 0);
    write_rows(path, users.all()).map_err(TrialError::io("write", path))
}

fn write_rows(path: &Path, users: impl Iterator<Item = User>) -> io::Result<Sums> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut sums = Sums::default();
    writeln!(file, "id,area,age,active")?;
    for (id, user) in (1_i64..).zip(users) {
        let area = user.area.unwrap_or_default();
        write!(file, "{id},\"")?;
        file.write_all(&area)?;
        writeln!(file, "\",{},{}", user.age, user.active)?;
        sums.add(id, &area, user.age, user.active);
    }
    file.into_inner()?.sync_all()?;
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_a_header_and_a_quoted_area_in_every_row() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("user.csv");
        write(&path, 25_001, Seed(3)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("id,area,age,active\n1,\""));
        let mut reader = csv::Reader::from_path(&path).unwrap();
        let mut rows = 0;
        for (number, row) in reader.records().enumerate() {
            let row = row.unwrap();
            assert_eq!(row[0], (number + 1).to_string());
            assert!(row[1].len() == 6 && row[1].bytes().all(|byte| byte.is_ascii_digit()));
            rows += 1;
        }
        assert_eq!(rows, 25_001);
    }
}
