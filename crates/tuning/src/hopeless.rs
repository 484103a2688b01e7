//! When a trial is hopeless.

use lab::stats::{median, quantile};
use lab::tuning_plan::{Configuration, Seen, Tried};

/// A trial is stopped once it has cost so many times the current settings, in the first block and later at most.
pub const STOP_AT: f64 = 2.5;

/// A trial is hopeless once it has cost so many times what the best trials cost.
const OF_THE_BEST: f64 = 1.8;

/// The share of the trials that are the best ones.
const BEST: f64 = 0.15;

/// How many times the current settings' cost a trial may cost before it is stopped, by the trials of the blocks so far: at most
/// `STOP_AT`. Less than 1 where the current settings are far from the best: then what is better than they are is stopped as well.
pub fn stop_at(tried: &[Tried], current: &Configuration) -> f64 {
    let of_current = tried.iter().filter(|trial| trial.configuration == *current);
    let of_current: Vec<f64> = of_current.filter_map(Tried::cost).collect();
    // A trial that was stopped cost more than the best ones.
    let cost = |trial: &Tried| match trial.seen {
        Seen::Cost(cost) | Seen::Hopeless(cost) => Some(cost),
        Seen::Unusable => None,
    };
    let costs: Vec<f64> = tried.iter().filter_map(cost).collect();
    let ratio = median(&of_current).zip(quantile(&costs, BEST));
    let ratio = ratio.map(|(current, best)| OF_THE_BEST * best / current);
    ratio.unwrap_or(STOP_AT).min(STOP_AT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(costs: &[f64]) -> Vec<Tried> {
        let trials = costs.iter().enumerate();
        let tried = trials.map(|(number, cost)| Tried {
            block: 0,
            configuration: vec![number],
            seen: Seen::Cost(*cost),
            constrained: Vec::new(),
        });
        tried.collect()
    }

    #[test]
    fn the_better_the_best_trials_the_earlier_others_are_stopped() {
        let current = vec![0];
        assert_eq!(stop_at(&[], &current), STOP_AT);
        assert_eq!(stop_at(&tried(&[1.0, 2.0, 3.0]), &current), 1.8 * 1.3);
        let better = stop_at(&tried(&[1.0, 0.7, 0.7, 0.7, 3.0]), &current);
        assert!((better - 1.8 * 0.7).abs() < 1e-9, "{better}");
        let far = stop_at(&tried(&[1.0, 0.1, 0.1]), &current);
        assert!((far - 1.8 * 0.1).abs() < 1e-9, "{far}");
    }
}
