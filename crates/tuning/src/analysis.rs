//! The analysis of a search for the fastest settings, and of the run that has it.

use serde::Serialize;

use super::contribution::Advised;
use super::contribution::Contribution;
use super::result::{Interaction, Unchanged};
use super::rounds::{Constrained, Moved};
use super::state::SearchState;
use super::trade_off::TradeOff;
use super::tuning::{ROUNDS, Tuning};
use lab::analysis::ExperimentAnalysis;
use lab::design::StopReason;
use lab::level::{Settings, distinct};
use lab::metric::higher_is_better;
use lab::record::{EnvironmentFile, Purpose, RunPlan, TrialRecord};
use lab::stats::median;
use lab::tier::MayLose;
use lab::tuning_plan::{SearchOutcome, SearchTrial};

/// The analysis of a run and of its search.
pub type Analysis = lab::analysis::Analysis<TuningAnalysis>;

/// Takes the trials of a run one by one, whether it tunes or not.
pub struct Collector {
    run: lab::analysis::Collector,
    tuning: Option<Tuning>,
    /// Whether the variants of the rounds have been set to those that the search recommends.
    is_settled: bool,
}

impl Collector {
    /// Returns a collector for a run without any trial.
    pub fn new(plan: RunPlan, environment: EnvironmentFile) -> Collector {
        Collector {
            tuning: Tuning::of(&plan),
            run: lab::analysis::Collector::new(plan, environment),
            is_settled: false,
        }
    }

    /// Adds one trial; one that does not belong to the plan is left out.
    pub fn add(&mut self, record: TrialRecord) {
        match record.purpose {
            Purpose::Rounds | Purpose::Confirmation => self.settle(),
            Purpose::Tier | Purpose::Search | Purpose::Ablation | Purpose::Advice => {}
        }
        if let Some(tuning) = &mut self.tuning {
            tuning.add(&record);
        }
        self.run.add(record);
    }

    /// Gives an experiment that was tuned the variants of its rounds, which follow from the search.
    fn settle(&mut self) {
        let is_settled = std::mem::replace(&mut self.is_settled, true);
        if let Some(tuning) = self.tuning.as_mut().filter(|_| !is_settled) {
            self.run.set_plan(tuning.final_plan(&self.run.plan));
        }
    }

    /// Estimates, ranks and judges.
    pub fn finish(mut self) -> Analysis {
        self.settle();
        let Some(mut tuning) = self.tuning else { return self.run.finish().with_tuning(None) };
        let analysis = self.run.finish_with(|variant| tuning.broken(variant));
        let of_search = TuningAnalysis::of(&mut tuning, &analysis.experiments);
        analysis.with_tuning(Some(of_search))
    }
}

/// A search and its ablation. What is recommended is measured by the rounds of the experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TuningAnalysis {
    /// Key of the experiment.
    pub experiment: String,
    /// The accepted loss.
    pub may_lose: MayLose,
    /// The settings before.
    pub current: Settings,
    /// The recommended settings; the current ones if nothing better was found, or nothing was chosen.
    pub recommended: Settings,
    /// The settings that the search chose, before they were measured one by one.
    pub chosen: Settings,
    /// How far the search came.
    pub extent: Extent,
    /// A time limit that has room for as many rounds of what is recommended as are planned, in seconds, by the time that rounds
    /// took; `None` unless the limit of the run was too short for them.
    pub limit_for_rounds_s: Option<f64>,
    /// The settings that differ from the current ones, with what they contribute, as far as it was measured.
    pub contributions: Vec<Contribution>,
    /// The settings that differ and whose contribution is not known: too little time, or trials that failed.
    pub not_measured: Vec<String>,
    /// Whether the optimum has moved since an earlier search; none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
    /// Constraints on other metrics, judged by the rounds of the recommendation.
    pub constraints: Vec<Constrained>,
    /// Gains of changes of the application, apart from settings.
    pub advised: Vec<Advised>,
    /// The noise of a trial of the search, as a fraction; none before its screen is done.
    pub noise: Option<f64>,
    /// The settings that were varied and stay as they are.
    pub unchanged: Vec<Unchanged>,
    /// The recommended settings whose gains depend on each other, by the model of the search.
    pub interactions: Vec<Interaction>,
    /// Configurations that are better than the current settings in one metric and worse in another.
    pub trade_off: TradeOff,
    /// The number of configurations of the space.
    pub configurations: f64,
    /// Settings that were not varied, because no statement of the workload uses what they are about.
    pub idle: Vec<String>,
    /// Why levels were left out, each reason once with what it concerns.
    pub excluded: Vec<(String, Vec<Settings>)>,
    /// The blocks of the search.
    pub steps: Vec<SearchStep>,
    /// Configurations that failed or answered differently.
    pub unusable: Vec<Settings>,
}

