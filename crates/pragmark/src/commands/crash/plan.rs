//! From the options of `crash` to an experiment: which settings are tried with which engine.

use std::path::{Path, PathBuf};

use ::crash::{JournalMode, LockingMode, Synchronous};
use ::engine::build::RELEASES;
use lab::design::{Variant, variants};
use lab::engine_name::ENGINE;
use lab::experiment::Scale;
use lab::level::{Level, Settings, distinct, label, overlaid, picked};
use lab::plan::{Request, ad_hoc, plan_alone, settings_that_decide};
use lab::record::RunPlan;
use lab::seed::Seed;
use lab::tier::{self, KILL, SCHEDULES, TierSet, WORKLOAD};

use crate::cli::CrashArgs;
use crate::commands::engine::name_in_plan;
use crate::commands::run;
use crate::failure::Failure;
use crate::library;

/// Images under each model for a first look.
const QUICK_IMAGES: u32 = 600;

/// Images under each model on a database of the user's: each takes as long as what was written until then.
const OWN_IMAGES: u32 = 2_000;

/// Megabytes that the images of a user's own workload hold together under each model, unless their number is stated.
const IMAGE_MB: u32 = 512;

/// Transactions of the user's own workload on a database, unless stated.
const TRANSACTIONS: u32 = 100;

/// The most kills of one trial, so that Ctrl-C loses few.
const KILLS_OF_A_TRIAL: u64 = 100;

/// The journal modes under which processes are killed, unless stated: those that promise to survive it.
const SURVIVING: [&str; 4] = ["delete", "truncate", "persist", "wal"];

/// A trial ends by its work, not by the clock; this is only a bound for one that hangs, in seconds.
const TRIAL_LIMIT_S: f64 = 7.0 * 86_400.0;

/// What the options ask for.
pub(super) fn of(args: &CrashArgs) -> Result<RunPlan, Failure> {
    let mut engines = match args.every_version {
        true => RELEASES.iter().map(|it| it.version.to_owned()).collect(),
        false => {
            let engines = args.engine.iter().map(|engine| name_in_plan(engine));
            distinct(engines.collect::<Result<Vec<_>, _>>()?)
        }
    };
    if args.accidents.any() && engines.len() > 1 {
        return Err(Failure::usage("accidents are made to happen with one engine at a time")
            .hint("name one --engine"));
    }
    let dir = args.accidents.dir.as_deref();
    let (question, variants, rounds, directory) =
        match (args.accidents.kill, args.accidents.schedules) {
            (Some(kills), _) => {
                let (variants, rounds) = kills_of(kills, args);
                let question = "What do processes leave that are killed while they write?";
                let directory = dir.unwrap_or(Path::new(".")).to_owned();
                ((KILL, question, "kills"), variants, rounds, directory)
            }
            (None, Some(limit)) => {
                let question = "What goes wrong where two connections meet at the wrong instant?";
                let variants = schedules_of(limit, args)?;
                ((SCHEDULES, question, "schedules"), variants, 1, memory(dir))
            }
            (None, None) => {
                let question = "What can a crash destroy?";
                let variants = crashes_of(args, &engines)?;
                let kind = (WORKLOAD, question, "images_per_s");
                (kind, variants, 1, directory(args))
            }
        };
    let (workload, question, metric) = question;
    let request = Request {
        directories: run::directories(&[directory])?,
        ..request(args, engines.swap_remove(0))
    };
    let experiment = ad_hoc(workload, question, workload, metric);
    Ok(plan_alone(request, experiment, variants, rounds))
}

pub(super) fn request(args: &CrashArgs, engine: String) -> Request {
    Request {
        id: runner::run_id(),
        created: runner::now(),
        pragmark: env!("CARGO_PKG_VERSION").to_owned(),
        seed: Seed(args.seed),
        scale: Scale::Default,
        engine,
        quick: args.quick,
        trial_limit_s: TRIAL_LIMIT_S,
        budget_s: None,
        tiers: false,
        postgres_given: false,
        experiments: Vec::new(),
        directories: Vec::new(),
    }
}

/// A directory in memory where the system has one: what needs no disk is not slowed by it.
pub(super) fn memory(given: Option<&Path>) -> PathBuf {
    let shared_memory = Path::new("/dev/shm");
    match given {
        Some(directory) => directory.to_owned(),
        None if shared_memory.is_dir() => shared_memory.to_owned(),
        None => std::env::temp_dir(),
    }
}

