//! Rows that were sorted by their rowids, as leaves of their table.
//!
//! Each was sorted as an entry whose first value is the rowid. In the table, the rowid stands before the record, which
//! has the other values alone.

use super::super::packer::Packer;
use super::super::record::{header_length, number_length};
use super::{IndexPlan, Neighbours, Source};
use crate::error::LoadError;
use crate::pages::file::PageFile;
use crate::pages::order::{Field, Fields};
use crate::pages::sort::{Entry, Merged, Run};
use crate::pages::varint;

/// Packs the rows of a table that several workers have sorted, by so many threads at most; those of each packer
/// ascend, and so do the packers.
///
/// # Errors
/// Two rows have the same rowid; the file cannot be written, or a run not be read.
pub(in crate::pages) fn write_rows(
    file: &PageFile,
    plan: &IndexPlan,
    runs: &[Run],
    threads: usize,
) -> Result<Vec<Packer>, LoadError> {
    let (source, cuts) = Source::new(file, plan, runs, threads);
    source.each_range(&cuts, |from, until| source.pack_range(from, until))
}

impl Source<'_> {
    /// Packs the rows from one entry on and before another.
    fn pack_range(
        &self,
        from: Option<Entry<'_>>,
        until: Option<Entry<'_>>,
    ) -> Result<Packer, LoadError> {
        let mut merged = Merged::new(self.plan, self.runs, from, self.ahead)?;
        let mut packer = Packer::new(self.file);
        let mut neighbours = Neighbours::new(self.plan);
        let mut record = Vec::new();
        while let Some(entry) = merged.entry() {
            if until.is_some_and(|until| entry.compare(until, &self.plan.descending).is_ge()) {
                break;
            }
            neighbours.check(entry)?;
            let rowid = split(entry.record(), &mut record);
            packer.add_record(rowid, &record, self.file)?;
            merged.advance()?;
        }
        if let Some(until) = until {
            neighbours.check(until)?;
        }
        Ok(packer)
    }
}

/// The first value of a record, which is a rowid; the others become a record of their own.
fn split(entry: &[u8], record: &mut Vec<u8>) -> i64 {
    let rowid = match Fields::of(entry).next() {
        Some(Field::Integer(rowid)) => rowid,
        // `Sequencer` lets no others pass.
        _ => 0,
    };
    let (header, of_length) = varint::take(entry);
    let (header, values) = entry.split_at(header as usize);
    let (serial_type, of_type) = varint::take(&header[of_length..]);
    let types = &header[of_length + of_type..];
    record.clear();
    varint::push(record, header_length(types.len()) as u64);
    record.extend_from_slice(types);
    record.extend_from_slice(&values[number_length(serial_type as u32)..]);
    rowid
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pages::file::Form;
    use crate::pages::index::IndexColumn;
    use crate::pages::record::plain;
    use crate::pages::stored::Stored;

    fn cell(rowid: i64, text: &str) -> Vec<u8> {
        let record = plain(&[Stored::Integer(rowid), Stored::Text(text.into())]);
        let mut cell = Vec::new();
        varint::push(&mut cell, record.len() as u64);
        [cell, record].concat()
    }

    /// Packs two runs of rows in two ranges that part at an entry.
    fn in_two_ranges(runs: [Vec<Vec<u8>>; 2], cut: &[u8]) -> Result<Vec<Packer>, LoadError> {
        let made = tempfile::NamedTempFile::new().unwrap();
        let form = Form { page_size: 4096, reserved: 0, pages: 2, auto_vacuum: false };
        let file = PageFile::open(made.path(), &form)?;
        let plan = IndexPlan::of_rows(2, std::iter::once(IndexColumn::Of(0)), "t.id".to_owned());
        let runs = runs.map(|cells| Run::of_cells(cells.into_iter()));
        let source = Source { file: &file, plan: &plan, runs: &runs, ahead: 4096 };
        let cuts = [Entry::new(cut, &plan.descending)];
        source.each_range(&cuts, |from, until| source.pack_range(from, until))
    }

    #[test]
    fn a_rowid_that_is_twice_where_ranges_part_is_refused() {
        let runs = |rowid| {
            let one = vec![cell(1, "a"), cell(5, "b")];
            [one, vec![cell(rowid, "a"), cell(9, "a")]]
        };
        assert!(in_two_ranges(runs(4), &cell(5, "b")).is_ok());
        let error = in_two_ranges(runs(5), &cell(5, "b")).map(drop).unwrap_err();
        assert!(matches!(error, LoadError::DuplicateKey { .. }), "{error}");
    }

    proptest! {
        #[test]
        fn the_record_of_a_row_lacks_the_rowid_alone(rowid in any::<i64>(), others in 1_usize..200) {
            let others: Vec<Stored<'_>> = (0..others)
                .map(|at| if at % 3 == 0 { Stored::Null } else { Stored::Text("ab".into()) })
                .collect();
            let all = [vec![Stored::Integer(rowid)], others.clone()].concat();
            let mut record = vec![7];
            prop_assert_eq!(split(&plain(&all), &mut record), rowid);
            prop_assert_eq!(record, plain(&others));
        }
    }
}
