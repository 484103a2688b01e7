//! Statements that SQLite refused because of a lock, and settings of connections that explain them or risk data.

use std::collections::{BTreeMap, HashMap};

use super::{Event, Kind, Normalised};

/// SQLite's result codes of locks.
const BUSY: i64 = 5;
const LOCKED: i64 = 6;

/// Why statements were refused, and SQLite's extended result code.
pub type RefusalKey = (Refusal, i64);

/// The time of a statement that did not wait, at most, in nanoseconds.
const AT_ONCE: i64 = 10_000_000;

/// The most different transactions with refused writes that are told apart, to bound the memory.
const KNOWN: usize = 1_000;

/// Settings of a connection, as read back when it was closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// Its database; empty for one in memory.
    pub database: String,
    /// PRAGMA busy_timeout, in milliseconds.
    pub busy_timeout_ms: Option<i64>,
    /// PRAGMA foreign_keys: 0 or 1.
    pub foreign_keys: Option<i64>,
    /// PRAGMA synchronous: 0 for OFF to 3 for EXTRA.
    pub synchronous: Option<i64>,
    /// Whether PRAGMA locking_mode is exclusive.
    pub is_exclusive: bool,
    /// Whether PRAGMA journal_mode is WAL.
    pub is_wal: bool,
    /// Whether PRAGMA journal_mode names a rollback journal in a file.
    pub has_journal: bool,
    /// The size of the write-ahead log.
    pub log_bytes: Option<i64>,
}

/// How a lock hindered a statement: why SQLite refused it, or that it waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// It writes, and its transaction had read before: SQLite does not wait for a lock then.
    Upgrade,
    /// It waited for the whole busy timeout.
    TimedOut,
    /// The busy timeout is 0, and it did not wait.
    NoTimeout,
    /// A statement of the same connection, or of one with the same cache, was in the way.
    Locked,
    /// Another reason, or the busy timeout is not known.
    Other,
    /// It waited, and succeeded.
    Waited,
}

impl Refusal {
    /// SQLite's result code if another connection has committed since the transaction read.
    pub(super) const BUSY_SNAPSHOT: i64 = 517;

    /// Returns why SQLite refused a statement; `None` if no lock was in the way.
    pub fn of(event: &Event, kind: Kind, settings: &ConnectionSettings) -> Option<Refusal> {
        let code = event.result?;
        let timeout_ns = settings.busy_timeout_ms.map(|ms| ms.saturating_mul(1_000_000));
        let waited = event.duration_ns.unwrap_or(0);
        // Clocks and pauses between attempts are not exact.
        let waited_out = |timeout: i64| timeout > 0 && waited >= timeout / 10 * 9;
        let holds_read = event.transaction == 1 && !matches!(kind, Kind::Read | Kind::Transaction);
        match (code, timeout_ns) {
            (Refusal::BUSY_SNAPSHOT, _) => Some(Refusal::Upgrade),
            (BUSY, timeout) if holds_read && !timeout.is_some_and(waited_out) => {
                Some(Refusal::Upgrade)
            }
            // One that waits by a handler of its own has a busy timeout of 0, too.
            (BUSY, Some(0)) if waited < AT_ONCE => Some(Refusal::NoTimeout),
            (BUSY, Some(timeout)) if waited_out(timeout) => Some(Refusal::TimedOut),
            _ if code & 0xff == LOCKED => Some(Refusal::Locked),
            _ => (code & 0xff == BUSY).then_some(Refusal::Other),
        }
    }
}

/// How long statements waited, and how long they might have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The longest wait, in nanoseconds: of a statement that failed, all of its time.
    pub longest_ns: i64,
    /// All waits, in nanoseconds.
    pub total_ns: i64,
    /// The shortest and the longest busy timeout of their connections, in milliseconds; `None` if none is known.
    pub timeouts_ms: Option<(i64, i64)>,
}

impl Waits {
    pub(super) fn take(&mut self, event: &Event, settings: &ConnectionSettings) {
        let timeouts_ms = settings.busy_timeout_ms.map(|timeout| (timeout, timeout));
        let has_failed = event.result.is_some_and(|code| code != 0);
        let ns = if has_failed { event.duration_ns } else { event.waited_ns }.unwrap_or(0);
        self.add(Waits { longest_ns: ns, total_ns: ns, timeouts_ms });
    }

    fn add(&mut self, other: Waits) {
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.timeouts_ms = match (self.timeouts_ms, other.timeouts_ms) {
            (Some(own), Some(other)) => Some((own.0.min(other.0), own.1.max(other.1))),
            (own, other) => own.or(other),
        };
    }
}

/// The most refusals, and the most waits, whose holders are looked for, to bound the memory.
const BLOCKED: usize = 10_000;

/// Transactions, or statements outside of them, that held a lock and begin to hold it with one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HolderUse {
    /// The first text of the transaction since it took the lock, other than `BEGIN`.
    pub sql: String,
    /// How many statements it blocked.
    pub count: u64,
    /// How long the longest held the lock, in microseconds.
    pub held_us: i64,
    /// How long none of its statements ran meanwhile, in microseconds.
    pub idle_us: i64,
}

