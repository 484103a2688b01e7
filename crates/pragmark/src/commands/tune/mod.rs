//! `pragmark tune`: a search for the fastest settings for a workload, made from the command line.

mod subject;

use std::path::{Path, PathBuf};

use bench::Ground;
use lab::design::Stopping;
use lab::engine_name::{ENGINE, engine_of};
use lab::experiment::{DesignKind, Experiment};
use lab::level::{Level, Settings, overlaid, picked};
use lab::tier::MayLose;
use lab::tuning_plan::{Lever, TuningPlan};
use runner::RunFolder;
use tuning::Analysis;
use tuning::{Tuning, tuning_of};

use self::subject::{Subject, subject};
use super::engine::name_in_plan;
use super::measure::{checked, run_args_of};
use super::run::{self, Made};
use crate::cli::{AcceptedLoss, GoalArg, TuneArgs};
use crate::failure::{Exit, Failure};

/// The engine that is built in.
const BUILT_IN_ENGINE: &str = "default";

/// The file in the folder of a run that holds the experiment on what is recommended.
pub(in crate::commands) const EXPERIMENT: &str = "tuned.toml";

/// Searches, and reports what is recommended.
pub fn execute(args: &TuneArgs) -> Result<Exit, Failure> {
    let catalogue = drivers::catalogue(None)?;
    let mut subject = subject(args, &catalogue)?;
    let given = pairs(&args.set, "--set")?;
    subject.experiment.base.extend(given);
    check_goal(args.goal, &subject.experiment)?;
    let tuning = tuning(args, &subject)?;
    let experiment = subject.experiment;
    let experiment = checked(&text_of(experiment, &tuning)?, &catalogue)?;
    let run = run_args_of(
        &args.dirs,
        &args.engine[0],
        args.out.as_deref(),
        args.seed,
        args.plain,
        Some(args.time_limit),
    );
    let made = Made { experiment, tuning: Some(tuning) };
    run::execute_with(run, Some(made), check_measured)
}

/// Refuses a search in which the current settings could not be measured.
fn check_measured(analysis: &Analysis) -> Result<(), Failure> {
    super::measure::check_measured(analysis)
}

/// The search that the options describe.
fn tuning(args: &TuneArgs, subject: &Subject) -> Result<TuningPlan, Failure> {
    let ground = Ground {
        workload: &subject.experiment.workload,
        base: &subject.experiment.base,
        database_bytes: subject.database_bytes,
        requested: &args.also,
    };
    let mut levers = bench::levers(&ground);
    // No safety tier is known for other page sizes, so that one stays as it is.
    levers.retain(|lever| {
        let now = subject.found.get(&lever.name);
        lever.name != "page_size" || now.is_none_or(|now| lever.levels.contains(now))
    });
    levers.extend(engines(args)?);
    let given = pairs(&args.current, "--current")?;
    let is_built_in = is_built_in(&args.engine, &subject.experiment.base);
    let idle = |lever: &Lever| {
        let is_idle = is_built_in && subject.idle.contains(&&lever.name[..]);
        is_idle && !given.contains_key(&lever.name)
    };
    let idle: Vec<String> = levers.extract_if(.., |it| idle(it)).map(|it| it.name).collect();
    let is_varied = |name: &String| levers.iter().any(|lever| lever.name == *name);
    let found = picked(&subject.found, is_varied);
    let unknown = |name: &&String| !is_varied(name);
    if let Some(name) = given.keys().find(unknown) {
        let names: Vec<&str> = levers.iter().map(|lever| lever.name.as_str()).collect();
        return Err(Failure::usage(format!("--current {name}: this setting is not varied")).hint(
            format!("varied are {}; --set gives all trials another setting", names.join(", ")),
        ));
    }
    let may_lose = match args.may_lose {
        AcceptedLoss::Nothing => MayLose::Nothing,
        AcceptedLoss::Recent => MayLose::Recent,
    };
    let current = overlaid(&found, &given);
    let all = bench::good_settings();
    let tuning = TuningPlan {
        constraints: args.limit.clone(),
        idle,
        advice: [subject.indexes.clone(), bench::advice(&ground)].concat(),
        ..tuning_of(levers, &current, &all, may_lose)
    };
    match &args.earlier {
        Some(folder) => after(folder, tuning, &subject.experiment),
        None => Ok(tuning),
    }
}

