//! Columns that name each distinct value once, as columns of one value for each row.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{AnyDictionaryArray, Array, ArrayRef, Float64Array, Int64Array, new_null_array};
use arrow_schema::DataType;
use arrow_select::take::take;

use super::convert::{Unfit, check_length, converted};
use super::decimal::Decimals;

/// The values of all rows in one of SQLite's own types.
pub(super) fn gathered(
    dictionary: &dyn AnyDictionaryArray,
    decimals: Decimals,
) -> Result<ArrayRef, Unfit> {
    match converted(dictionary.values(), decimals) {
        Ok(values) => by_keys(dictionary, &values),
        // SQLite has nothing like some of the values: whether a row has one of these shows in the rows.
        Err(Unfit::Values(_)) => {
            let rows = take(dictionary.values(), dictionary.keys(), None);
            let rows = rows.map_err(|error| Unfit::Values(error.to_string()))?;
            converted(&rows, decimals)
        }
        Err(unfit) => Err(unfit),
    }
}

/// The value of each row's key.
fn by_keys(dictionary: &dyn AnyDictionaryArray, values: &ArrayRef) -> Result<ArrayRef, Unfit> {
    let rows = dictionary.len();
    if values.is_empty() || *values.data_type() == DataType::Null {
        return Ok(new_null_array(values.data_type(), rows));
    }
    let places = dictionary.normalized_keys();
    let place = |row: usize| {
        let place = places[row];
        (dictionary.keys().is_valid(row) && values.is_valid(place)).then_some(place)
    };
    let places = (0..rows).map(place);
    Ok(match values.data_type() {
        DataType::Int64 => {
            let values = values.as_primitive::<Int64Type>();
            Arc::new(places.map(|it| Some(values.value(it?))).collect::<Int64Array>())
        }
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>();
            Arc::new(places.map(|it| Some(values.value(it?))).collect::<Float64Array>())
        }
        DataType::Utf8 => {
            let values = values.as_string::<i32>();
            check_length(places.clone().flatten().map(|it| values.value(it).len()))?;
            let mut texts = StringBuilder::with_capacity(rows, 0);
            places.for_each(|it| texts.append_option(it.map(|it| values.value(it))));
            Arc::new(texts.finish())
        }
        _ => {
            let values = values.as_binary::<i32>();
            check_length(places.clone().flatten().map(|it| values.value(it).len()))?;
            let mut blobs = BinaryBuilder::with_capacity(rows, 0);
            places.for_each(|it| blobs.append_option(it.map(|it| values.value(it))));
            Arc::new(blobs.finish())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{Int8Type, UInt32Type};
    use arrow_array::{DictionaryArray, Int8Array, PrimitiveArray, StringArray, UInt64Array};

    fn rows(keys: Vec<Option<i8>>, values: ArrayRef) -> Result<ArrayRef, Unfit> {
        let dictionary = DictionaryArray::<Int8Type>::new(Int8Array::from(keys), values);
        gathered(&dictionary, Decimals::Text)
    }

    #[test]
    fn each_row_has_the_value_of_its_key() {
        let keys = || vec![Some(1), None, Some(0), Some(1), Some(2)];
        let numbers: ArrayRef =
            Arc::new(PrimitiveArray::<UInt32Type>::from(vec![Some(7), Some(8), None]));
        let expected = Int64Array::from(vec![Some(8), None, Some(7), Some(8), None]);
        assert_eq!(rows(keys(), numbers).unwrap().as_primitive::<Int64Type>(), &expected);
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("bc"), None]));
        let expected = StringArray::from(vec![Some("bc"), None, Some("a"), Some("bc"), None]);
        assert_eq!(rows(keys(), texts).unwrap().as_string::<i32>(), &expected);
    }

    #[test]
    fn a_dictionary_without_values_has_nulls_alone() {
        let none: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
        assert_eq!(rows(vec![None, None], none).unwrap().null_count(), 2);
    }

    #[test]
    fn a_value_that_sqlite_lacks_counts_only_where_a_row_has_it() {
        let values: ArrayRef = Arc::new(UInt64Array::from(vec![1, u64::MAX]));
        assert!(rows(vec![Some(0), Some(0)], Arc::clone(&values)).is_ok());
        assert!(matches!(rows(vec![Some(0), Some(1)], values), Err(Unfit::Values(_))));
    }
}