/// How far a search came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Not even the first configurations and the current settings were measured: nothing is recommended.
    #[default]
    Nothing,
    /// The settings known to be good elsewhere were measured, but not every level of every setting.
    Known,
    /// Every level of every setting was tried.
    Screened,
}

/// A block of a search: figures of the metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SearchStep {
    /// Trials so far, with this block.
    pub trials: usize,
    /// The current settings; none in blocks that do not measure them.
    pub current: Option<f64>,
    /// The best trial of the block.
    pub best: f64,
    /// The median of the block without the current settings.
    pub median: f64,
}

impl TuningAnalysis {
    fn of(tuning: &mut Tuning, experiments: &[ExperimentAnalysis]) -> TuningAnalysis {
        let recommended = tuning.recommended();
        let has_choice = tuning.search().choice().is_some();
        let chosen = tuning.chosen();
        let contributions = tuning.contributions();
        let not_measured = tuning.not_measured();
        let moved = tuning.moved();
        let constraints = tuning.constrained();
        let advised = tuning.advised();
        let noise = tuning.search().forecast().map(|forecast| forecast.noise);
        let mut unchanged = tuning.left_as_they_are();
        let (interactions, trade_off) = (tuning.interactions(), tuning.trade_off());
        let search = tuning.search();
        let tried = search.tried();
        let plan = search.tuning();
        let settings = |configuration: &[usize]| plan.space.settings(configuration);
        let (then, now) = (settings(&recommended), settings(&plan.current));
        unchanged.retain(|setting| then.get(&setting.setting) == now.get(&setting.setting));
        let unusable = tried.iter().filter(|trial| trial.outcome == SearchOutcome::Unusable);
        TuningAnalysis {
            experiment: search.planned().key.clone(),
            limit_for_rounds_s: limit_for_rounds_s(search, experiments),
            may_lose: plan.may_lose,
            current: settings(&plan.current),
            recommended: settings(&recommended),
            chosen: settings(&chosen),
            extent: match (has_choice, search.is_screened()) {
                (false, _) => Extent::Nothing,
                (true, false) => Extent::Known,
                (true, true) => Extent::Screened,
            },
            contributions,
            not_measured,
            moved,
            constraints,
            advised,
            noise,
            unchanged,
            interactions,
            trade_off,
            configurations: plan.space.size(),
            idle: plan.idle.clone(),
            excluded: plan.space.exclusions(),
            steps: steps(&tried, &plan.current, &search.planned().experiment.metric),
            unusable: distinct(unusable.map(|trial| settings(&trial.configuration))),
        }
    }
}

fn limit_for_rounds_s(search: &SearchState, experiments: &[ExperimentAnalysis]) -> Option<f64> {
    let key = &search.planned().key;
    let measured = experiments.iter().find(|experiment| experiment.key == *key)?;
    let is_short = measured.stop == Some(StopReason::Budget) && measured.rounds < ROUNDS;
    let round_s = measured.wall_s / f64::from(measured.rounds);
    let more_s = f64::from(ROUNDS.saturating_sub(measured.rounds)) * round_s;
    let limit_s = search.limit_for_rounds_s(more_s, f64::from(ROUNDS) * round_s);
    limit_s.filter(|_| is_short)
}

fn steps(tried: &[SearchTrial], current: &[usize], metric: &str) -> Vec<SearchStep> {
    let figure = |cost: f64| if higher_is_better(metric) { 1.0 / cost } else { cost };
    let blocks = tried.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
    let step = |number: u32| {
        let costs = |of_current: bool| {
            let trials = tried.iter().filter(move |trial| trial.block == number);
            let wanted = trials.filter(move |trial| (trial.configuration == current) == of_current);
            wanted.filter_map(SearchTrial::cost)
        };
        let others: Vec<f64> = costs(false).collect();
        Some(SearchStep {
            trials: tried.iter().filter(|trial| trial.block <= number).count(),
            current: costs(true).next().map(figure),
            best: figure(others.iter().copied().reduce(f64::min)?),
            median: figure(median(&others)?),
        })
    };
    (0..blocks).filter_map(step).collect()
}
