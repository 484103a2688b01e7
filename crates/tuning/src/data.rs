//! The trials of a search as a model is fitted to them.

use super::hopeless::STOP_AT;
use super::model::Data;
use lab::tuning_plan::{Configuration, Seen, Tried};

/// The logarithms of the costs, less their mean, those of an earlier search first. A trial that failed counts as [`STOP_AT`]
/// times the usual cost of the current settings, or of all trials where the current settings were not among them, as may be in
/// an earlier search.
pub(super) fn data(tried: &[&Tried], current: &Configuration, earlier: &[Tried]) -> Data {
    let earlier: Vec<&Tried> = earlier.iter().collect();
    let of_earlier = costs_of(&earlier, current);
    let own = costs_of(tried, current);
    let first = earlier.iter().map(|it| it.block + 1).max().unwrap_or(0);
    let blocks = tried.iter().map(|it| first + it.block);
    let all = || earlier.iter().chain(tried);
    Data {
        configurations: all().map(|it| it.configuration.clone()).collect(),
        blocks: earlier.iter().map(|it| it.block).chain(blocks).collect(),
        costs: of_earlier.into_iter().chain(own).collect(),
        is_least: all().map(|it| matches!(it.seen, Seen::Hopeless(_))).collect(),
        earlier: earlier.len(),
    }
}

/// The logarithms of the costs of a search, less their mean.
fn costs_of(tried: &[&Tried], current: &Configuration) -> Vec<f64> {
    let of_current = tried.iter().filter(|trial| trial.configuration == *current);
    let of_current: Vec<f64> = of_current.filter_map(|trial| log_cost(trial)).collect();
    let of_all = tried.iter().filter_map(|trial| log_cost(trial));
    let usual = match of_current.is_empty() {
        true => mean(&of_all.collect::<Vec<_>>()),
        false => mean(&of_current),
    };
    let failed = usual + STOP_AT.ln();
    let costs = tried.iter().map(|trial| match trial.seen {
        Seen::Cost(cost) | Seen::Hopeless(cost) => cost.ln(),
        Seen::Unusable => failed,
    });
    less_their_mean(costs.collect())
}

/// The figures of a constraint, less their mean, of the trials that have one.
pub(super) fn data_of_constraint(tried: &[&Tried], index: usize) -> Data {
    let measured = tried.iter().filter(|it| it.constrained[index].is_some());
    let measured: Vec<&Tried> = measured.copied().collect();
    let figures = measured.iter().filter_map(|it| it.constrained[index]);
    let trials = measured.iter();
    Data {
        costs: less_their_mean(figures.collect()),
        configurations: trials.clone().map(|it| it.configuration.clone()).collect(),
        blocks: trials.map(|it| it.block).collect(),
        is_least: vec![false; measured.len()],
        earlier: 0,
    }
}

fn less_their_mean(figures: Vec<f64>) -> Vec<f64> {
    let middle = mean(&figures);
    figures.into_iter().map(|figure| figure - middle).collect()
}

fn log_cost(trial: &Tried) -> Option<f64> {
    trial.cost().map(f64::ln)
}

/// The mean; zero of none.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(level: usize, seen: Seen) -> Tried {
        Tried { block: 0, configuration: vec![level], seen, constrained: Vec::new() }
    }

    /// What the third trial, which failed, counts as, divided by what the first one counts as.
    fn failed_to_measured(earlier: &[Tried], tried: &[Tried]) -> f64 {
        let tried: Vec<&Tried> = tried.iter().collect();
        let costs = data(&tried, &vec![0], earlier).costs;
        (costs[2] - costs[0]).exp()
    }

    #[test]
    fn a_failed_trial_counts_as_a_multiple_of_the_current_settings_or_of_what_was_measured() {
        // A millionth of a second a row, far from 1.
        let with = |first: usize| {
            [trial(first, Seen::Cost(1e-6)), trial(1, Seen::Cost(1e-6)), trial(2, Seen::Unusable)]
        };
        assert!((failed_to_measured(&[], &with(0)) - STOP_AT).abs() < 1e-9);
        // An earlier search need not have tried what is set now.
        assert!((failed_to_measured(&with(3), &with(0)) - STOP_AT).abs() < 1e-9);
    }
}
