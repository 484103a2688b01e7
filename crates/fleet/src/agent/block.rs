//! One block: carried out, stored, and then acknowledged.

use std::time::{Duration, Instant};

use async_nats::jetstream::{AckKind, Message};
use runner::Execution;

use super::{Agent, AgentEvent};
use crate::error::{FleetError, Result};
use crate::members::locked;
use crate::presence::clock_s;
use crate::results::{StoredOutcomes, outcomes_of, store_outcomes};
use crate::wire::{Done, Finished, Work, decode, hash_of};

/// The pause after trouble with the machine, such as a full disk.
const REST: Duration = Duration::from_secs(10);

/// How long a block that another agent is to carry out as well is left to the others.
const LEFT_TO_OTHERS: Duration = Duration::from_secs(1);

impl Agent<'_> {
    /// Carries out a block of a run, unless that has been done.
    ///
    /// # Errors
    /// When the server refuses, or the run was removed.
    pub(super) fn carry_out(&mut self, run: &str, message: &Message) -> Result<()> {
        let group = self.runs.get(run).map_or("", |run| &run.group);
        let work = decode::<Work>(&message.payload, "a block");
        let work = match work.and_then(|work| work.check(run, group).map(|()| work)) {
            Ok(work) => work,
            Err(error) => {
                (self.say)(AgentEvent::Unreadable(error.to_string()));
                self.answer(message, AckKind::Term);
                return Ok(());
            }
        };
        let block = work.tasks.first().map(|task| task.block.clone()).unwrap_or_default();
        let ticket = message.subject.rsplit('.').next().unwrap_or_default();
        if let Some(found) = self.outcomes(&work, |found| {
            found.ticket == ticket || (found.agent == self.name && found.hold(&work.tasks))
        })? {
            // Two measurements by one machine would not be compared.
            let is_done = found.ticket == ticket;
            let left = AckKind::Nak(Some(LEFT_TO_OTHERS));
            self.answer(message, if is_done { AckKind::Ack } else { left });
            return Ok(());
        }
        self.show(Some((&work.run, &block)));
        let signs = self.signs_of_life(message, &work.run);
        let ended = self.machine.execute(&work.run, &work.tasks);
        let stored = match ended {
            Ok(Some(executions)) => self.store(message, &work, ticket, executions),
            Ok(None) => {
                self.answer(message, AckKind::Nak(None));
                Ok(())
            }
            Err(why) => {
                self.give_back(message, why);
                Ok(())
            }
        };
        signs.abort();
        self.show(None);
        stored
    }

    /// Returns the first outcomes of a block that `is_wanted` accepts.
    fn outcomes(
        &self,
        Work { run, group, tasks }: &Work,
        is_wanted: impl Fn(&StoredOutcomes) -> bool,
    ) -> Result<Option<StoredOutcomes>> {
        let members = self.runs.get(run).map(|run| run.card.members_of(group)).unwrap_or_default();
        let block = tasks.first().map_or("", |task| &task.block);
        outcomes_of(self.server, (run, group, block), &members, &|_| {}, &is_wanted)
    }

    /// Stores the outcomes of a block, and then acknowledges it.
    fn store(
        &mut self,
        message: &Message,
        work: &Work,
        ticket: &str,
        executions: Vec<Execution>,
    ) -> Result<()> {
        let attempt = message.info().map_or(1, |info| info.delivered.max(1) as u64);
        let trials = work.tasks.iter().zip(executions).map(|(task, execution)| Finished {
            position: task.position,
            task: hash_of(task),
            execution,
        });
        let own = StoredOutcomes {
            agent: self.name.clone(),
            ticket: ticket.to_owned(),
            done: Done { trials: trials.collect(), attempt },
        };
        match store_outcomes(self.server, work, &own, self.signer) {
            Ok(_) => {}
            // Such as a server whose storage is full: it may have room later.
            Err(error @ FleetError::Refused(..)) => {
                self.give_back(message, error.to_string());
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        self.answer(message, AckKind::Ack);
        let first = self.outcomes(work, |found| found.ticket == ticket)?;
        let block = work.tasks.first().map(|task| task.block.clone()).unwrap_or_default();
        (self.say)(match first {
            Some(found) if found.agent != self.name => AgentEvent::Late(block),
            _ => AgentEvent::Done { block, attempt },
        });
        let mut card = locked(&self.card);
        card.doing.done += 1;
        card.doing.last_s = Some((clock_s() - card.doing.since_s) as f64);
        card.doing.trouble = None;
        Ok(())
    }

    /// Leaves a block to others, and rests.
    fn give_back(&mut self, message: &Message, why: String) {
        self.answer(message, AckKind::Nak(Some(Duration::from_secs(1))));
        self.show(None);
        locked(&self.card).doing.trouble = Some(why.clone());
        (self.say)(AgentEvent::Trouble(why));
        let rested = Instant::now();
        while rested.elapsed() < REST && !self.orders.is_end() {
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Acknowledges, and makes sure that the server knows. Where it does not answer, it will deliver the block again,
    /// whose outcome is there then.
    fn answer(&self, message: &Message, kind: AckKind) {
        const LIMIT: Duration = Duration::from_secs(5);
        let told = async { tokio::time::timeout(LIMIT, message.double_ack_with(kind)).await };
        let _ = self.server.runtime.block_on(told);
    }

    /// Lets the server know in time that the block is still carried out.
    fn signs_of_life(&self, message: &Message, run: &str) -> tokio::task::JoinHandle<()> {
        let patience_s = self.runs.get(run).map_or(60.0, |run| run.card.patience_s);
        let pause = Duration::from_secs_f64((patience_s / 3.0).max(0.1));
        let message = message.clone();
        self.server.spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let _ = message.ack_with(AckKind::Progress).await;
            }
        })
    }
}
