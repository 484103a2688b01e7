//! The parts of a run after its search: the gain of each setting of the winner, and rounds of their own for what is
//! recommended.

use std::collections::HashSet;

use super::contribution::{Advised, Contribution, compared, decides_safety};
use super::result::{Interaction, MEASURED, SearchResult, Unchanged, interactions};
use super::rounds::{Constrained, Moved, RoundFigures};
use super::state::SearchState;
use super::trade_off::TradeOff;
use lab::analysis::observation;
use lab::design::{History, Stopping, Variant, trials_per_round};
use lab::experiment::{Design, DesignKind, Experiment, VariantName};
use lab::level::{distinct, picked};
use lab::metric::higher_is_better;
use lab::record::{PlannedExperiment, Purpose, RunPlan, TrialRecord};
use lab::tuning_plan::{Advice, Configuration, SearchOutcome, SearchTrial};

/// Rounds without which an ablation says too little to be begun.
const FEWEST_ROUNDS: f64 = 4.0;

/// Rounds of the ablation, and fewest rounds of the recommendation.
pub(crate) const ROUNDS: u32 = 7;

/// The trials of a run that tunes, as far as they decide what comes after.
#[derive(Clone, Debug)]
pub struct Tuning {
    search: SearchState,
    settled: Option<SearchResult>,
    ablation: History,
    advised: History,
    confirmed: RoundFigures,
    /// The figures of the trials of the search, by block.
    searched: RoundFigures,
}

impl Tuning {
    /// Before its first trial; `None` if a run tunes nothing.
    pub fn of(plan: &RunPlan) -> Option<Tuning> {
        Some(Tuning {
            search: SearchState::of(plan)?,
            settled: None,
            ablation: History::default(),
            advised: History::default(),
            confirmed: RoundFigures::default(),
            searched: RoundFigures::of_search(),
        })
    }

    /// Takes the record of a trial; the search's come first.
    pub fn add(&mut self, record: &TrialRecord) {
        match record.purpose {
            Purpose::Search => {
                self.settled = None;
                self.search.add(record);
                self.searched.add(record);
            }
            Purpose::Ablation => {
                let part = self.ablation_experiment();
                let observed = part.and_then(|planned| observation(&planned, record));
                observed.map(|observation| self.ablation.add(observation));
            }
            Purpose::Advice => {
                let part = self.advice_experiment();
                let observed = part.and_then(|planned| observation(&planned, record));
                observed.map(|observation| self.advised.add(observation));
            }
            Purpose::Rounds if record.experiment == self.search.planned().key => {
                self.confirmed.add(record);
            }
            Purpose::Rounds | Purpose::Tier | Purpose::Confirmation => {}
        }
    }

    /// Returns the search.
    pub fn search(&mut self) -> &mut SearchState {
        &mut self.search
    }

    /// Returns the trials of the search as one for this metric can learn from them; `None` if it improved another metric, whose
    /// figures say nothing of this one.
    pub fn trials_of(&self, metric: &str) -> Option<Vec<SearchTrial>> {
        let own = &self.search.planned().experiment.metric;
        (own == metric).then(|| self.search.tried())
    }

    /// Returns the result of the search; `None` before its first block is done.
    fn settled(&mut self) -> Option<&SearchResult> {
        if self.settled.is_none() {
            let choice = self.search.choice()?;
            let model = self.search.expectation()?;
            let mut settled = SearchResult::of(choice, self.search.tuning(), &model);
            if !self.search.is_screened() {
                // Most of their other levels were not tried.
                settled.unchanged.clear();
            }
            self.settled = Some(settled);
        }
        self.settled.as_ref()
    }

    /// Returns the settings that were varied and stay as they are.
    pub fn left_as_they_are(&mut self) -> Vec<Unchanged> {
        let settled = self.settled();
        settled.map_or_else(Vec::new, |settled| settled.unchanged.clone())
    }

    /// Returns the choice of the search, before its settings were measured one by one; the current settings if there is none.
    pub fn chosen(&mut self) -> Configuration {
        let winner = self.settled().map(|settled| settled.winner.clone());
        winner.unwrap_or_else(|| self.search.tuning().current.clone())
    }

    /// Recommended settings whose gains depend on each other.
    pub fn interactions(&mut self) -> Vec<Interaction> {
        if self.settled().is_none() {
            return Vec::new();
        }
        let recommended = self.recommended();
        let model = self.search.expectation();
        model
            .map_or_else(Vec::new, |model| interactions(&recommended, self.search.tuning(), &model))
    }

