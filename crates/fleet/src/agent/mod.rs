//! An agent: takes one block at a time, has its machine carry it out, and stores what came of it.
//!
//! A block is acknowledged after its outcomes are stored. So an agent that dies loses its block and nothing else, and
//! the server gives the block to another.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::{AckKind, Message};
use futures_util::StreamExt;
use lab::record::EnvironmentFile;
use runner::{Execution, Task};

use crate::error::FleetError;
use crate::presence::{BEAT, Card, beat, clock_s};
use crate::results::{outcomes_of, store_machine, store_outcomes};
use crate::runs::RunCard;
use crate::server::Server;
use crate::subjects::{RUNS, WORK, consumer, drain};
use crate::wire::{Done, Finished, MachineReport, Work, decode, hash_of_task};

/// How long a request for work waits at the server, in the one run that there is.
const ASK: Duration = Duration::from_secs(2);

/// How long it waits where there are several runs, so that each has its turn.
const ASK_EACH: Duration = Duration::from_millis(200);

/// How often the agent looks for new runs.
const LOOK: Duration = Duration::from_secs(1);

/// The pause after trouble with the machine, such as a full disk.
const REST: Duration = Duration::from_secs(10);

/// What the machine of an agent does.
pub trait Machine {
    /// Prepares itself for a run: engines, drivers, a look at the disk.
    ///
    /// # Errors
    /// Why it cannot take part, in words.
    fn prepare(&mut self, run: &RunCard) -> Result<EnvironmentFile, String>;

    /// Carries a block out; none where it was stopped.
    ///
    /// # Errors
    /// Why it cannot be carried out here at the moment, in words. What goes wrong in a trial is an outcome.
    fn execute(&mut self, run: &str, tasks: &[Task]) -> Result<Option<Vec<Execution>>, String>;

    /// Forgets a run that has ended.
    fn forget(&mut self, run: &str);
}

/// Something that an agent has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It takes part in a run.
    Joined {
        /// The run.
        run: String,
        /// Its group.
        group: String,
    },
    /// It cannot take part in a run.
    Refused {
        /// The run.
        run: String,
        /// Why.
        why: String,
    },
    /// A run has ended.
    Left(String),
    /// A block was carried out and its outcomes are stored.
    Done {
        /// The block.
        block: String,
        /// How often it had been delivered.
        attempt: u64,
    },
    /// A block was carried out, and another agent was first.
    Late(String),
    /// The machine cannot carry blocks out at the moment.
    Trouble(String),
}

/// What an agent is asked to do from outside.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// To stop at once.
    pub cancelled: Arc<AtomicBool>,
    /// To stop after the block that it carries out.
    pub draining: Arc<AtomicBool>,
}

impl Orders {
    fn is_end(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.draining.load(Ordering::Relaxed)
    }
}

/// A run in which the agent takes part.
struct Joined {
    card: RunCard,
    group: String,
    consumer: Option<Consumer<pull::Config>>,
}

/// The agent at work.
struct Agent<'a> {
    server: &'a Server,
    machine: &'a mut dyn Machine,
    card: Arc<Mutex<Card>>,
    name: String,
    version: String,
    orders: Orders,
    say: &'a dyn Fn(Notice),
    runs: BTreeMap<String, Joined>,
    /// Runs that it has refused.
    refused: HashSet<String>,
    /// The sequence number of the last change of a run that it has seen.
    seen: u64,
    looked: Option<Instant>,
}

/// Works until it is asked to stop.
///
/// # Errors
/// When the server refuses what an agent needs.
pub fn serve(
    server: &Server,
    card: Card,
    machine: &mut dyn Machine,
    orders: &Orders,
    say: &dyn Fn(Notice),
) -> Result<(), FleetError> {
    let (name, version) = (card.agent.clone(), card.version.clone());
    let mut card = card;
    card.doing.began_s = clock_s();
    let card = Arc::new(Mutex::new(card));
    let beats = server.spawn(beats(server.jetstream.clone(), Arc::clone(&card)));
    let drains = server.listen(drain(&name));
    let listens = server.spawn(listens(drains, orders.clone(), Arc::clone(&card)));
    let mut agent = Agent {
        server,
        machine,
        card,
        name,
        version,
        orders: orders.clone(),
        say,
        runs: BTreeMap::new(),
        refused: HashSet::new(),
        seen: 0,
        looked: None,
    };
    let ended = agent.work();
    beats.abort();
    listens.abort();
    match ended {
        Err(FleetError::Cancelled) => Ok(()),
        ended => ended,
    }
}

