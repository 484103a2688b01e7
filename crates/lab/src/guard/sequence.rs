//! How long to measure: until the interval of a ratio, or of a figure, lies wholly on one side of its bound, looked at a few times.
//!
//! A group-sequential rule. Blocks are looked at when there are 7, 10, 14, 20, 28, … of them, each time with the
//! interval of the trimmed mean of the paired log-ratios, or of the figures: blocks that other work disturbed hardly move it. The error rate of one phase, 5 % for each side, is divided equally among the
//! looks and the budgets that are judged together (Bonferroni), so it holds however the looks depend on one another, as far as a
//! single interval holds. A slow-down that the first phase shows must be shown once more, on fresh blocks alone: an alarm
//! without a slow-down needs two errors of independent phases, at most 0.25 % of all cases. The tests below simulate
//! it, with the heavy tails and the drift of shared machines.

use serde::Serialize;

use super::bounds::Budget;
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

/// Decision on one budget after some blocks.
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

/// Values that a sequence averages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// The logarithms of ratios.
    Ratios,
    /// Figures as they are, so that 0 is one of them.
    Figures,
}

/// Result of a look at the blocks of a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The blocks of the phase.
    pub blocks: usize,
    /// The ratio or the figure: the trimmed mean.
    pub centre: f64,
    /// Its interval.
    pub interval: Interval,
    /// Blocks in which one side alone has a figure of 0. Their ratios count as far from the budget, so where there are
    /// some, centre and interval decide but are not measurements.
    pub one_sided: usize,
}

/// The blocks of one metric and its bound.
#[derive(Clone, Debug)]
pub struct Sequence {
    bound: Budget,
    scale: Scale,
    /// Bounds that are judged together.
    family: usize,
    /// The averaged values of the current phase.
    values: Vec<f64>,
    /// Values of the phase at hand that stand for a ratio to or of 0.
    one_sided: usize,
    /// Ratios or figures of all phases, in their order.
    all: Vec<f64>,
    /// The last look at the phase at hand.
    look: Option<Look>,
    /// The last look of the first phase, if it was beyond the bound; fresh blocks must confirm it.
    alarm: Option<Look>,
    decision: Decision,
}

impl Sequence {
    /// Makes an empty sequence for the ratios of one of `family` budgets.
    pub fn new(budget: Budget, family: usize) -> Sequence {
        Sequence::on(Scale::Ratios, budget, family)
    }

    /// Makes an empty sequence for figures of the new side with a limit.
    pub fn of_figures(limit: Budget, family: usize) -> Sequence {
        Sequence::on(Scale::Figures, limit, family)
    }

    fn on(scale: Scale, bound: Budget, family: usize) -> Sequence {
        Sequence {
            bound,
            scale,
            family: family.max(1),
            values: Vec::new(),
            one_sided: 0,
            all: Vec::new(),
            look: None,
            alarm: None,
            decision: Decision::Open,
        }
    }

    /// Adds a block: the figure of the new side divided by the base figure, or the figure by itself. NaN is
    /// left out.
    pub fn add(&mut self, value: f64) {
        if self.decision != Decision::Open || value.is_nan() {
            return;
        }
        self.all.push(value);
        match (self.scale, value.ln()) {
            (Scale::Figures, _) => self.values.push(value),
            (Scale::Ratios, log) if log.is_finite() => self.values.push(log),
            (Scale::Ratios, log) => {
                self.one_sided += 1;
                self.values.push(self.far().copysign(log));
            }
        }
        if Looks::AT.contains(&self.values.len()) {
            self.look();
        }
    }

    /// The logarithm that stands for a ratio without end: far from the budget and from 1.
    fn far(&self) -> f64 {
        const FAR: f64 = 7.0;
        self.bound.bound.ln().abs() + FAR
    }

    fn look(&mut self) {
        let Some((centre, interval)) = trimmed_interval(&self.values, 2.0 * self.alpha()) else {
            return;
        };
        let (centre, interval) = match self.scale {
            Scale::Ratios => (centre.exp(), interval.exp()),
            Scale::Figures => (centre, interval),
        };
        let look = Look { blocks: self.values.len(), centre, interval, one_sided: self.one_sided };
        self.look = Some(look);
        let ends = [interval.low, interval.high].map(|end| self.bound.allows(end));
        self.decision = match ends {
            [true, true] => Decision::Passed,
            [false, false] if self.alarm.is_some() => Decision::Failed,
            [false, false] => return self.begin_anew(look),
            _ if look.blocks >= Looks::AT[Looks::AT.len() - 1] => Decision::Exhausted,
            _ => Decision::Open,
        };
    }

    /// Begins the phase whose blocks are to confirm an alarm.
    fn begin_anew(&mut self, alarm: Look) {
        self.alarm = Some(alarm);
        self.look = None;
        self.one_sided = 0;
        self.values.clear();
    }

    /// The error rate of one look, for each side.
    fn alpha(&self) -> f64 {
        ALPHA / (Looks::AT.len() * self.family) as f64
    }

    /// Returns the smallest difference that the last look would have shown in 80 % of all cases, as a fraction; none without a
    /// look, or where the figure is 0.
    pub fn detectable(&self) -> Option<f64> {
        const POWER: f64 = 0.8;
        let look = self.look?;
        let values = &self.values[..look.blocks];
        let reach = |rate: f64| Some(trimmed_interval(values, rate)?.1.half_width());
        // The quantile of the power stands on one side.
        let both = reach(2.0 * self.alpha())? + reach(2.0 * (1.0 - POWER))?;
        match self.scale {
            Scale::Ratios => Some(both.exp_m1()),
            Scale::Figures => Some(both / look.centre).filter(|share| share.is_finite()),
        }
    }

