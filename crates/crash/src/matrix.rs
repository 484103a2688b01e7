//! The matrix: every variant under every model, spread over threads.
//!
//! A task is a variant under some models. Each has its own recording and its own seeds, so the tables do not
//! depend on which thread does which task in which order.

use crate::checks::{as_damage, in_situation};
use crate::counts::{ImageCounts, Witness, Witnesses};
use crate::documented::{cause_of_breach, cause_of_more_safety, documented};
use crate::error::{CrashError, Result};
use crate::harness::{Harness, Isolation};
use crate::in_force::{Promises, SettingsInForce, judged_by};
use crate::initial::InitialDatabases;
use crate::judge::Judge;
use crate::model::Model;
use crate::rare::RareEvent;
use crate::record::{Performed, Recording};
use crate::script::Script;
use crate::settings::CrashSettings;
use crate::situations::Situation;
use crate::states::{Visited, visit};
use crate::survey::{Findings, Survey};
use crate::threads::in_threads;
use engine::Source;
use lab::seed::Seed;
use lab::tier::{Counts, Loss, ModelSafety, OnOccasion, Promise, UnderSettings};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::btree_map::Entry;

/// The plan of a measurement.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The settings.
    pub variants: Vec<CrashSettings>,
    /// The storage models.
    pub models: Vec<Model>,
    /// Images to sample for each variant and model; models with fewer states have fewer.
    pub images: usize,
    /// The bytes that the images of a cell may hold together: where the workload writes much, fewer are sampled.
    pub image_bytes: Option<u64>,
    /// The recovery of every n-th image, chosen at random, is crashed as well; 0 for none.
    pub second_crash_every: u64,
    /// How often a recovery is crashed one after another: 1 crashes it once, 2 the recovery from that as well.
    pub interruptions: u32,
    /// All random choices derive from it.
    pub seed: Seed,
    /// The engine.
    pub engine: Source,
    /// Its stand-ins, a line each.
    pub stand_ins: String,
    /// The user's script, parsed; otherwise the built-in workload.
    pub script: Option<Script>,
    /// Databases with which the script begins; by default there are none.
    pub initial: Option<InitialDatabases>,
    /// Threads.
    pub threads: usize,
    /// Connects recoveries with other processes; not connected by default.
    pub isolation: Isolation,
}

/// The fewest images of a cell that are sampled, however much a workload writes.
pub const FEWEST: usize = 200;

impl Plan {
    /// How often a recovery is crashed as well, unless stated: of 16 images one.
    pub const SECOND_CRASH_EVERY: u64 = 16;

    /// Returns a plan for this number of images of the built-in workload with the built-in engine, on one
    /// thread.
    pub fn new(variants: Vec<CrashSettings>, models: Vec<Model>, images: usize) -> Plan {
        Plan {
            variants,
            models,
            images,
            image_bytes: None,
            second_crash_every: Plan::SECOND_CRASH_EVERY,
            interruptions: 1,
            seed: Seed(1),
            engine: Source::Embedded,
            stand_ins: String::new(),
            script: None,
            initial: None,
            threads: 1,
            isolation: Isolation::default(),
        }
    }

    /// Returns the number of images to sample of a recording. An image holds at most the bytes written, and
    /// the time to judge it grows with them.
    fn images_of(&self, recording: &Recording) -> usize {
        let written = recording.trace.written().max(1);
        let fitting = self.image_bytes.map(|most| most / written);
        let fitting = fitting.and_then(|images| usize::try_from(images).ok());
        fitting.map_or(self.images, |images| self.images.min(images.max(FEWEST)))
    }
}

/// One variant under one model.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// The settings.
    pub variant: CrashSettings,
    /// The settings whose documentation it is compared with: the variant's, unless the script changes them.
    #[serde(skip)]
    pub judged_as: CrashSettings,
    /// All settings that were in force.
    #[serde(skip)]
    in_force: Vec<CrashSettings>,
    /// The storage model.
    #[serde(skip)]
    pub model: Model,
    /// The tier measured, compared with the documentation.
    #[serde(flatten)]
    pub safety: ModelSafety,
    /// The counts behind it; absent where nothing was measured.
    #[serde(rename = "tally")]
    pub counts: Option<ImageCounts>,
    /// Images that show a violation, or else a loss: of ordinary commits and on each rare event.
    #[serde(skip)]
    pub witnesses: Witnesses,
}

