//! Trials through drivers: prepared before, judged after.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use engine::Source;
use lab::record::EngineRecord;
use lab::target;
use lab::trial::{BindingSpec, Measured, Outcome, TrialSpec};
use process::{Group, Limits};
use runner::{Bindings, Prepared};

use super::{DESCRIBE_LIMIT, Registry};
use crate::error::{DriverError, Result};
use crate::manifest::Library;
use crate::preload::{Preloaded, preload};
use crate::workload;

impl Bindings for Registry {
    fn prepare(&self, spec: &TrialSpec) -> Result<Prepared, Outcome> {
        let binding = spec.binding.clone().unwrap_or_default();
        self.try_prepare(spec, &binding)
            .map_err(|error| Outcome::Skipped { why: error.to_string() })
    }

    fn judge(&self, spec: &TrialSpec, outcome: Outcome) -> Outcome {
        let (Outcome::Measured(measured), Some(binding)) = (outcome.clone(), &spec.binding) else {
            return outcome;
        };
        let outcome = bench::judge_binding(&spec.settings, *measured);
        let Outcome::Measured(measured) = &outcome else { return outcome };
        if let Some(why) = self.objection(spec, binding, measured) {
            return Outcome::Skipped { why };
        }
        let own = self.workloads.iter().find(|workload| workload.name == spec.workload);
        match own {
            Some(workload) => workload::judge(workload, spec, measured.as_ref().clone()),
            None => outcome,
        }
    }
}

impl Registry {
    fn try_prepare(&self, spec: &TrialSpec, binding: &BindingSpec) -> Result<Prepared> {
        let manifest = self.find(&binding.driver)?;
        if spec.counting {
            let why = "drivers in other languages cannot count file operations";
            return Err(DriverError::Impossible(why.to_owned()));
        }
        if !manifest.workloads.contains(&spec.workload) {
            return Err(DriverError::Impossible(format!(
                "the driver {} has no workload `{}`",
                manifest.name, spec.workload
            )));
        }
        let engine = Source::from_str(&spec.engine)
            .map_err(|error| DriverError::Impossible(error.to_string()))?;
        let (environment, keep) = match manifest.library {
            Library::Loaded => preload(&engine)?,
            Library::Carried if engine == Source::Embedded => Preloaded::default(),
            Library::Carried => {
                return Err(DriverError::Impossible(format!(
                    "the driver {} carries its own SQLite and cannot load the engine {}",
                    manifest.name, spec.engine
                )));
            }
        };
        let (_, command) = self.command(manifest)?;
        let binding = bench::binding_spec(&binding.driver, &spec.settings)
            .map_err(|error| DriverError::Impossible(error.to_string()))?;
        Ok(Prepared {
            program: self.program.clone(),
            arguments: ending_with_parent(&command),
            environment,
            spec: TrialSpec { binding: Some(binding), ..spec.clone() },
            keep,
        })
    }

    /// Returns the description of an engine, from a process of its own, because loading a library runs its code.
    fn engine(&self, engine: &str) -> Result<EngineRecord, String> {
        let mut known = self.engines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let ask = || describe_engine(&self.program, engine);
        known.entry(engine.to_owned()).or_insert_with(ask).clone()
    }

    /// Returns why the engine under test did not do the work; `None` if it did, or if the driver was to use its own
    /// SQLite.
    fn objection(
        &self,
        spec: &TrialSpec,
        binding: &BindingSpec,
        measured: &Measured,
    ) -> Option<String> {
        let manifest = self.find(&binding.driver).ok()?;
        let own = manifest.library == Library::Carried || spec.engine == Source::System.to_string();
        if own || !target::is_sqlite(&spec.settings) {
            return None;
        }
        let another = match self.engine(&spec.engine) {
            Ok(wanted) => another(&wanted, measured)?,
            Err(why) => return Some(why),
        };
        Some(format!(
            "the driver {} used {another}; `--engine system` measures the SQLite that it loads by itself",
            manifest.name
        ))
    }
}

/// Returns the arguments with which pragmark becomes the driver, having asked to end with its parent.
fn ending_with_parent(command: &Command) -> Vec<OsString> {
    let mut arguments = vec!["become".into(), command.get_program().to_owned()];
    arguments.extend(command.get_args().map(ToOwned::to_owned));
    arguments
}

/// Returns the SQLite that did the work in place of the wanted one, compared by source and compile options. Builds that
/// differ only in the compiler's flags cannot be distinguished.
pub(super) fn another(wanted: &EngineRecord, measured: &Measured) -> Option<String> {
    let found = &measured.engine.source_id;
    if *found != wanted.source_id {
        return Some(format!("the SQLite {found} instead of {}", wanted.source_id));
    }
    let found = measured.binding.as_ref()?;
    let differ = differing_options(&wanted.compile_options, &found.compile_options)?;
    Some(format!("another build of the same SQLite, which differs in {differ}"))
}

/// Returns the compile options that only one of two builds has; `None` if they are equal or one build reports none.
/// Both lists come from `sqlite3_compileoption_get`, which the PRAGMA `compile_options` uses too, so one library always
/// reports the same, `COMPILER` included; the driver decides the order.
fn differing_options(wanted: &[String], found: &[String]) -> Option<String> {
    if wanted.is_empty() || found.is_empty() {
        return None;
    }
    let [wanted, found] = [wanted, found].map(|options| options.iter().collect::<BTreeSet<_>>());
    let differ: Vec<&str> =
        wanted.symmetric_difference(&found).map(|option| option.as_str()).collect();
    (!differ.is_empty()).then(|| differ.join(", "))
}

fn describe_engine(program: &Path, engine: &str) -> Result<EngineRecord, String> {
    let mut command = Command::new(program);
    command.args(["describe-engine", engine]);
    let answer = process::run(&mut command, Group::Own, &Limits::time(DESCRIBE_LIMIT));
    let answer = answer.map_err(|error| error.to_string())?;
    serde_json::from_slice(&answer.output)
        .map_err(|_| format!("the engine {engine} cannot be described: {}", answer.errors))
}
