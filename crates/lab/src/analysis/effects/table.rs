//! The figures of crossed variants as a complete table of variants and rounds.
//!
//! It stands apart because contrasts need every cell: an average over settings must be over the
//! same settings in each round, or the difference between two settings would pass for noise.

use crate::samples::Samples;

/// Rounds and variants measured in less than this part are left out.
const ENOUGH: f64 = 0.75;

/// Logarithms over the baseline of the block, complete.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The variants that were measured often enough, by their place in the plan, ascending.
    pub(super) variants: Vec<usize>,
    /// `values[row][round]`, a row for each of `variants`.
    pub(super) values: Vec<Vec<f64>>,
}

impl Table {
    /// Returns the table of the first `variants` variants over `rounds` rounds; the baseline is variant 0.
    ///
    /// A round that was cut short and a variant that mostly failed are left out. What is then still
    /// missing (a trial that failed once) is filled with what the variant and the round are otherwise
    /// like, so that it neither shifts an average nor adds to its spread.
    pub(super) fn of(samples: &Samples, variants: usize, rounds: u32) -> Table {
        let measured: Vec<Vec<Option<f64>>> = (0..variants)
            .map(|variant| {
                (0..rounds).map(|round| samples.log_over_baselines(round, variant)).collect()
            })
            .collect();
        let ever: Vec<usize> = (0..variants)
            .filter(|variant| measured[*variant].iter().any(Option::is_some))
            .collect();
        let rounds = rounds as usize;
        let whole = full_rounds(&measured, &ever, rounds);
        let often: Vec<usize> = ever
            .into_iter()
            .filter(|variant| {
                let there = whole.iter().filter(|round| measured[*variant][**round].is_some());
                is_enough(there.count(), whole.len())
            })
            .collect();
        // Without the variants that mostly failed, more rounds may be whole.
        let rounds = full_rounds(&measured, &often, rounds);
        let cut = |variant: &usize| rounds.iter().map(|round| measured[*variant][*round]).collect();
        let gaps: Vec<Vec<Option<f64>>> = often.iter().map(cut).collect();
        Table { variants: often, values: filled(&gaps) }
    }

    /// Returns the number of rounds.
    pub(super) fn rounds(&self) -> usize {
        self.values.first().map_or(0, Vec::len)
    }

    /// Returns the mean of each row.
    pub(super) fn means(&self) -> Vec<f64> {
        self.values.iter().map(|row| mean(row.iter())).collect()
    }
}

fn full_rounds(measured: &[Vec<Option<f64>>], variants: &[usize], rounds: usize) -> Vec<usize> {
    let there = |round: usize| {
        variants.iter().filter(|variant| measured[**variant][round].is_some()).count()
    };
    (0..rounds).filter(|round| is_enough(there(*round), variants.len())).collect()
}

fn is_enough(there: usize, of: usize) -> bool {
    there > 0 && there as f64 >= ENOUGH * of as f64
}

/// Returns the rows with each gap filled by the variant's mean and what the round adds to the others' means.
fn filled(rows: &[Vec<Option<f64>>]) -> Vec<Vec<f64>> {
    let means: Vec<f64> = rows.iter().map(|row| mean(row.iter().flatten())).collect();
    let rounds = rows.first().map_or(0, Vec::len);
    let shifts: Vec<f64> = (0..rounds)
        .map(|round| {
            let off = rows.iter().zip(&means).filter_map(|(row, mean)| Some(row[round]? - mean));
            mean(off.collect::<Vec<f64>>().iter())
        })
        .collect();
    rows.iter()
        .zip(&means)
        .map(|(row, mean)| {
            row.iter().zip(&shifts).map(|(cell, shift)| cell.unwrap_or(mean + shift)).collect()
        })
        .collect()
}

/// Returns the mean; zero of nothing, which stands for no shift.
fn mean<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Role;

    /// Three variants besides the baseline over four rounds, without the given trials.
    fn table(without: &[(u32, usize)]) -> Table {
        let mut samples = Samples::new(4);
        for round in 0..4_u32 {
            let machine = 1.0 + f64::from(round);
            samples.add(round, 0, 0, Role::Baseline, machine);
            for variant in 1..4 {
                if !without.contains(&(round, variant)) {
                    samples.add(
                        round,
                        0,
                        variant,
                        Role::Variant,
                        machine * 2f64.powi(variant as i32),
                    );
                }
            }
        }
        Table::of(&samples, 4, 4)
    }

    #[test]
    fn every_cell_is_the_ratio_to_the_baseline_of_its_block() {
        let table = table(&[]);
        assert_eq!((table.variants.len(), table.rounds()), (4, 4));
        for (row, values) in table.values.iter().enumerate() {
            assert!(values.iter().all(|v| (v - row as f64 * 2f64.ln()).abs() < 1e-12));
        }
    }

    #[test]
    fn a_trial_that_failed_once_is_filled_in() {
        let table = table(&[(2, 1)]);
        assert_eq!((table.variants.len(), table.rounds()), (4, 4));
        assert!((table.values[1][2] - 2f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_variant_that_mostly_failed_and_a_round_that_was_cut_short_are_left_out() {
        assert_eq!(table(&[(1, 3), (2, 3), (3, 3)]).variants, [0, 1, 2]);
        let short = table(&[(3, 1), (3, 2)]);
        assert_eq!((short.variants.len(), short.rounds()), (4, 3));
    }

    #[test]
    fn nothing_measured_is_an_empty_table() {
        let table = Table::of(&Samples::new(3), 3, 0);
        assert!(table.variants.is_empty() && table.rounds() == 0);
    }
}