/// Summary of a script that was recorded.
#[derive(Debug, Clone)]
pub struct ScriptSummary {
    /// How much of it was crashed.
    pub performed: Performed,
    /// The settings that were in force at its commits.
    pub in_force: Vec<SettingsInForce>,
    /// Where the transaction began that it never ended, if there is one.
    pub left_open: Option<String>,
}

/// All cells, variant by variant.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// The cells.
    pub cells: Vec<Cell>,
    /// Distinct images judged.
    pub images: u64,
    /// Recoveries by the engine; fewer than images, because equal files are recovered once.
    pub recoveries: u64,
    /// The largest that the databases of a workload were, in bytes.
    pub largest_database: usize,
    /// Summary of the script under the first settings under which it was recorded.
    pub own: Option<ScriptSummary>,
}

/// Measures the plan.
///
/// # Errors
/// The engine cannot be loaded; the script is wrong; a defect of this crate.
pub fn measure(plan: &Plan) -> Result<Matrix> {
    let start = || {
        let harness = Harness::new(&plan.engine)?;
        harness.library.stand_in(&plan.stand_ins)?;
        Ok(harness.isolated(plan.isolation.clone()))
    };
    let done =
        in_threads(plan.threads, &tasks(plan), start, |harness, task| run(plan, task, harness))?;
    Ok(Matrix {
        images: done.iter().flat_map(|done| &done.cells).map(Cell::images).sum(),
        recoveries: done.iter().map(|done| done.recoveries).sum(),
        largest_database: done.iter().map(|done| done.largest).max().unwrap_or(0),
        own: done.iter().find_map(|done| done.own.clone()),
        cells: done.into_iter().flat_map(|done| done.cells).collect(),
    })
}

impl Cell {
    /// Returns a cell without a measurement. It is compared with the documentation of the settings in force
    /// that promise least.
    fn not_measured(
        settings: &CrashSettings,
        in_force: &[CrashSettings],
        model: Model,
        why: &str,
    ) -> Cell {
        let (name, assumed) = (model.name(), settings.assumes(model));
        let promise =
            |settings: &&CrashSettings| documented(settings, model).map(|found| found.promise);
        let judged_as = *in_force.iter().max_by_key(promise).unwrap_or(settings);
        Cell {
            variant: *settings,
            judged_as,
            in_force: in_force.to_vec(),
            model,
            safety: ModelSafety {
                documented: documented(&judged_as, model),
                ..ModelSafety::not_measured(name, model.accident(), assumed, why)
            },
            counts: None,
            witnesses: Witnesses::new(),
        }
    }

    fn measured(mut self, counts: ImageCounts, witnesses: Witnesses) -> Cell {
        let described = |place| witnesses.get(&place).map(Witness::describe);
        let on_occasion = |(event, counts): (RareEvent, Counts)| OnOccasion {
            occasion: event.to_string(),
            counts,
            witness: described(Some(event)).filter(|_| counts.loss() > Loss::Nothing),
            again: None,
            cause: if self.safety.breaks_a_promise(Some(counts.loss())) {
                cause_of_breach(&self.judged_as, event).map(str::to_owned)
            } else {
                None
            },
        };
        self.safety.occasions = counts.on_events().into_iter().map(on_occasion).collect();
        self.safety.ordinary = counts.losses();
        self.safety.in_force = self.under_settings(&counts, &witnesses);
        self.safety.all_states = counts.all_states;
        self.safety.witness = described(None);
        let cause = cause_of_more_safety(&self.judged_as, self.model, &self.safety);
        self.safety.cause = cause.map(str::to_owned);
        self.counts = Some(counts);
        self.witnesses = witnesses;
        // A witness that another event explains is not kept twice.
        let damages = |event: &RareEvent| {
            let mut damaging = self.safety.occasions.iter();
            damaging.any(|on| on.witness.is_some() && on.occasion == event.to_string())
        };
        self.witnesses.retain(|place, _| place.as_ref().is_none_or(damages));
        self
    }

