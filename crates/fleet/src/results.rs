//! The outcomes of a run on the server. The first that was stored of a block counts, so that everybody who reads them
//! counts the same.

use runner::Task;

use crate::error::FleetError;
use crate::server::Server;
use crate::subjects::{block_results, machine, part, result, results_stream};
use crate::wire::{
    Done, Finished, MachineReport, RunPart, decode, encode, hash_of_block, hash_of_task,
};

/// The outcomes of a block that count, and the agent that they are from.
pub(crate) struct Counted {
    pub(crate) agent: String,
    pub(crate) done: Done,
}

/// The outcomes of these trials: of the block as it is, or of a larger one that they are the rest of.
pub(crate) fn outcomes_of(
    server: &Server,
    run: &str,
    group: &str,
    tasks: &[Task],
) -> Result<Option<Counted>, FleetError> {
    let Some(first) = tasks.first() else {
        return Ok(None);
    };
    let exact = result(run, group, &first.block, &hash_of_block(tasks), "*");
    if let Some(found) = first_of(server, run, &exact, tasks)? {
        return Ok(Some(found));
    }
    match first.position {
        0 => Ok(None),
        // A process that was killed while it recorded a block has recorded the beginning of it.
        _ => first_of(server, run, &block_results(run, group, &first.block), tasks),
    }
}

/// The first outcomes below a subject that hold all of these trials.
fn first_of(
    server: &Server,
    run: &str,
    subject: &str,
    tasks: &[Task],
) -> Result<Option<Counted>, FleetError> {
    let stream = results_stream(run);
    let mut from = 1;
    while let Some(stored) = server.first(&stream, subject, from)? {
        let done: Done = decode(&stored.payload, &format!("the outcome {}", stored.subject))?;
        if tasks.iter().all(|task| of_task(&done, task).is_some()) {
            let agent = stored.name().to_owned();
            return Ok(Some(Counted { agent, done }));
        }
        from = stored.sequence + 1;
    }
    Ok(None)
}

/// The outcome of a trial in a block.
pub(crate) fn of_task<'a>(done: &'a Done, task: &Task) -> Option<&'a Finished> {
    let hash = hash_of_task(task);
    let mut trials = done.trials.iter();
    trials.find(|trial| trial.position == task.position && trial.task == hash)
}

/// Stores the outcomes of a block; false where the same agent has stored them before.
pub(crate) fn store_outcomes(
    server: &Server,
    (run, group, agent): (&str, &str, &str),
    tasks: &[Task],
    done: &Done,
) -> Result<bool, FleetError> {
    let block = tasks.first().map_or("", |task| &task.block);
    let hash = hash_of_block(tasks);
    let subject = result(run, group, block, &hash, agent);
    let id = format!("{run}/{group}/{block}/{hash}/{}/{agent}", done.attempt);
    server.store("store an outcome", &subject, Some(&id), &encode(done)?)
}

/// Stores what an agent says of its machine.
pub(crate) fn store_machine(
    server: &Server,
    run: &str,
    group: &str,
    report: &MachineReport,
) -> Result<bool, FleetError> {
    let subject = machine(run, group, &report.agent);
    server.store("store a machine", &subject, None, &encode(report)?)
}

/// What the agents of a group said of their machines, the first first.
///
/// # Errors
/// When the server refuses, or a report is damaged.
pub fn machine_reports(
    server: &Server,
    run: &str,
    group: &str,
) -> Result<Vec<MachineReport>, FleetError> {
    let stored = server.all(&results_stream(run), &machine(run, group, "*"))?;
    stored
        .iter()
        .map(|it| decode(&it.payload, &format!("the machine of {}", it.name())))
        .collect()
}

/// The run of a group as it began; none where it has not.
///
/// # Errors
/// When the server refuses, or it is damaged.
pub fn part_of_run(server: &Server, run: &str, group: &str) -> Result<Option<RunPart>, FleetError> {
    let stored = server.latest(&results_stream(run), &part(run, group))?;
    stored
        .map(|it| decode(&it.payload, &format!("the plan of {group}")))
        .transpose()
}

/// Stores how the run of a group begins; what another has stored before stays.
///
/// # Errors
/// When the server refuses.
pub fn publish_part(
    server: &Server,
    run: &str,
    group: &str,
    began: &RunPart,
) -> Result<(), FleetError> {
    server.store("store a plan", &part(run, group), None, &encode(began)?)?;
    Ok(())
}
