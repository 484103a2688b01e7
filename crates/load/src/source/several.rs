//! Several inputs of one shape, read one after another as if they were one.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;

use super::blocks::shift;
use super::places::Places;
use super::{Opening, Source, SourceColumn, Unit, open_one};
use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::error::LoadError;
use crate::table::{Column, same};

/// Inputs with the same columns.
pub(super) struct SeveralSource {
    name: String,
    inputs: Vec<Part>,
    opening: Opening,
    columns: Vec<SourceColumn>,
    affinities: Vec<Affinity>,
    stop: Arc<AtomicBool>,
    places: Places,
    /// The input that is being read.
    current: Option<Current>,
    /// The place of the next one in the list.
    next: usize,
    /// Numbers of rows, and bytes, of the inputs that have been read.
    rows: u64,
    bytes: u64,
}

/// An input that has been looked at.
struct Part {
    path: PathBuf,
    bytes: Option<u64>,
    /// Standard input cannot be opened twice, so it is kept.
    opened: Option<Box<dyn Source>>,
}

struct Current {
    source: Box<dyn Source>,
    /// Where each column of the first input stands in this one.
    order: Vec<usize>,
    /// The number of its last row so far.
    rows: u64,
}

impl SeveralSource {
    /// Looks at every input: all of them must have the columns of the first, by name. Types are chosen
    /// so that they suit all.
    pub(super) fn open(paths: &[PathBuf], opening: &Opening) -> Result<SeveralSource, LoadError> {
        let mut inputs = Vec::new();
        let mut shape: Option<(String, Vec<Column>, Unit)> = None;
        for path in paths {
            let source = open_one(path, opening)?;
            shape = Some(match shape {
                None => {
                    let unit = source.places().find(1).unit;
                    (source.name().to_owned(), source.columns().to_vec(), unit)
                }
                Some((first, columns, unit)) => {
                    let order = order(&first, &columns, &*source)?;
                    let found = order.iter().map(|place| &source.columns()[*place]);
                    let common = columns.iter().zip(found).map(|(a, b)| common(a, b));
                    (first, common.collect(), unit)
                }
            });
            inputs.push(Part {
                path: path.clone(),
                bytes: source.total_bytes(),
                opened: (path.as_os_str() == "-").then_some(source),
            });
        }
        let Some((first, columns, unit)) = shape else {
            return Err(LoadError::Definition("no input is named".to_owned()));
        };
        Ok(SeveralSource {
            name: format!("{first} and {} more", inputs.len() - 1),
            inputs,
            opening: opening.clone(),
            columns,
            affinities: Vec::new(),
            stop: Arc::default(),
            places: Places::new(first, unit),
            current: None,
            next: 0,
            rows: 0,
            bytes: 0,
        })
    }

    /// Goes on to the next input; false at the end.
    fn advance(&mut self) -> Result<bool, LoadError> {
        let Some(part) = self.inputs.get_mut(self.next) else {
            return Ok(false);
        };
        self.next += 1;
        let mut source = match part.opened.take() {
            Some(source) => source,
            None => open_one(&part.path, &self.opening)?,
        };
        let order = order(&self.name, &self.columns, &*source)?;
        let mut affinities = self.affinities.clone();
        for (affinity, place) in self.affinities.iter().zip(&order) {
            affinities[*place] = *affinity;
        }
        source.begin(&affinities, &self.stop);
        if self.next > 1 {
            let unit = source.places().find(1).unit;
            self.places.begin(self.rows, source.name(), unit);
        }
        self.current = Some(Current {
            source,
            order,
            rows: 0,
        });
        Ok(true)
    }

    fn end_current(&mut self) {
        if let Some(current) = self.current.take() {
            self.rows += current.rows;
            self.bytes += current.source.total_bytes().unwrap_or(0);
        }
    }
}

impl Current {
    fn next(&mut self) -> Result<Option<Batch>, LoadError> {
        let Some(mut batch) = self.source.next()? else {
            return Ok(None);
        };
        let numbers = &batch.numbers;
        let count = batch.rows.num_rows() + numbers.left_out.len();
        self.rows = numbers.first + count as u64 - 1;
        batch.rows = reordered(self.source.name(), &batch.rows, &self.order)?;
        Ok(Some(batch))
    }
}

impl Source for SeveralSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn begin(&mut self, affinities: &[Affinity], stop: &Arc<AtomicBool>) {
        self.affinities = affinities.to_vec();
        self.stop = Arc::clone(stop);
    }

    fn next(&mut self) -> Result<Option<Batch>, LoadError> {
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

    fn total_bytes(&self) -> Option<u64> {
        self.inputs.iter().map(|part| part.bytes).sum()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.inputs.iter().map(|part| part.path.clone()).collect()
    }

    fn places(&self) -> Places {
        self.places.clone()
    }
}

/// Where each of the columns stands in another source, which must have these and no others.
fn order(first: &str, columns: &[Column], source: &dyn Source) -> Result<Vec<usize>, LoadError> {
    let differs = |reason: String| LoadError::Form {
        input: source.name().to_owned(),
        reason,
    };
    let found = source.columns();
    let stranger = found
        .iter()
        .find(|found| !columns.iter().any(|column| same(&column.name, &found.name)));
    if let Some(stranger) = stranger {
        return Err(differs(format!(
            "it has a column {}, which {first} does not have",
            stranger.name
        )));
    }
    columns
        .iter()
        .map(|column| {
            found
                .iter()
                .position(|found| same(&column.name, &found.name))
                .ok_or_else(|| {
                    differs(format!(
                        "it has no column {}, which {first} has",
                        column.name
                    ))
                })
        })
        .collect()
}

/// A column that holds what either does: numbers of both kinds are numbers, anything else is text.
fn common(one: &Column, other: &Column) -> Column {
    let number = |column: &Column| matches!(&*column.declared, "INTEGER" | "REAL");
    let declared = if one.declared == other.declared {
        one.declared.clone()
    } else if number(one) && number(other) {
        "REAL".to_owned()
    } else {
        "TEXT".to_owned()
    };
    Column {
        name: one.name.clone(),
        declared,
        not_null: one.not_null && other.not_null,
    }
}

fn reordered(input: &str, rows: &RecordBatch, order: &[usize]) -> Result<RecordBatch, LoadError> {
    if order.iter().copied().eq(0..order.len()) {
        return Ok(rows.clone());
    }
    rows.project(order).map_err(|error| LoadError::Form {
        input: input.to_owned(),
        reason: error.to_string(),
    })
}
