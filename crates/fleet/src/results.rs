//! The outcomes of a run on the server. The first that was stored of a block counts, so that everybody who reads them
//! counts the same.

use runner::Task;

use crate::error::{FleetError, Result};
use crate::server::{Server, Stored};
use crate::subjects::{block_results, machine, part, result, results_stream};
use crate::wire::{
    Done, Finished, MachineReport, RunPart, Work, decode, encode, hash_of_block, hash_of_task,
};

/// The outcomes of a block that count, and the agent that they are from.
pub(crate) struct StoredOutcomes {
    pub(crate) agent: String,
    pub(crate) done: Done,
}

/// Returns the outcomes of these trials: of the block as it is, or of a larger one that they are the rest of.
pub(crate) fn outcomes_of(
    server: &Server,
    run: &str,
    group: &str,
    tasks: &[Task],
) -> Result<Option<StoredOutcomes>> {
    let Some(first) = tasks.first() else { return Ok(None) };
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

/// Returns the first outcomes below a subject that hold all of these trials.
fn first_of(
    server: &Server,
    run: &str,
    subject: &str,
    tasks: &[Task],
) -> Result<Option<StoredOutcomes>> {
    let stream = results_stream(run);
    let mut from = 1;
    while let Some(stored) = server.first(&stream, subject, from)? {
        from = stored.sequence + 1;
        // What nobody can read counts for nobody: the block is carried out again.
        let Ok(done) = decode::<Done>(&stored.payload, "an outcome") else { continue };
        if tasks.iter().all(|task| of_task(&done, task).is_some()) {
            let agent = stored.name().to_owned();
            return Ok(Some(StoredOutcomes { agent, done }));
        }
    }
    Ok(None)
}

/// Returns the outcome of a trial in a block.
pub(crate) fn of_task<'a>(done: &'a Done, task: &Task) -> Option<&'a Finished> {
    let hash = hash_of_task(task);
    done.trials.iter().find(|trial| trial.position == task.position && trial.task == hash)
}

/// Stores the outcomes of a block; false where the same agent has stored them before.
pub(crate) fn store_outcomes(
    server: &Server,
    work: &Work,
    agent: &str,
    done: &Done,
) -> Result<bool> {
    let Work { run, group, tasks } = work;
    let block = tasks.first().map_or("", |task| &task.block);
    let hash = hash_of_block(tasks);
    let subject = result(run, group, block, &hash, agent);
    let id = format!("{run}/{group}/{block}/{hash}/{}/{agent}", done.attempt);
    server.store("store an outcome", &subject, Some(&id), &encode(done)?)
}

/// Stores what an agent says of its machine; false where it has said so since it was started.
pub(crate) fn store_machine(
    server: &Server,
    run: &str,
    group: &str,
    report: &MachineReport,
) -> Result<bool> {
    let instance = crate::subjects::token(&report.instance);
    let subject = machine(run, group, &instance, &report.agent);
    server.store("store a machine", &subject, None, &encode(report)?)
}

/// Returns the latest report of each agent of a group, in the order in which they were stored. An agent whose report
/// cannot be read cannot take part.
///
/// # Errors
/// When the server refuses.
pub fn machine_reports(server: &Server, run: &str, group: &str) -> Result<Vec<MachineReport>> {
    let stored = server.all(&results_stream(run), &machine(run, group, "*", "*"))?;
    let read = |stored: &Stored| {
        let agent = stored.name().to_owned();
        let unreadable = |error: FleetError| MachineReport {
            agent: agent.clone(),
            instance: stored.subject.rsplit('.').nth(1).unwrap_or_default().to_owned(),
            machine: Err(error.to_string()),
        };
        decode(&stored.payload, &format!("the machine of {agent}")).unwrap_or_else(unreadable)
    };
    Ok(latest(stored.iter().map(read)))
}

/// Returns the last report of each agent.
fn latest(reports: impl Iterator<Item = MachineReport>) -> Vec<MachineReport> {
    let mut latest: Vec<MachineReport> = Vec::new();
    for report in reports {
        latest.retain(|former| former.agent != report.agent);
        latest.push(report);
    }
    latest
}

/// Returns the run of a group as it began, if it has.
///
/// # Errors
/// When the server refuses, or it is damaged.
pub fn part_of_run(server: &Server, run: &str, group: &str) -> Result<Option<RunPart>> {
    let stored = server.latest(&results_stream(run), &part(run, group))?;
    stored.map(|stored| decode(&stored.payload, &format!("the plan of {group}"))).transpose()
}

/// Stores how the run of a group begins; what another has stored before stays.
///
/// # Errors
/// When the server refuses.
pub fn publish_part(server: &Server, run: &str, group: &str, began: &RunPart) -> Result<()> {
    server.store("store a plan", &part(run, group), None, &encode(began)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_taken_back_by_a_later_report() {
        let report = |agent: &str, machine: Result<_, &str>| MachineReport {
            agent: agent.to_owned(),
            instance: String::new(),
            machine: machine.map_err(str::to_owned),
        };
        let ready = || report("a", Ok(lab::record::EnvironmentFile::default()));
        let all = [report("a", Err("no")), report("b", Err("no")), ready()];
        let latest = latest(all.into_iter());
        assert_eq!(latest, [report("b", Err("no")), ready()]);
    }
}
