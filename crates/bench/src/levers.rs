//! Settings of SQLite that `pragmark tune` varies, with the levels worth trying, and combinations known to be good.

use engine::pragma;
use lab::level::{Level, Settings, level_of};
use lab::tuning_plan::TunableSetting;

use crate::workload::sql::leaves_begin_open;

/// A PRAGMA, the levels worth trying (its default is added), and the setting and levels without which it means nothing.
type Row = (&'static str, &'static [&'static str], Option<(&'static str, &'static [&'static str])>);

/// PRAGMAs of connections. `locking_mode` is apart, since it keeps other programs out; `secure_delete` changes what stays in
/// the file; `busy_timeout` decides which transactions fail, not how fast they are. A log without checkpoints
/// (`wal_autocheckpoint=0`) grows without bound.
const OF_CONNECTIONS: [Row; 10] = [
    ("journal_mode", &["truncate", "persist", "wal", "memory", "off"], None),
    ("synchronous", &["normal", "extra", "off"], None),
    ("cache_size", &["-16384", "-65536", "-262144"], None),
    ("mmap_size", &["268435456", "2147418112"], None),
    ("temp_store", &["memory"], None),
    ("wal_autocheckpoint", &["100", "10000"], Some(("journal_mode", &["wal"]))),
    ("journal_size_limit", &["0", "67108864"], Some(("journal_mode", &["persist", "wal"]))),
    ("threads", &["2", "4"], None),
    ("automatic_index", &["off"], None),
    ("cache_spill", &["off"], None),
];

/// PRAGMAs of the file, which an existing one has only after it was written anew. Safety tiers are known for these sizes.
const OF_FILES: [Row; 2] = [
    ("page_size", &["1024", "8192", "16384"], None),
    ("auto_vacuum", &["incremental", "full"], None),
];

/// PRAGMAs that are varied on request.
const ON_REQUEST: [Row; 1] = [("locking_mode", &["exclusive"], None)];

/// The largest databases that are written anew in every trial that varies them: larger ones take longer than the work.
const WRITTEN_ANEW_BYTES: u64 = 128 * 1024 * 1024;

/// Combinations known to be good elsewhere, from the most widely used advice.
const GOOD: [&[(&str, &str)]; 3] = [
    &[("journal_mode", "truncate"), ("synchronous", "full")],
    &[("journal_mode", "wal"), ("synchronous", "full"), ("cache_size", "-65536")],
    &[
        ("journal_mode", "wal"),
        ("synchronous", "normal"),
        ("cache_size", "-65536"),
        ("mmap_size", "268435456"),
        ("temp_store", "memory"),
    ],
];

/// Subject of the tuning.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// Name of the workload.
    pub workload: &'a str,
    /// Settings of all trials.
    pub base: &'a Settings,
    /// Size of the existing databases in bytes; `None` if every trial creates its own.
    pub database_bytes: Option<u64>,
    /// Names of the settings to vary on request.
    pub requested: &'a [String],
}

/// Returns whether databases of this size may be rewritten, or get new indexes, in every trial that varies that.
pub fn may_be_written_anew(bytes: u64) -> bool {
    bytes <= WRITTEN_ANEW_BYTES
}

/// Returns the settings that may be varied on request.
pub fn on_request() -> impl Iterator<Item = &'static str> {
    ON_REQUEST.iter().map(|(name, ..)| *name)
}

/// Returns the settings that are varied, except the settings of the base.
pub fn levers(ground: &Ground<'_>) -> Vec<TunableSetting> {
    let is_small = ground.database_bytes.is_none_or(may_be_written_anew);
    let of_files = OF_FILES.iter().filter(|_| is_small);
    let requested = |(name, ..): &&Row| ground.requested.iter().any(|requested| requested == name);
    let pragmas = OF_CONNECTIONS.iter().chain(of_files).chain(ON_REQUEST.iter().filter(requested));
    let all = pragmas.map(lever).chain(analyze(ground)).chain(begin(ground));
    all.filter(|lever| !ground.base.contains_key(&lever.name)).collect()
}

/// ANALYZE before the work, where the workload can do that to an existing database.
fn analyze(ground: &Ground<'_>) -> Option<TunableSetting> {
    let knows = ["sql", "replay"].contains(&ground.workload);
    (knows && ground.database_bytes.is_some()).then(|| TunableSetting {
        name: "analyze".to_owned(),
        levels: vec![false.into(), true.into()],
        always_named: false,
        only_with: None,
    })
}

