//! A source seen in another way: some of its columns, in an order of their own and under other names, with one
//! more for the file that each row comes from.

use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray, StringArray};

use super::{ReadOptions, Reopen, Seen, Source, SourceInfo, Storing};
use crate::affinity::Affinity;
use crate::batch::{Batch, record_batch};
use crate::error::{LoadError, Result};
use crate::sql::same;
use crate::table::Column;

/// A source whose columns are selected, ordered or renamed.
pub(super) struct View {
    source: Box<dyn Source>,
    info: SourceInfo,
    /// Where each column stands in the source, if it is there.
    order: Vec<Option<usize>>,
    /// Whether the last column holds the file of each row.
    has_file: bool,
    /// Whether batches stay as they are.
    is_same: bool,
    /// How to read the same rows again, where that is possible.
    pub(super) reopen: Option<Reopen>,
}

impl View {
    /// Gives these columns, which stand at these positions; NULL for a column that the source does not have.
    pub(super) fn new(
        source: Box<dyn Source>,
        columns: Vec<Column>,
        order: Vec<Option<usize>>,
    ) -> View {
        let of = source.info();
        let seen = |at: &Option<usize>| at.map_or_else(Seen::default, |at| of.seen[at].clone());
        let info = SourceInfo { columns, seen: order.iter().map(seen).collect(), ..of.clone() };
        let is_same = order.iter().copied().eq((0..of.columns.len()).map(Some));
        View { source, info, order, has_file: false, is_same, reopen: None }
    }

    /// Selects the columns of these names, or all where none is named.
    ///
    /// # Errors
    /// The source has no such column.
    pub(super) fn selected(source: Box<dyn Source>, names: &[String]) -> Result<View> {
        let order: Vec<usize> = match names {
            [] => (0..source.columns().len()).collect(),
            names => positions(source.name(), source.columns(), names)?,
        };
        let columns = order.iter().map(|at| source.columns()[*at].clone()).collect();
        Ok(View::new(source, columns, order.into_iter().map(Some).collect()))
    }

    /// Renames columns, given by their old and new names, and adds a column of this name for the file.
    ///
    /// # Errors
    /// The source has no such column; two columns would have the same name.
    pub(super) fn renamed(
        source: Box<dyn Source>,
        names: &[(String, String)],
        file_column: Option<&String>,
    ) -> Result<View> {
        let mut view = View::selected(source, &[])?;
        let info = &mut view.info;
        for (old, _) in names {
            if !info.columns.iter().any(|column| same(&column.name, old)) {
                return Err(unknown(&info.name, &info.columns, old));
            }
        }
        let known: Vec<String> = info.columns.iter().map(|column| column.name.clone()).collect();
        for column in &mut info.columns {
            rename(&mut column.name, names, &known);
        }
        for column in &mut info.decimals {
            rename(&mut column.name, names, &known);
        }
        if let Some(name) = file_column {
            info.columns.push(Column::new(name, "TEXT"));
            info.seen.push(Seen { is_text: true, ..Seen::declared() });
        }
        check_names(&info.columns)?;
        view.has_file = file_column.is_some();
        view.is_same = names.is_empty() && !view.has_file;
        Ok(view)
    }
}

/// Returns the positions of the columns of these names in an input.
pub(super) fn positions(input: &str, columns: &[Column], names: &[String]) -> Result<Vec<usize>> {
    let position = |name: &String| {
        let at = columns.iter().position(|column| column.name == *name);
        at.ok_or_else(|| unknown(input, columns, name))
    };
    names.iter().map(position).collect()
}

fn unknown(input: &str, columns: &[Column], name: &str) -> LoadError {
    LoadError::no_input_column(input, name, columns.iter().map(|column| &column.name))
}

/// Gives a column its new name, if it has one. An old name in other letters means it unless another column has exactly that one.
fn rename(name: &mut String, names: &[(String, String)], known: &[String]) {
    let is_meant = |old: &String| old == name || same(old, name) && !known.contains(old);
    if let Some((_, new)) = names.iter().find(|(old, _)| is_meant(old)) {
        name.clone_from(new);
    }
}

fn check_names(columns: &[Column]) -> Result<()> {
    for (number, column) in columns.iter().enumerate() {
        let is_same = |other: &Column| same(&other.name, &column.name);
        if columns[..number].iter().any(is_same) {
            let name = &column.name;
            let reason = format!(
                "two columns would have the name {name}; leave one out with --select, or rename it with --rename"
            );
            return Err(LoadError::Definition(reason));
        }
    }
    Ok(())
}

impl Source for View {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn reopen(&self) -> Option<Reopen> {
        self.reopen.clone()
    }

    fn begin(&mut self, options: ReadOptions) {
        // Columns that are not selected are not parsed.
        let not_selected = Storing::declared(Affinity::Text);
        let mut columns = vec![not_selected; self.source.columns().len()];
        for (at, storing) in self.order.iter().zip(options.columns) {
            if let Some(at) = at {
                columns[*at] = storing;
            }
        }
        self.source.begin(ReadOptions { columns, ..options });
    }

    fn next(&mut self) -> Result<Option<Batch>> {
        let Some(mut batch) = self.source.next()? else { return Ok(None) };
        if self.is_same {
            return Ok(Some(batch));
        }
        let rows = batch.rows.num_rows();
        let column = |at: &Option<usize>| -> ArrayRef {
            match at {
                Some(at) => Arc::clone(batch.rows.column(*at)),
                None => Arc::new(NullArray::new(rows)),
            }
        };
        let mut columns: Vec<ArrayRef> = self.order.iter().map(column).collect();
        if self.has_file {
            let file = self.info.locations.find(batch.numbers.first).input;
            let files = std::iter::repeat_n(file, rows);
            columns.push(Arc::new(StringArray::from_iter_values(files)));
        }
        let names = self.info.columns.iter().map(|column| &column.name);
        batch.rows = record_batch(self.source.name(), names, columns, rows)?;
        Ok(Some(batch))
    }
}
