//! Rows as records, straight from the columns of a batch.
//!
//! A block of rows is encoded in two steps. Column by column, a tight loop over values of one type finds
//! every serial type and with it the length of every record; then, row by row, the bytes are put where
//! the record ends, the last column first. Backwards, because numbers and short texts are then written
//! eight or sixteen bytes at a time whatever their length: the bytes too many lie before them, where the
//! rest of the row, or of the page, is written later.

use arrow_array::types::ByteArrayType;
use arrow_array::{
    Array, ArrowPrimitiveType, BinaryArray, Float64Array, GenericByteArray, Int64Array,
    PrimitiveArray, StringArray,
};

use super::narrow::{self, Narrow};
use super::record::{REAL, header_length, integer_type, number_length, put_bytes, put_number};
use super::stored::{self, Conversion, Stored};
use super::varint;
use crate::affinity::Affinity;
use crate::cells::Cells;
use crate::error::Result;

/// Rows of a block: their serial types stay in the processor's cache.
pub(super) const BLOCK: usize = 256;
/// A column as it is stored.
enum Column<'b> {
    /// Nothing but NULL; also the rowid by another name, which stands in the cell.
    Null,
    Integers(&'b Int64Array),
    /// Integers of a REAL column; integers of more than 48 bits are reals.
    IntegersAsReals(&'b Int64Array),
    Reals(&'b Float64Array),
    /// Reals of a numeric column: whole ones are integers where they take less room.
    RealsAsNumbers(&'b Float64Array, Affinity),
    Texts(&'b StringArray),
    Blobs(&'b BinaryArray),
    /// Values that the column's affinity changes, one by one.
    Converted(&'b Cells, Affinity, Vec<Stored<'b>>),
}

impl<'b> Column<'b> {
    fn new(cells: &'b Cells, affinity: Affinity) -> Column<'b> {
        match (cells, affinity) {
            (Cells::Null, _) => Column::Null,
            (Cells::Integer(_) | Cells::Real(_), Affinity::Text) => {
                Column::Converted(cells, affinity, Vec::new())
            }
            (Cells::Integer(values), Affinity::Real) => Column::IntegersAsReals(values),
            (Cells::Integer(values), _) => Column::Integers(values),
            (Cells::Real(values), Affinity::Blob) => Column::Reals(values),
            (Cells::Real(values), _) => Column::RealsAsNumbers(values, affinity),
            (Cells::Text(values), Affinity::Text | Affinity::Blob) => Column::Texts(values),
            (Cells::Text(_), _) => Column::Converted(cells, affinity, Vec::new()),
            (Cells::Blob(values), _) => Column::Blobs(values),
        }
    }
}

/// Encodes the rows of one batch.
pub(super) struct Encoder<'b> {
    columns: Vec<Column<'b>>,
    /// The block's first row in the batch.
    first: usize,
    /// Serial types of the block, column by column.
    types: Vec<u32>,
    /// The lengths of the block's records: of the types in the header, and of the values.
    lengths: Vec<Lengths>,
    /// Room for the records of a block of short rows.
    narrow: Option<Narrow>,
    is_narrow: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Lengths {
    types: u32,
    values: u32,
}

impl<'b> Encoder<'b> {
    /// Makes an encoder of the table's columns in its order; `None` stands for the rowid.
    pub(super) fn new(
        columns: impl IntoIterator<Item = Option<(&'b Cells, Affinity)>>,
    ) -> Encoder<'b> {
        let columns: Vec<Column<'b>> = columns
            .into_iter()
            .map(|column| match column {
                Some((cells, affinity)) => Column::new(cells, affinity),
                None => Column::Null,
            })
            .collect();
        Encoder {
            types: vec![0; columns.len() * BLOCK],
            narrow: Narrow::new(columns.len(), BLOCK),
            columns,
            first: 0,
            lengths: Vec::with_capacity(BLOCK),
            is_narrow: false,
        }
    }

    /// Goes on to the rows from `first` on, at most [`BLOCK`] of them.
    ///
    /// # Errors
    /// SQLite fails to convert a value.
    pub(super) fn take(
        &mut self,
        first: usize,
        rows: usize,
        conversion: &mut Conversion<'_>,
    ) -> Result<()> {
        self.first = first;
        self.lengths.clear();
        let one_byte_each = Lengths { types: self.columns.len() as u32, values: 0 };
        self.lengths.resize(rows, one_byte_each);
        let types = self.types.chunks_exact_mut(BLOCK);
        for (column, types) in self.columns.iter_mut().zip(types) {
            measure(column, first, types, &mut self.lengths, conversion)?;
        }
        self.narrow();
        Ok(())
    }

    /// Makes the records at once if all of them are short.
    fn narrow(&mut self) {
        let Some(narrow) = &mut self.narrow else { return };
        // The largest of each, without a way out, which would keep it from being several at a time.
        let (types, values) = self
            .lengths
            .iter()
            .fold((0, 0), |(types, values), row| (row.types.max(types), row.values.max(values)));
        self.is_narrow = types as usize <= self.columns.len() && values <= narrow::MOST_BYTES;
        if self.is_narrow {
            let rows = self.lengths.len();
            narrow.begin(rows, values);
            for types in self.types.chunks_exact(BLOCK) {
                narrow.push_types(&types[..rows]);
            }
            for number in narrow.order(self.columns.len()) {
                let types = &self.types[number * BLOCK..][..rows];
                push_narrow(narrow, &self.columns[number], self.first, types);
            }
        }
    }

    /// Returns the records of the block, if all of them are short.
    #[inline]
    pub(super) fn as_narrow(&self) -> Option<&Narrow> {
        self.narrow.as_ref().filter(|_| self.is_narrow)
    }

    /// Returns the bytes that the values of a row take.
    #[inline]
    pub(super) fn values_length(&self, row: usize) -> usize {
        self.lengths[row].values as usize
    }

    /// Returns the rows of the block.
    pub(super) fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the length in bytes of a row's record.
    #[inline]
    pub(super) fn length(&self, row: usize) -> usize {
        let Lengths { types, values } = self.lengths[row];
        header_length(types as usize) + values as usize
    }

    /// Writes a row's record so that it ends at `end`, and returns where it begins. Of the bytes before
    /// it, [`SLACK`](super::record::SLACK) may have been overwritten.
    #[inline]
    pub(super) fn put(&self, row: usize, place: &mut [u8], end: usize) -> usize {
        if let Some(narrow) = self.as_narrow() {
            return narrow.put(row, self.values_length(row), place, end);
        }
        let values_end = end;
        let mut end = end;
        for (number, column) in self.columns.iter().enumerate().rev() {
            let serial_type = self.types[number * BLOCK + row];
            end = put_value(column, self.first + row, row, serial_type, place, end);
        }
        debug_assert_eq!(values_end - end, self.lengths[row].values as usize);
        self.put_header(row, place, end)
    }

    #[inline]
    fn put_header(&self, row: usize, place: &mut [u8], end: usize) -> usize {
        let types = self.lengths[row].types as usize;
        let mut end = end;
        if types == self.columns.len() {
            for number in (0..types).rev() {
                end -= 1;
                place[end] = self.types[number * BLOCK + row] as u8;
            }
        } else {
            for number in (0..self.columns.len()).rev() {
                let serial_type = self.types[number * BLOCK + row];
                end = varint::put_before(place, end, u64::from(serial_type));
            }
        }
        let header = header_length(types);
        varint::put_before(place, end, header as u64)
    }

    /// Returns the value of a column as it is stored.
    pub(super) fn value(&self, row: usize, column: usize) -> Stored<'_> {
        let (serial_type, at) = (self.types[column * BLOCK + row], self.first + row);
        match (&self.columns[column], serial_type) {
            (Column::Converted(_, _, values), _) => values[row].clone(),
            (_, 0) | (Column::Null, _) => Stored::Null,
            (Column::IntegersAsReals(values), REAL) => Stored::Real(values.value(at) as f64),
            (Column::Integers(values) | Column::IntegersAsReals(values), _) => {
                Stored::Integer(values.value(at))
            }
            (Column::Reals(values) | Column::RealsAsNumbers(values, _), REAL) => {
                Stored::Real(values.value(at))
            }
            (Column::Reals(values) | Column::RealsAsNumbers(values, _), _) => {
                Stored::Integer(values.value(at) as i64)
            }
            (Column::Texts(values), _) => Stored::Text(values.value(at).into()),
            (Column::Blobs(values), _) => Stored::Blob(values.value(at)),
        }
    }
}

/// Adds a column to the records of a block, whose first row is `first` of the batch.
fn push_narrow(narrow: &mut Narrow, column: &Column<'_>, first: usize, types: &[u32]) {
    let rows = first..first + types.len();
    match column {
        Column::Null => {}
        Column::Integers(values) => {
            narrow.push_numbers(&values.values()[rows], types, |value, _| value as u64);
        }
        Column::IntegersAsReals(values) => {
            narrow.push_numbers(&values.values()[rows], types, integer_bits);
        }
        Column::Reals(values) | Column::RealsAsNumbers(values, _) => {
            narrow.push_numbers(&values.values()[rows], types, real_bits);
        }
        Column::Texts(values) => narrow.push_bytes(values, first, types),
        Column::Blobs(values) => narrow.push_bytes(values, first, types),
        Column::Converted(_, _, values) => narrow.push(values),
    }
}

/// Returns the bits of an integer that is stored as a real if it is long.
#[inline]
fn integer_bits(value: i64, serial_type: u32) -> u64 {
    if serial_type == REAL { (value as f64).to_bits() } else { value as u64 }
}

/// Returns the bits of a real that is stored as an integer if it is a whole number.
#[inline]
fn real_bits(value: f64, serial_type: u32) -> u64 {
    if serial_type == REAL { value.to_bits() } else { value as i64 as u64 }
}

/// Writes a value so that it ends at `end`, and returns where it begins.
#[inline]
fn put_value(
    column: &Column<'_>,
    at: usize,
    row: usize,
    serial_type: u32,
    place: &mut [u8],
    end: usize,
) -> usize {
    match column {
        Column::Null => end,
        Column::Integers(values) => put_number(values.values()[at] as u64, serial_type, place, end),
        Column::IntegersAsReals(values) => {
            let bits = integer_bits(values.values()[at], serial_type);
            put_number(bits, serial_type, place, end)
        }
        Column::Reals(values) | Column::RealsAsNumbers(values, _) => {
            let bits = real_bits(values.values()[at], serial_type);
            put_number(bits, serial_type, place, end)
        }
        Column::Texts(values) => {
            let behind = values.value_offsets()[at + 1] as usize;
            put_bytes(values.value_data(), behind, serial_type, place, end)
        }
        Column::Blobs(values) => {
            let behind = values.value_offsets()[at + 1] as usize;
            put_bytes(values.value_data(), behind, serial_type, place, end)
        }
        Column::Converted(_, _, values) => values[row].put(serial_type, place, end),
    }
}

/// Finds the serial types of a column's values in the block, and adds them to the rows' lengths.
fn measure(
    column: &mut Column<'_>,
    first: usize,
    types: &mut [u32],
    lengths: &mut [Lengths],
    conversion: &mut Conversion<'_>,
) -> Result<()> {
    match column {
        Column::Null => types.fill(0),
        Column::Integers(values) => measure_numbers(values, first, types, lengths, integer_type),
        Column::IntegersAsReals(values) => {
            measure_numbers(values, first, types, lengths, |value| {
                if stored::is_short(value) { integer_type(value) } else { REAL }
            });
        }
        Column::Reals(values) => {
            let real = |value: f64| if value.is_nan() { 0 } else { REAL };
            measure_numbers(values, first, types, lengths, real);
        }
        Column::RealsAsNumbers(values, affinity) => {
            let affinity = *affinity;
            measure_numbers(values, first, types, lengths, |value| real_type(value, affinity));
        }
        Column::Texts(values) => measure_bytes(values, first, 13, types, lengths),
        Column::Blobs(values) => measure_bytes(values, first, 12, types, lengths),
        Column::Converted(cells, affinity, values) => {
            values.clear();
            for (at, (serial_type, lengths)) in types.iter_mut().zip(lengths).enumerate() {
                let value = stored::store(cells.value(first + at), *affinity, conversion)?;
                *serial_type = value.serial_type();
                lengths.types += varint::length(u64::from(*serial_type)) as u32 - 1;
                lengths.values += value.length() as u32;
                values.push(value);
            }
        }
    }
    Ok(())
}

/// Serial types of numbers; `of` gives the one of a value that is not NULL.
#[inline]
fn measure_numbers<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    first: usize,
    types: &mut [u32],
    lengths: &mut [Lengths],
    of: impl Fn(T::Native) -> u32,
) {
    let has_nulls = array.null_count() > 0;
    let values = &array.values()[first..first + lengths.len()];
    for (row, ((value, serial_type), lengths)) in values.iter().zip(types).zip(lengths).enumerate()
    {
        *serial_type = if has_nulls && array.is_null(first + row) { 0 } else { of(*value) };
        lengths.values += number_length(*serial_type) as u32;
    }
}

/// Serial types of texts or blobs, by the one that an empty value has.
#[inline]
fn measure_bytes<T: ByteArrayType<Offset = i32>>(
    array: &GenericByteArray<T>,
    first: usize,
    empty: u32,
    types: &mut [u32],
    lengths: &mut [Lengths],
) {
    let has_nulls = array.null_count() > 0;
    let offsets = &array.value_offsets()[first..=first + lengths.len()];
    for (row, ((offsets, serial_type), lengths)) in
        offsets.windows(2).zip(types).zip(lengths).enumerate()
    {
        if has_nulls && array.is_null(first + row) {
            *serial_type = 0;
            continue;
        }
        // Offsets ascend.
        let length = (offsets[1] - offsets[0]) as u32;
        *serial_type = 2 * length + empty;
        // Most texts are short, and take no look at their length.
        if *serial_type >= 0x80 {
            lengths.types += varint::length(u64::from(*serial_type)) as u32 - 1;
        }
        lengths.values += length;
    }
}

/// Returns the serial type of a real in a numeric column.
#[inline]
fn real_type(value: f64, affinity: Affinity) -> u32 {
    let whole = value as i64;
    if value.is_nan() {
        0
    } else if !stored::is_whole(value) || affinity == Affinity::Real && !stored::is_short(whole) {
        REAL
    } else {
        integer_type(whole)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ArrayRef;
    use engine::{Library, Source};
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::record::{SLACK, plain};
    use super::*;

    /// A column of one type with some NULLs.
    fn columns() -> impl Strategy<Value = ArrayRef> {
        fn of<T: std::fmt::Debug>(
            values: impl Strategy<Value = T>,
        ) -> impl Strategy<Value = Vec<Option<T>>> {
            prop::collection::vec(prop::option::weighted(0.8, values), 5)
        }
        let integers = (any::<i64>(), 0_u32..64).prop_map(|(value, bits)| value >> bits);
        let reals = prop_oneof![any::<f64>(), any::<i32>().prop_map(f64::from)];
        prop_oneof![
            of(integers).prop_map(|values| Arc::new(Int64Array::from(values)) as ArrayRef),
            of(reals).prop_map(|values| Arc::new(Float64Array::from(values)) as ArrayRef),
            of("[0-9a-z]{0,40}").prop_map(|values| Arc::new(StringArray::from(values)) as ArrayRef),
            of(prop::collection::vec(any::<u8>(), 0..300)).prop_map(|values| {
                let values = values.iter().map(Option::as_deref);
                Arc::new(values.collect::<BinaryArray>()) as ArrayRef
            }),
        ]
    }

    /// A column of values that a short row may have.
    fn short_columns() -> impl Strategy<Value = ArrayRef> {
        let short = |length: usize| prop::collection::vec(prop::option::of("[0-9a]{0,4}"), length);
        prop_oneof![
            prop::collection::vec(prop::option::of(-200_i64..70_000), 5)
                .prop_map(|values| Arc::new(Int64Array::from(values)) as ArrayRef),
            prop::collection::vec(
                prop::option::of((-9_i32..99).prop_map(|n| f64::from(n) / 2.0)),
                5
            )
            .prop_map(|values| Arc::new(Float64Array::from(values)) as ArrayRef),
            short(5).prop_map(|values| Arc::new(StringArray::from(values)) as ArrayRef),
            short(5).prop_map(|values| {
                let values = values.iter().map(|value| value.as_ref().map(String::as_bytes));
                Arc::new(values.collect::<BinaryArray>()) as ArrayRef
            }),
            "[0-9a-z]{16}".prop_map(|text| Arc::new(StringArray::from(vec![text; 5])) as ArrayRef),
        ]
    }

    proptest! {
        #[test]
        fn records_are_those_made_value_by_value_and_nothing_behind_is_touched(
            arrays in prop_oneof![
                prop::collection::vec(columns(), 1..150),
                prop::collection::vec(short_columns(), 1..9),
            ],
            affinity in select(vec![
                Affinity::Text, Affinity::Numeric, Affinity::Integer, Affinity::Real, Affinity::Blob,
            ]),
        ) {
            let library = Arc::new(Library::load(&Source::Embedded).unwrap());
            let connection = engine::Connection::in_memory(&library).unwrap();
            let mut conversion = Conversion::new(&connection).unwrap();
            let cells: Vec<Cells> =
                arrays.iter().map(|array| crate::convert::cells(array, "c").unwrap()).collect();
            let mut encoder = Encoder::new(cells.iter().map(|cells| Some((cells, affinity))));
            // Not from the first row on, so that places in the batch and in the block differ.
            encoder.take(1, 4, &mut conversion).unwrap();
            for row in 0..4 {
                let values: Result<Vec<Stored<'_>>, _> = (cells.iter())
                    .map(|cells| stored::store(cells.value(row + 1), affinity, &mut conversion))
                    .collect();
                let expected = plain(&values.unwrap());
                let length = encoder.length(row);
                let mut place = vec![7; SLACK + length + 3];
                prop_assert_eq!(encoder.put(row, &mut place, SLACK + length), SLACK);
                prop_assert_eq!(&place[SLACK..SLACK + length], &expected[..]);
                prop_assert_eq!(&place[SLACK + length..], &[7, 7, 7]);
            }
        }
    }
}
