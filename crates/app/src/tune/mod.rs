//! A search for the fastest settings for a workload at a given safety.

mod indexes;
mod subject;

use std::path::{Path, PathBuf};
use std::time::Instant;

use bench::Ground;
use lab::design::Stopping;
use lab::engine_name::{ENGINE, engine_of};
use lab::experiment::{DesignKind, Experiment};
use lab::level::{Level, Settings, overlaid, picked};
use lab::metric::higher_is_better;
use lab::tier::MayLose;
use lab::tuning_plan::{Constraint, TunableSetting, TuningPlan};
use report::settings::Binding;
use runner::RunFolder;
use tuning::{Tuning, tuning_of};

use self::subject::Subject;
use crate::engine::{BUILT_IN, name_in_plan};
use crate::error::Error;
use crate::interface::Interface;
use crate::measure::checked;
use crate::run::{self, Ended, RunRequest};

/// A search.
#[derive(Clone, Debug)]
pub struct TuneRequest {
    /// The workload: a trace, a script, an experiment, a workload's name, or one of pgbench's scripts.
    pub workload: String,
    /// Stand-ins for collations and functions of the application of a trace, a line each.
    pub stand_ins: String,
    /// The database of a script.
    pub database: Option<PathBuf>,
    /// The accepted loss in a crash.
    pub may_lose: MayLose,
    /// The time for all trials, in seconds.
    pub time_limit_s: f64,
    /// The goal; by default [`Goal::Latency`] of several statements, and [`Goal::Throughput`] of other work.
    pub goal: Option<Goal>,
    /// Limits of other metrics.
    pub limits: Vec<Constraint>,
    /// Settings that the application has now.
    pub current: Vec<(String, String)>,
    /// The binding of the application, whose settings in force are the current ones otherwise.
    pub current_of: Option<Binding>,
    /// Settings of all trials that are not varied.
    pub set: Vec<(String, String)>,
    /// Settings to vary in addition.
    pub also: Vec<String>,
    /// The engines, the one that the application has now first.
    pub engines: Vec<String>,
    /// The folder of an earlier search.
    pub earlier: Option<PathBuf>,
    /// The time of a trial of a script, in seconds.
    pub trial_s: Option<f64>,
    /// The directories to measure in.
    pub directories: Vec<PathBuf>,
    /// The folder for the record.
    pub out: Option<PathBuf>,
    /// The seed of all random choices.
    pub seed: Option<u64>,
}

/// Goals of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Transactions per second, or the metric of the experiment.
    Throughput,
    /// The typical latency: of several statements, each counts by its weight, however long it takes.
    Latency,
    /// The latency that 99 % of the operations do not exceed.
    P99,
    /// The size of the database when the work has ended.
    Size,
    /// CPU time in user mode.
    Cpu,
}

/// Searches, and measures what is recommended.
///
/// # Errors
/// The request or the SQL is invalid, something cannot be used, or the record cannot be written.
pub fn tune(request: &TuneRequest, ui: &dyn Interface) -> Result<Ended, Error> {
    let began = Instant::now();
    let catalogue = drivers::catalogue(None)?;
    let mut subject = Subject::of(request, &catalogue, ui)?;
    for advice in &subject.indexes {
        if let Some(counted) = &advice.counted {
            tell!(ui, "before the search: {} would help ({counted})", advice.change);
        }
    }
    subject.experiment.base.extend(settings_of(&request.set));
    let tuning = tuning(request, &subject, ui)?;
    let experiment = checked(&text_of(subject.experiment, &tuning)?, &catalogue)?;
    let run = RunRequest {
        directories: request.directories.clone(),
        engine: request.engines[0].clone(),
        out: request.out.clone(),
        seed: request.seed,
        // Copying the database and trying indexes took their part.
        time_limit_s: Some((request.time_limit_s - began.elapsed().as_secs_f64()).max(1.0)),
        ..RunRequest::of_made(experiment, Some(tuning))
    };
    run::start(&run, ui)
}

/// Returns the search that is requested.
fn tuning(
    request: &TuneRequest,
    subject: &Subject,
    ui: &dyn Interface,
) -> Result<TuningPlan, Error> {
    let ground = Ground {
        workload: &subject.experiment.workload,
        base: &subject.experiment.base,
        database_bytes: subject.database_bytes,
        requested: &request.also,
    };
    let mut levers = bench::levers(&ground);
    // No safety tier is known for other page sizes, so that one stays as it is.
    levers.retain(|lever| {
        let now = subject.found.get(&lever.name);
        lever.name != "page_size" || now.is_none_or(|now| lever.levels.contains(now))
    });
    levers.extend(engines(&request.engines)?);
    let given = settings_of(&request.current);
    let is_built_in = is_built_in(&request.engines, &subject.experiment.base);
    let idle = |lever: &TunableSetting| {
        let is_idle = is_built_in && subject.idle.contains(&&lever.name[..]);
        is_idle && !given.contains_key(&lever.name)
    };
    let idle: Vec<String> =
        levers.extract_if(.., |lever| idle(lever)).map(|lever| lever.name).collect();
    let is_varied = |name: &String| levers.iter().any(|lever| lever.name == *name);
    let is_wal = subject.found.get("journal_mode").is_some_and(|mode| mode.to_string() == "wal");
    let in_force = request.current_of.map_or(Vec::new(), |binding| binding.in_force(is_wal));
    let in_force = in_force
        .into_iter()
        .map(|(name, value)| (name.to_owned(), bench::level_of_setting(name, value)));
    let found = picked(&overlaid(&subject.found, &in_force.collect()), is_varied);
    let unknown = |name: &&String| !is_varied(name);
    if let Some(name) = given.keys().find(unknown) {
        let names: Vec<&str> = levers.iter().map(|lever| lever.name.as_str()).collect();
        return Err(Error::mistake(format!("--current {name}: this setting is not varied")).hint(
            format!("`tune` varies {}; --set gives all trials another setting", names.join(", ")),
        ));
    }
    let current = overlaid(&found, &given);
    let mut advice = [subject.indexes.clone(), bench::advice(&ground)].concat();
    // More connections wait for each other, so that their latency says nothing of the work that they do.
    advice.retain(|change| {
        higher_is_better(&subject.experiment.metric) || !change.settings.contains_key("clients")
    });
    let all = bench::good_settings();
    let tuning = TuningPlan {
        constraints: request.limits.clone(),
        idle,
        advice,
        ..tuning_of(levers, &current, &all, request.may_lose)
    };
    match &request.earlier {
        Some(folder) => after(folder, tuning, &subject.experiment, ui),
        None => Ok(tuning),
    }
}

