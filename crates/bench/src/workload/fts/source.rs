//! The source of documents: the generator or a file of the user's, row by row in constant memory.

use std::path::Path;

use crate::generate::{Corpus, Documents, Era, corpus};
use crate::import::{TextFile, TextOptions, split_columns};
use crate::parameters::{FilePath, Rows};
use crate::workload::prelude::*;

parameters! {
    /// Generated documents.
    struct GeneratorParameters {
        /// Documents, or all of a file with fewer.
        rows: Rows = 100_000, 1..;
        /// The period of Hacker News that generated documents resemble.
        era: Era = Era::Early;
    }
}

parameters! {
    /// Documents, generated or from a file.
    struct DocumentParameters {
        generator: GeneratorParameters;
        /// Absolute path of a file with your own documents, used instead of generated ones: any format that
        /// `pragmark load` reads.
        text_file: Option<FilePath> = None;
        /// Columns of the file to use, separated by commas; default: all text columns.
        text_columns: Option<String> = None;
        /// Table of the file, where it is a database with several.
        text_table: Option<String> = None;
        /// Encoding of the file, such as windows-1252; default: UTF-8, or that of the byte order mark.
        text_encoding: Option<String> = None;
    }
}

/// Documents that can be read from the beginning as often as wanted.
pub(super) struct Source {
    /// How many documents there are.
    pub(super) rows: usize,
    /// The names of the columns.
    pub(super) columns: Vec<String>,
    origin: Origin,
}

enum Origin {
    Generator(Seed, Era),
    File(Box<TextFile>),
}

impl Source {
    /// Returns the documents of these parameters; a file is read once, so that any mistake in it is found.
    pub(super) fn of(parameters: &DocumentParameters, seed: Seed) -> Result<Source> {
        let Some(path) = &parameters.text_file else {
            return Ok(Source::generated(&parameters.generator, seed));
        };
        let encoding = parameters.text_encoding.as_deref().map(str::parse).transpose();
        let columns = parameters.text_columns.as_deref();
        let options = TextOptions {
            columns: columns.map(split_columns).unwrap_or_default(),
            table: parameters.text_table.clone(),
            encoding: encoding.map_err(TrialError::CannotRun)?,
        };
        Source::file(Path::new(path), options, parameters.generator.rows)
    }

    /// Documents that the generator makes.
    pub(super) fn generated(parameters: &GeneratorParameters, seed: Seed) -> Source {
        Source {
            rows: parameters.rows,
            columns: corpus::COLUMNS.map(str::to_owned).to_vec(),
            origin: Origin::Generator(seed, parameters.era),
        }
    }

    fn file(path: &Path, options: TextOptions, rows: usize) -> Result<Source> {
        if !path.is_absolute() {
            return Err(TrialError::CannotRun(format!(
                "the path `{}` of `text_file` must be absolute, because each trial runs in its own directory",
                path.display()
            )));
        }
        let file = TextFile::new(path, options)?;
        let summary = file.check(rows as u64)?;
        Ok(Source {
            rows: summary.rows as usize,
            columns: summary.columns,
            origin: Origin::File(Box::new(file)),
        })
    }

    /// Returns whether the generator makes the documents.
    pub(super) fn is_generated(&self) -> bool {
        matches!(self.origin, Origin::Generator(..))
    }

    /// Returns the generator, for documents by number.
    pub(super) fn corpus(&self) -> Result<Corpus> {
        match &self.origin {
            Origin::Generator(seed, era) => Ok(Corpus::new(*seed, *era)),
            Origin::File(_) => Err(TrialError::cannot_run("documents of a file have no numbers")),
        }
    }

    /// Returns the documents from the first on.
    pub(super) fn open(&self) -> Result<Reading> {
        let next_into: NextInto = match &self.origin {
            Origin::Generator(seed, era) => {
                let (corpus, mut number) = (Corpus::new(*seed, *era), 0);
                Box::new(move |documents| {
                    corpus.write(number, documents);
                    number += 1;
                    Ok(true)
                })
            }
            Origin::File(file) => {
                let mut rows = file.open(&self.columns)?;
                Box::new(move |documents| Ok(rows.next_into(documents)?))
            }
        };
        Ok(Reading { next_into, left: self.rows })
    }
}

/// Appends the next row to `documents`. Returns `false` if there is none.
type NextInto = Box<dyn FnMut(&mut Documents) -> Result<bool>>;

/// A pass over the documents.
pub(super) struct Reading {
    next_into: NextInto,
    left: usize,
}

impl Reading {
    /// Replaces the contents of `documents` with the next `rows` of them, fewer at the end.
    pub(super) fn fill(&mut self, rows: usize, documents: &mut Documents) -> Result<()> {
        documents.clear();
        while documents.rows() < rows && self.left > 0 {
            if !(self.next_into)(documents)? {
                return Ok(());
            }
            self.left -= 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::TABLE;
    use crate::import::RESERVED;

    #[test]
    fn no_column_of_a_file_may_be_called_like_the_table_of_the_documents() {
        assert!(RESERVED.contains(&TABLE));
    }
}
