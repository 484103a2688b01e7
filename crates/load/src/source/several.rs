//! Several inputs of one shape, read one after another as if they were one.

use std::path::PathBuf;

use super::text::shift;
use super::view::View;
use super::{Opening, ReadOptions, Sample, Seen, Source, SourceInfo, open_one};
use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::convert::Decimals;
use crate::error::{LoadError, Result};
use crate::sql::same;
use crate::table::Column;

/// Inputs with the same columns.
pub(super) struct SeveralSource {
    info: SourceInfo,
    inputs: Vec<Part>,
    opening: Opening,
    options: ReadOptions,
    /// The input that is being read.
    current: Option<Current>,
    /// The position of the next one in the list.
    next: usize,
    /// Numbers of rows, and bytes, of the inputs that have been read.
    rows: u64,
    bytes: u64,
}

/// Bytes of inputs that are kept in memory, and those that a source takes besides its text.
const MOST_KEPT: u64 = 32 << 20;
const OF_SOURCE: u64 = 4 << 10;

/// An input that has been looked at.
struct Part {
    path: PathBuf,
    bytes: Option<u64>,
    /// Standard input cannot be opened twice, so it is kept; small texts are, because opening takes longer than reading.
    opened: Option<Box<dyn Source>>,
}

struct Current {
    /// With the columns in the order of the first input.
    source: View,
    /// The number of its last row so far.
    rows: u64,
    /// How much of it has been read so far.
    bytes: u64,
}

/// Makes the columns suit another input too, which must have these columns and no others, unless columns are added. Returns
/// where they stand in it.
fn suit(
    info: &mut SourceInfo,
    source: &dyn Source,
    adds_columns: bool,
) -> Result<Vec<Option<usize>>> {
    let mut order = order(&info.name, &info.columns, source, adds_columns)?;
    check_scales(info, source.info())?;
    let other = source.info();
    for (number, at) in order.iter().enumerate() {
        let (column, seen) = (&mut info.columns[number], &mut info.seen[number]);
        let Some(at) = *at else {
            column.not_null = false;
            continue;
        };
        let before = column.declared.clone();
        let was_typed = seen.is_typed;
        widen(column, seen, &other.columns[at], &other.seen[at]);
        if was_typed && before != column.declared {
            let (name, declared) = (&column.name, &column.declared);
            info.notes.fact(format!(
                "types: {name} is {declared}, not {before}, because of {}",
                other.name
            ));
        }
    }
    for at in (0..other.columns.len()).filter(|at| !order.contains(&Some(*at))).collect::<Vec<_>>()
    {
        let column = Column { not_null: false, ..other.columns[at].clone() };
        info.decimals
            .extend(other.decimals.iter().filter(|known| known.name == column.name).cloned());
        info.columns.push(column);
        info.seen.push(other.seen[at].clone());
        order.push(Some(at));
    }
    Ok(order)
}

/// Makes the type of a column suit the values of another one too.
pub(super) fn widen(column: &mut Column, seen: &mut Seen, found: &Column, other: &Seen) {
    seen.is_beyond_real |= other.is_beyond_real;
    let declared = match (other.is_typed, seen.is_typed) {
        (true, true) => match common(&column.declared, &found.declared) {
            common if seen.is_beyond_real && Affinity::of(&common) == Affinity::Real => {
                Affinity::Text.to_string()
            }
            common => common,
        },
        (true, false) => found.declared.clone(),
        (false, _) => column.declared.clone(),
    };
    if declared != column.declared || !seen.is_typed {
        seen.decided.clone_from(&other.decided);
    }
    seen.no_number = match (seen.no_number.take(), seen.is_typed) {
        (Some(value), _) if other.no_number.is_some() || !other.is_typed => Some(value),
        (None, false) => other.no_number.clone(),
        _ => None,
    };
    column.declared = declared;
    column.not_null &= found.not_null;
    seen.is_typed |= other.is_typed;
    seen.is_text |= other.is_text;
}

/// Notes the columns that not all inputs have; of each column, the inputs with it and the first of them are known.
fn note_missing(info: &SourceInfo, having: &[(usize, String)], inputs: usize) {
    for (column, (count, first)) in info.columns.iter().zip(having) {
        if *count < inputs {
            let name = &column.name;
            info.notes.fact(format!("columns: {name} is in {count} of {inputs} inputs, first in {first}; the rows of others have NULL"));
        }
    }
}