/// Refuses figures of a whole trial as a goal where trials last a fixed time: the fastest settings do the most work in it.
fn check_goal(goal: GoalArg, experiment: &Experiment) -> Result<(), Failure> {
    let works = |name: &&str| {
        let number = experiment.base.get(*name).and_then(Level::as_int);
        number.is_some_and(|number| number > 0)
    };
    let is_of_trial = matches!(goal, GoalArg::Size | GoalArg::Cpu);
    let is_timed = experiment.base.contains_key("stop_after_ms");
    let has_work = ["transactions", "executions"].iter().any(works);
    match is_of_trial && is_timed && !has_work {
        false => Ok(()),
        true => Err(Failure::usage(
            "--goal size and --goal cpu need the same work in every trial, and these last a fixed time",
        )
        .hint("--set transactions=1000 gives each client so many transactions")),
    }
}

/// Whether all trials use the built-in SQLite, by whose plans it is known what is idle.
fn is_built_in(engines: &[String], base: &Settings) -> bool {
    engines.iter().all(|it| engine_of(base, it) == BUILT_IN_ENGINE)
}

/// The engine as a factor where several are given.
fn engines(args: &TuneArgs) -> Result<Option<Lever>, Failure> {
    let names = args.engine.iter().map(|name| name_in_plan(name));
    let levels = names.map(|name| Ok(Level::Text(name?)));
    let levels: Vec<Level> = levels.collect::<Result<_, Failure>>()?;
    Ok((levels.len() > 1).then(|| Lever {
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
) -> Result<TuningPlan, Failure> {
    let unusable = |why: &str| Failure::usage(format!("--continue {}: {why}", folder.display()));
    let run = RunFolder::open(folder).map_err(Failure::unusable)?;
    let plan = run.plan().map_err(Failure::unusable)?;
    let search = Tuning::of(&plan);
    let mut search = search.ok_or_else(|| unusable("this run is no search"))?;
    run.each_trial(|record| search.add(&record)).map_err(Failure::unusable)?;
    let recommended = search.recommended();
    let space = search.course().tuning().space.clone();
    let settings = space.settings(&recommended);
    let is_varied = |name: &String| tuning.space.factors.iter().any(|it| it.name == *name);
    let configuration = tuning.space.configuration(&picked(&settings, is_varied));
    let none = || unusable("it recommends a level that this search does not vary");
    let configuration = configuration.ok_or_else(none)?;
    let trials = search.trials_of(&experiment.metric);
    if trials.is_none() {
        tell!(
            "--continue {}: that search improved another metric than {}, so its trials do not count; what it recommends is tried",
            folder.display(),
            experiment.metric
        );
    }
    let trials = trials.unwrap_or_default();
    Ok(tuning.after(configuration, (&space, &trials), &experiment.base))
}

/// The experiment as a file that can be checked: the current settings, and those known to be good elsewhere.
fn text_of(mut experiment: Experiment, tuning: &TuningPlan) -> Result<String, Failure> {
    let settings = |configuration: &Vec<usize>| tuning.space.settings(configuration);
    experiment.design.kind = DesignKind::List;
    experiment.design.stopping = Stopping::default();
    experiment.design.baseline = settings(&tuning.current);
    experiment.design.variants = tuning.good.iter().map(settings).collect();
    experiment.to_toml().map_err(Failure::usage)
}

/// Settings given as NAME=VALUE.
fn pairs(given: &[String], option: &str) -> Result<Settings, Failure> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!("{option} {text} lacks a value: {option} NAME=VALUE"))
        })?;
        let (name, value) = (name.trim(), value.trim());
        Ok((name.to_owned(), bench::level_of_setting(name, value)))
    };
    given.iter().map(pair).collect()
}

/// Writes the experiment on what is recommended into the folder of the run, so that it can be repeated.
pub(in crate::commands) fn write_experiment(
    analysis: &Analysis,
    folder: &Path,
) -> Result<Option<PathBuf>, Failure> {
    if analysis.tuning.is_none() {
        return Ok(None);
    }
    let path = folder.join(EXPERIMENT);
    let planned = analysis.plan.experiments.first();
    let Some(planned) = planned else {
        return Ok(None);
    };
    if planned.experiment.design.variants.is_empty() {
        // Nothing was recommended, or nothing but what is set now.
        return Ok(None);
    }
    let text = planned.experiment.to_toml().map_err(Failure::unusable)?;
    super::output::write_in_run(&path, &text)?;
    Ok(Some(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plans_of_the_built_in_engine_say_nothing_of_another_one() {
        let named = |engines: &[&str], base: &[(&str, &str)]| {
            let engines: Vec<String> = engines.iter().map(|it| (*it).to_owned()).collect();
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
