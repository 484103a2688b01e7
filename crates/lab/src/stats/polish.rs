//! Median polish: the level of each variant in a table of variants and rounds, freed of the effects of the
//! rounds (Tukey, "Exploratory Data Analysis", 1977, chapter 11).

use super::descriptive::median;

/// Returns the typical value of each variant when the effect of each round is taken out: medians over variants and
/// over rounds are removed in turn until they settle.
pub(super) fn median_polish(table: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    const SWEEPS: usize = 20;
    const SETTLED: f64 = 1e-9;
    let rounds = table.first().map_or(0, Vec::len);
    let mut levels: Vec<Option<f64>> =
        table.iter().map(|row| row.iter().any(Option::is_some).then_some(0.0)).collect();
    let mut effects = Vec::new();
    for _ in 0..SWEEPS {
        effects = (0..rounds).map(|round| round_effect(table, &levels, round)).collect();
        let polished: Vec<Option<f64>> =
            table.iter().map(|row| typical_without(row, &effects)).collect();
        let moved = levels.iter().flatten().zip(polished.iter().flatten());
        let furthest = moved.map(|(old, new)| (old - new).abs()).fold(0.0, f64::max);
        levels = polished;
        if furthest < SETTLED {
            break;
        }
    }
    let common = median(&effects.into_iter().flatten().collect::<Vec<_>>()).unwrap_or(0.0);
    levels.into_iter().map(|level| level.map(|level| level + common)).collect()
}

/// Returns how far a round lies above the levels of the variants measured in it; `None` for an empty round.
fn round_effect(table: &[Vec<Option<f64>>], levels: &[Option<f64>], round: usize) -> Option<f64> {
    let residuals =
        table.iter().zip(levels).filter_map(|(row, level)| Some(row[round]? - (*level)?));
    median(&residuals.collect::<Vec<_>>())
}

/// Returns the median of a variant's values with the effects of their rounds taken out.
fn typical_without(row: &[Option<f64>], effects: &[Option<f64>]) -> Option<f64> {
    let values = row.iter().zip(effects).filter_map(|(value, effect)| Some((*value)? - (*effect)?));
    median(&values.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_an_additive_table_are_found_despite_gaps_and_one_wild_value() {
        let rounds = [0.0, 3.0, -1.0, 0.5, 2.0];
        let mut table: Vec<Vec<Option<f64>>> = [10.0, 11.0, 14.0, 15.0]
            .iter()
            .map(|level| rounds.iter().map(|round| Some(level + round)).collect())
            .collect();
        table[0][1] = None;
        table[2][0] = None;
        table[3][3] = Some(1000.0);
        let levels: Vec<f64> = median_polish(&table).into_iter().flatten().collect();
        let gaps: Vec<f64> = levels.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (gap, expected) in gaps.iter().zip([1.0, 3.0, 1.0]) {
            assert!((gap - expected).abs() < 1e-6, "{levels:?}");
        }
    }

    #[test]
    fn a_variant_without_values_has_no_level() {
        let table = [vec![Some(1.0), None], vec![None, None]];
        assert_eq!(median_polish(&table), [Some(1.0), None]);
        assert!(median_polish(&[]).is_empty());
    }
}
