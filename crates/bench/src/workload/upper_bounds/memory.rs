//! The rows in containers of the standard library, one row at a time as they would arrive.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hint::black_box;
use std::time::Instant;

use lab::trial::Measured;

use super::Parameters;
use crate::error::TrialError;
use crate::measure::Windows;
use crate::trial::Trial;
use crate::workload::common::{Stopwatch, expect, set, set_peak_memory};

/// A container that was filled.
pub(super) enum Filled {
    Vec(Vec<i64>),
    BTree(BTreeMap<i64, usize>),
    Hash(HashMap<i64, usize>),
}

/// Puts the rows into the container, within the measured time.
pub(super) fn keep(
    trial: &mut Trial<'_>,
    parameters: &Parameters,
    fill: fn(&[i64], &mut Windows) -> Filled,
) -> Result<Measured, TrialError> {
    (trial.phase)("generate");
    let generating = Instant::now();
    let data = parameters.values.generate(parameters.rows, trial.seed)?;
    let generate_s = generating.elapsed().as_secs_f64();
    let mut windows = Windows::new(data.len(), 1, None);

    (trial.phase)("load");
    let watch = Stopwatch::start()?;
    windows.start(watch.started());
    let filled = black_box(fill(&data, &mut windows));
    let elapsed = watch.stop()?;
    let mut measured = elapsed.measured(parameters.rows);
    set(&mut measured, "generate_s", generate_s);
    set_peak_memory(&mut measured);
    measured.windows = windows.rates();

    (trial.phase)("verify");
    check(&filled, &data)?;
    Ok(measured)
}

/// Fills a `Vec` with the values in order of arrival. All containers grow as they go: an application seldom
/// knows the count beforehand.
pub(super) fn vec(data: &[i64], windows: &mut Windows) -> Filled {
    let mut rows = Vec::new();
    each_row(data, windows, |_, value| rows.push(value));
    Filled::Vec(rows)
}

/// Fills a `BTreeMap` from the value to the number of the last row that has it.
pub(super) fn btree(data: &[i64], windows: &mut Windows) -> Filled {
    let mut rows = BTreeMap::new();
    each_row(data, windows, |row, value| {
        rows.insert(value, row);
    });
    Filled::BTree(rows)
}

/// Fills a `HashMap` in the same way, with the standard library's hash function.
pub(super) fn hash(data: &[i64], windows: &mut Windows) -> Filled {
    let mut rows = HashMap::new();
    each_row(data, windows, |row, value| {
        rows.insert(value, row);
    });
    Filled::Hash(rows)
}

#[inline]
fn each_row(data: &[i64], windows: &mut Windows, mut insert: impl FnMut(usize, i64)) {
    let step = windows.step();
    for (window, rows) in data.chunks(step).enumerate() {
        for (index, value) in rows.iter().enumerate() {
            insert(window * step + index, *value);
        }
        windows.tick(rows.len(), Instant::now());
    }
}

/// Checks the length, and that every value is there with the last row that has it.
fn check(filled: &Filled, data: &[i64]) -> Result<(), TrialError> {
    let (length, wanted) = match filled {
        Filled::Vec(rows) => (rows.len(), data.len()),
        Filled::BTree(rows) => (rows.len(), distinct(data)),
        Filled::Hash(rows) => (rows.len(), distinct(data)),
    };
    expect("the length of the container", length, wanted)?;
    let holds = |row: usize, value: i64| match filled {
        Filled::Vec(rows) => rows[row] == value,
        Filled::BTree(rows) => rows.get(&value).is_some_and(|last| *last >= row),
        Filled::Hash(rows) => rows.get(&value).is_some_and(|last| *last >= row),
    };
    let missing = data.iter().enumerate().filter(|(row, value)| !holds(*row, **value)).count();
    expect("the count of rows missing in the container", missing, 0)
}

fn distinct(data: &[i64]) -> usize {
    data.iter().collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Fill = fn(&[i64], &mut Windows) -> Filled;

    const CONTAINERS: [(&str, Fill); 3] = [("vec", vec), ("btree", btree), ("hash", hash)];

    fn filled(fill: Fill, data: &[i64]) -> Filled {
        fill(data, &mut Windows::new(data.len(), 1, None))
    }

    #[test]
    fn maps_keep_each_value_once_and_vectors_every_row() {
        let data = [5, 7, 5, -1];
        for (container, fill) in CONTAINERS {
            let kept = filled(fill, &data);
            assert!(check(&kept, &data).is_ok(), "{container:?}");
            let length = match kept {
                Filled::Vec(rows) => rows.len(),
                Filled::BTree(rows) => rows.len(),
                Filled::Hash(rows) => rows.len(),
            };
            assert_eq!(length, if container == "vec" { 4 } else { 3 });
        }
    }

    #[test]
    fn a_container_with_other_rows_is_a_wrong_result() {
        for (container, fill) in CONTAINERS {
            let kept = filled(fill, &[1, 2, 3]);
            assert!(check(&kept, &[1, 2, 4]).is_err(), "{container:?}");
            assert!(check(&kept, &[1, 2]).is_err(), "{container:?}");
        }
    }
}
