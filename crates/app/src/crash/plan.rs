//! From a request to a plan: which settings are tried with which engine.

use std::path::{Path, PathBuf};

use crash::{JournalMode, LockingMode, Synchronous};
use engine::build::RELEASES;
use lab::design::{Variant, variants};
use lab::engine_name::ENGINE;
use lab::experiment::Scale;
use lab::level::{Level, Settings, distinct, label, overlaid, picked};
use lab::plan::{Request, ad_hoc, plan_alone, settings_that_decide};
use lab::record::RunPlan;
use lab::tier::{self, KILL, SCHEDULES, TierSet, WORKLOAD};

use super::{CrashKind, CrashRequest, CrashWork, Images};
use crate::engine::name_in_plan;
use crate::error::{Error, Result};
use crate::library;
use crate::measure::stand_in_setting;
use crate::run::plan::{directories, request_for};

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

/// How often the recovery of a crash image is crashed as well.
const SECOND_CRASH_EVERY: u32 = 16;

/// The journal modes under which processes are killed, unless stated: those that promise to survive it.
const SURVIVING: [&str; 4] = ["delete", "truncate", "persist", "wal"];

/// A trial ends by its work, not by the clock; this is only a bound for one that hangs, in seconds.
pub(super) const TRIAL_LIMIT_S: f64 = 7.0 * 86_400.0;

/// Plans the run of a request.
pub(super) fn plan_of(request: &CrashRequest) -> Result<RunPlan> {
    let mut engines: Vec<String> = if request.every_version {
        RELEASES.iter().map(|release| release.version.to_owned()).collect()
    } else {
        let engines = request.engines.iter().map(|engine| name_in_plan(engine));
        distinct(engines.collect::<Result<Vec<_>, _>>()?)
    };
    if !matches!(request.kind, CrashKind::Images(_)) && engines.len() > 1 {
        return Err(Error::mistake("kills and schedules take one engine at a time")
            .hint("name one --engine"));
    }
    let (workload, question, metric) = match request.kind {
        CrashKind::Kills(_) => (KILL, "What do killed processes leave behind?", "kills"),
        CrashKind::Schedules(_) => (
            SCHEDULES,
            "What goes wrong where two connections meet at the wrong instant?",
            "schedules",
        ),
        CrashKind::Images(_) => (WORKLOAD, "What can a crash destroy?", "images_per_s"),
    };
    let (variants, rounds) = match &request.kind {
        CrashKind::Kills(kills) => kills_of(*kills, request),
        CrashKind::Schedules(limit) => (schedules_of(*limit, request)?, 1),
        CrashKind::Images(images) => (crashes_of(request, images, &engines)?, 1),
    };
    let planned = Request {
        quick: request.quick,
        directories: directories(&[directory(request)])?,
        ..request_for(engines.swap_remove(0), request.seed, TRIAL_LIMIT_S)
    };
    Ok(plan_alone(planned, ad_hoc(workload, question, workload, metric), variants, rounds))
}

/// Returns the directory of the trials. A copy of the user's database may be too large for memory, and a killed process writes
/// to a real file system.
pub(super) fn directory(request: &CrashRequest) -> PathBuf {
    let needs_disk = match &request.kind {
        CrashKind::Kills(_) => true,
        CrashKind::Schedules(_) => false,
        CrashKind::Images(images) => images.is_on_database(),
    };
    match request.directory.as_deref() {
        None if needs_disk => PathBuf::from("."),
        given => memory(given),
    }
}

/// Returns the given directory, or one in memory if the system has one: what needs no disk is not slowed by it.
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

/// Returns the variants of crash images: the settings of the request, or those of an experiment's variants.
fn crashes_of(request: &CrashRequest, images: &Images, engines: &[String]) -> Result<Vec<Variant>> {
    let is_on_database = images.is_on_database();
    let usual = match (request.quick, is_on_database) {
        (true, _) => QUICK_IMAGES,
        (false, true) => OWN_IMAGES,
        (false, false) => tier::IMAGES,
    };
    let none = || Level::from("");
    let mut stand_in = None;
    let (script, trace, database) = match &images.work {
        CrashWork::BuiltIn => (none(), none(), none()),
        CrashWork::Script { files, database } => {
            (script_files(files)?.as_str().into(), none(), absolute(database.as_deref())?)
        }
        // With a trace the database is a name, not a file.
        CrashWork::Trace { trace, database, stand_ins } => {
            stand_in = stand_in_setting(stand_ins);
            let name = database.as_ref().map(|name| name.to_string_lossy().into_owned());
            (none(), absolute(Some(trace))?, name.unwrap_or_default().as_str().into())
        }
    };
    let models: Vec<String> = images.models.iter().map(ToString::to_string).collect();
    let models = if models.is_empty() { "all".to_owned() } else { models.join(",") };
    let number = |number: u32| Level::Int(number.into());
    let is_sampled = is_on_database && images.images.is_none();
    let mut rest = levels([
        ("images", number(images.images.unwrap_or(usual))),
        ("image_mb", number(if is_sampled { IMAGE_MB } else { 0 })),
        ("second_crash_every", number(SECOND_CRASH_EVERY)),
        ("crash_threads", number(0)),
        ("script", script),
        ("trace", trace),
        ("database", database),
        ("transactions", number(images.transactions())),
        ("schedules", number(schedules_each(request, images))),
        ("models", models.as_str().into()),
    ]);
    rest.extend(stand_in);
    let mut variants = Vec::new();
    for engine in engines {
        let sets = match &images.experiment {
            Some(experiment) => of_experiment(experiment, engine)?,
            None => combinations(request, is_on_database)
                .into_iter()
                .map(|set| (engine.clone(), set))
                .collect(),
        };
        for (engine, (mut settings, levels)) in sets {
            settings.insert(ENGINE.to_owned(), engine.as_str().into());
            variants.push((variant(levels, &overlaid(&rest, &settings)), engine));
        }
    }
    Ok(with_engines(variants))
}