fn variant(levels: Settings, rest: &Settings) -> Variant {
    Variant {
        label: label(&levels),
        settings: overlaid(rest, &levels),
        levels,
        ..Variant::default()
    }
}

/// A setting for each of the names.
fn levels<const N: usize>(named: [(&str, Level); N]) -> Settings {
    named.map(|(name, level)| (name.to_owned(), level)).into_iter().collect()
}

fn names<T: ToString>(given: &[T], otherwise: &[T]) -> Vec<String> {
    let values = if given.is_empty() { otherwise } else { given };
    values.iter().map(T::to_string).collect()
}

/// Crashes with the settings of the options, or with those of an experiment's variants.
fn crashes_of(args: &CrashArgs, engines: &[String]) -> Result<Vec<Variant>, Failure> {
    let usual = match (args.quick, is_on_database(args)) {
        (true, _) => QUICK_IMAGES,
        (false, true) => OWN_IMAGES,
        (false, false) => tier::IMAGES,
    };
    let models: Vec<String> = args.model.iter().map(ToString::to_string).collect();
    check_own(args)?;
    let script = args.script.as_deref().map_or(Ok(String::new()), script_files)?;
    let trace = absolute(args.trace.as_deref())?;
    // With a trace it is a name, not a file.
    let database = match (&args.trace, &args.db) {
        (Some(_), Some(name)) => name.to_string_lossy().as_ref().into(),
        (_, file) => absolute(file.as_deref())?,
    };
    let number = |number: u32| Level::Int(number.into());
    let is_sampled = is_on_database(args) && args.images.is_none();
    let rest = levels([
        ("images", number(args.images.unwrap_or(usual))),
        ("image_mb", number(if is_sampled { IMAGE_MB } else { 0 })),
        ("second_crash_every", number(args.second_crash_every)),
        ("crash_threads", number(args.threads.unwrap_or(0).into())),
        ("script", script.as_str().into()),
        ("trace", trace),
        ("database", database),
        ("transactions", number(transactions(args))),
        ("schedules", number(schedules_each(args))),
        (
            "models",
            match models.as_slice() {
                [] => "all".into(),
                models => models.join(",").as_str().into(),
            },
        ),
    ]);
    let mut variants = Vec::new();
    for engine in engines {
        let sets = match &args.experiment {
            Some(experiment) => of_experiment(experiment, engine)?,
            None => of_options(args).into_iter().map(|set| (engine.clone(), set)).collect(),
        };
        for (engine, (mut settings, levels)) in sets {
            settings.insert(ENGINE.to_owned(), engine.as_str().into());
            variants.push((variant(levels, &overlaid(&rest, &settings)), engine));
        }
    }
    Ok(with_engines(variants))
}

/// The directory of crash trials. A copy of the user's database may be too large for memory.
pub(super) fn directory(args: &CrashArgs) -> PathBuf {
    match args.accidents.dir.as_deref() {
        None if is_on_database(args) => PathBuf::from("."),
        given => memory(given),
    }
}

/// The transactions that are crashed on a database that was there before.
pub(super) fn transactions(args: &CrashArgs) -> u32 {
    args.transactions.unwrap_or(TRANSACTIONS)
}

/// Whether a crash meets a database that was there before.
fn is_on_database(args: &CrashArgs) -> bool {
    args.db.is_some() || args.trace.is_some()
}

/// Refuses options for the user's own workload that have no part in it.
fn check_own(args: &CrashArgs) -> Result<(), Failure> {
    let is_own = args.script.is_some() || args.trace.is_some();
    if args.db.is_some() && !is_own {
        return Err(Failure::usage("--db requires --script or --trace")
            .hint("name the statements to crash: --script my.sql"));
    }
    if args.transactions.is_some() && !is_on_database(args) {
        return Err(Failure::usage("--transactions requires --db or --trace")
            .hint("a script without a database is crashed as a whole"));
    }
    Ok(())
}

