//! Lines of JSON (<https://jsonlines.org>): an object on each; empty lines are passed over.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{ImportError, Rows, bad_row, unreadable};
use crate::generate::Documents;

/// Lines whose names are looked at: a line need not have every name, and so many, which take but a
/// moment, tell of all but odd ones.
const LOOKED_AT: usize = 1_000;

/// A pass over such a file.
pub(super) struct JsonLines {
    path: PathBuf,
    file: BufReader<File>,
    columns: Vec<String>,
    line: Vec<u8>,
    row: u64,
}

/// The names on the first lines that have a text on one of them, in the order in which the lines
/// bring them.
pub(super) fn names(path: &Path) -> Result<Vec<String>, ImportError> {
    let mut lines = JsonLines::open(path, &[])?;
    let mut names: Vec<String> = Vec::new();
    for _ in 0..LOOKED_AT {
        let Some(object) = lines.next_object()? else {
            break;
        };
        for (name, value) in object {
            if value.is_string() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    match lines.row {
        0 => Err(ImportError::Empty(path.to_owned())),
        _ => Ok(names),
    }
}

impl JsonLines {
    pub(super) fn open(path: &Path, columns: &[String]) -> Result<JsonLines, ImportError> {
        let file = File::open(path).map_err(|source| unreadable(path, source))?;
        Ok(JsonLines {
            path: path.to_owned(),
            file: BufReader::new(file),
            columns: columns.to_vec(),
            line: Vec::new(),
            row: 0,
        })
    }

    fn next_object(&mut self) -> Result<Option<Map<String, Value>>, ImportError> {
        loop {
            self.line.clear();
            let read = self.file.read_until(b'\n', &mut self.line);
            if read.map_err(|source| unreadable(&self.path, source))? == 0 {
                return Ok(None);
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        self.row += 1;
        let problem = |what: String| bad_row(&self.path, self.row, what);
        let line = std::str::from_utf8(&self.line).map_err(|_| problem("not UTF-8".to_owned()))?;
        serde_json::from_str(line)
            .map(Some)
            .map_err(|error| problem(format!("not a JSON object: {error}")))
    }
}

impl Rows for JsonLines {
    fn next_into(&mut self, documents: &mut Documents) -> Result<bool, ImportError> {
        let Some(object) = self.next_object()? else {
            return Ok(false);
        };
        for column in &self.columns {
            match object.get(column) {
                None | Some(Value::Null) => documents.push_field(""),
                Some(Value::String(text)) => documents.push_field(text),
                Some(other) => documents.push_field(&other.to_string()),
            }
        }
        Ok(true)
    }
}