    /// Returns the trade-off between metrics, over configurations that answer like the current settings and may keep the
    /// constraints.
    pub fn trade_off(&self) -> TradeOff {
        let experiment = &self.search.planned().experiment;
        let tuning = self.search.tuning();
        let current = tuning.space.label(&tuning.current);
        let tried = self.search.tried();
        let failed = tried.iter().filter(|trial| trial.outcome == SearchOutcome::Unusable);
        let failed = failed.map(|trial| tuning.space.label(&trial.configuration));
        let failed: HashSet<String> = failed.collect();
        let is_usable = |variant: &str, by_rounds: bool| {
            let labels = [variant.to_owned(), current.clone()];
            let exceeds = |part: &RoundFigures| part.exceeds(&tuning.constraints, &labels);
            !failed.contains(variant)
                && self.broken(variant).is_empty()
                && (by_rounds || !exceeds(&self.searched))
        };
        let parts = [&self.confirmed, &self.searched];
        TradeOff::of(experiment, &current, parts, is_usable)
    }

    /// Returns the experiment that measures what each setting of the winner contributes: the winner is its baseline. `None` if
    /// nothing was chosen, or only the current settings.
    fn ablation_experiment(&mut self) -> Option<PlannedExperiment> {
        let settled = self.settled()?;
        let without = settled.changed.iter().take(MEASURED).map(|(_, without)| without);
        let configurations = [&settled.winner].into_iter().chain(without);
        let configurations: Vec<Configuration> = configurations.cloned().collect();
        (configurations.len() > 1).then(|| self.experiment_of(&configurations, ROUNDS))
    }

    /// Returns the part of the run that measures what each setting of the winner contributes: of as many settings as there is time
    /// for, those first that are expected to contribute most. `None` if nothing was chosen, or there is not time for one.
    pub fn ablation_plan(&mut self, plan: &RunPlan) -> Option<RunPlan> {
        let planned = self.ablation_experiment()?;
        let left_s = self.left_besides_rounds_s();
        let share = if self.search.tuning().advice.is_empty() { 1.0 } else { 0.5 };
        self.part(plan, planned, "ablation", left_s.map(|left_s| share * left_s))
    }

    /// Returns the experiment that measures what changes of the application bring: what is recommended is its baseline. `None` if
    /// the run measures no such changes.
    fn advice_experiment(&mut self) -> Option<PlannedExperiment> {
        let recommended = self.recommended();
        let recommended = self.variant(&recommended);
        let advice = &self.search.tuning().advice;
        let changed = advice.iter().map(|change| change.variant(&recommended));
        let variants: Vec<Variant> = [recommended.clone()].into_iter().chain(changed).collect();
        (variants.len() > 1).then(|| self.experiment_with(variants, ROUNDS))
    }

    /// Returns the part of the run that measures what changes of the application bring, as many as there is time for; none
    /// without such changes, or where time does not suffice for one.
    pub fn advice_plan(&mut self, plan: &RunPlan) -> Option<RunPlan> {
        let planned = self.advice_experiment()?;
        let left_s = self.left_besides_rounds_s();
        let left_s = left_s.map(|left_s| left_s - self.ablation.elapsed_s);
        self.part(plan, planned, "advice", left_s)
    }

    /// Returns the time after the search for everything but the rounds of the recommendation, in seconds.
    fn left_besides_rounds_s(&self) -> Option<f64> {
        Some(self.search.left_s()? - self.search.confirmation_s())
    }

    /// Returns a part of the run besides the search, with its first variants as far as there is time.
    fn part(
        &self,
        plan: &RunPlan,
        mut planned: PlannedExperiment,
        name: &str,
        left_s: Option<f64>,
    ) -> Option<RunPlan> {
        let trial_s = self.search.trial_s().unwrap_or(0.0);
        let is_enough = |variants: usize| {
            let round_s = trials_per_round(variants) as f64 * trial_s;
            left_s.is_none_or(|left_s| left_s >= FEWEST_ROUNDS * round_s)
        };
        let all = planned.variants.len();
        let variants = (2..=all).rev().find(|variants| is_enough(*variants))?;
        planned.variants.truncate(variants);
        Some(RunPlan {
            seed: plan.seed.child(name),
            budget_s: left_s,
            tiers: None,
            experiments: vec![planned],
            ..plan.clone()
        })
    }

