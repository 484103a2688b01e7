//! Ahead of a run that uses the write-ahead log: whether the measured directories can hold one.

use lab::catalogue::Catalogue;
use lab::plan::{Request, shared_memory_pilots};
use lab::record::RunPlan;
use runner::{Executor, run_pilots};

use crate::failure::Failure;

/// Refuses the run where a directory cannot hold a database in WAL mode and a variant needs one. `Ok(false)`
/// means that it was interrupted.
pub fn is_there(
    request: &Request,
    run: &RunPlan,
    executor: &mut dyn Executor,
    catalogue: &Catalogue,
) -> Result<bool, Failure> {
    let pilots = shared_memory_pilots(request, run, catalogue)
        .map_err(|problems| Failure::usage(problems.to_string()))?;
    for planned in &pilots.experiments {
        let Some(outcomes) = run_pilots(&pilots, planned, executor)? else {
            return Ok(false);
        };
        let problem_of = |index: usize| outcomes[index].outcome.problem();
        // Where a rollback journal fails too, shared memory is not what is missing: the trials say.
        if let (Some(problem), None) = (problem_of(0), problem_of(1)) {
            return Err(refusal(&planned.directory, &problem));
        }
    }
    Ok(true)
}

fn refusal(directory: &std::path::Path, problem: &str) -> Failure {
    Failure::unusable(format!(
        "the directory {} cannot hold a database in WAL mode ({problem}), most often because its file system cannot share memory between connections, as across a network",
        directory.display()
    ))
    .hint("choose a directory on a local disk by --dir, or leave journal_mode=wal out, or lock exclusively (locking_mode=exclusive)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::experiment::Scale;
    use lab::level::Level;

    #[test]
    fn the_pilots_are_valid_with_the_log_first() {
        let catalogue = drivers::catalogue(None).unwrap();
        let journals = crate::library::named(&["settings-journal-mode".to_owned()], &catalogue);
        let request = Request {
            id: "run".to_owned(),
            created: String::new(),
            pragmark: String::new(),
            seed: lab::seed::Seed(1),
            scale: Scale::Quick,
            engine: "embedded".to_owned(),
            quick: true,
            trial_limit_s: 60.0,
            budget_s: None,
            tiers: false,
            postgres_given: false,
            experiments: journals.unwrap(),
            directories: vec!["/data".into()],
        };
        let run = lab::plan::plan(request.clone(), &catalogue);
        let pilots = shared_memory_pilots(&request, &run, &catalogue).unwrap();
        let modes = pilots.experiments[0].variants.iter();
        let modes: Vec<_> = modes.map(|variant| variant.settings["journal_mode"].clone()).collect();
        assert_eq!(modes, [Level::from("wal"), Level::from("delete")]);
    }
}