    /// Returns the decision so far.
    pub fn decision(&self) -> Decision {
        self.decision
    }

    /// Returns the last look of the first phase, if it was beyond the bound.
    pub fn alarm(&self) -> Option<Look> {
        self.alarm
    }

    /// Returns the last look at the blocks of the current phase; none with fewer than seven.
    pub fn last_look(&self) -> Option<Look> {
        self.look
    }

    /// Returns the ratio or the figure of every block of both phases, in their order.
    pub fn all(&self) -> &[f64] {
        &self.all
    }

    /// Returns the number of blocks in the current phase.
    pub fn blocks(&self) -> usize {
        self.values.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::bounds::Comparator;
    use super::*;
    use crate::stats::simulation::Noise;

    const RATE: Budget = Budget { comparator: Comparator::AtLeast, bound: 0.95 };
    const NO_SLOWER: Budget = Budget { comparator: Comparator::AtLeast, bound: 1.0 };

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
        (0..count).map(|_| run(&mut noise, budget, truth, sd)).collect()
    }

    fn share(runs: &[(usize, Decision)], of: impl Fn(&(usize, Decision)) -> bool) -> f64 {
        runs.iter().filter(|run| of(run)).count() as f64 / runs.len() as f64
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
            (0..count).map(|_| real_run(&mut noise, &real, budget, truth)).collect()
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
                sequence.values = logs.iter().map(|log| log + shift).collect();
                sequence.look();
                sequence
            };
            let detectable = run(0.0).detectable();
            // One in a thousand sees a difference where there is none.
            let Some(detectable) = detectable else { continue };
            sizes.push(detectable);
            let shifted = run(-detectable.ln_1p());
            seen += usize::from(shifted.alarm().is_some());
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
        let alarm = sequence.alarm().unwrap();
        assert!((alarm.centre - 0.5).abs() < 1e-12 && alarm.blocks == 7);
        // Nothing of the blocks before stands next to the fresh ones.
        assert_eq!(sequence.decision(), Decision::Open);
        assert_eq!((sequence.blocks(), sequence.last_look()), (0, None));
        for _ in 0..6 {
            sequence.add(1.0);
        }
        assert_eq!((sequence.last_look(), sequence.detectable()), (None, None));
        sequence.add(1.0);
        assert_eq!(sequence.decision(), Decision::Passed);
        assert_eq!(sequence.last_look().unwrap().centre, 1.0);
    }

    #[test]
    fn a_look_counts_until_the_next_one() {
        let mut sequence = Sequence::new(NO_SLOWER, 1);
        for block in 0..9 {
            sequence.add(if block % 2 == 0 { 1.01 } else { 0.99 });
        }
        let at_seven = sequence.last_look().unwrap();
        assert_eq!((at_seven.blocks, sequence.blocks()), (7, 9));
        let detectable = sequence.detectable().unwrap();
        sequence.values.truncate(7);
        assert_eq!(sequence.detectable(), Some(detectable));
    }

    const AT_MOST_ONE: Budget = Budget { comparator: Comparator::AtMost, bound: 1.0 };

    /// The decision on these figures, again and again.
    fn decided(mut sequence: Sequence, figures: &[f64]) -> Sequence {
        let mut figures = figures.iter().cycle();
        while sequence.decision() == Decision::Open && sequence.all().len() < 900 {
            sequence.add(*figures.next().unwrap());
        }
        sequence
    }

    #[test]
    fn figures_of_zero_count_for_a_limit() {
        let limit = || Sequence::of_figures(AT_MOST_ONE, 1);
        let zeros = decided(limit(), &[0.0]);
        assert_eq!((zeros.decision(), zeros.blocks()), (Decision::Passed, 7));
        assert_eq!(zeros.last_look().unwrap().centre, 0.0);
        let mostly = decided(limit(), &[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
        assert_eq!(mostly.decision(), Decision::Passed);
        assert_eq!(decided(limit(), &[2.0, 2.1]).decision(), Decision::Failed);
        let none = Budget { bound: 0.0, ..AT_MOST_ONE };
        let none = || Sequence::of_figures(none, 1);
        assert_eq!(decided(none(), &[0.0]).decision(), Decision::Passed);
        assert_eq!(decided(none(), &[0.1, 0.2]).decision(), Decision::Failed);
    }

    #[test]
    fn a_figure_within_its_limit_raises_few_alarms_and_one_beyond_it_is_found() {
        let mut noise = Noise::new(31);
        let mut failed = |truth: f64| {
            let alarms = (0..500).filter(|_| {
                let mut sequence = Sequence::of_figures(AT_MOST_ONE, 1);
                while sequence.decision() == Decision::Open && sequence.all().len() < 112 {
                    sequence.add(truth * trial(&mut noise, 0.15, 0.0).exp());
                }
                sequence.decision() == Decision::Failed
            });
            alarms.count()
        };
        assert!(failed(0.95) <= 5);
        assert!(failed(1.3) >= 475);
    }

    #[test]
    fn a_ratio_to_zero_counts_as_far_beyond_and_is_no_measurement() {
        let infinite = decided(Sequence::new(AT_MOST_ONE, 1), &[f64::INFINITY]);
        assert_eq!(infinite.decision(), Decision::Failed);
        assert_eq!(infinite.last_look().unwrap().one_sided, 7);
        let nothing_left = decided(Sequence::new(AT_MOST_ONE, 1), &[0.0]);
        assert_eq!(nothing_left.decision(), Decision::Passed);
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
        assert!(sequence.detectable().is_some());
    }
}