    /// Returns the gains of the settings, as far as they were measured.
    pub fn contributions(&mut self) -> Vec<Contribution> {
        let Some(settled) = self.settled().cloned() else { return Vec::new() };
        let all = compared(&self.ablation, settled.changed.len(), -self.sign());
        let all = settled.changed.into_iter().zip(all);
        let winner = self.search.tuning().space.settings(&settled.winner);
        let levels = |settings: &str| {
            picked(&winner, |name| settings.split(" and ").any(|setting| setting == name))
        };
        let contributions = all.filter_map(|((settings, without), gain)| {
            let (levels, without) = (levels(&settings), self.variant(&without));
            Some(Contribution { levels, settings, without, gain: gain? })
        });
        contributions.collect()
    }

    /// Returns the changed settings that are not recommended because they were not measured by themselves.
    pub fn not_measured(&mut self) -> Vec<String> {
        let Some(settled) = self.settled().cloned() else { return Vec::new() };
        let contributions = self.contributions();
        let is_measured =
            |name: &str| contributions.iter().any(|contribution| contribution.settings == name);
        self.left_out(&settled).into_iter().filter(|name| !is_measured(name)).collect()
    }

    /// Returns the constraints as the rounds of what is recommended judge them.
    pub fn constrained(&mut self) -> Vec<Constrained> {
        let recommended = self.recommended();
        self.judged(&self.search.tuning().space.label(&recommended))
    }

    /// Returns the constraints as the rounds judge a variant of them.
    fn judged(&self, variant: &str) -> Vec<Constrained> {
        let tuning = self.search.tuning();
        let current = tuning.space.label(&tuning.current);
        let labels = [variant.to_owned(), current];
        self.confirmed.judged(&tuning.constraints, &labels)
    }

    /// Returns the constraints that the rounds show a variant of them not to keep.
    pub(crate) fn broken(&self, variant: &str) -> Vec<String> {
        let broken = self.judged(variant).into_iter().filter(Constrained::is_broken);
        broken.map(|constrained| constrained.constraint.to_string()).collect()
    }

    /// By how many times what is recommended is better than what the earlier search recommended, by the rounds; none
    /// without an earlier search or where it was not measured.
    pub fn moved(&mut self) -> Option<Moved> {
        let recommended = self.recommended();
        let sign = self.sign();
        let metric = self.search.planned().experiment.metric.clone();
        let tuning = self.search.tuning();
        let earlier = tuning.earlier.as_ref()?;
        let labels = [&recommended, earlier].map(|configuration| tuning.space.label(configuration));
        Some(Moved {
            earlier: tuning.space.settings(earlier),
            is_same: recommended == *earlier,
            gain: self.confirmed.ratio(&metric, &labels, sign),
        })
    }

    /// Returns the gains of changes of the application.
    pub fn advised(&mut self) -> Vec<Advised> {
        let advice: Vec<Advice> = self.search.tuning().advice.clone();
        let all = compared(&self.advised, advice.len(), self.sign());
        advice.into_iter().zip(all).map(|(advice, gain)| Advised { advice, gain }).collect()
    }

    /// 1 where more of the metric is better, otherwise -1.
    fn sign(&self) -> f64 {
        if higher_is_better(&self.search.planned().experiment.metric) { 1.0 } else { -1.0 }
    }

    fn variant(&self, configuration: &[usize]) -> Variant {
        let tuning = self.search.tuning();
        tuning.variant(&self.search.planned().baseline_settings(), configuration)
    }

    /// Returns the recommendation: the winner without the settings whose own rounds show no gain, or that have none. The current
    /// settings if there is none.
    pub fn recommended(&mut self) -> Configuration {
        let Some(settled) = self.settled().cloned() else {
            return self.search.tuning().current.clone();
        };
        let left_out = self.left_out(&settled);
        let is_bounded = !self.search.tuning().constraints.is_empty();
        let expected = is_bounded.then(|| self.search.expectation()).flatten();
        let excess = |configuration: &[usize]| {
            expected.as_ref().map_or(0.0, |all| all.mean().excess(configuration))
        };
        let space = &self.search.tuning().space;
        let mut recommended = settled.winner.clone();
        for (_, without) in settled.changed.iter().filter(|(name, _)| left_out.contains(name)) {
            let mut simpler = recommended.clone();
            for (factor, level) in simpler.iter_mut().enumerate() {
                if settled.winner[factor] != without[factor] {
                    *level = without[factor];
                }
            }
            let simpler = space.canonical(simpler);
            if space.admits(&simpler) && excess(&simpler) <= excess(&recommended) {
                recommended = simpler;
            }
        }
        recommended
    }

