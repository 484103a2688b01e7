//! `pragmark crash`: what crashes, killed processes and unlucky moments do to databases. Each is a run like
//! any other, of an experiment that the options describe.

mod current;
mod known;
mod own;
mod plan;
mod replay;

use std::path::Path;

use lab::analysis::TrialCounts;
use runner::{RunFolder, Servers};
use tuning::Analysis;

use super::{conclusion, engine as engines, run, trust};
use crate::cli::{CrashArgs, CrashFormat};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::is_bar_wanted;

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
    let mut plan = plan::of(args)?;
    let path = run::folder_of(args.out.as_deref(), &plan);
    RunFolder::check_free(&path)?;
    let bar = is_bar_wanted(args.plain);
    let engines = engines::of_plan(&plan, &driver, &interrupted, bar)?;
    current::lead(args, &mut plan, &engines)?;
    if let Some(script) = &args.script {
        own::check(script, args, &plan, &engines)?;
    }
    if let Some(trace) = &args.trace {
        bench::check_trace(trace).map_err(Failure::unusable)?;
    }
    let environment = runner::survey(&plan, engines, 0.0, &interrupted, || {})?;
    trust::note(&plan, &environment);
    let folder = RunFolder::create(&path, &plan, &environment)?;
    tell!("record: {}", path.display());
    let servers = Servers::installed();
    let end = run::carry_out(&folder, &driver, servers, &interrupted, args.plain)?;
    conclusion::conclude(&path, end, |analysis| rendered(analysis, args.format, &path))
}

fn rendered(analysis: &Analysis, format: CrashFormat, folder: &Path) -> Result<String, Failure> {
    let TrialCounts { measured, skipped, .. } = analysis.trials;
    if measured == 0 && skipped > 0 && skipped == analysis.trials.total() {
        return Err(nothing_measured(analysis));
    }
    match format {
        CrashFormat::Terminal => Ok(conclusion::summary(analysis, folder)),
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
