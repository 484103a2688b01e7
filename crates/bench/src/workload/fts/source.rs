//! Where the documents come from: the generator, row by row in constant memory.

use lab::catalogue::Parameter;
use lab::seed::Seed;

use crate::error::TrialError;
use crate::generate::{Corpus, Documents, Era, corpus};
use crate::settings::Reader;
use crate::workload::Trial;
use crate::workload::common::{by_name, from, names, parameter};

const ERAS: &[(&str, Era)] = &[("early", Era::Early), ("full", Era::Full)];

/// The parameters that describe the documents.
pub(super) fn parameters() -> Vec<Parameter> {
    vec![
        parameter("rows", from(1), 100_000.into(), "documents"),
        parameter(
            "era",
            names(ERAS),
            "early".into(),
            "whether the generated documents are like the first hundred thousand of Hacker News or like all of them",
        ),
    ]
}

/// Documents that can be read from the beginning as often as wanted.
pub(super) struct Source {
    rows: usize,
    columns: Vec<String>,
    seed: Seed,
    era: Era,
}

impl Source {
    pub(super) fn read(trial: &Trial<'_>) -> Result<Source, TrialError> {
        let reader = Reader(trial.settings);
        Ok(Source {
            rows: reader.count("rows")?,
            columns: corpus::COLUMNS
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            seed: trial.seed,
            era: reader.name("era", |name| by_name(ERAS, name))?,
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
        true
    }

    /// The documents from the first on.
    pub(super) fn open(&self) -> Result<Reading, TrialError> {
        Ok(Reading {
            corpus: Corpus::new(self.seed, self.era),
            next: 0,
            rows: self.rows as u64,
        })
    }
}

/// A pass over the documents.
pub(super) struct Reading {
    corpus: Corpus,
    next: u64,
    rows: u64,
}

impl Reading {
    /// Replaces what is in `documents` by the next `rows` of them, fewer at the end.
    pub(super) fn fill(
        &mut self,
        rows: usize,
        documents: &mut Documents,
    ) -> Result<(), TrialError> {
        documents.clear();
        let to = self.rows.min(self.next + rows as u64);
        for number in self.next..to {
            self.corpus.write(number, documents);
        }
        self.next = to;
        Ok(())
    }
}
