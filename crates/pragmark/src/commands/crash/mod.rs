//! `pragmark crash`: what crashes, killed processes and unlucky moments do to databases. Each is a run like
//! any other, of an experiment that the options describe.

mod known;
mod plan;
mod replay;

use std::path::Path;

use ::crash::{
    CrashError, CrashSettings, JournalMode, LockingMode, Recording, Sandbox, Script, Synchronous,
};
use engine::{Library, Source};
use lab::analysis::Analysis;
use lab::record::{EngineRecord, RunPlan, engine_to_load};
use runner::{RunFolder, Servers};

use super::{engine as engines, run, trust};
use crate::cli::{CrashArgs, CrashFormat};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::is_bar_wanted;
use crate::text_file::text_of;

/// Runs it, or plays one schedule again.
pub fn execute(args: &CrashArgs) -> Result<Exit, Failure> {
    if let Some(schedule) = &args.accidents.schedule {
        return replay::execute(schedule, args);
    }
    if let Some(file) = &args.write_known {
        return known::write(file, args);
    }
    let (interrupted, driver) = (interrupt::flag()?, run::native_driver()?);
    // Whatever can be wrong is found before anything is written.
    let plan = plan::of(args)?;
    let path = run::folder_of(args.out.as_deref(), &plan);
    RunFolder::check_free(&path)?;
    let bar = is_bar_wanted(args.plain);
    let engines = engines::of_plan(&plan, &driver, &interrupted, bar)?;
    if let Some(script) = &args.script {
        check_script(script, &plan, &engines)?;
    }
    let environment = runner::survey(&plan, engines, 0.0, &interrupted, || {})?;
    trust::note(&plan, &environment);
    let folder = RunFolder::create(&path, &plan, &environment)?;
    tell!("record: {}", path.display());
    let servers = Servers::installed();
    let end = run::carry_out(&folder, &driver, servers, &interrupted, args.plain)?;
    run::conclude(&path, end, |analysis| {
        rendered(analysis, args.format, &path)
    })
}

/// A longer script would give recordings that no crash laboratory can look through.
const MOST_SCRIPT_BYTES: u64 = 16 << 20;

/// Refuses a script that cannot be crashed: it is parsed and recorded once.
fn check_script(path: &Path, plan: &RunPlan, engines: &[EngineRecord]) -> Result<(), Failure> {
    let to_load = engine_to_load(engines, &plan.engine).map_err(Failure::unusable)?;
    let source: Source = to_load.parse().map_err(Failure::usage)?;
    let library = Library::load(&source).map_err(Failure::unusable)?;
    let text = text_of("the script", path, MOST_SCRIPT_BYTES)?;
    let script = Script::parse(&library, path, &text).map_err(failure)?;
    let settings = CrashSettings {
        journal_mode: JournalMode::Delete,
        synchronous: Synchronous::Full,
        locking_mode: LockingMode::Normal,
        page_size: 4096,
        powersafe_overwrite: true,
    };
    let mut sandbox = Sandbox::new(&source).map_err(failure)?;
    Recording::make(&mut sandbox, &settings, &script, plan.seed)
        .map_err(failure)?
        .ok();
    Ok(())
}

fn failure(error: CrashError) -> Failure {
    match &error {
        CrashError::Script { .. } | CrashError::Unfinished { .. } => Failure::usage(&error)
            .hint("each statement must run on an empty database; nothing was written"),
        CrashError::NothingCommitted { .. } => Failure::usage(&error),
        _ => Failure::unusable(&error),
    }
}

fn rendered(analysis: &Analysis, format: CrashFormat, folder: &Path) -> Result<String, Failure> {
    if analysis.trials.measured == 0 && analysis.trials.total() > 0 {
        return Err(nothing_measured(analysis));
    }
    match format {
        CrashFormat::Terminal => Ok(run::summary(analysis, folder)),
        CrashFormat::Markdown => Ok(::report::markdown(analysis)),
        CrashFormat::Json => ::report::export::json(analysis).map_err(Failure::unusable),
    }
}

/// The engine takes none of the settings.
fn nothing_measured(analysis: &Analysis) -> Failure {
    let variants = analysis.experiments.iter().flat_map(|it| &it.variants);
    let reasons = variants.filter_map(|variant| {
        let problem = variant.problem.as_ref()?;
        Some(format!("\n  {}: {problem}", variant.label))
    });
    Failure::unusable(format!(
        "nothing was measured with the engine {}:{}",
        analysis.plan.engine,
        reasons.collect::<String>()
    ))
    .hint("`pragmark doctor` shows what engines are compiled with")
}
