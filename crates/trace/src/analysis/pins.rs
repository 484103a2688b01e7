//! Reading transactions that kept a write-ahead log from being reset: while one is open, no checkpoint may reuse what it can
//! still read. How many transactions committed meanwhile is known after a second pass over the events.

use std::collections::BTreeMap;

use super::{ConnectionSettings, Event, Normalised};

/// From how many microseconds on a reading transaction is long.
const LONG_US: i64 = 1_000_000;
/// How many of the longest are kept.
const LONGEST: usize = 20;
/// The fewest commits during one about which anything is said.
const COMMITS: u64 = 20;

/// A reading transaction of a connection in WAL mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pin {
    pub connection: i64,
    /// The first text that it read.
    pub text: i64,
    pub from_us: i64,
    pub until_us: i64,
}

impl Pin {
    /// Returns the transaction of a read outside of `BEGIN` and `COMMIT`.
    pub(super) fn of(event: &Event, text: i64) -> Pin {
        let Event { connection, start_us, .. } = *event;
        Pin { connection, text, from_us: start_us, until_us: event.end_us() }
    }

    /// Adds it to the longest, if it is one of them.
    pub(super) fn add_to(self, longest: &mut Vec<Pin>) {
        let length = |pin: &Pin| pin.until_us - pin.from_us;
        if length(&self) >= LONG_US {
            let at = longest.partition_point(|other| length(other) >= length(&self));
            longest.insert(at, self);
            longest.truncate(LONGEST);
        }
    }
}

/// A reading transaction during which others committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinUse {
    /// The database.
    pub database: String,
    /// The first text that it read.
    pub sql: String,
    /// How long it was open, in microseconds.
    pub held_us: i64,
    /// Commits of other connections meanwhile.
    pub commits: u64,
    /// The largest log that a connection has left when it was closed, in bytes.
    pub log_bytes: Option<i64>,
}

/// Counts the commits during long reads.
pub struct Pins<'a> {
    texts: &'a Normalised,
    settings: &'a hashbrown::HashMap<i64, ConnectionSettings>,
    of_databases: BTreeMap<&'a str, Vec<(Pin, u64)>>,
}

impl<'a> Pins<'a> {
    pub(super) fn new(
        texts: &'a Normalised,
        settings: &'a hashbrown::HashMap<i64, ConnectionSettings>,
        pins: &[Pin],
    ) -> Pins<'a> {
        let mut of_databases: BTreeMap<&str, Vec<(Pin, u64)>> = BTreeMap::new();
        for pin in pins {
            let settings = settings.get(&pin.connection);
            let database = settings.map_or("", |settings| settings.database.as_str());
            of_databases.entry(database).or_default().push((*pin, 0));
        }
        Pins { texts, settings, of_databases }
    }

    /// Takes the next event.
    pub fn take(&mut self, event: &Event) {
        let settings = self.settings.get(&event.connection).filter(|_| event.committed);
        let Some(settings) = settings else { return };
        let pins = self.of_databases.get_mut(settings.database.as_str()).into_iter().flatten();
        for (pin, commits) in pins.filter(|(pin, _)| pin.connection != event.connection) {
            *commits += u64::from((pin.from_us..pin.until_us).contains(&event.end_us()));
        }
    }

    /// Returns of each database the read during which most committed.
    pub fn finish(self) -> Vec<PinUse> {
        let Pins { texts, settings, of_databases } = self;
        let most = of_databases.into_iter().filter_map(|(database, pins)| {
            let (pin, commits) = pins.into_iter().max_by_key(|(_, commits)| *commits)?;
            let own = settings.values().filter(|settings| settings.database == database);
            Some(PinUse {
                database: database.to_owned(),
                sql: texts.text(pin.text),
                held_us: pin.until_us - pin.from_us,
                commits,
                log_bytes: own.filter_map(|settings| settings.log_bytes).max(),
            })
        });
        most.filter(|pin| pin.commits >= COMMITS).collect()
    }
}
