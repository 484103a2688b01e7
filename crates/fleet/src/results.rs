//! The outcomes of a run on the server. The first of a block that a member of its group has signed counts, so that everybody
//! who reads them counts the same.

use std::collections::BTreeMap;

use runner::{Execution, Task};

use crate::error::Result;
use crate::members::Members;
use crate::server::{Server, Stored};
use crate::signature::Signer;
use crate::subjects::{block_results, machine, part, result, results_stream, ticket_of};
use crate::wire::{
    Done, Finished, MachineReport, RunPart, Work, decode, decode_signed, encode, encode_signed,
    hash_of,
};

/// The outcomes of a block, the agent that they are from, and the ticket by which it was told to carry the block out.
pub(crate) struct StoredOutcomes {
    pub(crate) agent: String,
    pub(crate) ticket: String,
    pub(crate) done: Done,
}

impl StoredOutcomes {
    /// Whether these are outcomes of all these trials: of the block as it is, or of a larger one that they are the rest of. A
    /// process that was killed while it recorded a block has recorded the beginning of it.
    pub(crate) fn hold(&self, tasks: &[Task]) -> bool {
        tasks.iter().all(|task| of_task(&self.done, task).is_some())
    }
}

/// Returns the first outcomes of a block that a member has signed and `is_wanted` accepts, in the order in which they were
/// stored. Hands over the names of agents under which others have stored outcomes.
pub(crate) fn outcomes_of(
    server: &Server,
    (run, group, block): (&str, &str, &str),
    members: &Members,
    stranger: &dyn Fn(&str),
    is_wanted: &dyn Fn(&StoredOutcomes) -> bool,
) -> Result<Option<StoredOutcomes>> {
    let (stream, subject) = (results_stream(run), block_results(run, group, block));
    let mut from = 1;
    while let Some(stored) = server.first(&stream, &subject, from)? {
        from = stored.sequence + 1;
        // What nobody can read, or anybody may have written, counts for nobody: the block is carried out again.
        let signed = decode_signed::<Done>(&stored, "an outcome").ok();
        let agent = stored.name().to_owned();
        let is_member = |signed: &(String, Done)| members.get(&signed.0) == Some(&agent);
        let Some((_, done)) = signed.filter(is_member) else {
            stranger(&agent);
            continue;
        };
        let found = StoredOutcomes { agent, ticket: ticket_of(&stored.subject).to_owned(), done };
        if is_wanted(&found) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the trials of a block, by their positions, that a member other than `agent` has carried out as well.
///
/// # Errors
/// When the server refuses.
pub fn rerun_of(
    server: &Server,
    place: (&str, &str, &str),
    members: &Members,
    agent: &str,
) -> Result<BTreeMap<u32, Execution>> {
    let elsewhere = |found: &StoredOutcomes| found.agent != agent;
    let Some(found) = outcomes_of(server, place, members, &|_| {}, &elsewhere)? else {
        return Ok(BTreeMap::new());
    };
    let trials = found.done.trials.into_iter().map(|Finished { position, execution, .. }| {
        (position, Execution { agent: Some(found.agent.clone()), ..execution })
    });
    Ok(trials.collect())
}

/// Returns the outcome of a trial in a block.
pub(crate) fn of_task<'a>(done: &'a Done, task: &Task) -> Option<&'a Finished> {
    let hash = hash_of(task);
    done.trials.iter().find(|trial| trial.position == task.position && trial.task == hash)
}

/// Stores the outcomes of a block; false where the same agent has stored them before.
pub(crate) fn store_outcomes(
    server: &Server,
    Work { run, group, tasks }: &Work,
    StoredOutcomes { agent, ticket, done }: &StoredOutcomes,
    signer: &Signer,
) -> Result<bool> {
    let block = tasks.first().map_or("", |task| &task.block);
    let subject = result(run, group, block, ticket, agent);
    let id = format!("{run}/{group}/{block}/{ticket}/{}/{agent}", done.attempt);
    server.store("store an outcome", &subject, Some(&id), &encode_signed(done, &subject, signer)?)
}

/// Stores what an agent says of its machine; false where it has said so since it was started.
pub(crate) fn store_machine(
    server: &Server,
    run: &str,
    group: &str,
    report: &MachineReport,
    signer: &Signer,
) -> Result<bool> {
    let subject = machine(run, group, &signer.key(), &report.agent);
    let payload = encode_signed(report, &subject, signer)?;
    server.store("store a machine", &subject, None, &payload)
}

/// Returns the latest report of each agent of a group, in the order in which they were stored. A report that no member has
/// signed is nobody's.
///
/// # Errors
/// When the server refuses.
pub fn machine_reports(
    server: &Server,
    run: &str,
    group: &str,
    members: &Members,
) -> Result<Vec<MachineReport>> {
    let stored = server.all(&results_stream(run), &machine(run, group, "*", "*"))?;
    let read = |stored: &Stored| {
        let what = format!("the machine of {}", stored.name());
        let (key, report) = decode_signed::<MachineReport>(stored, &what).ok()?;
        let is_own = report.agent == stored.name() && report.instance == key;
        (is_own && members.get(&key) == Some(&report.agent)).then_some(report)
    };
    Ok(latest(stored.iter().filter_map(read)))
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