/// Refuses figures of a whole trial as a goal where trials last a fixed time: the fastest settings do the most work in it.
fn check_goal(request: &TuneRequest, experiment: &Experiment) -> Result<(), Error> {
    let base = overlaid(&experiment.base, &settings_of(&request.set));
    let works = |name: &&str| {
        let number = base.get(*name).and_then(Level::as_int);
        number.is_some_and(|number| number > 0)
    };
    let is_of_trial = matches!(request.goal, Some(Goal::Size | Goal::Cpu));
    let is_timed = base.contains_key("stop_after_ms");
    let has_work = ["transactions", "executions"].iter().any(works);
    if is_of_trial && is_timed && !has_work {
        return Err(Error::mistake(
            "--goal size and --goal cpu need the same work in every trial, but these trials last a fixed time",
        )
        .hint("--set transactions=1000 gives each client 1,000 transactions"));
    }
    Ok(())
}

/// Whether all trials use the built-in SQLite, by whose plans it is known what is idle.
fn is_built_in(engines: &[String], base: &Settings) -> bool {
    engines.iter().all(|name| engine_of(base, name) == BUILT_IN)
}

/// The engine as a factor where several are given.
fn engines(names: &[String]) -> Result<Option<TunableSetting>, Error> {
    let levels = names.iter().map(|name| name_in_plan(name)).map(|name| Ok(Level::Text(name?)));
    let levels: Vec<Level> = levels.collect::<Result<_, Error>>()?;
    Ok((levels.len() > 1).then(|| TunableSetting {
        name: ENGINE.to_owned(),
        levels,
        always_named: false,
        only_with: None,
    }))
}

/// A search after the one of this folder: with what that one recommends, as far as this one varies it, and with its trials,
/// unless they have another metric.
fn after(
    folder: &Path,
    tuning: TuningPlan,
    experiment: &Experiment,
    ui: &dyn Interface,
) -> Result<TuningPlan, Error> {
    let unusable = |why: &str| Error::mistake(format!("--continue {}: {why}", folder.display()));
    let run = RunFolder::open(folder).map_err(Error::unusable)?;
    let plan = run.plan().map_err(Error::unusable)?;
    let search = Tuning::of(&plan);
    let mut search = search.ok_or_else(|| unusable("this run is not a search"))?;
    run.each_trial(|record| search.add(&record)).map_err(Error::unusable)?;
    let recommended = search.recommended();
    let space = search.search().tuning().space.clone();
    let settings = space.settings(&recommended);
    let is_varied = |name: &String| tuning.space.factors.iter().any(|factor| factor.name == *name);
    let configuration = tuning.space.configuration(&picked(&settings, is_varied));
    let none = || unusable("it recommends a level that this search does not vary");
    let configuration = configuration.ok_or_else(none)?;
    let trials = search.trials_of(&experiment.metric);
    if trials.is_none() {
        tell!(
            ui,
            "--continue {}: that search improved another metric than {}, so its trials do not count; its recommendation is tried",
            folder.display(),
            experiment.metric
        );
    }
    let trials = trials.unwrap_or_default();
    Ok(tuning.after(configuration, (&space, &trials), &experiment.base))
}

/// The experiment as a file that can be checked: the current settings, and those known to be good elsewhere.
fn text_of(mut experiment: Experiment, tuning: &TuningPlan) -> Result<String, Error> {
    let settings = |configuration: &Vec<usize>| tuning.space.settings(configuration);
    experiment.design.kind = DesignKind::List;
    experiment.design.stopping = Stopping::default();
    experiment.design.baseline = settings(&tuning.current);
    experiment.design.variants = tuning.good.iter().map(settings).collect();
    experiment.to_toml().map_err(Error::mistake)
}

/// Returns given values as settings.
fn settings_of(given: &[(String, String)]) -> Settings {
    let level =
        |(name, value): &(String, String)| (name.clone(), bench::level_of_setting(name, value));
    given.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plans_of_the_built_in_engine_say_nothing_of_another_one() {
        let named = |engines: &[&str], base: &[(&str, &str)]| {
            let engines: Vec<String> = engines.iter().map(|name| (*name).to_owned()).collect();
            let base = base.iter().map(|(name, level)| ((*name).to_owned(), Level::from(*level)));
            is_built_in(&engines, &base.collect())
        };
        assert!(named(&["default"], &[]));
        assert!(!named(&["3.46.0"], &[]));
        assert!(!named(&["default", "system"], &[]));
        assert!(!named(&["default"], &[("engine", "system")]));
        assert!(!named(&["default"], &[("engine_options", "recommended")]));
    }
}