/// Integers that stand for decimals must have the point at the same digit in all inputs.
fn check_scales(first: &SourceInfo, other: &SourceInfo) -> Result<()> {
    if first.decimals_as != Decimals::ScaledInteger {
        return Ok(());
    }
    let is_known =
        |column: &&Column| first.columns.iter().any(|known| same(&known.name, &column.name));
    for column in other.columns.iter().filter(is_known) {
        let scale = |info: &SourceInfo| {
            let known = info.decimals.iter().find(|known| same(&known.name, &column.name));
            known.map_or(0, |known| known.scale)
        };
        let (expected, found) = (scale(first), scale(other));
        if expected != found {
            let reason = format!(
                "its column {} has {found} digits after the point, {expected} in {}",
                column.name, first.name
            );
            return Err(LoadError::form(&other.name, reason));
        }
    }
    Ok(())
}

impl SeveralSource {
    /// Looks at every input: all of them must have the columns of the first, by name, unless columns are added. Types are
    /// chosen so that they suit all.
    pub(super) fn open(paths: &[PathBuf], opening: &Opening) -> Result<SeveralSource> {
        let mut inputs = Vec::new();
        let (mut common, mut empty): (Option<SourceInfo>, Option<SourceInfo>) = (None, None);
        let (mut having, mut kept): (Vec<(usize, String)>, u64) = (Vec::new(), 0);
        for path in paths {
            let source = open_one(path, opening)?;
            // A text without rows names no columns.
            if source.info().columns.is_empty() {
                empty.get_or_insert_with(|| source.info().clone());
                continue;
            }
            let info = common.get_or_insert_with(|| source.info().clone());
            let order = suit(info, &*source, opening.adds_columns)?;
            having.resize(order.len(), (0, source.name().to_owned()));
            for (having, _) in having.iter_mut().zip(&order).filter(|(_, at)| at.is_some()) {
                having.0 += 1;
            }
            let bytes = source.info().total_bytes.map_or(u64::MAX, |bytes| bytes + OF_SOURCE);
            let is_small = source.info().is_in_memory && kept.saturating_add(bytes) <= MOST_KEPT;
            kept += if is_small { bytes } else { 0 };
            inputs.push(Part {
                path: path.clone(),
                bytes: source.info().total_bytes,
                opened: (path.as_os_str() == "-" || is_small).then_some(source),
            });
        }
        let Some(mut info) = common.or(empty) else {
            return Err(LoadError::Definition("no input is named".to_owned()));
        };
        note_missing(&info, &having, inputs.len());
        info.name = format!("{} and {} more", info.name, paths.len() - 1);
        info.total_bytes = inputs.iter().map(|part| part.bytes).sum();
        info.files = paths.to_vec();
        let mut opening = opening.clone();
        // All rows have been looked at by now.
        opening.sample = Sample::First;
        let names = info.columns.iter().map(|column| column.name.clone());
        opening.more_keys.extend(names);
        Ok(SeveralSource {
            info,
            inputs,
            opening,
            options: ReadOptions::default(),
            current: None,
            next: 0,
            rows: 0,
            bytes: 0,
        })
    }

    /// Goes on to the next input; false at the end.
    fn advance(&mut self) -> Result<bool> {
        let Some(part) = self.inputs.get_mut(self.next) else { return Ok(false) };
        self.next += 1;
        let source = match part.opened.take() {
            Some(source) => source,
            None => open_one(&part.path, &self.opening)?,
        };
        let columns = &self.info.columns;
        let order = order(&self.info.name, columns, &*source, self.opening.adds_columns)?;
        let mut source = View::new(source, columns.clone(), order);
        source.begin(self.options.clone());
        if self.next > 1 {
            let unit = source.info().locations.find(1).unit;
            self.info.locations.begin(self.rows, source.name(), unit);
        }
        self.current = Some(Current { source, rows: 0, bytes: 0 });
        Ok(true)
    }

    fn end_current(&mut self) {
        if let Some(current) = self.current.take() {
            for note in current.source.info().notes.all() {
                self.info.notes.add(note);
            }
            self.rows += current.rows;
            self.bytes += current.source.info().total_bytes.unwrap_or(current.bytes);
        }
    }
}

impl Current {
    fn next(&mut self) -> Result<Option<Batch>> {
        let Some(batch) = self.source.next()? else { return Ok(None) };
        let numbers = &batch.numbers;
        let count = batch.rows.num_rows() + numbers.left_out.len();
        // A row that ends the load stands alone in its batch.
        let malformed = batch.malformed.last().map_or(0, |malformed| malformed.row);
        self.rows = (numbers.first + count as u64 - 1).max(malformed);
        self.bytes = batch.bytes_read;
        Ok(Some(batch))
    }
}

impl Source for SeveralSource {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn begin(&mut self, options: ReadOptions) {
        self.options = options;
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            let Some(current) = &mut self.current else {
                if self.advance()? {
                    continue;
                }
                return Ok(None);
            };
            match current.next()? {
                Some(mut batch) => {
                    shift(&mut batch, self.rows);
                    batch.bytes_read += self.bytes;
                    return Ok(Some(batch));
                }
                None => self.end_current(),
            }
        }
    }
}