    /// Returns the settings of the winner that are not recommended. One that was not measured by itself is left out, unless it decides
    /// how safe a commit is; if nothing else would be left, the one that is expected to bring most stays, and the rounds of the
    /// recommendation are its own.
    fn left_out(&mut self, settled: &SearchResult) -> Vec<String> {
        let contributions = self.contributions();
        let winner = self.search.tuning().space.settings(&settled.winner);
        let is_left_out = |name: &String| {
            let measured = contributions.iter().find(|measured| measured.settings == *name);
            measured.map_or(!decides_safety(name, &winner), Contribution::is_left_out)
        };
        let names: Vec<String> = settled.changed.iter().map(|(name, _)| name.clone()).collect();
        // What differs and cannot be left out, such as a journal mode without which it would not be safe enough, stays anyway.
        let current = &self.search.tuning().current;
        let can_go = |factor: usize| {
            let mut without = settled.changed.iter().map(|(_, without)| without[factor]);
            without.any(|level| level != settled.winner[factor])
        };
        let differs = |factor: &usize| settled.winner[*factor] != current[*factor];
        let all_can_go = (0..current.len()).filter(differs).all(can_go);
        let keeps_one = contributions.is_empty() && all_can_go && names.iter().all(is_left_out);
        names.into_iter().skip(usize::from(keeps_one)).filter(is_left_out).collect()
    }

    /// Returns the run with the variants of the rounds that are reported: the current settings, what is recommended, and
    /// SQLite's defaults.
    pub fn final_plan(&mut self, plan: &RunPlan) -> RunPlan {
        let recommended = self.recommended();
        let tuning = self.search.tuning();
        let all = [&tuning.current, &recommended, &tuning.defaults];
        let earlier =
            tuning.earlier.iter().filter(|configuration| tuning.space.admits(configuration));
        let configurations = distinct(all.into_iter().chain(earlier).cloned());
        let planned = self.experiment_of(&configurations, Stopping::default().max_rounds);
        let left_s = self.search.left_s();
        let spent_s = self.ablation.elapsed_s + self.advised.elapsed_s;
        RunPlan {
            budget_s: left_s.map(|left_s| (left_s - spent_s).max(0.0)),
            experiments: vec![planned],
            ..plan.clone()
        }
    }

    /// Returns an experiment on these configurations, the first of them the baseline.
    fn experiment_of(
        &self,
        configurations: &[Configuration],
        max_rounds: u32,
    ) -> PlannedExperiment {
        let variants =
            configurations.iter().map(|configuration| self.named(self.variant(configuration)));
        self.experiment_with(variants.collect(), max_rounds)
    }

    fn experiment_with(&self, variants: Vec<Variant>, max_rounds: u32) -> PlannedExperiment {
        let planned = self.search.planned();
        let stopping = Stopping { rounds: ROUNDS, max_rounds, ..Stopping::default() };
        let mut levels = variants.iter().map(|variant| variant.levels.clone());
        let design = Design {
            kind: DesignKind::List,
            baseline: levels.next().unwrap_or_default(),
            variants: levels.collect(),
            stopping,
        };
        PlannedExperiment {
            experiment: Experiment {
                variants: variants.iter().filter_map(name_of).collect(),
                design,
                ..planned.experiment.clone()
            },
            variants,
            stopping,
            ..planned.clone()
        }
    }

    /// Returns the variant with its name for people, where it is one of those that have one.
    fn named(&self, variant: Variant) -> Variant {
        let tuning = self.search.tuning();
        let is = |configuration: &[usize]| tuning.space.label(configuration) == variant.label;
        let is_earlier = tuning.earlier.as_ref().is_some_and(|earlier| is(earlier));
        let name = match (is(&tuning.current), is(&tuning.defaults)) {
            (false, false) if is_earlier => Some("what the earlier search recommends"),
            (true, true) => Some("the current settings, which are SQLite's defaults"),
            (true, false) => Some("the current settings"),
            (false, true) => Some("SQLite's defaults"),
            (false, false) => None,
        };
        Variant { name: name.map(str::to_owned), ..variant }
    }
}

/// Returns the name of a variant as an experiment file holds it.
fn name_of(variant: &Variant) -> Option<VariantName> {
    Some(VariantName {
        levels: variant.levels.clone(),
        label: Some(variant.name.clone()?),
        answer: None,
    })
}
