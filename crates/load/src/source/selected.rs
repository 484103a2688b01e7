//! Some of the columns of a source, in an order of their own.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Source, SourceColumn, SourceInfo, Typing};
use crate::affinity::Affinity;
use crate::batch::Batch;
use crate::error::LoadError;

/// A source of which some columns are read.
pub(super) struct Selected {
    source: Box<dyn Source>,
    /// Where each column stands in the source.
    order: Vec<usize>,
    info: SourceInfo,
}

impl Selected {
    /// The columns at these positions.
    pub(super) fn new(source: Box<dyn Source>, order: Vec<usize>) -> Selected {
        let of = source.info();
        let info = SourceInfo {
            columns: order.iter().map(|at| of.columns[*at].clone()).collect(),
            typed: order.iter().map(|at| of.typed[*at]).collect(),
            beyond_real: order.iter().map(|at| of.beyond_real[*at]).collect(),
            decided: order.iter().map(|at| of.decided[*at].clone()).collect(),
            texts: order.iter().map(|at| of.texts[*at]).collect(),
            ..of.clone()
        };
        Selected { info, order, source }
    }

    /// The columns of these names.
    ///
    /// # Errors
    /// The source has no such column.
    pub(super) fn named(source: Box<dyn Source>, names: &[String]) -> Result<Selected, LoadError> {
        let order = positions(source.name(), source.columns(), names)?;
        Ok(Selected::new(source, order))
    }
}

/// Where the columns of these names stand among those of an input.
pub(super) fn positions(
    input: &str,
    columns: &[SourceColumn],
    names: &[String],
) -> Result<Vec<usize>, LoadError> {
    let position = |name: &String| {
        let at = columns.iter().position(|column| column.name == *name);
        at.ok_or_else(|| LoadError::NoInputColumn {
            input: input.to_owned(),
            column: name.clone(),
            known: columns.iter().map(|column| column.name.clone()).collect(),
        })
    };
    names.iter().map(position).collect()
}

impl Source for Selected {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn read_on_demand(&mut self) {
        self.source.read_on_demand();
    }

    fn set_typing(&mut self, typing: &[Typing]) {
        let mut of_source = vec![Typing::Declared; self.source.columns().len()];
        for (at, typing) in self.order.iter().zip(typing) {
            of_source[*at] = *typing;
        }
        self.source.set_typing(&of_source);
    }

    fn begin(&mut self, affinities: &[Affinity], stop: &Arc<AtomicBool>) {
        // What is not selected is not parsed.
        let mut of_source = vec![Affinity::Text; self.source.columns().len()];
        for (at, affinity) in self.order.iter().zip(affinities) {
            of_source[*at] = *affinity;
        }
        self.source.begin(&of_source, stop);
    }

    fn next(&mut self) -> Result<Option<Batch>, LoadError> {
        let Some(mut batch) = self.source.next()? else {
            return Ok(None);
        };
        if !self.order.iter().copied().eq(0..batch.rows.num_columns()) {
            batch.rows = batch
                .rows
                .project(&self.order)
                .map_err(|error| LoadError::form(self.source.name(), error))?;
        }
        Ok(Some(batch))
    }
}
