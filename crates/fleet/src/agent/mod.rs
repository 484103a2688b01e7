//! An agent: takes one block at a time, has its machine carry it out, and stores what came of it.
//!
//! A block is acknowledged after its outcomes are stored. So an agent that dies loses its block and nothing else, and
//! the server gives the block to another.

mod block;

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{Consumer, pull};
use futures_util::StreamExt;
use lab::record::EnvironmentFile;
use runner::{Execution, Task};

use crate::error::{FleetError, Result};
use crate::members::locked;
use crate::presence::{BEAT, Card, beat, clock_s, other};
use crate::results::store_machine;
use crate::runs::{ALL, RunCard};
use crate::server::Server;
use crate::signature::Signer;
use crate::subjects::{RUNS, WORK, consumer, drain, run};
use crate::wire::MachineReport;

/// How long a request for work waits at the server, in the one run that there is.
const ASK: Duration = Duration::from_secs(2);

/// How long it waits where there are several runs, so that each has its turn.
const ASK_EACH: Duration = Duration::from_millis(200);

/// How often the agent looks for new runs.
const LOOK: Duration = Duration::from_secs(1);

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
    signer: &'a Signer,
    /// The number of the last card that was published; 0 before the first.
    beat: Arc<AtomicU64>,
    orders: StopSignals,
    say: &'a dyn Fn(AgentEvent),
    runs: BTreeMap<String, Joined>,
    /// Runs that it has refused.
    refused: HashSet<String>,
    /// The sequence number of the last change of a run that it has seen.
    seen: u64,
    looked: Option<Instant>,
    /// When it made sure last that it is alone with its name, and that its runs are still there.
    checked: Instant,
}