impl Images {
    /// Returns the transactions that are crashed on a database that was there before.
    pub(super) fn transactions(&self) -> u32 {
        self.transactions.unwrap_or(TRANSACTIONS)
    }

    /// Returns whether a crash meets a database that was there before.
    fn is_on_database(&self) -> bool {
        match &self.work {
            CrashWork::BuiltIn => false,
            CrashWork::Script { database, .. } => database.is_some(),
            CrashWork::Trace { .. } => true,
        }
    }
}

/// Returns the scripts with their whole paths: a file, or several with their weights, as `a.sql@9,b.sql`.
pub(super) fn script_files(files: &Path) -> Result<String> {
    let whole = |file: &str| {
        Ok(std::path::absolute(file).map_err(Error::unusable)?.to_string_lossy().into_owned())
    };
    let text = files.to_string_lossy();
    if files.exists() {
        return whole(&text);
    }
    Ok(text.split(',').map(|file| whole(file.trim())).collect::<Result<Vec<_>>>()?.join(","))
}

/// Returns the whole path of a file as a setting, which is empty without a file.
fn absolute(path: Option<&Path>) -> Result<Level> {
    let path = path.map(std::path::absolute).transpose();
    Ok(path.map_err(Error::unusable)?.unwrap_or_default().to_string_lossy().as_ref().into())
}

/// Returns the schedules of each scenario: those of a safety tier, unless something else than safety tiers is requested. A
/// comparison of all versions has them in any case: some versions do damage without a crash.
fn schedules_each(request: &CrashRequest, images: &Images) -> u32 {
    let is_own = !matches!(images.work, CrashWork::BuiltIn);
    let is_chosen = images.images.is_some() || !images.models.is_empty() || is_own;
    if (request.quick && !request.every_version) || is_chosen { 0 } else { tier::SCHEDULES_EACH }
}

/// Returns the variants, which name their engine if there are several.
fn with_engines(variants: Vec<(Variant, String)>) -> Vec<Variant> {
    let several = variants.iter().any(|(_, engine)| *engine != variants[0].1);
    let named = variants.into_iter().map(|(mut variant, engine)| {
        if several {
            variant.levels.insert(ENGINE.to_owned(), engine.as_str().into());
            variant.label = label(&variant.levels);
        }
        variant
    });
    named.collect()
}

/// Every setting of a crash test, and those by which people tell it from the others.
type AllAndNamed = (Settings, Settings);

