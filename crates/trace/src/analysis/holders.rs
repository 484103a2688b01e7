//! Transactions that held a lock while other connections were refused it. Which of them matter is only known when all
//! refusals are, so this is a second pass over the events.

use std::collections::HashMap;

use super::locks::{Blocked, ConnectionSettings, HolderUse, Refusal, RefusalKey};
use super::{Event, Kind, Normalised};

/// A time in which a connection held a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    connection: i64,
    /// Its first statement other than `BEGIN`, as far as there is one.
    text: i64,
    kind: Kind,
    wrote: bool,
    from_us: i64,
    /// From when on it held the lock for sure: the end of the statement that took it, or of that statement's wait.
    sure_us: i64,
    until_us: i64,
    idle_us: i64,
}

impl Hold {
    fn begun(event: &Event, (text, kind): (i64, Kind), wrote: bool, is_wal: bool) -> Hold {
        // A write in autocommit may wait for readers when it commits, and blocks writers meanwhile.
        let may_hold = !is_wal && wrote && event.autocommit;
        let since_us = event.start_us + event.waited_ns.unwrap_or(0) / 1000;
        Hold {
            connection: event.connection,
            text,
            kind,
            wrote,
            from_us: if may_hold { event.start_us } else { since_us },
            sure_us: event.waited_ns.map_or(event.end_us(), |_| since_us),
            until_us: event.end_us(),
            idle_us: 0,
        }
    }

    fn extended(self, event: &Event, statement: (i64, Kind)) -> Hold {
        let idle_us = self.idle_us + (event.start_us - self.until_us).max(0);
        let is_named = self.kind != Kind::Transaction;
        let (text, kind) = if is_named { (self.text, self.kind) } else { statement };
        Hold { text, kind, until_us: self.until_us.max(event.end_us()), idle_us, ..self }
    }

    /// Returns how much speaks for it as what was in the way of a statement: whether it wrote, and for how long it held
    /// the lock meanwhile, for sure and at most. `None` if it cannot have been.
    fn blocks(&self, blocked: &Blocked, is_wal: bool) -> Option<(bool, i64, i64)> {
        let since =
            |from_us: i64| self.until_us.min(blocked.until_us) - from_us.max(blocked.from_us);
        let (sure, overlap) = (since(self.sure_us), since(self.from_us));
        // Readers block writers only with a rollback journal, and only a transaction that has ended made a snapshot old.
        let can = match blocked.key {
            (Refusal::Upgrade, Refusal::BUSY_SNAPSHOT) => {
                self.wrote && self.until_us <= blocked.until_us
            }
            _ => self.wrote || !is_wal,
        };
        let is_other = self.connection != blocked.connection;
        (is_other && can && overlap >= 0).then_some((self.wrote, sure.max(0), overlap))
    }
}

/// Finds the holders of locks.
pub struct Holders<'a> {
    texts: &'a Normalised,
    settings: &'a hashbrown::HashMap<i64, ConnectionSettings>,
    /// By database, each in the order of their ends, with what was in their way.
    blocked: HashMap<&'a str, Vec<(Blocked, Option<Hold>)>>,
    /// The longest time between the beginning and the end of one of them, in microseconds.
    longest_us: i64,
    holds: HashMap<i64, Hold>,
}

impl<'a> Holders<'a> {
    pub(super) fn new(
        texts: &'a Normalised,
        settings: &'a hashbrown::HashMap<i64, ConnectionSettings>,
        mut all: Vec<Blocked>,
    ) -> Holders<'a> {
        all.sort_by_key(|blocked| blocked.until_us);
        let longest_us =
            all.iter().map(|blocked| blocked.until_us - blocked.from_us).max().unwrap_or(0);
        let mut blocked: HashMap<&str, Vec<(Blocked, Option<Hold>)>> = HashMap::new();
        for one in all {
            let settings = settings.get(&one.connection);
            let database = settings.map_or("", |settings| settings.database.as_str());
            blocked.entry(database).or_default().push((one, None));
        }
        Holders { texts, settings, blocked, longest_us, holds: HashMap::new() }
    }

    /// Takes the next event; within a connection in the order of their starts.
    pub fn take(&mut self, event: &Event) {
        if event.duration_ns.is_none() {
            return;
        }
        let statement = self.texts.of(event.statement);
        let wrote = event.transaction == 2 || event.committed;
        let is_wal = self.settings.get(&event.connection).is_some_and(|settings| settings.is_wal);
        let before = self.holds.remove(&event.connection);
        let hold = match before {
            // From here on it holds more than a read lock.
            Some(hold) if wrote && !hold.wrote && event.transaction == 2 => {
                self.ended(hold.extended(&Event { duration_ns: None, ..*event }, statement));
                Some(Hold::begun(event, statement, true, is_wal))
            }
            Some(hold) => Some(hold.extended(event, statement)),
            None => {
                let is_refused = event.result.is_some_and(|code| code != 0);
                let reads = event.transaction == 1 || statement.1 == Kind::Read && !is_refused;
                (wrote || reads).then(|| Hold::begun(event, statement, wrote, is_wal))
            }
        };
        match hold {
            Some(hold) if event.autocommit => self.ended(hold),
            Some(hold) => drop(self.holds.insert(event.connection, hold)),
            None => {}
        }
    }

    /// Looks for statements that a lock was in the way of.
    fn ended(&mut self, hold: Hold) {
        let Some(settings) = self.settings.get(&hold.connection) else { return };
        let Some(blocked) = self.blocked.get_mut(settings.database.as_str()) else { return };
        let first = blocked.partition_point(|(blocked, _)| blocked.until_us < hold.from_us);
        let last_us = hold.until_us.saturating_add(self.longest_us);
        let near =
            blocked[first..].iter_mut().take_while(|(blocked, _)| blocked.until_us <= last_us);
        for (blocked, holder) in near {
            let Some(new) = hold.blocks(blocked, settings.is_wal) else { continue };
            let old = holder.and_then(|holder| holder.blocks(blocked, settings.is_wal));
            if old.is_none_or(|old| new > old) {
                *holder = Some(hold);
            }
        }
    }

    /// Returns the holders of the locks for each kind of refusal, those that blocked most statements first. Statements
    /// that no recorded connection blocked are not among them.
    pub fn finish(mut self) -> HashMap<RefusalKey, Vec<HolderUse>> {
        // A process that was killed holds no lock after its last statement.
        let open: Vec<Hold> = self.holds.drain().map(|(_, hold)| hold).collect();
        open.into_iter().for_each(|hold| self.ended(hold));
        let mut found: HashMap<RefusalKey, HashMap<i64, HolderUse>> = HashMap::new();
        for (blocked, holder) in self.blocked.into_values().flatten() {
            let Some(hold) = holder else { continue };
            let sql = || self.texts.text(hold.text);
            let new = || HolderUse { sql: sql(), count: 0, held_us: 0, idle_us: 0 };
            let uses = found.entry(blocked.key).or_default();
            let usage = uses.entry(hold.text).or_insert_with(new);
            usage.count += 1;
            let held_us = hold.until_us - hold.from_us;
            if held_us >= usage.held_us {
                (usage.held_us, usage.idle_us) = (held_us, hold.idle_us);
            }
        }
        let sorted = |uses: HashMap<i64, HolderUse>| {
            let mut uses: Vec<HolderUse> = uses.into_values().collect();
            uses.sort_by(|a, b| (b.count, &a.sql).cmp(&(a.count, &b.sql)));
            uses
        };
        found.into_iter().map(|(key, uses)| (key, sorted(uses))).collect()
    }
}