/// The scripts with their whole paths: a file, or several with their weights, as `a.sql@9,b.sql`.
pub(super) fn script_files(files: &Path) -> Result<String, Failure> {
    let whole = |file: &str| {
        let path = std::path::absolute(file).map_err(Failure::unusable)?;
        Ok(path.to_string_lossy().into_owned())
    };
    let text = files.to_string_lossy();
    if files.exists() {
        return whole(&text);
    }
    let each = text.split(',').map(|file| whole(file.trim()));
    Ok(each.collect::<Result<Vec<_>, Failure>>()?.join(","))
}

/// The whole path of a file, as a setting; empty for none.
fn absolute(path: Option<&Path>) -> Result<Level, Failure> {
    let path = path.map(std::path::absolute).transpose();
    let path = path.map_err(Failure::unusable)?.unwrap_or_default();
    Ok(path.to_string_lossy().as_ref().into())
}

/// Schedules of each scenario: those of a safety tier, unless something else is asked for than safety tiers. A comparison of
/// all versions has them in any case: some versions do damage without a crash.
fn schedules_each(args: &CrashArgs) -> u32 {
    let is_own = args.script.is_some() || args.trace.is_some();
    let chosen = args.images.is_some() || !args.model.is_empty() || is_own;
    match (args.quick && !args.every_version) || chosen {
        true => 0,
        false => tier::SCHEDULES_EACH,
    }
}

/// The variants, which name their engine where there are several.
fn with_engines(variants: Vec<(Variant, String)>) -> Vec<Variant> {
    let several = variants.iter().any(|(_, engine)| *engine != variants[0].1);
    let named = variants.into_iter().map(|(mut variant, engine)| {
        if several {
            let level = engine.as_str().into();
            variant.levels.insert(ENGINE.to_owned(), level);
            variant.label = label(&variant.levels);
        }
        variant
    });
    named.collect()
}

/// Every setting of a crash test, and those by which people tell it from the others.
type AllAndNamed = (Settings, Settings);

/// Every combination of the values given: all settings, and those that name a variant.
fn of_options(args: &CrashArgs) -> Vec<AllAndNamed> {
    // Applications rarely lock a database for themselves alone; the option tries it.
    let locking_modes = match args.quick || is_on_database(args) {
        true => &[LockingMode::Normal],
        false => LockingMode::ALL,
    };
    let mut sets = Vec::new();
    for psow in &args.psow {
        for page_size in &args.page_size {
            for locking_mode in names(&args.locking_mode, locking_modes) {
                for journal_mode in names(&args.journal_mode, JournalMode::ALL) {
                    for synchronous in names(&args.synchronous, Synchronous::ALL) {
                        let all = levels([
                            ("journal_mode", journal_mode.as_str().into()),
                            ("synchronous", synchronous.as_str().into()),
                            ("locking_mode", locking_mode.as_str().into()),
                            ("psow", (*psow).into()),
                            ("page_size", i64::from(*page_size).into()),
                        ]);
                        let all = picked(&all, |name| name != "page_size" || !is_on_database(args));
                        let named = picked(&all, |name| match name.as_str() {
                            "psow" => args.psow.len() > 1,
                            "page_size" => args.page_size.len() > 1,
                            _ => true,
                        });
                        sets.push((all, named));
                    }
                }
            }
        }
    }
    sets
}

/// The settings of the variants of an experiment, each once, with their engines: those that decide what a
/// crash can destroy. The engine's own hold where the variant names none, and others have no part in it.
fn of_experiment(name: &str, engine: &str) -> Result<Vec<(String, AllAndNamed)>, Failure> {
    let catalogue = drivers::catalogue(None)?;
    let mut deciding = settings_that_decide(&catalogue);
    deciding.push("psow".to_owned());
    let mut sets: Vec<TierSet> = Vec::new();
    for experiment in library::named(&[name.to_owned()], &catalogue)? {
        let variants = variants(&experiment, Scale::Default, &catalogue);
        let of_variants = variants.iter();
        sets.extend(of_variants.map(|it| TierSet::of(&it.settings, &deciding, engine)));
    }
    let sets = distinct(sets).into_iter();
    Ok(sets.map(|set| (set.engine, (Settings::new(), set.settings))).collect())
}

