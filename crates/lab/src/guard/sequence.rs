//! How long to measure: until the interval of a ratio lies wholly on one side of its budget, looked at a few times.
//!
//! A group-sequential rule. Blocks are looked at when there are 7, 10, 14, 20, 28, … of them, each time with the
//! interval of the trimmed mean of the paired log-ratios: blocks that other work disturbed hardly move it. The error rate of one phase, 5 % for each side, is divided equally among the
//! looks and the budgets that are judged together (Bonferroni), so it holds however the looks depend on one another, as far as a
//! single interval holds. A slow-down that the first phase shows must be shown once more, on fresh blocks alone: an alarm
//! without a slow-down needs two errors of independent phases, at most 0.25 % of all cases. The tests below simulate
//! it, with the heavy tails and the drift of shared machines.

use serde::Serialize;

use super::Budget;
use crate::stats::{Interval, trimmed_interval};

/// The error rate of one phase, for each side.
const ALPHA: f64 = 0.05;

/// When the blocks are looked at, and how often at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks;

impl Looks {
    /// Numbers of blocks; each is about 1.4 times the one before.
    pub const AT: [usize; 13] = [7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448];
}

/// What is known of one budget after some blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// More blocks are needed.
    Open,
    /// Within the budget with the whole interval.
    Passed,
    /// Beyond the budget with the whole interval, and once more on fresh blocks.
    Failed,
    /// The most blocks were measured without a decision.
    Exhausted,
}

/// The blocks of one metric and its budget.
#[derive(Clone, Debug)]
pub struct Sequence {
    budget: Budget,
    /// Budgets that are judged together.
    family: usize,
    /// Log-ratios of the phase at hand, new / base.
    ratios: Vec<f64>,
    /// Ratios of all phases, in their order.
    all: Vec<f64>,
    /// Whether the first phase has shown the budget passed, and fresh blocks are to confirm it.
    confirming: bool,
    decision: Decision,
    interval: Interval,
}

impl Sequence {
    /// No block yet, for one of so many budgets.
    pub fn new(budget: Budget, family: usize) -> Sequence {
        Sequence {
            budget,
            family: family.max(1),
            ratios: Vec::new(),
            all: Vec::new(),
            confirming: false,
            decision: Decision::Open,
            interval: Interval::EVERYTHING,
        }
    }

    /// Adds a block: the figure of the new side divided by that of the base. A ratio that is no finite number above zero is
    /// left out.
    pub fn add(&mut self, ratio: f64) {
        let log = ratio.ln();
        if self.decision != Decision::Open || !log.is_finite() {
            return;
        }
        self.all.push(ratio);
        self.ratios.push(log);
        if Looks::AT.contains(&self.ratios.len()) {
            self.look();
        }
    }

    fn look(&mut self) {
        let Some((_, interval)) = trimmed_interval(&self.ratios, 2.0 * self.alpha()) else {
            return;
        };
        self.interval = interval.exp();
        let ends = [self.interval.low, self.interval.high].map(|end| self.budget.allows(end));
        self.decision = match ends {
            [true, true] => Decision::Passed,
            [false, false] if self.confirming => Decision::Failed,
            [false, false] => {
                (self.confirming, self.ratios) = (true, Vec::new());
                Decision::Open
            }
            _ if self.ratios.len() >= Looks::AT[Looks::AT.len() - 1] => Decision::Exhausted,
            _ => Decision::Open,
        };
    }

    /// The error rate of one look, for each side.
    fn alpha(&self) -> f64 {
        ALPHA / (Looks::AT.len() * self.family) as f64
    }

    /// The smallest difference that a look at the blocks of the phase at hand would show in 80 % of all cases, as a
    /// fraction; none with too few.
    pub fn detectable(&self) -> Option<f64> {
        const POWER: f64 = 0.8;
        let reach = |rate: f64| Some(trimmed_interval(&self.ratios, rate)?.1.half_width());
        // The quantile of the power stands on one side.
        let both = reach(2.0 * self.alpha())? + reach(2.0 * (1.0 - POWER))?;
        Some(both.exp_m1())
    }

