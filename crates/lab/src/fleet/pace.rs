//! Progress of a run over a fleet, and agents that delay it.

use serde::{Deserialize, Serialize};

/// A block on a straggler takes this many times as long as usual.
const STRAGGLES: f64 = 3.0;

/// A shorter block delays no one.
const SHORT_S: f64 = 10.0;

/// Progress of the run of a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The group.
    pub group: String,
    /// Trials that are recorded.
    pub trials: u64,
    /// The fewest trials that its experiments need; there are more where the stopping rule asks for them.
    pub least: u64,
    /// Trials recorded in each second, on average since this coordinator began; none before the first.
    pub per_s: Option<f64>,
}

impl Progress {
    /// Returns the seconds until the fewest trials are recorded; none if the rate is unknown or they are recorded.
    pub fn left_s(&self) -> Option<f64> {
        let left = self.least.checked_sub(self.trials).filter(|left| *left > 0)?;
        let per_s = self.per_s.filter(|per_s| *per_s > 0.0)?;
        Some(left as f64 / per_s)
    }
}

/// Pace of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Seconds for which it has carried its block out; none while it has none.
    pub busy_s: Option<f64>,
    /// Seconds that its last block took.
    pub last_s: Option<f64>,
}

/// Returns the indices of agents whose block takes more than three times as long as the last block of the usual agent
/// took. One agent alone is never said to straggle.
pub fn stragglers(agents: &[Pace]) -> Vec<usize> {
    let mut last: Vec<f64> = agents.iter().filter_map(|agent| agent.last_s).collect();
    last.sort_by(f64::total_cmp);
    let Some(usual_s) = last.get(last.len() / 2).filter(|_| agents.len() > 1) else {
        return Vec::new();
    };
    let limit_s = (STRAGGLES * usual_s).max(SHORT_S);
    let straggles = |pace: &Pace| pace.busy_s.is_some_and(|busy_s| busy_s > limit_s);
    agents.iter().enumerate().filter(|(_, it)| straggles(it)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_go_follows_from_the_rate() {
        let progress =
            |trials, per_s| Progress { trials, least: 100, per_s, ..Progress::default() };
        assert_eq!(progress(40, Some(2.0)).left_s(), Some(30.0));
        for unknown in [progress(40, None), progress(40, Some(0.0)), progress(100, Some(2.0))] {
            assert_eq!(unknown.left_s(), None);
        }
    }

    #[test]
    fn who_takes_three_times_as_long_as_usual_straggles() {
        let pace = |busy_s, last_s| Pace { busy_s, last_s };
        let usual = pace(Some(5.0), Some(6.0));
        let all = [usual, pace(Some(19.0), Some(6.0)), usual, pace(Some(17.0), None)];
        assert_eq!(stragglers(&all), [1]);
        let short = [pace(Some(9.0), Some(1.0)), pace(None, Some(1.0))];
        assert!(stragglers(&short).is_empty());
        assert!(stragglers(&all[1..2]).is_empty(), "with whom to compare it?");
    }
}
