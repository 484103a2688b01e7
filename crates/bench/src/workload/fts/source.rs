//! The source of documents: the generator or a file of the user's, row by row in constant memory.

use std::path::Path;

use lab::catalogue::{Accepts, Parameter};
use lab::level::Level;
use lab::seed::Seed;

use super::table::optional;
use crate::error::TrialError;
use crate::generate::{Corpus, Documents, Era, corpus};
use crate::import::{TextFile, TextOptions, TextRows};
use crate::settings::Reader;
use crate::workload::Trial;
use crate::workload::common::{by_name, from, names, parameter};

const ERAS: &[(&str, Era)] = &[("early", Era::Early), ("full", Era::Full)];

/// The parameters that describe generated documents.
pub(super) fn generator_parameters() -> Vec<Parameter> {
    vec![
        parameter(
            "rows",
            from(1),
            100_000.into(),
            "documents; of a file with fewer, all that it has",
        ),
        parameter(
            "era",
            names(ERAS),
            "early".into(),
            "whether the generated documents are like the first hundred thousand of Hacker News or like all of them",
        ),
    ]
}

/// The parameters that describe the documents.
pub(super) fn parameters() -> Vec<Parameter> {
    let mut parameters = generator_parameters();
    parameters.extend([
        optional(
            "text_file",
            Accepts::Text,
            "absolute path of a file with your own documents, used instead of generated ones: any format that `pragmark load` reads",
        ),
        optional(
            "text_columns",
            Accepts::Text,
            "columns of the file to use, separated by commas; all text columns by default",
        ),
        optional(
            "text_table",
            Accepts::Text,
            "table of the file, where it is a database with several",
        ),
        optional(
            "text_encoding",
            Accepts::Text,
            "encoding of the file, such as windows-1252; UTF-8 by default, or that of the byte order mark",
        ),
    ]);
    parameters
}

/// Documents that can be read from the beginning as often as wanted.
pub(super) struct Source {
    rows: usize,
    columns: Vec<String>,
    origin: Origin,
}

enum Origin {
    Generator(Seed, Era),
    File(TextFile),
}

impl Source {
    /// What the settings ask for; a file is read once, so that a mistake anywhere in it is found.
    pub(super) fn read(trial: &Trial<'_>) -> Result<Source, TrialError> {
        let text = |name: &str| trial.settings.get(name).and_then(Level::as_text);
        match text("text_file") {
            None => Source::generated(trial),
            Some(path) => {
                let encoding = text("text_encoding").map(str::parse).transpose();
                let options = TextOptions {
                    columns: text("text_columns").map(split_columns).unwrap_or_default(),
                    table: text("text_table").map(str::to_owned),
                    encoding: encoding.map_err(TrialError::CannotRun)?,
                };
                let rows = Reader(trial.settings).count("rows")?;
                Source::file(Path::new(path), options, rows)
            }
        }
    }

    /// Documents that the generator makes.
    pub(super) fn generated(trial: &Trial<'_>) -> Result<Source, TrialError> {
        let reader = Reader(trial.settings);
        let era = reader.name("era", |name| by_name(ERAS, name))?;
        Ok(Source {
            rows: reader.count("rows")?,
            columns: corpus::COLUMNS
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            origin: Origin::Generator(trial.seed, era),
        })
    }

    fn file(path: &Path, options: TextOptions, rows: usize) -> Result<Source, TrialError> {
        if !path.is_absolute() {
            return Err(TrialError::CannotRun(format!(
                "the path `{}` of `text_file` must be absolute, because trials run in directories of their own",
                path.display()
            )));
        }
        let file = TextFile::new(path, options)?;
        let summary = file.check(rows as u64)?;
        Ok(Source {
            rows: summary.rows as usize,
            columns: summary.columns,
            origin: Origin::File(file),
        })
    }

    /// The names of the columns.
    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many documents there are.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the generator makes the documents.
    pub(super) fn is_generated(&self) -> bool {
        matches!(self.origin, Origin::Generator(..))
    }

    /// The generator, for documents by number.
    pub(super) fn corpus(&self) -> Result<Corpus, TrialError> {
        match &self.origin {
            Origin::Generator(seed, era) => Ok(Corpus::new(*seed, *era)),
            Origin::File(_) => Err(TrialError::CannotRun(
                "documents of a file have no numbers".to_owned(),
            )),
        }
    }

    /// The documents from the first on.
    pub(super) fn open(&self) -> Result<Reading, TrialError> {
        let rows = match &self.origin {
            Origin::Generator(seed, era) => Rows::Generated(Corpus::new(*seed, *era), 0),
            Origin::File(file) => Rows::Read(file.open(&self.columns)?),
        };
        Ok(Reading {
            rows,
            left: self.rows,
        })
    }
}

/// Names apart by commas.
fn split_columns(list: &str) -> Vec<String> {
    let names = list.split(',').map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// A pass over the documents.
pub(super) struct Reading {
    rows: Rows,
    left: usize,
}

impl Reading {
    /// Replaces what is in `documents` by the next `rows` of them, fewer at the end.
    pub(super) fn fill(
        &mut self,
        rows: usize,
        documents: &mut Documents,
    ) -> Result<(), TrialError> {
        documents.clear();
        while documents.rows() < rows && self.left > 0 {
            if !self.rows.next_into(documents)? {
                return Ok(());
            }
            self.left -= 1;
        }
        Ok(())
    }
}

enum Rows {
    /// Of the generator, and the number of the next.
    Generated(Corpus, u64),
    /// Of a file.
    Read(TextRows),
}

impl Rows {
    /// Appends the next row to `documents`; false where there is none.
    fn next_into(&mut self, documents: &mut Documents) -> Result<bool, TrialError> {
        match self {
            Rows::Generated(corpus, next) => {
                corpus.write(*next, documents);
                *next += 1;
                Ok(true)
            }
            Rows::Read(rows) => Ok(rows.next_into(documents)?),
        }
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