    /// Returns the findings by the settings in force, if different settings promise different things.
    fn under_settings(&self, counts: &ImageCounts, witnesses: &Witnesses) -> Vec<UnderSettings> {
        let known = |settings: &CrashSettings| Some((*settings, documented(settings, self.model)?));
        let all: Vec<_> = self.in_force.iter().filter_map(known).collect();
        let under = |(promise, counts): (&Promise, &Counts)| {
            let same = || all.iter().filter(|(_, it)| it.promise == *promise);
            let names: Vec<String> = same().map(|(settings, _)| settings.to_string()).collect();
            let mut shown = witnesses.values().filter(|witness| witness.promise == *promise);
            Some(UnderSettings {
                witness: shown.next().map(Witness::describe),
                settings: names.join(", "),
                documented: same().next()?.1.clone(),
                counts: *counts,
            })
        };
        match counts.by_promise.len() {
            0 | 1 => Vec::new(),
            _ => counts.by_promise.iter().filter_map(under).collect(),
        }
    }

    /// Returns the best of the witnesses: of a violation before a loss, of ordinary commits before an
    /// rare event.
    pub fn witness(&self) -> Option<&Witness> {
        let mut violations = self.witnesses.values().filter(|witness| witness.violation.is_some());
        violations.next().or(self.witnesses.values().next())
    }

    fn images(&self) -> u64 {
        self.counts.as_ref().map_or(0, |counts| counts.images)
    }
}

/// A variant under some models.
struct Task {
    variant: CrashSettings,
    models: Vec<Model>,
}

/// Returns whole variants, whose models share recoveries; if there are few variants, single models.
fn tasks(plan: &Plan) -> Vec<Task> {
    let together = if plan.variants.len() >= 2 * plan.threads { plan.models.len() } else { 1 };
    let mut tasks = Vec::new();
    for variant in &plan.variants {
        for models in plan.models.chunks(together.max(1)) {
            tasks.push(Task { variant: *variant, models: models.to_vec() });
        }
    }
    tasks
}

struct Done {
    cells: Vec<Cell>,
    recoveries: u64,
    largest: usize,
    own: Option<ScriptSummary>,
}

/// The workload or a situation, ready to be crashed.
struct Recorded {
    recording: Recording,
    /// The name of the situation.
    situation: Option<&'static str>,
    /// Images to sample.
    images: usize,
    /// Whether each of them is too large to spend any on models that decide nothing.
    is_large: bool,
    seed: Seed,
}

/// The workload of a plan and the situations with company of the built-in one. Each situation is recorded when it is reached: an
/// engine that ends its process in one of them has then been tried with all before it.
struct Recordings {
    all: Vec<Recorded>,
    /// Situations to record, the next one last.
    waiting: Vec<Situation>,
}

impl Recordings {
    /// Returns one of them, recorded by now; `None` past the last.
    fn get(&mut self, number: usize, harness: &mut Harness) -> Result<Option<&Recorded>> {
        while self.all.len() <= number {
            let Some(situation) = self.waiting.pop() else { return Ok(None) };
            let seed = self.all[0].seed.child(situation.name);
            let made = Recording::make(harness, &situation.settings, &situation.script, None, seed);
            self.all.push(Recorded {
                recording: made.map_err(|error| in_situation(situation.name, error))?,
                situation: Some(situation.name),
                images: situation.images_of(self.all[0].images),
                is_large: situation.is_large,
                seed,
            });
        }
        Ok(self.all.get(number))
    }
}

/// Records the workload of a plan.
fn record(plan: &Plan, settings: &CrashSettings, harness: &mut Harness) -> Result<Recordings> {
    let seed = plan.seed.child(&settings.to_string());
    let script = match &plan.script {
        Some(script) => Cow::Borrowed(script),
        None => Cow::Owned(Script::built_in(settings)),
    };
    let recording = Recording::make(harness, settings, &script, plan.initial.as_ref(), seed)?;
    let images = plan.images_of(&recording);
    let all = vec![Recorded { recording, situation: None, images, is_large: false, seed }];
    let is_built_in = plan.script.is_none() && plan.initial.is_none();
    let mut waiting = if is_built_in { Situation::of(settings) } else { Vec::new() };
    waiting.reverse();
    Ok(Recordings { all, waiting })
}

