//! Sources of text: what CSV and JSON Lines have in common as sources.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::blocks::{Batches, Format, Text};
use super::infer::{Kind, Seen};
use super::{Deciding, Locations, Source, SourceInfo, Typing};
use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::error::LoadError;
use crate::table::Column;

/// A text of rows, such as [`CsvSource`](crate::CsvSource) and
/// [`JsonLinesSource`](crate::JsonLinesSource).
pub struct TextSource<F> {
    info: SourceInfo,
    on_demand: bool,
    stop: Arc<AtomicBool>,
    /// Until the first batch is wanted.
    opened: Option<(Text, F)>,
    /// From then to the end.
    batches: Option<Batches<F>>,
}

impl<F: Format> TextSource<F> {
    /// A text of which nothing but the columns has been read, with what their values are.
    pub(super) fn new(text: Text, format: F, columns: Vec<(String, Seen)>) -> TextSource<F> {
        let input = text.input();
        let suggested = columns.iter();
        let suggested = suggested.map(|(name, seen)| Column::new(name, seen.kind.declared()));
        let mut info = SourceInfo::new(input.name(), suggested.collect());
        info.total_bytes = input.total();
        info.locations = Locations::new(&info.name, format.unit());
        let mut source = TextSource {
            info,
            on_demand: false,
            stop: Arc::default(),
            opened: Some((text, format)),
            batches: None,
        };
        source.set_kinds(columns.into_iter().map(|(_, seen)| seen));
        source
    }

    /// Sets whether the columns have names of their own.
    pub(super) fn set_named(&mut self, is_named: bool) {
        self.info.is_named = is_named;
    }

    /// Suggests types for columns whose values are these.
    pub(super) fn set_kinds(&mut self, columns: impl Iterator<Item = Seen>) {
        let columns: Vec<Seen> = columns.collect();
        let kinds = columns.iter().map(|seen| seen.kind);
        let is_all_text = self.opened.as_ref().is_some_and(|(_, format)| format.is_all_text());
        for (column, kind) in self.info.columns.iter_mut().zip(kinds.clone()) {
            kind.declared().clone_into(&mut column.declared);
        }
        let is_text = |kind| kind == Kind::Text || is_all_text;
        self.info.texts = kinds.clone().map(is_text).collect();
        self.info.beyond_real = kinds.clone().map(Kind::is_beyond_real).collect();
        self.info.typed = kinds.map(|kind| kind != Kind::Unknown).collect();
        let deciding =
            |(row, value): (u64, String)| Deciding { row: self.info.locations.find(row), value };
        let decided = columns.into_iter().map(|seen| seen.decided.map(deciding));
        self.info.decided = decided.collect();
    }
}

impl<F: Format> Source for TextSource<F> {
    fn info(&self) -> &SourceInfo {
        &self.info
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

    fn set_typing(&mut self, typing: &[Typing]) {
        if let Some((_, format)) = &mut self.opened {
            format.set_typing(typing);
        }
    }

    fn next(&mut self) -> Result<Option<Batch>, LoadError> {
        if let Some((text, format)) = self.opened.take() {
            // What has been read as a whole is parsed sooner than threads are started.
            self.batches = Some(match self.on_demand || text.is_read() {
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
}
