//! Sources of text: what CSV and JSON Lines have in common as sources.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::blocks::{Batches, Format, Text};
use super::infer::Kind;
use super::{Locations, Source, SourceColumn};
use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::error::LoadError;
use crate::table::Column;

/// A text of rows, such as [`CsvSource`](crate::CsvSource) and
/// [`JsonLinesSource`](crate::JsonLinesSource).
pub struct TextSource<F> {
    name: String,
    total_bytes: Option<u64>,
    locations: Locations,
    columns: Vec<SourceColumn>,
    /// What the values of each column are, as far as they were seen.
    kinds: Vec<Kind>,
    is_all_text: bool,
    on_demand: bool,
    stop: Arc<AtomicBool>,
    /// Until the first batch is wanted.
    opened: Option<(Text, F)>,
    /// From then to the end.
    batches: Option<Batches<F>>,
}

impl<F: Format> TextSource<F> {
    /// A text of which nothing but the columns has been read, with what their values are.
    pub(super) fn new(text: Text, format: F, columns: Vec<(String, Kind)>) -> TextSource<F> {
        let input = text.input();
        let name = input.name().to_owned();
        let suggested = columns.iter();
        TextSource {
            total_bytes: input.total(),
            locations: Locations::new(&name, format.unit()),
            name,
            columns: suggested
                .map(|(name, kind)| Column::new(name, kind.declared()))
                .collect(),
            kinds: columns.iter().map(|(_, kind)| *kind).collect(),
            is_all_text: format.is_all_text(),
            on_demand: false,
            stop: Arc::default(),
            opened: Some((text, format)),
            batches: None,
        }
    }
}

impl<F: Format> Source for TextSource<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    fn is_typed(&self, column: usize) -> bool {
        self.kinds[column] != Kind::Unknown
    }

    fn is_text(&self, column: usize) -> bool {
        self.is_all_text || self.kinds[column] == Kind::Text
    }

    fn read_on_demand(&mut self) {
        self.on_demand = true;
    }

    fn begin(&mut self, affinities: &[Affinity], stop: &Arc<AtomicBool>) {
        if let Some((_, format)) = &mut self.opened {
            format.store_as(affinities);
            self.stop = Arc::clone(stop);
        }
    }

    fn next(&mut self) -> Result<Option<Batch>, LoadError> {
        if let Some((text, format)) = self.opened.take() {
            self.batches = Some(match self.on_demand {
                true => Batches::on_demand(text, format),
                false => Batches::ahead(text, format, Arc::clone(&self.stop)),
            });
        }
        let Some(batches) = &mut self.batches else {
            return Ok(None);
        };
        let batch = batches.next();
        if !matches!(batch, Ok(Some(_))) {
            self.batches = None;
        }
        batch
    }

    fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    fn locations(&self) -> Locations {
        self.locations.clone()
    }
}
