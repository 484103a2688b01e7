//! Which input a row comes from: several inputs are numbered through, and messages name one of them.

use std::sync::{Arc, Mutex, PoisonError};

/// The unit in which an input's rows are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Unit {
    /// Rows, which may take several lines, or none.
    Row,
    /// Lines of the file.
    Line,
}

/// A row, as a person finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLocation {
    /// The input.
    pub input: String,
    /// The unit of the number.
    pub unit: Unit,
    /// The number in this input, from 1.
    pub number: u64,
}

/// Where rows come from, by their numbers; grows while a source reads further inputs.
#[derive(Debug, Clone)]
pub struct Locations(Arc<Mutex<Vec<InputStart>>>);

/// Where an input begins.
#[derive(Debug)]
struct InputStart {
    /// The rows of the inputs before.
    before: u64,
    input: String,
    unit: Unit,
}

impl Locations {
    /// All rows come from this input.
    pub fn new(input: impl Into<String>, unit: Unit) -> Locations {
        let locations = Locations(Arc::default());
        locations.begin(0, input, unit);
        locations
    }

    /// Behind this number of rows, rows come from this input.
    pub(super) fn begin(&self, before: u64, input: impl Into<String>, unit: Unit) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(InputStart {
            before,
            input: input.into(),
            unit,
        });
    }

    /// Returns the location of the row of this number.
    pub fn find(&self, row: u64) -> RowLocation {
        let begins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let behind = begins.partition_point(|begin| begin.before < row.max(1));
        // `new` has put the first one there.
        let begin = &begins[behind - 1];
        RowLocation { input: begin.input.clone(), unit: begin.unit, number: row - begin.before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_in_the_input_they_come_from() {
        let locations = Locations::new("a", Unit::Row);
        locations.begin(3, "b", Unit::Line);
        locations.begin(3, "c", Unit::Row);
        let found = |row| {
            let location = locations.find(row);
            format!("{} {} {}", location.input, location.unit, location.number)
        };
        assert_eq!(found(3), "a row 3");
        // The second input is empty.
        assert_eq!(found(4), "c row 1");
    }
}