/// Kills, dealt out to the settings in turn, in trials of few; and how many trials each has.
fn kills_of(kills: u64, args: &CrashArgs) -> (Vec<Variant>, u32) {
    let surviving = SURVIVING.map(str::to_owned);
    let journal_modes = match args.journal_mode.as_slice() {
        [] => surviving.to_vec(),
        given => names(given, &[]),
    };
    let mut sets = Vec::new();
    for locking_mode in names(&args.locking_mode, &[LockingMode::Normal]) {
        for synchronous in names(&args.synchronous, &[Synchronous::Full]) {
            for journal_mode in &journal_modes {
                sets.push(levels([
                    ("journal_mode", journal_mode.as_str().into()),
                    ("synchronous", synchronous.as_str().into()),
                    ("locking_mode", locking_mode.as_str().into()),
                ]));
            }
        }
    }
    let number = sets.len() as u64;
    let rounds = kills.div_ceil(number).div_ceil(KILLS_OF_A_TRIAL);
    let variants = sets.into_iter().enumerate().filter_map(|(index, set)| {
        let own = kills / number + u64::from((index as u64) < kills % number);
        let each = own.div_ceil(rounds) as i64;
        (each > 0).then(|| variant(set, &levels([("kills", each.into())])))
    });
    (variants.collect(), u32::try_from(rounds).unwrap_or(u32::MAX))
}

/// The journal modes that have scenarios of two connections.
fn schedules_of(limit: u64, args: &CrashArgs) -> Result<Vec<Variant>, Failure> {
    let wanted = names(&args.journal_mode, JournalMode::ALL);
    let played = crash::schedule::all().map(|(_, mode)| mode);
    let modes = distinct(played.filter(|mode| wanted.iter().any(|wanted| wanted == mode)));
    if modes.is_empty() {
        return Err(Failure::usage(format!(
            "no scenario of two connections has journal_mode={}",
            wanted.join(",")
        )));
    }
    let each = i64::try_from(limit).unwrap_or(i64::MAX);
    let rest = levels([("schedules", each.into())]);
    let modes = modes.into_iter();
    Ok(modes.map(|mode| variant(levels([("journal_mode", mode.into())]), &rest)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use lab::record::PlannedExperiment;

    fn plan_of(options: &[&str]) -> PlannedExperiment {
        let line = [&["pragmark", "crash"], options].concat();
        match Cli::parse_from(line).command {
            Some(Command::Crash(args)) => of(&args).unwrap().experiments.remove(0),
            _ => unreachable!("another command"),
        }
    }

    #[test]
    fn kills_are_dealt_out_to_the_settings_in_trials_of_few() {
        let dealt = |kills: &str| -> (Vec<i64>, u32) {
            let plan = plan_of(&["--kill", kills]);
            let each = plan.variants.iter();
            let each = each.map(|variant| variant.settings["kills"].as_int().unwrap());
            (each.collect(), plan.stopping.rounds)
        };
        assert_eq!(dealt("48"), (vec![12; 4], 1));
        assert_eq!(dealt("5"), (vec![2, 1, 1, 1], 1));
        assert_eq!(dealt("2"), (vec![1, 1], 1));
        assert_eq!(dealt("1000"), (vec![84; 4], 3));
    }

    #[test]
    fn all_combinations_are_tried_and_engines_named_where_there_are_several() {
        assert_eq!(plan_of(&[]).variants.len(), 48);
        assert_eq!(plan_of(&["--quick"]).variants.len(), 24);
        let one = ["--journal-mode", "wal", "--synchronous", "full", "--quick"];
        let label = &plan_of(&one).variants[0].label;
        assert_eq!(label, "journal_mode=wal locking_mode=normal synchronous=full");
        let two = [&one[..], &["--engine", "default", "--engine", "system"]].concat();
        let labels = plan_of(&two).variants.into_iter().map(|it| it.label);
        let labels: Vec<String> = labels.collect();
        assert!(labels[0].starts_with("engine=default") && labels[1].starts_with("engine=system"));
        let every = [&one[..], &["--every-version"]].concat();
        let labels = plan_of(&every).variants.into_iter().map(|it| it.label);
        let labels: Vec<String> = labels.collect();
        assert_eq!(labels.len(), RELEASES.len());
        let schedules = |plan: &PlannedExperiment| plan.variants[0].settings["schedules"].as_int();
        assert_eq!(schedules(&plan_of(&two)), Some(0));
        assert!(schedules(&plan_of(&every)) > Some(0), "a defect that needs no crash shows");
        assert!(labels[0].starts_with(&format!("engine={}", RELEASES[0].version)));
    }
}
