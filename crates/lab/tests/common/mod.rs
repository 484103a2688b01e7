//! A small catalogue and experiment for the tests of the lab.

use lab::catalogue::{Accepts, Catalogue, Parameter, Scope, WorkloadInfo};
use lab::design::Role;
use lab::experiment::{Experiment, Problems, Scale, parse};
use lab::level::Level;
use lab::plan::{Request, plan};
use lab::record::{PlannedExperiment, RunPlan, TrialRecord};
use lab::seed::Seed;
use lab::trial::{Measured, Outcome};

use pragmark_lab as lab;

fn parameter(name: &str, accepts: Accepts, default: Option<Level>, scope: Scope) -> Parameter {
    Parameter {
        name: name.to_owned(),
        accepts,
        default,
        unit: None,
        about: String::new(),
        scope,
        crash_relevant: false,
    }
}

/// One workload with three parameters, and two PRAGMAs.
pub fn catalogue() -> Catalogue {
    let journal = Accepts::choice(&["delete", "wal", "off"]);
    let synchronous = Accepts::choice(&["off", "normal", "full"]);
    Catalogue {
        workloads: vec![WorkloadInfo {
            name: "bulk-insert".to_owned(),
            about: String::new(),
            parameters: vec![
                parameter(
                    "rows",
                    Accepts::Int { min: 1, max: 1_000 },
                    Some(10.into()),
                    Scope::Workload,
                ),
                parameter(
                    "index",
                    Accepts::choice(&["before", "after"]),
                    Some("before".into()),
                    Scope::Workload,
                ),
                parameter(
                    "columns",
                    Accepts::Int { min: 1, max: 16 },
                    Some(1.into()),
                    Scope::Workload,
                ),
            ],
            phases: vec!["load".to_owned()],
            counts: true,
            ..WorkloadInfo::default()
        }],
        shared: vec![
            parameter("journal_mode", journal, None, Scope::Pragma),
            parameter("synchronous", synchronous, None, Scope::Pragma),
        ],
        drivers: Vec::new(),
        why_impossible: Some(|_, settings| {
            let held = |name: &str| settings.get(name).map(Level::to_string);
            let both = held("journal_mode")? == "wal" && held("columns")? == "16";
            both.then(|| "a log has no room for 16 columns".to_owned())
        }),
    }
}

/// Reads an experiment against the small catalogue.
pub fn read(text: &str) -> Result<Experiment, Problems> {
    parse("my.toml", text, &catalogue())
}

#[allow(dead_code)] // Not every test needs it.
/// A valid experiment over four levels of `columns`, to which `more` is appended.
pub fn columns(more: &str) -> String {
    format!(
        r#"id = "columns"
question = "How many columns?"
workload = "bulk-insert"
[factors]
columns = [1, 2, 4, 8]
[design]
kind = "one-at-a-time"
baseline = {{ columns = 1 }}
{more}"#
    )
}

/// A run of one experiment with the small catalogue.
#[allow(dead_code)] // Not every test needs it.
pub fn run_of(experiment: &str, seed: Seed) -> RunPlan {
    let request = Request {
        id: "run".to_owned(),
        created: String::new(),
        pragmark: String::new(),
        seed,
        scale: Scale::Quick,
        engine: "default".to_owned(),
        postgres_given: false,
        quick: false,
        trial_limit_s: 1.0,
        budget_s: None,
        tiers: false,
        experiments: vec![read(experiment).unwrap()],
        directories: vec!["/here".into()],
    };
    plan(request, &catalogue())
}

/// A trial that was measured at this place.
#[allow(dead_code)] // Not every test needs it.
pub fn trial(
    planned: &PlannedExperiment,
    place: (u32, u32, u32),
    variant: usize,
    role: Role,
    measured: Measured,
) -> TrialRecord {
    TrialRecord {
        agent: None,
        purpose: Default::default(),
        experiment: planned.key.clone(),
        round: place.0,
        block: place.1,
        position: place.2,
        variant: planned.label(variant).to_owned(),
        role,
        started: String::new(),
        wall_s: 0.1,
        covariates: Default::default(),
        outcome: Outcome::Measured(Box::new(measured)),
    }
}