/// Returns how transactions begin, where several connections may write at the same time and a script says it in
/// general.
fn begin(ground: &Ground<'_>) -> Option<TunableSetting> {
    let clients = ground.base.get("clients").and_then(Level::as_int);
    let meet = ground.workload == "sql" && clients.is_some_and(|clients| clients > 1);
    (meet && leaves_begin_open(ground.base)).then(|| TunableSetting {
        name: "transaction".to_owned(),
        levels: vec!["deferred".into(), "immediate".into()],
        always_named: false,
        only_with: None,
    })
}

fn lever((name, levels, only_with): &Row) -> TunableSetting {
    let default = pragma::find(name).and_then(|pragma| pragma.default);
    let all = default.into_iter().chain(levels.iter().copied());
    let of = |(name, levels): &(&str, &[&str])| {
        let levels = levels.iter().map(|level| level_of_setting(name, level));
        ((*name).to_owned(), levels.collect())
    };
    TunableSetting {
        name: (*name).to_owned(),
        // What decides on safety is always said.
        always_named: ["journal_mode", "synchronous"].contains(name),
        levels: all.map(|level| level_of_setting(name, level)).collect(),
        only_with: only_with.as_ref().map(of),
    }
}

/// Combinations of them known to be good elsewhere.
pub fn good_settings() -> Vec<Settings> {
    let settings = |good: &&[(&str, &str)]| -> Settings {
        let levels = good.iter();
        levels.map(|(name, level)| ((*name).to_owned(), level_of_setting(name, level))).collect()
    };
    GOOD.iter().map(settings).collect()
}

/// Returns the level of a setting as experiments write it: a truth value, a number or a word.
pub fn level_of_setting(name: &str, value: &str) -> Level {
    let Some(pragma) = pragma::find(name) else { return level_of(value) };
    let normal = pragma.normalise(value);
    let value = normal.unwrap_or_else(|_| value.to_owned());
    match (&pragma.values, value.parse()) {
        (pragma::Values::Boolean, _) => Level::Bool(value == "on"),
        (_, Ok(number)) => Level::Int(number),
        (pragma::Values::BooleanOrInteger { .. }, _) => Level::Int(i64::from(value == "on")),
        (_, Err(_)) => Level::Text(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ground: &Ground<'_>) -> Vec<String> {
        levers(ground).into_iter().map(|lever| lever.name).collect()
    }

    /// Where everything is varied.
    fn all() -> Vec<TunableSetting> {
        let base = [("clients".to_owned(), 4.into())].into();
        levers(&Ground {
            workload: "sql",
            base: &base,
            database_bytes: Some(4096),
            requested: &on_request().map(str::to_owned).collect::<Vec<_>>(),
        })
    }

    #[test]
    fn every_level_is_one_that_its_setting_accepts_and_the_default_comes_first() {
        let catalogue = crate::catalogue();
        let sql = catalogue.workload("sql").unwrap();
        for lever in all() {
            let setting = catalogue.settings_of(sql).find(|it| it.name == lever.name);
            for level in &lever.levels {
                assert!(setting.unwrap().accepts.allows(level), "{}={level}", lever.name);
            }
            let default = match pragma::find(&lever.name) {
                Some(pragma) => level_of_setting(&lever.name, pragma.default.unwrap()),
                None => setting.unwrap().default.clone().unwrap(),
            };
            assert_eq!(lever.levels[0], default);
        }
    }

    #[test]
    fn what_is_known_to_be_good_is_in_the_space() {
        let levers = all();
        for (name, level) in good_settings().iter().flatten() {
            let lever = levers.iter().find(|lever| lever.name == *name).unwrap();
            assert!(lever.levels.contains(level), "{name}={level}");
        }
    }

    #[test]
    fn a_setting_is_varied_only_where_it_means_something_and_costs_little() {
        let (none, clients) = (Settings::new(), [("clients".to_owned(), 2.into())].into());
        let exclusive = ["locking_mode".to_owned()];
        let ground = |workload, base, database_bytes| Ground {
            workload,
            base,
            database_bytes,
            requested: &[],
        };
        let has = |ground: &Ground<'_>, name: &str| names(ground).iter().any(|it| it == name);
        let new = ground("user-insert", &none, None);
        assert!(has(&new, "page_size") && !has(&new, "analyze") && !has(&new, "locking_mode"));
        assert!(has(&Ground { requested: &exclusive, ..new }, "locking_mode"));
        let small = ground("replay", &none, Some(1 << 20));
        assert!(has(&small, "page_size") && has(&small, "analyze") && !has(&small, "transaction"));
        let large = ground("sql", &clients, Some(1 << 40));
        assert!(!has(&large, "page_size") && !has(&large, "auto_vacuum"));
        assert!(has(&large, "transaction") && !has(&large, "clients"));
        let given = [("mmap_size".to_owned(), 0.into())].into();
        assert!(!has(&ground("sql", &given, None), "mmap_size"));
    }
}