/// Works until it is asked to stop.
///
/// # Errors
/// When the server refuses what an agent needs, or another agent of the same name comes. Trouble with one run is a notice.
pub fn serve(
    server: &Server,
    card: Card,
    signer: &Signer,
    machine: &mut dyn Machine,
    orders: &StopSignals,
    say: &dyn Fn(AgentEvent),
) -> Result<()> {
    let name = card.agent.clone();
    let beat = Arc::new(AtomicU64::new(0));
    let mut card = Card { instance: signer.key(), ..card };
    card.doing.began_s = clock_s();
    let card = Arc::new(Mutex::new(card));
    let jetstream = server.jetstream.clone();
    let beats = server.spawn(beats(jetstream, Arc::clone(&card), Arc::clone(&beat)));
    let drains = server.listen(drain(&name));
    let listens = server.spawn(listens(drains, orders.clone(), Arc::clone(&card)));
    let mut agent = Agent {
        server,
        machine,
        card,
        name,
        signer,
        beat,
        orders: orders.clone(),
        say,
        runs: BTreeMap::new(),
        refused: HashSet::new(),
        seen: 0,
        looked: None,
        checked: Instant::now(),
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
async fn beats(
    jetstream: async_nats::jetstream::Context,
    card: Arc<Mutex<Card>>,
    last: Arc<AtomicU64>,
) {
    loop {
        let now = locked(&card).clone();
        let pause = match beat(&jetstream, &now).await {
            Some(number) => {
                last.store(number, Ordering::Relaxed);
                BEAT
            }
            None => LOOK,
        };
        tokio::time::sleep(pause).await;
    }
}

/// Waits to be asked to end.
async fn listens(
    drains: Option<async_nats::Subscriber>,
    orders: StopSignals,
    card: Arc<Mutex<Card>>,
) {
    let Some(mut drains) = drains else { return };
    if drains.next().await.is_some() {
        orders.draining.store(true, Ordering::Relaxed);
        locked(&card).doing.draining = true;
    }
}

impl Agent<'_> {
    fn work(&mut self) -> Result<()> {
        while !self.orders.is_end() {
            self.look_for_runs()?;
            self.check_now_and_then()?;
            if !self.take_turns()? && self.runs.is_empty() {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        Ok(())
    }

    /// Makes sure that it is alone with its name, and that the runs are still there in which it takes part.
    fn check_now_and_then(&mut self) -> Result<()> {
        if self.checked.elapsed() < BEAT {
            return Ok(());
        }
        self.checked = Instant::now();
        let own = self.beat.load(Ordering::Relaxed);
        let other = other(self.server, &self.name, &[&self.signer.key()])?;
        if own > 0 && other.is_some_and(|sequence| sequence > own) {
            return Err(FleetError::NameTaken(self.name.clone()));
        }
        let joined: Vec<String> = self.runs.keys().cloned().collect();
        for name in joined {
            if self.server.latest(RUNS, &run(&name))?.is_none() {
                self.leave(&name);
            }
        }
        Ok(())
    }

    /// Takes a block of each run in turn; whether there was any.
    fn take_turns(&mut self) -> Result<bool> {
        let runs: Vec<String> = self.runs.keys().cloned().collect();
        let patience = if runs.len() > 1 { ASK_EACH } else { ASK };
        let mut any = false;
        for run in runs {
            if self.orders.is_end() {
                break;
            }
            if let Some(message) = self.take(&run, patience) {
                any = true;
                let carried = self.carry_out(&run, &message);
                self.of_one_run(&run, carried)?;
            }
        }
        Ok(any)
    }

    /// Learns which runs have begun, changed or ended.
    fn look_for_runs(&mut self) -> Result<()> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return Ok(());
        }
        // A server with other storage counts from 1 again. Seeing a run twice does no harm.
        let last = self.server.latest(RUNS, ALL)?;
        if last.is_none_or(|stored| stored.sequence < self.seen) {
            self.seen = 0;
        }
        while let Some(stored) = self.server.first(RUNS, ALL, self.seen + 1)? {
            self.seen = stored.sequence;
            match RunCard::read(&stored) {
                Ok(card) => {
                    let run = card.run.clone();
                    let considered = self.consider(card);
                    self.of_one_run(&run, considered)?;
                }
                Err(error) => (self.say)(AgentEvent::Unreadable(error.to_string())),
            }
        }
        self.looked = Some(Instant::now());
        Ok(())
    }

    /// Trouble with one run ends this agent's part in that run and nothing else.
    fn of_one_run(&mut self, run: &str, done: Result<()>) -> Result<()> {
        use FleetError::{Damaged, NoStream, Refused};
        match done {
            Err(error @ (Damaged { .. } | NoStream { .. } | Refused { .. })) => {
                let was_joined = self.runs.remove(run).is_some();
                self.machine.forget(run);
                if was_joined && matches!(error, NoStream { .. }) {
                    // A server with other storage may have stored as many changes meanwhile.
                    self.seen = 0;
                }
                (self.say)(AgentEvent::Gave { run: run.to_owned(), why: error.to_string() });
                Ok(())
            }
            done => done,
        }
    }

    fn consider(&mut self, card: RunCard) -> Result<()> {
        let run = card.run.clone();
        if card.finished {
            self.leave(&run);
            return Ok(());
        }
        if !card.is_open {
            return Ok(());
        }
        if let Some(joined) = self.runs.get_mut(&run) {
            joined.card.members = card.members;
            return Ok(());
        }
        let group = card.group_of(&self.signer.key()).map(str::to_owned);
        let Some(group) = group.filter(|_| !self.refused.contains(&run)) else { return Ok(()) };
        self.join(card, group)
    }

    fn join(&mut self, card: RunCard, group: String) -> Result<()> {
        let run = card.run.clone();
        // Only agents of the version that planned a run are its members.
        let machine = self.machine.prepare(&card);
        let why = machine.as_ref().err().cloned();
        let agent = self.name.clone();
        let report = MachineReport { agent, instance: self.signer.key(), machine };
        store_machine(self.server, &run, &group, &report, self.signer)?;
        if let Some(why) = why {
            self.machine.forget(&run);
            (self.say)(AgentEvent::Refused { run: run.clone(), why });
            self.refused.insert(run);
            return Ok(());
        }
        (self.say)(AgentEvent::Joined { run: run.clone(), group: group.clone() });
        self.runs.insert(run, Joined { card, group, consumer: None });
        Ok(())
    }

    fn leave(&mut self, run: &str) {
        self.machine.forget(run);
        if self.runs.remove(run).is_some() {
            (self.say)(AgentEvent::Left(run.to_owned()));
        }
    }

    /// Returns the next block of a run; `None` if none comes within `patience` or the server does not answer.
    fn take(&mut self, run: &str, patience: Duration) -> Option<Message> {
        let server = self.server;
        let joined = self.runs.get_mut(run)?;
        if joined.consumer.is_none() {
            joined.consumer = server.runtime.block_on(consumer_of(server, run, &joined.group));
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

    fn show(&self, block: Option<(&str, &str)>) {
        let mut card = locked(&self.card);
        card.doing.block = block.map(|(run, block)| (run.to_owned(), block.to_owned()));
        card.doing.since_s = clock_s();
    }
}

/// Returns the consumer of a group; `None` if it does not exist yet or the server does not answer.
async fn consumer_of(server: &Server, run: &str, group: &str) -> Option<Consumer<pull::Config>> {
    server.stream(WORK).await.ok()?.get_consumer(&consumer(run, group)).await.ok()
}

/// Returns the next message; `None` if none comes within `patience`.
async fn next(
    consumer: &Consumer<pull::Config>,
    patience: Duration,
) -> Result<Option<Message>, async_nats::Error> {
    let mut batch = consumer.batch().max_messages(1).expires(patience).messages().await?;
    let limit = patience + Duration::from_secs(2);
    match tokio::time::timeout(limit, batch.next()).await {
        Ok(Some(message)) => message.map(Some),
        Ok(None) => Ok(None),
        Err(late) => Err(late.into()),
    }
}

/// The machine of an agent.
pub trait Machine {
    /// Prepares itself for a run: engines, drivers, a look at the disk.
    ///
    /// # Errors
    /// Why it cannot take part.
    fn prepare(&mut self, run: &RunCard) -> Result<EnvironmentFile, String>;

    /// Executes a block; `None` if it was stopped.
    ///
    /// # Errors
    /// Why it cannot be executed here at the moment. A failure within a trial is an outcome.
    fn execute(&mut self, run: &str, tasks: &[Task]) -> Result<Option<Vec<Execution>>, String>;

    /// Forgets a run that has ended.
    fn forget(&mut self, run: &str);
}

/// Something that an agent has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEvent {
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
    /// A run has ended, or was removed.
    Left(String),
    /// It leaves a run that gives trouble.
    Gave {
        /// The run.
        run: String,
        /// The trouble.
        why: String,
    },
    /// A run cannot be read.
    Unreadable(String),
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

/// Orders that an agent follows.
#[derive(Clone, Debug, Default)]
pub struct StopSignals {
    /// To stop at once.
    pub cancelled: Arc<AtomicBool>,
    /// To stop after the block that it carries out.
    pub draining: Arc<AtomicBool>,
}

impl StopSignals {
    pub(super) fn is_end(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.draining.load(Ordering::Relaxed)
    }
}