/// A statement that was refused, or waited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocked {
    pub key: RefusalKey,
    pub connection: i64,
    /// When it began to wait or, if what it had read was no longer the latest, when its transaction began.
    pub from_us: i64,
    pub until_us: i64,
}

/// Statements that locks hindered in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalUse {
    /// The way.
    pub refusal: Refusal,
    /// SQLite's extended result code; 0 for success.
    pub code: i64,
    /// How many there are.
    pub count: u64,
    /// How long they waited.
    pub waits: Waits,
    /// The first texts of the most frequent transaction, ending with the refused one; of waits, the statement that waited most
    /// often.
    pub transaction: Vec<String>,
    /// Transactions of other connections that held the lock; statements that no recorded connection blocked are missing.
    pub holders: Vec<HolderUse>,
}

impl RefusalUse {
    /// Returns whether another connection had committed since the transaction read.
    pub fn is_of_an_old_snapshot(&self) -> bool {
        self.code == Refusal::BUSY_SNAPSHOT
    }
}

/// Statements that locks hindered, being counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals {
    counts: HashMap<(Refusal, i64, Vec<i64>), (u64, Waits)>,
    /// The first ones that failed while another connection held a lock, and those that waited for it.
    pub blocked: Vec<Blocked>,
    pub waited: Vec<Blocked>,
    pub holders: HashMap<RefusalKey, Vec<HolderUse>>,
}

impl Refusals {
    /// Takes a statement, with the texts of its transaction.
    pub(super) fn take(
        &mut self,
        refusal: Refusal,
        event: &Event,
        texts: &[i64],
        begun_us: Option<i64>,
        settings: &ConnectionSettings,
    ) {
        let code = event.result.unwrap_or(0);
        let blocked = if refusal == Refusal::Waited { &mut self.waited } else { &mut self.blocked };
        if refusal != Refusal::Locked && blocked.len() < BLOCKED {
            let is_old = code == Refusal::BUSY_SNAPSHOT;
            blocked.push(Blocked {
                key: (refusal, code),
                connection: event.connection,
                from_us: begun_us.filter(|_| is_old).unwrap_or(event.start_us),
                until_us: event.end_us(),
            });
        }
        let is_full = self.counts.len() >= KNOWN;
        let texts = if is_full { Vec::new() } else { texts.to_vec() };
        let key = (refusal, code, texts);
        let (count, waits) = self.counts.entry(key).or_default();
        *count += 1;
        waits.take(event, settings);
    }

    /// Returns them by reason and code.
    pub(super) fn finish(mut self, texts: &Normalised) -> Vec<RefusalUse> {
        let mut all: Vec<_> = self.counts.into_iter().collect();
        all.sort_by(|(a, (count, _)), (b, (other, _))| (other, a).cmp(&(count, b)));
        let mut uses: BTreeMap<(Refusal, i64), RefusalUse> = BTreeMap::new();
        for ((refusal, code, of_transaction), (count, waits)) in all {
            let usage = uses.entry((refusal, code)).or_insert_with(|| RefusalUse {
                refusal,
                code,
                count: 0,
                waits: Waits::default(),
                transaction: of_transaction.iter().map(|text| texts.text(*text)).collect(),
                holders: self.holders.remove(&(refusal, code)).unwrap_or_default(),
            });
            usage.count += count;
            usage.waits.add(waits);
        }
        uses.into_values().collect()
    }
}

/// Returns how many connections to each database wrote.
pub(super) fn writers<'a>(
    connections: impl Iterator<Item = (&'a ConnectionSettings, bool)>,
) -> HashMap<&'a str, u64> {
    let mut counts = HashMap::new();
    for (settings, wrote) in connections {
        *counts.entry(settings.database.as_str()).or_default() += u64::from(wrote);
    }
    counts
}

/// A setting that protects data, and that connections to one database do not share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unprotected {
    /// The PRAGMA.
    pub pragma: &'static str,
    /// The database.
    pub database: String,
    /// Connections that wrote without it.
    pub without: u64,
    /// Connections that had it.
    pub with: u64,
}

/// Returns settings that protect data on some connections to a database, while others wrote without them.
pub(super) fn unprotected<'a>(
    connections: impl Iterator<Item = (&'a ConnectionSettings, bool)>,
) -> Vec<Unprotected> {
    let mut counts: BTreeMap<(&'static str, &str), (u64, u64)> = BTreeMap::new();
    for (settings, wrote) in connections.filter(|(settings, _)| !settings.database.is_empty()) {
        let values =
            [("foreign_keys", settings.foreign_keys), ("synchronous", settings.synchronous)];
        for (pragma, value) in values {
            let (without, with) = counts.entry((pragma, &settings.database)).or_default();
            *without += u64::from(value == Some(0) && wrote);
            *with += u64::from(value.is_some_and(|value| value > 0));
        }
    }
    let differs = counts.into_iter().filter(|(_, (without, with))| *without > 0 && *with > 0);
    let named = |((pragma, database), (without, with)): ((_, &str), _)| Unprotected {
        pragma,
        database: database.to_owned(),
        without,
        with,
    };
    differs.map(named).collect()
}