/// Says from time to time that the agent is there.
async fn beats(jetstream: async_nats::jetstream::Context, card: Arc<Mutex<Card>>) {
    loop {
        let now = locked(&card).clone();
        let pause = match beat(&jetstream, &now).await {
            true => BEAT,
            false => LOOK,
        };
        tokio::time::sleep(pause).await;
    }
}

/// Waits to be asked to end.
async fn listens(drains: Option<async_nats::Subscriber>, orders: Orders, card: Arc<Mutex<Card>>) {
    let Some(mut drains) = drains else { return };
    if drains.next().await.is_some() {
        orders.draining.store(true, Ordering::Relaxed);
        locked(&card).doing.draining = true;
    }
}

fn locked(card: &Mutex<Card>) -> std::sync::MutexGuard<'_, Card> {
    card.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Agent<'_> {
    fn work(&mut self) -> Result<(), FleetError> {
        while !self.orders.is_end() {
            self.look_for_runs()?;
            if !self.take_turns()? && self.runs.is_empty() {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        Ok(())
    }

    /// Takes a block of each run in turn; whether there was any.
    fn take_turns(&mut self) -> Result<bool, FleetError> {
        let runs: Vec<String> = self.runs.keys().cloned().collect();
        let patience = if runs.len() > 1 { ASK_EACH } else { ASK };
        let mut any = false;
        for run in runs {
            if self.orders.is_end() {
                break;
            }
            if let Some(message) = self.take(&run, patience) {
                any = true;
                self.carry_out(&message)?;
            }
        }
        Ok(any)
    }

    /// Learns which runs have begun, changed or ended.
    fn look_for_runs(&mut self) -> Result<(), FleetError> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return Ok(());
        }
        while let Some(stored) = self.server.first(RUNS, "pragmark.runs.>", self.seen + 1)? {
            self.seen = stored.sequence;
            match decode::<RunCard>(&stored.payload, "a run") {
                Ok(card) => self.consider(card)?,
                Err(error) => (self.say)(Notice::Trouble(error.to_string())),
            }
        }
        self.looked = Some(Instant::now());
        Ok(())
    }

    fn consider(&mut self, card: RunCard) -> Result<(), FleetError> {
        let run = card.run.clone();
        if card.finished {
            self.leave(&run);
            return Ok(());
        }
        let Some(group) = card.group_of(&self.name).map(|group| group.name.clone()) else {
            return Ok(());
        };
        if self.runs.contains_key(&run) || self.refused.contains(&run) {
            return Ok(());
        }
        self.join(card, group)
    }

    fn join(&mut self, card: RunCard, group: String) -> Result<(), FleetError> {
        let run = card.run.clone();
        let machine = match card.version == self.version {
            true => self.machine.prepare(&card),
            false => Err(format!(
                "the run is planned by pragmark {}, and this agent is {}",
                card.version, self.version
            )),
        };
        let why = machine.as_ref().err().cloned();
        let agent = self.name.clone();
        let report = MachineReport { agent, machine };
        store_machine(self.server, &run, &group, &report)?;
        if let Some(why) = why {
            (self.say)(Notice::Refused {
                run: run.clone(),
                why,
            });
            self.refused.insert(run);
            return Ok(());
        }
        (self.say)(Notice::Joined {
            run: run.clone(),
            group: group.clone(),
        });
        let joined = Joined {
            card,
            group,
            consumer: None,
        };
        self.runs.insert(run, joined);
        Ok(())
    }

    fn leave(&mut self, run: &str) {
        if self.runs.remove(run).is_some() {
            self.machine.forget(run);
            (self.say)(Notice::Left(run.to_owned()));
        }
    }

    /// The next block of a run; none where there is none for so long, or the server does not answer.
    fn take(&mut self, run: &str, patience: Duration) -> Option<Message> {
        let server = self.server;
        let joined = self.runs.get_mut(run)?;
        if joined.consumer.is_none() {
            joined.consumer = server
                .runtime
                .block_on(consumer_of(server, run, &joined.group));
        }
        let Some(consumer) = &joined.consumer else {
            std::thread::sleep(ASK_EACH);
            return None;
        };
        match server.runtime.block_on(next(consumer, patience)) {
            Ok(message) => message,
            Err(_) => {
                joined.consumer = None;
                None
            }
        }
    }

    fn carry_out(&mut self, message: &Message) -> Result<(), FleetError> {
        let work: Work = match decode(&message.payload, "a block") {
            Ok(work) => work,
            Err(error) => {
                (self.say)(Notice::Trouble(error.to_string()));
                self.answer(message, AckKind::Term);
                return Ok(());
            }
        };
        let block = work.tasks.first().map(|task| task.block.clone());
        let block = block.unwrap_or_default();
        if outcomes_of(self.server, &work.run, &work.group, &work.tasks)?.is_some() {
            self.answer(message, AckKind::Ack);
            return Ok(());
        }
        self.show(Some((&work.run, &block)));
        let signs = self.signs_of_life(message, &work.run);
        let ended = self.machine.execute(&work.run, &work.tasks);
        let stored = match ended {
            Ok(Some(executions)) => self.store(message, &work, &block, executions),
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

    /// Stores the outcomes of a block, and then acknowledges it.
    fn store(
        &mut self,
        message: &Message,
        work: &Work,
        block: &str,
        executions: Vec<Execution>,
    ) -> Result<(), FleetError> {
        let attempt = message
            .info()
            .map_or(1, |info| info.delivered.max(1) as u64);
        let trials = work.tasks.iter().zip(executions);
        let trials = trials.map(|(task, execution)| Finished {
            position: task.position,
            task: hash_of_task(task),
            execution,
        });
        let done = Done {
            trials: trials.collect(),
            attempt,
        };
        let place = (work.run.as_str(), work.group.as_str(), self.name.as_str());
        match store_outcomes(self.server, place, &work.tasks, &done) {
            Ok(_) => {}
            // The run was removed meanwhile.
            Err(FleetError::NoStream { .. }) => {
                self.leave(&work.run);
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        self.answer(message, AckKind::Ack);
        let first = outcomes_of(self.server, &work.run, &work.group, &work.tasks)?;
        let block = block.to_owned();
        (self.say)(match first {
            Some(found) if found.agent != self.name => Notice::Late(block),
            _ => Notice::Done { block, attempt },
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
        locked(&self.card).doing.trouble = Some(why.clone());
        (self.say)(Notice::Trouble(why));
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
        let patience_s = self.runs.get(run).map_or(60.0, |it| it.card.patience_s);
        let pause = Duration::from_secs_f64((patience_s / 3.0).max(0.1));
        let message = message.clone();
        self.server.spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let _ = message.ack_with(AckKind::Progress).await;
            }
        })
    }

    fn show(&self, block: Option<(&str, &str)>) {
        let mut card = locked(&self.card);
        card.doing.block = block.map(|(run, block)| (run.to_owned(), block.to_owned()));
        card.doing.since_s = clock_s();
    }
}

/// The consumer of a group; none where there is none yet, or the server does not answer.
async fn consumer_of(server: &Server, run: &str, group: &str) -> Option<Consumer<pull::Config>> {
    let stream = server.stream(WORK).await.ok()?;
    stream.get_consumer(&consumer(run, group)).await.ok()
}

/// The next message; none where there is none for so long.
async fn next(
    consumer: &Consumer<pull::Config>,
    patience: Duration,
) -> Result<Option<Message>, async_nats::Error> {
    let batch = consumer.batch().max_messages(1).expires(patience);
    let mut batch = batch.messages().await?;
    let limit = patience + Duration::from_secs(2);
    match tokio::time::timeout(limit, batch.next()).await {
        Ok(Some(message)) => message.map(Some),
        Ok(None) => Ok(None),
        Err(late) => Err(late.into()),
    }
}