    /// What is known.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// Whether a slow-down was measured that fresh blocks are to confirm, or have confirmed.
    pub fn is_confirming(&self) -> bool {
        self.confirming
    }

    /// The budget.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// The ratio of the blocks of the phase at hand, their trimmed mean; none with too few.
    pub fn ratio(&self) -> Option<f64> {
        let (centre, _) = trimmed_interval(&self.ratios, ALPHA)?;
        Some(centre.exp())
    }

    /// The interval of the last look.
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// The ratio of every block of both phases, in their order.
    pub fn all(&self) -> &[f64] {
        &self.all
    }

    /// Blocks of the phase at hand.
    pub fn blocks(&self) -> usize {
        self.ratios.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Comparator;
    use super::*;
    use crate::stats::simulation::Noise;

    const RATE: Budget = Budget {
        comparator: Comparator::AtLeast,
        bound: 0.95,
    };
    const NO_SLOWER: Budget = Budget {
        comparator: Comparator::AtLeast,
        bound: 1.0,
    };

    /// The noise of a shared machine: a normal part, one block in ten much worse, and a drift that a block shares.
    fn trial(noise: &mut Noise, sd: f64, drift: f64) -> f64 {
        let hit = if noise.uniform() < 0.1 { 6.0 } else { 1.0 };
        drift + sd * hit * noise.normal()
    }

    /// The blocks until a decision, and the decision.
    fn run(noise: &mut Noise, budget: Budget, truth: f64, sd: f64) -> (usize, Decision) {
        let mut sequence = Sequence::new(budget, 1);
        let (mut drift, mut blocks) = (0.0, 0);
        while sequence.decision() == Decision::Open && blocks < 900 {
            drift += 0.02 * noise.normal();
            let base = trial(noise, sd, drift);
            let new = trial(noise, sd, drift) + truth.ln();
            sequence.add((new - base).exp());
            blocks += 1;
        }
        (blocks, sequence.decision())
    }

    fn runs(budget: Budget, truth: f64, sd: f64, count: usize) -> Vec<(usize, Decision)> {
        let mut noise = Noise::new(19);
        (0..count)
            .map(|_| run(&mut noise, budget, truth, sd))
            .collect()
    }

    fn share(runs: &[(usize, Decision)], of: impl Fn(&(usize, Decision)) -> bool) -> f64 {
        runs.iter().filter(|it| of(it)).count() as f64 / runs.len() as f64
    }

    #[test]
    fn identical_code_raises_an_alarm_in_less_than_one_of_a_hundred_runs() {
        for sd in [0.01, 0.05, 0.15] {
            // The tightest budget that identical code keeps.
            let all = runs(NO_SLOWER, 1.0, sd, 2_000);
            let alarms = share(&all, |it| it.1 == Decision::Failed);
            assert!(alarms <= 0.005, "{alarms} with noise {sd}");
        }
    }

    /// Log-ratios of identical code: 448 blocks of the example shop, with syncs, in trials of 300 ms on a virtual machine with
    /// two cores on which five other people built programs meanwhile.
    fn real_noise() -> Vec<f64> {
        let lines = include_str!("noise.txt").lines();
        lines.map(|line| line.parse().expect("a number")).collect()
    }

    /// A run whose blocks are drawn from real ones, eight in a row so that their order counts, mirrored at random because
    /// either side is as likely to be disturbed.
    fn real_run(noise: &mut Noise, real: &[f64], budget: Budget, truth: f64) -> (usize, Decision) {
        let mut sequence = Sequence::new(budget, 1);
        let mut blocks = 0;
        while sequence.decision() == Decision::Open && blocks < 900 {
            let start = (noise.uniform() * (real.len() - 8) as f64) as usize;
            let sign = if noise.uniform() < 0.5 { -1.0 } else { 1.0 };
            for log in &real[start..start + 8] {
                sequence.add((sign * log + truth.ln()).exp());
                blocks += 1;
            }
        }
        (blocks, sequence.decision())
    }

    #[test]
    fn identical_code_with_the_noise_of_real_blocks_raises_an_alarm_in_at_most_one_of_a_hundred_runs()
     {
        let (real, mut noise) = (real_noise(), Noise::new(23));
        let mut of = |budget, truth, count: usize| -> Vec<(usize, Decision)> {
            (0..count)
                .map(|_| real_run(&mut noise, &real, budget, truth))
                .collect()
        };
        let alarms = share(&of(NO_SLOWER, 1.0, 500), |it| it.1 == Decision::Failed);
        assert!(alarms <= 0.01, "{alarms}");
        // At 0.8 s a block, within five minutes and within one.
        for (truth, within) in [(0.9, 375), (0.7, 75)] {
            let all = of(NO_SLOWER, truth, 200);
            let failed = share(&all, |it| it.1 == Decision::Failed && it.0 <= within);
            assert!(failed >= 0.9, "{failed} of {truth}");
        }
    }

    #[test]
    fn identical_code_passes_an_ordinary_budget_within_few_blocks() {
        let all = runs(RATE, 1.0, 0.03, 500);
        let passed = share(&all, |it| it.1 == Decision::Passed && it.0 <= 224);
        assert!(passed >= 0.95, "{passed}");
    }

    #[test]
    fn planted_slow_downs_fail_after_confirmation() {
        // 10 % less throughput, on machines whose trials vary by 3 % and sometimes by 18 %.
        let all = runs(RATE, 0.90, 0.03, 500);
        let failed = share(&all, |it| it.1 == Decision::Failed && it.0 <= 224);
        assert!(failed >= 0.9, "{failed}");
        let all = runs(RATE, 0.70, 0.05, 500);
        let failed = share(&all, |it| it.1 == Decision::Failed && it.0 <= 56);
        assert!(failed >= 0.95, "{failed}");
    }

    #[test]
    fn a_slow_down_beyond_the_budget_passes_in_few_runs() {
        let all = runs(RATE, 0.94, 0.03, 1_000);
        let passed = share(&all, |it| it.1 == Decision::Passed);
        assert!(passed <= 0.05, "{passed}");
    }

    #[test]
    fn a_difference_of_the_detectable_size_is_seen_in_four_of_five_runs() {
        let mut noise = Noise::new(29);
        let (mut seen, mut sizes) = (0, Vec::new());
        for _ in 0..400 {
            let logs: Vec<f64> = (0..40).map(|_| 0.05 * noise.normal()).collect();
            let run = |shift: f64| {
                let mut sequence = Sequence::new(NO_SLOWER, 1);
                sequence.ratios = logs.iter().map(|log| log + shift).collect();
                sequence
            };
            let detectable = run(0.0).detectable().unwrap();
            sizes.push(detectable);
            let mut shifted = run(-detectable.ln_1p());
            shifted.look();
            seen += usize::from(shifted.is_confirming());
        }
        let share = f64::from(seen as u32) / 400.0;
        assert!((0.72..0.88).contains(&share), "{share}");
        assert!(sizes.iter().all(|size| (0.01..0.08).contains(size)));
        assert_eq!(Sequence::new(NO_SLOWER, 1).detectable(), None);
    }

    #[test]
    fn fresh_blocks_decide_after_a_first_alarm() {
        let mut sequence = Sequence::new(RATE, 1);
        for _ in 0..7 {
            sequence.add(0.5);
        }
        assert!(sequence.is_confirming());
        assert_eq!(
            (sequence.decision(), sequence.blocks()),
            (Decision::Open, 0)
        );
        for _ in 0..7 {
            sequence.add(1.0);
        }
        assert_eq!(sequence.decision(), Decision::Passed);
        assert_eq!(sequence.ratio(), Some(1.0));
    }

    #[test]
    fn what_stays_open_is_exhausted_in_the_end() {
        let mut sequence = Sequence::new(NO_SLOWER, 1);
        let mut sign = 0.1;
        for _ in 0..2_000 {
            sign = -sign;
            sequence.add(f64::exp(sign));
        }
        assert_eq!(sequence.decision(), Decision::Exhausted);
        sequence.add(f64::NAN);
        assert_eq!(sequence.blocks(), 448);
    }
}
