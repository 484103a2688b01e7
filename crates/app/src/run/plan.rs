//! From a request to the plan of a run.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use lab::catalogue::Catalogue;
use lab::experiment::{Experiment, Scale};
use lab::plan::Request;
use lab::record::RunPlan;
use lab::seed::Seed;

use super::{Experiments, RunRequest, text};
use crate::error::{Error, Result};
use crate::files::or_here;
use crate::interface::Interface;
use crate::library::{self, RUNS, TOUR};
use crate::{VERSION, engine};

/// Seconds for the trials of the tour, so that with probes, counting and report it stays below five minutes.
const TOUR_S: f64 = 255.0;

/// Returns the folder of a new run.
pub(crate) fn folder_of(given: Option<&Path>, plan: &RunPlan) -> PathBuf {
    given.map_or_else(|| Path::new(RUNS).join(&plan.id), Path::to_owned)
}

/// Returns the plan to make for a command that measures one experiment or more with an engine.
pub(crate) fn request_for(engine: String, seed: u64, trial_limit_s: f64) -> Request {
    Request {
        id: runner::run_id(),
        created: runner::now(),
        pragmark: VERSION.to_owned(),
        seed: Seed(seed),
        scale: Scale::Default,
        engine,
        quick: false,
        trial_limit_s,
        budget_s: None,
        tiers: false,
        postgres_given: false,
        experiments: Vec::new(),
        directories: Vec::new(),
    }
}

/// Returns the plan to make for a run, with its experiments and the user's documents read.
pub(crate) fn request(
    run: &RunRequest,
    catalogue: &Catalogue,
    ui: &dyn Interface,
) -> Result<Request> {
    let mut experiments = chosen(&run.experiments, catalogue)?;
    let scale = match run.scale {
        Some(scale) => scale,
        None if run.quick || run.is_tour() => Scale::Quick,
        None => Scale::Default,
    };
    text::apply(run.text.as_ref(), &mut experiments, scale, catalogue, ui)?;
    let seed = run.seed.unwrap_or_else(|| RandomState::new().hash_one(runner::run_id()));
    Ok(Request {
        scale,
        quick: run.quick,
        budget_s: run.time_limit_s.or(run.is_tour().then_some(TOUR_S)),
        tiers: run.tiers,
        postgres_given: run.postgres.is_some(),
        experiments,
        directories: directories(&run.directories)?,
        ..request_for(engine::name_in_plan(&run.engine)?, seed, run.trial_limit_s)
    })
}

fn chosen(experiments: &Experiments, catalogue: &Catalogue) -> Result<Vec<Experiment>> {
    match experiments {
        Experiments::Made(made) => Ok(vec![made.experiment.clone()]),
        Experiments::Tour => {
            let names: Vec<String> = TOUR.iter().map(|name| (*name).to_owned()).collect();
            library::named(&names, catalogue)
        }
        Experiments::Named { names, source } => {
            let mut names = names.clone();
            if let Some(source) = source {
                names.extend(library::of_source(source)?);
            }
            library::named(&names, catalogue)
        }
    }
}

/// Returns the directories to measure in, from the root, each once.
pub(crate) fn directories(given: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for path in or_here(given) {
        let directory = path.canonicalize().map_err(|error| {
            Error::unusable(format!("cannot use the directory {}: {error}", path.display()))
                .hint("--dir names an existing directory on the disk to be measured")
        })?;
        if directories.contains(&directory) {
            let directory = directory.display();
            return Err(Error::mistake(format!("the directory {directory} is named twice")));
        }
        directories.push(directory);
    }
    Ok(directories)
}