fn run(plan: &Plan, task: &Task, harness: &mut Harness) -> Result<Done> {
    let settings = &task.variant;
    let mut recorded = match record(plan, settings, harness) {
        Ok(recorded) => Ok(recorded),
        Err(CrashError::NotMeasured(why)) => Err(why),
        Err(error) => return Err(if plan.script.is_some() { error } else { as_damage(error) }),
    };
    let mut judge = Judge::new(harness);
    let mut cells = Vec::new();
    for model in &task.models {
        cells.push(match &mut recorded {
            Err(why) => Cell::not_measured(settings, &[], *model, why),
            Ok(recorded) => {
                let in_force = judged_by(&recorded.all[0].recording.spans, settings);
                let cell = Cell::not_measured(settings, &in_force, *model, "not measured yet");
                measure_cell(plan, cell, recorded, &mut judge)?
            }
        });
    }
    let recording = recorded.as_ref().ok().map(|recorded| &recorded.all[0].recording);
    Ok(Done {
        cells,
        recoveries: judge.recoveries,
        own: recording.map(|recording| ScriptSummary {
            performed: recording.performed,
            in_force: recording.in_force.clone(),
            left_open: recording.left_open.clone(),
        }),
        largest: recording.map_or(0, |recording| recording.largest),
    })
}

/// Returns the cell with its measurement.
fn measure_cell(
    plan: &Plan,
    cell: Cell,
    recordings: &mut Recordings,
    judge: &mut Judge<'_>,
) -> Result<Cell> {
    let (mut counts, mut witnesses) = (None::<ImageCounts>, Witnesses::new());
    let is_assumed = cell.model.is_within_assumptions();
    for number in 0.. {
        let recorded = match recordings.get(number, judge.harness) {
            Ok(Some(recorded)) if !is_assumed && recorded.is_large => continue,
            Ok(Some(recorded)) => recorded,
            Ok(None) => break,
            Err(CrashError::NotMeasured(why)) => {
                let Cell { variant, in_force, model, .. } = &cell;
                return Ok(Cell::not_measured(variant, in_force, *model, &why));
            }
            Err(error) => return Err(error),
        };
        let (own, shown) = survey(plan, &cell, recorded, judge)?;
        let ended = judge.harness.has_ended;
        match &mut counts {
            None => counts = Some(own),
            Some(counts) => counts.add(own),
        }
        for (place, witness) in shown {
            let witness = Witness { situation: recorded.situation, ..witness };
            match witnesses.entry(place) {
                Entry::Vacant(entry) => drop(entry.insert(witness)),
                Entry::Occupied(mut entry) if witness.shows_more_than(entry.get()) => {
                    entry.insert(witness);
                }
                Entry::Occupied(_) => {}
            }
        }
        if ended {
            break;
        }
    }
    let counts = counts.unwrap_or_default();
    if judge.harness.has_ended && counts.violations() == 0 {
        return Err(CrashError::defect(
            "the engine ended its process in a recovery that it had done before",
        ));
    }
    Ok(cell.measured(counts, witnesses))
}

/// Judges the images of a recording under the model of a cell.
fn survey(
    plan: &Plan,
    cell: &Cell,
    Recorded { recording, images, seed, .. }: &Recorded,
    judge: &mut Judge<'_>,
) -> Result<(ImageCounts, Witnesses)> {
    let seed = seed.child(cell.model.name());
    let mut survey = Survey {
        recording,
        judge,
        model: cell.model,
        splits_count: judged_by(&recording.spans, &cell.variant)
            .iter()
            .all(CrashSettings::has_super_journal),
        promises: Promises::of(&recording.spans, &cell.variant, cell.model),
        second_crash_every: plan.second_crash_every,
        interruptions: plan.interruptions,
        random: seed.child("second crash").generator(),
        findings: Findings::default(),
    };
    let visited = visit(&recording.trace, cell.model, *images, seed.child("states"), |candidate| {
        survey.judge(candidate).map_err(Some)?;
        if survey.judge.harness.has_ended { Err(None) } else { Ok(()) }
    });
    match visited {
        Ok(visited) => Ok(survey.finish(visited)),
        // The engine ended an earlier process with this image.
        Err(None) => Ok(survey.finish(Visited::default())),
        Err(Some(error)) => Err(error),
    }
}