/// Returns the positions of the columns in another source, which must have these columns and no others, unless columns are
/// added.
fn order(
    first: &str,
    columns: &[Column],
    source: &dyn Source,
    adds_columns: bool,
) -> Result<Vec<Option<usize>>> {
    let differs = |reason: String| LoadError::OtherColumns(source.name().to_owned(), reason);
    let found = source.columns();
    let stranger =
        found.iter().find(|found| !columns.iter().any(|column| same(&column.name, &found.name)));
    if let Some(stranger) = stranger.filter(|_| !adds_columns) {
        return Err(differs(format!(
            "it has a column {}, which {first} does not have",
            stranger.name
        )));
    }
    columns
        .iter()
        .map(|column| {
            let at = found.iter().position(|found| same(&column.name, &found.name));
            if at.is_none() && !adds_columns {
                return Err(differs(format!(
                    "it has no column {}, which {first} has",
                    column.name
                )));
            }
            Ok(at)
        })
        .collect()
}

/// A declared type that suits what a column of either has: where one of them keeps everything as it is, the
/// common one does, numbers of several kinds are numbers, and numbers and texts are texts.
fn common(one: &str, other: &str) -> String {
    use Affinity::{Blob, Integer, Numeric, Real, Text};
    if one == other {
        return one.to_owned();
    }
    let affinity = match (Affinity::of(one), Affinity::of(other)) {
        (one, other) if one == other => one,
        (Blob, _) | (_, Blob) => Blob,
        (Text, _) | (_, Text) => Text,
        (Integer, Real) | (Real, Integer) => Real,
        _ => Numeric,
    };
    affinity.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Connection, Library, OpenFlags};
    use std::path::Path;
    use std::sync::Arc;

    fn library() -> Arc<Library> {
        Arc::new(Library::load(&engine::Source::Embedded).unwrap())
    }

    fn open(paths: &[PathBuf]) -> SeveralSource {
        SeveralSource::open(paths, &Opening::new(&library())).unwrap()
    }

    /// Files of this ending with these texts.
    fn texts(folder: &Path, ending: &str, texts: &[&str]) -> Vec<PathBuf> {
        let write = |(number, text): (usize, &&str)| {
            let path = folder.join(format!("{number}.{ending}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        texts.iter().enumerate().map(write).collect()
    }

    fn declared(source: &SeveralSource) -> Vec<&str> {
        let columns = source.columns().iter();
        columns.map(|column| &*column.declared).collect()
    }

    #[test]
    fn types_that_come_to_the_same_stay_what_they_are() {
        for (one, other, both) in [
            ("VARCHAR(20)", "VARCHAR(20)", "VARCHAR(20)"),
            ("INT", "INTEGER", "INTEGER"),
            ("DOUBLE", "REAL", "REAL"),
            ("VARCHAR(20)", "TEXT", "TEXT"),
            ("DECIMAL(10, 2)", "NUMERIC", "NUMERIC"),
            ("", "BLOB", "BLOB"),
            ("INTEGER", "REAL", "REAL"),
            ("INT", "DECIMAL(10, 2)", "NUMERIC"),
            ("INTEGER", "TEXT", "TEXT"),
            ("", "INTEGER", "BLOB"),
            ("TEXT", "", "BLOB"),
        ] {
            assert_eq!(common(one, other), both, "{one}, {other}");
            assert_eq!(common(other, one), both, "{other}, {one}");
        }
    }

    #[test]
    fn an_input_without_values_in_a_column_says_nothing_of_its_type() {
        let folder = tempfile::tempdir().unwrap();
        let csv = ["a,b,c\n,,x\n", "c,b,a\n,,1\n", "a,b,c\n2,1.5,\n", "a,b,c\n"];
        let source = open(&texts(folder.path(), "csv", &csv));
        assert_eq!(declared(&source), ["INTEGER", "REAL", "TEXT"]);
        let json = ["{\"a\": null, \"b\": null}\n", "{\"a\": 1, \"b\": null}\n"];
        let source = open(&texts(folder.path(), "jsonl", &json));
        assert_eq!(declared(&source), ["INTEGER", "TEXT"]);
    }

    #[test]
    fn what_was_read_of_databases_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        let mut size = 0;
        for path in &paths {
            let connection =
                Connection::open(&library(), path, OpenFlags::default(), None).unwrap();
            connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1), ('x')").unwrap();
            drop(connection);
            size += std::fs::metadata(path).unwrap().len();
        }
        let mut source = open(&paths);
        source.begin(ReadOptions::new([Affinity::Blob]));
        let mut read = 0;
        while let Some(batch) = source.next().unwrap() {
            read = batch.bytes_read;
        }
        assert_eq!(read, size);
    }
}
