//! The executor of a run whose blocks are carried out by agents.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use lab::fleet::Reruns;
use lab::record::Purpose;
use lab::text::word;
use runner::{End, Execution, Executor, RunError, Task, Watch};

use crate::error::{FleetError, Result};
use crate::members::Roster;
use crate::results::{StoredOutcomes, of_task, outcomes_of};
use crate::server::Server;
use crate::subjects::{WORK, group_results, work};
use crate::wire::{Work, encode, hash_of};

/// How long it waits for the sign of an outcome before it looks for itself.
const LOOK: Duration = Duration::from_millis(500);

/// How often it makes sure that a block that it waits for is still there.
const ENSURE: Duration = Duration::from_secs(10);

/// Blocks for each agent that are published ahead, so that none waits for the next.
const AHEAD: usize = 4;

/// Blocks for each agent below which more are published.
const FEW: usize = 2;

/// Has the agents of a group execute blocks. Outcomes are handed over in the order of the design, whichever agent is
/// first, so the record is the one that a single machine with these outcomes would have written.
pub struct Remote<'a> {
    server: &'a Server,
    run: String,
    group: String,
    roster: Arc<Roster>,
    reruns: Reruns,
    /// Blocks that are published or carried out, and not yet handed over, by their subjects.
    published: HashSet<String>,
    signs: Option<async_nats::Subscriber>,
}

impl<'a> Remote<'a> {
    /// Returns an executor for a group of a run that has a second agent carry some blocks out as well.
    pub fn new(
        server: &'a Server,
        (run, group): (&str, &str),
        roster: Arc<Roster>,
        reruns: Reruns,
    ) -> Remote<'a> {
        Remote {
            reruns,
            server,
            run: run.to_owned(),
            group: group.to_owned(),
            roster,
            published: HashSet::new(),
            signs: None,
        }
    }

    fn subject(&self, tasks: &[Task]) -> String {
        let block = tasks.first().map_or("", |task| &task.block);
        work(&self.run, &self.group, block, &hash_of(&tasks))
    }

    /// Publishes a block that waits for an agent; one that is waiting already stays as it is.
    fn publish(&mut self, tasks: &[Task]) -> Result<()> {
        let subject = self.subject(tasks);
        self.store(&subject, tasks)?;
        self.published.insert(subject);
        Ok(())
    }

    /// Publishes a block of a round that has been carried out once more, for another agent, if it is chosen.
    fn publish_again(&self, tasks: &[Task]) -> Result<()> {
        let block = tasks.first().filter(|task| task.position == 0).map_or("", |task| &task.block);
        let is_compared = tasks.len() > 1 && block.starts_with(&word(Purpose::Rounds));
        let ticket = self.reruns.ticket(block);
        let Some(ticket) = ticket.filter(|_| is_compared && self.roster.present() > 1) else {
            return Ok(());
        };
        self.store(&work(&self.run, &self.group, block, &hash_of(&ticket)), tasks)
    }

    fn store(&self, subject: &str, tasks: &[Task]) -> Result<()> {
        let block =
            Work { run: self.run.clone(), group: self.group.clone(), tasks: tasks.to_vec() };
        self.server.store("store a block", subject, None, &encode(&block)?)?;
        Ok(())
    }

    fn find(&self, tasks: &[Task]) -> Result<Option<StoredOutcomes>> {
        let stranger = |agent: &str| self.roster.note_stranger(agent);
        let place = (&*self.run, &*self.group, tasks.first().map_or("", |task| &*task.block));
        let members = self.roster.members();
        outcomes_of(self.server, place, &members, &stranger, &|found| found.hold(tasks))
    }

    /// Waits for the outcomes of a block; `None` if it was stopped.
    fn outcomes(&mut self, tasks: &[Task]) -> Result<Option<StoredOutcomes>> {
        let mut ensured: Option<Instant> = None;
        if self.published.contains(&self.subject(tasks)) {
            ensured = Some(Instant::now());
        }
        loop {
            if let Some(found) = self.find(tasks)? {
                self.published.remove(&self.subject(tasks));
                return Ok(Some(found));
            }
            if self.server.is_cancelled() {
                return Ok(None);
            }
            if ensured.is_none_or(|ensured| ensured.elapsed() > ENSURE) {
                if ensured.is_some() {
                    self.server.check_results(&self.run)?;
                }
                self.publish(tasks)?;
                ensured = Some(Instant::now());
            }
            self.wait()?;
        }
    }

    /// Waits for the sign of an outcome, and not long.
    fn wait(&mut self) -> Result<()> {
        let server = self.server;
        if self.signs.is_none() {
            self.signs = server.listen(group_results(&self.run, &self.group));
        }
        let Some(signs) = &mut self.signs else {
            std::thread::sleep(LOOK);
            return Ok(());
        };
        let sign =
            server.runtime.block_on(async { tokio::time::timeout(LOOK, signs.next()).await });
        if let Ok(None) = sign {
            self.signs = None;
        }
        Ok(())
    }

    /// Publishes what is new of the blocks that come, and takes back what does not come any more.
    fn prepare(&mut self, blocks: &[Vec<Task>]) -> Result<()> {
        let subjects: HashSet<String> = blocks.iter().map(|block| self.subject(block)).collect();
        let stale: Vec<String> = self.published.difference(&subjects).cloned().collect();
        for subject in stale {
            self.server.clear(WORK, &subject)?;
            self.published.remove(&subject);
        }
        for tasks in blocks {
            let subject = self.subject(tasks);
            if self.published.contains(&subject) {
                continue;
            }
            match self.find(tasks)? {
                None => self.publish(tasks)?,
                Some(_) => _ = self.published.insert(subject),
            }
        }
        Ok(())
    }
}

impl Executor for Remote<'_> {
    fn execute(&mut self, block: &[Task], watch: &mut dyn Watch) -> Result<End, RunError> {
        let found = self.outcomes(block).and_then(|found| {
            // Before it is recorded: a coordinator that is killed in between does so when it goes on.
            found.is_some().then(|| self.publish_again(block)).transpose()?;
            Ok(found)
        });
        let found = match found {
            Ok(Some(found)) => found,
            Ok(None) | Err(FleetError::Cancelled) => return Ok(End::Cancelled),
            Err(error) => return Err(RunError::elsewhere(error)),
        };
        for (index, task) in block.iter().enumerate() {
            let Some(finished) = of_task(&found.done, task) else { continue };
            watch.begins(index);
            let execution =
                Execution { agent: Some(found.agent.clone()), ..finished.execution.clone() };
            watch.ended(index, execution)?;
        }
        Ok(End::Finished)
    }

    fn depth(&self) -> usize {
        let agents = self.roster.present().max(1);
        if self.published.len() > FEW * agents { 0 } else { AHEAD * agents }
    }

    fn ahead(&mut self, blocks: &[Vec<Task>]) -> Result<(), RunError> {
        match self.prepare(blocks) {
            // What was stopped is noticed by the block that comes now.
            Ok(()) | Err(FleetError::Cancelled) => Ok(()),
            Err(error) => Err(RunError::elsewhere(error)),
        }
    }
}