/// Returns every combination of the requested values: all settings, and those that name a variant.
fn combinations(request: &CrashRequest, is_on_database: bool) -> Vec<AllAndNamed> {
    // Applications rarely lock a database for themselves alone; the option tries it.
    let locking_modes =
        if request.quick || is_on_database { &[LockingMode::Normal] } else { LockingMode::ALL };
    let mut sets = Vec::new();
    for psow in &request.psow {
        for page_size in &request.page_sizes {
            for locking_mode in names(&request.locking_modes, locking_modes) {
                for journal_mode in names(&request.journal_modes, JournalMode::ALL) {
                    for synchronous in names(&request.synchronous, Synchronous::ALL) {
                        let all = levels([
                            ("journal_mode", journal_mode.as_str().into()),
                            ("synchronous", synchronous.as_str().into()),
                            ("locking_mode", locking_mode.as_str().into()),
                            ("psow", (*psow).into()),
                            ("page_size", i64::from(*page_size).into()),
                        ]);
                        let all = picked(&all, |name| name != "page_size" || !is_on_database);
                        let named = picked(&all, |name| match name.as_str() {
                            "psow" => request.psow.len() > 1,
                            "page_size" => request.page_sizes.len() > 1,
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

/// Returns the settings of the variants of an experiment, each once, with their engines: those that decide what a
/// crash can destroy. The engine's own hold where the variant names none, and others have no part in it.
fn of_experiment(name: &str, engine: &str) -> Result<Vec<(String, AllAndNamed)>> {
    let catalogue = drivers::catalogue(None)?;
    let mut deciding = settings_that_decide(&catalogue);
    deciding.push("psow".to_owned());
    let mut sets: Vec<TierSet> = Vec::new();
    for experiment in library::named(&[name.to_owned()], &catalogue)? {
        let variants = variants(&experiment, Scale::Default, &catalogue);
        let of_variants = variants.iter();
        sets.extend(of_variants.map(|variant| TierSet::of(&variant.settings, &deciding, engine)));
    }
    let sets = distinct(sets).into_iter();
    Ok(sets.map(|set| (set.engine, (Settings::new(), set.settings))).collect())
}

/// Deals kills out to the settings in turn, in trials of few. Returns the variants and how many trials each has.
fn kills_of(kills: u64, request: &CrashRequest) -> (Vec<Variant>, u32) {
    let surviving = SURVIVING.map(str::to_owned);
    let journal_modes = match request.journal_modes.as_slice() {
        [] => surviving.to_vec(),
        given => names(given, &[]),
    };
    let mut sets = Vec::new();
    for locking_mode in names(&request.locking_modes, &[LockingMode::Normal]) {
        for synchronous in names(&request.synchronous, &[Synchronous::Full]) {
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

/// Returns a variant for each journal mode that has scenarios of two connections.
fn schedules_of(limit: u64, request: &CrashRequest) -> Result<Vec<Variant>> {
    let wanted = names(&request.journal_modes, JournalMode::ALL);
    let played = crash::schedule::all().map(|(_, mode)| mode);
    let modes = distinct(played.filter(|mode| wanted.iter().any(|wanted| wanted == mode)));
    if modes.is_empty() {
        return Err(Error::mistake(format!(
            "no scenario of two connections has journal_mode={}",
            wanted.join(",")
        )));
    }
    let rest = levels([("schedules", i64::try_from(limit).unwrap_or(i64::MAX).into())]);
    let modes = modes.into_iter();
    Ok(modes.map(|mode| variant(levels([("journal_mode", mode.into())]), &rest)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::record::PlannedExperiment;

    fn request() -> CrashRequest {
        CrashRequest {
            kind: CrashKind::Images(Images::default()),
            journal_modes: Vec::new(),
            synchronous: Vec::new(),
            locking_modes: Vec::new(),
            page_sizes: vec![4096],
            psow: vec![true],
            engines: vec!["default".to_owned()],
            every_version: false,
            quick: false,
            seed: 1,
            directory: None,
            out: None,
        }
    }

    fn planned(request: &CrashRequest) -> PlannedExperiment {
        plan_of(request).unwrap().experiments.remove(0)
    }

    #[test]
    fn kills_are_dealt_out_to_the_settings_in_trials_of_few() {
        let dealt = |kills: u64| -> (Vec<i64>, u32) {
            let kind = CrashKind::Kills(kills);
            let plan = planned(&CrashRequest { kind, ..request() });
            let each = plan.variants.iter();
            let each = each.map(|variant| variant.settings["kills"].as_int().unwrap());
            (each.collect(), plan.stopping.rounds)
        };
        assert_eq!(dealt(48), (vec![12; 4], 1));
        assert_eq!(dealt(5), (vec![2, 1, 1, 1], 1));
        assert_eq!(dealt(2), (vec![1, 1], 1));
        assert_eq!(dealt(1000), (vec![84; 4], 3));
    }

    #[test]
    fn all_combinations_are_tried_and_engines_named_where_there_are_several() {
        assert_eq!(planned(&request()).variants.len(), 48);
        let quick = CrashRequest { quick: true, ..request() };
        assert_eq!(planned(&quick).variants.len(), 24);
        let one = CrashRequest {
            journal_modes: vec![JournalMode::Wal],
            synchronous: vec![Synchronous::Full],
            ..quick
        };
        let label = &planned(&one).variants[0].label;
        assert_eq!(label, "journal_mode=wal locking_mode=normal synchronous=full");
        let labels = |plan: &PlannedExperiment| -> Vec<String> {
            plan.variants.iter().map(|variant| variant.label.clone()).collect()
        };
        let schedules = |plan: &PlannedExperiment| plan.variants[0].settings["schedules"].as_int();
        let engines = vec!["default".to_owned(), "system".to_owned()];
        let two = planned(&CrashRequest { engines, ..one.clone() });
        let named = labels(&two);
        assert!(named[0].starts_with("engine=default") && named[1].starts_with("engine=system"));
        assert_eq!(schedules(&two), Some(0));
        let every = planned(&CrashRequest { every_version: true, ..one });
        assert_eq!(labels(&every).len(), RELEASES.len());
        assert!(schedules(&every) > Some(0), "a defect that needs no crash shows");
        assert!(labels(&every)[0].starts_with(&format!("engine={}", RELEASES[0].version)));
    }
}
