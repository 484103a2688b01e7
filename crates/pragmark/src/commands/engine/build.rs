//! `pragmark engine build`: builds engines before a run.

use std::fmt::Write;

use ::engine::build::{BuildName, EngineName};
use lab::design::variants;
use lab::engine_name::engine_of;
use lab::experiment::Scale;
use lab::level::distinct;

use super::{named, prepare};
use crate::cli::BuildArgs;
use crate::commands::{output, run::native_driver};
use crate::failure::{Exit, Failure};
use crate::progress::is_bar_wanted;
use crate::{interrupt, library};

/// Builds, and prints the name and the path of each engine.
pub fn execute(args: &BuildArgs) -> Result<Exit, Failure> {
    let names = wanted(args)?;
    let driver = native_driver()?;
    let interrupted = interrupt::flag()?;
    let jobs = args.jobs.map_or_else(prepare::usual_jobs, usize::from);
    let bar = is_bar_wanted(args.plain);
    let mut built = prepare::build(&names, &driver, &interrupted, jobs, bar)?;
    let mut text = String::new();
    let mut exit = Exit::Success;
    for name in &names {
        match built.remove(&name.to_string()) {
            Some(Ok(path)) => {
                let _ = writeln!(text, "{name}\t{path}");
            }
            Some(Err(failure)) => {
                tell!("{name}:");
                exit = failure.report();
            }
            None => {}
        }
    }
    output::display(&text)?;
    Ok(exit)
}

/// The requested builds, each once.
fn wanted(args: &BuildArgs) -> Result<Vec<BuildName>, Failure> {
    let mut builds: Vec<BuildName> = Vec::new();
    for text in &args.engines {
        let EngineName::Build(build) = named(text)? else {
            return Err(Failure::usage(format!("`{text}` cannot be built"))
                .hint("use a version with optional option sets, such as 3.46.0 or 3.54.1+recommended; see `pragmark engine list`"));
        };
        builds.push(build);
    }
    for text in of_experiments(&args.experiments)? {
        if let EngineName::Build(build) = named(&text)? {
            builds.push(build);
        }
    }
    Ok(distinct(builds))
}

/// The names of the engines that experiments use, at any scale.
fn of_experiments(experiments: &[String]) -> Result<Vec<String>, Failure> {
    let catalogue = drivers::catalogue(None)?;
    let mut names = Vec::new();
    for experiment in library::named(experiments, &catalogue)? {
        for scale in [Scale::Quick, Scale::Default, Scale::Paper] {
            let variants = variants(&experiment, scale, &catalogue);
            names.extend(variants.iter().map(|variant| engine_of(&variant.settings, "default")));
        }
    }
    Ok(names)
}
