//! Printed settings take effect: the PRAGMAs in the text for each binding are applied to a new
//! database with the embedded engine and read back. (`tests/bindings/check.py` applies them through
//! the bindings themselves.)

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use engine::pragma::{self, Access, CATALOGUE, Scope};
use engine::{Connection, Library, OpenFlags, Source};
use lab::level::{Level, Settings};
use report::settings::{Binding, Chosen, once};

/// What a text sets, by name.
type Values = BTreeMap<String, String>;

fn library() -> Arc<Library> {
    Arc::new(Library::load(&Source::Embedded).unwrap())
}

fn open(library: &Arc<Library>, path: &Path) -> Connection {
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE;
    Connection::open(library, path, flags, None).unwrap()
}

/// Pieces of `text` between `open` and `close`, on one line each.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let after = text.split(open).skip(1);
    after.filter_map(|rest| rest.split(close).next()).collect()
}

/// `name = value` or `name=value`.
fn pair(text: &str, separator: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once(separator)?;
    let value = value.trim().trim_matches(['"', '\'']);
    Some((name.trim().trim_matches('"').to_owned(), value.to_owned()))
}

/// The PRAGMAs that a text sets through statements and through keys of the binding.
fn set_by(binding: Binding, text: &str) -> Values {
    let statement = |rest: &str| {
        let end = rest.find([';', '"', '\'', '\n']).unwrap_or(rest.len());
        pair(&rest[..end], " = ")
    };
    let statements = text.split("PRAGMA ").skip(1).filter_map(statement);
    let mut values: Values = statements.collect();
    let url = || {
        let query = between(text, "?", "\"").join("&");
        let words = query.split('&').map(str::to_owned);
        words.collect::<Vec<String>>()
    };
    let keys: Vec<(String, String)> = match binding {
        Binding::Shell
        | Binding::Node
        | Binding::Bun
        | Binding::Knex
        | Binding::Sequelize
        | Binding::Diesel
        | Binding::Room
        | Binding::EfCore
        | Binding::Doctrine
        | Binding::Expo => Vec::new(),
        Binding::C => timeout(text, "sqlite3_busy_timeout(db, ", ")", 1.0),
        Binding::Python => timeout(text, "timeout=", ")", 1000.0),
        Binding::Django => timeout(text, "\"timeout\": ", ",", 1000.0),
        Binding::SqlAlchemy => timeout(text, "\"timeout\": ", "}", 1000.0),
        Binding::Rails => {
            let entries = text.lines().filter_map(|line| line.strip_prefix("    "));
            let entries = entries.filter_map(|line| pair(line, ": "));
            entries.chain(timeout(text, "  timeout: ", "\n", 1.0)).collect()
        }
        Binding::Mattn | Binding::Gorm => {
            let words = url().into_iter();
            let keys = words.filter_map(|word| pair(word.strip_prefix('_')?, "="));
            keys.filter(|(name, _)| name != "txlock" && name != "mutex").collect()
        }
        Binding::Modernc => {
            let words = url().into_iter();
            let keys = words
                .filter_map(|word| pair(word.strip_prefix("_pragma=")?.trim_end_matches(')'), "("));
            keys.collect()
        }
        Binding::Prisma => timeout(text, "timeout: ", " }", 1.0),
        Binding::TypeOrm => timeout(text, "timeout: ", ",", 1.0),
        Binding::Grdb => timeout(text, ".timeout(", ")", 1000.0),
        Binding::Laravel => {
            let entries =
                text.lines().filter_map(|line| pair(line.trim().strip_suffix(',')?, " => "));
            let entries = entries.map(|(name, value)| (name.trim_matches('\'').to_owned(), value));
            entries.filter(|(name, _)| pragma::find(name).is_some()).collect()
        }
        Binding::Ecto => {
            let entries =
                text.lines().filter_map(|line| pair(line.trim().trim_end_matches(','), ": "));
            let entries = entries.map(|(name, value)| {
                let name = name.replace("wal_auto_check_point", "wal_autocheckpoint");
                (name, value.trim_start_matches(':').to_owned())
            });
            entries.filter(|(name, _)| pragma::find(name).is_some()).collect()
        }
        Binding::BetterSqlite3 | Binding::Drizzle => {
            let calls = between(text, ".pragma('", "')").into_iter();
            let calls = calls.filter_map(|call| pair(call, " = "));
            calls.chain(timeout(text, "timeout: ", " }", 1.0)).collect()
        }
        Binding::Jdbc | Binding::Exposed => {
            let words = url().into_iter().filter_map(|word| pair(&word, "="));
            words.filter(|(name, _)| name != "transaction_mode" && name != "open_mode").collect()
        }
        Binding::Rusqlite => {
            let calls = between(text, "pragma_update(None, ", ")?").into_iter();
            let calls = calls.filter_map(|call| pair(call, ", "));
            calls.chain(timeout(text, "from_millis(", ")", 1.0)).collect()
        }
        Binding::Sqlx | Binding::SeaOrm => {
            let calls = between(text, ".pragma(", ")").into_iter();
            let calls = calls.filter_map(|call| pair(call, ", "));
            calls.chain(timeout(text, "from_millis(", ")", 1.0)).collect()
        }
    };
    values.extend(keys);
    values
}

/// A busy timeout given in a unit of so many milliseconds.
fn timeout(text: &str, open: &str, close: &str, unit: f64) -> Vec<(String, String)> {
    let found = between(text, open, close);
    let number = found.first().and_then(|found| {
        let digits: String =
            found.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        digits.parse::<f64>().ok()
    });
    let ms = number.map(|number| format!("{:.0}", number * unit));
    ms.map(|ms| ("busy_timeout".to_owned(), ms)).into_iter().collect()
}

/// What must be read back.
fn expected(settings: &Settings) -> Values {
    let pragmas = settings.iter().filter_map(|(name, level)| {
        let value = match level {
            Level::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
            other => other.to_string(),
        };
        pragma::find(name).map(|_| (name.clone(), value))
    });
    pragmas.collect()
}

/// Every binding's text, applied to a new database after what is done once, gives the settings.
fn take_effect(library: &Arc<Library>, settings: &Settings) {
    let chosen = Chosen::of(settings, |name| pragma::find(name).is_some()).unwrap();
    let wanted = expected(settings);
    for binding in Binding::ALL.iter().copied() {
        let text = binding.text(&chosen);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        if let Some(once) = once(&chosen) {
            let connection = open(library, &path);
            connection.execute(&once).unwrap();
            connection.close().unwrap();
        }
        let connection = open(library, &path);
        for (name, value) in in_order(set_by(binding, &text)) {
            let value = value.to_lowercase();
            let value = match &value[..] {
                "true" => "on",
                "false" => "off",
                value => value,
            };
            pragma::apply(&connection, &name, value)
                .unwrap_or_else(|error| panic!("{}: {error}\n{text}", binding.name()));
        }
        let found = pragma::read_back(&connection).unwrap();
        for (name, value) in &wanted {
            assert_eq!(found.get(name), Some(value), "{}: {name}\n{text}", binding.name());
        }
    }
}

/// As bindings apply them, the locking mode and the journal mode come first.
fn in_order(values: Values) -> Vec<(String, String)> {
    let mut ordered: Vec<_> = values.into_iter().collect();
    let first = ["locking_mode", "journal_mode"];
    ordered.sort_by_key(|(name, _)| first.iter().position(|it| it == name).unwrap_or(2));
    ordered
}

fn level_of(name: &str, text: &str) -> Level {
    let catalogue = bench::catalogue();
    let accepts = catalogue.shared.iter().find(|it| it.name == name);
    let candidates = [
        text.parse().map(Level::Int).ok(),
        matches!(text, "on" | "off").then_some(Level::Bool(text == "on")),
        Some(Level::Text(text.to_owned())),
    ];
    let fits = |level: &Level| accepts.is_some_and(|it| it.accepts.allows(level));
    let level = candidates.into_iter().flatten().find(fits);
    level.unwrap_or_else(|| panic!("{name} has no level {text}"))
}

#[test]
fn every_level_of_every_pragma_takes_effect_in_every_form() {
    let library = library();
    let settings_of_connections_and_files = CATALOGUE.iter().filter(|pragma| {
        // A heap limit would reach the other tests; a switch of one transaction ends with it.
        pragma.access == Access::ReadWrite
            && pragma.scope != Scope::Process
            && !["defer_foreign_keys", "cache_spill"].contains(&pragma.name)
    });
    let mut tried = 0;
    for pragma in settings_of_connections_and_files {
        for text in pragma.levels {
            let settings = Settings::from([(pragma.name.to_owned(), level_of(pragma.name, text))]);
            take_effect(&library, &settings);
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
}

#[test]
fn settings_that_depend_on_each_other_take_effect_together() {
    let library = library();
    let sets: [&[(&str, Level)]; 3] = [
        &[
            ("auto_vacuum", "incremental".into()),
            ("busy_timeout", Level::Int(4321)),
            ("cache_size", Level::Int(-8000)),
            ("foreign_keys", true.into()),
            ("journal_mode", "wal".into()),
            ("page_size", Level::Int(8192)),
            ("synchronous", "normal".into()),
            ("transaction", "immediate".into()),
            ("wal_autocheckpoint", Level::Int(500)),
        ],
        &[
            ("busy_timeout", Level::Int(250)),
            ("journal_mode", "persist".into()),
            ("locking_mode", "exclusive".into()),
            ("open_mutex", "full".into()),
            ("page_size", Level::Int(1024)),
            ("secure_delete", "fast".into()),
            ("synchronous", "extra".into()),
            ("threads", Level::Int(2)),
        ],
        &[
            ("encoding", "UTF-16le".into()),
            ("journal_mode", "off".into()),
            ("synchronous", "off".into()),
            ("temp_store", "memory".into()),
        ],
    ];
    for set in sets {
        let entry = |(name, level): &(&str, Level)| ((*name).to_owned(), level.clone());
        take_effect(&library, &set.iter().map(entry).collect());
    }
}

#[test]
fn what_shapes_the_file_also_takes_effect_on_one_with_content() {
    let library = library();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let connection = open(&library, &path);
    connection
        .execute("PRAGMA journal_mode = wal; CREATE TABLE t(x); INSERT INTO t VALUES (1)")
        .unwrap();
    connection.close().unwrap();
    let settings = Settings::from([
        ("page_size".to_owned(), Level::Int(16384)),
        ("auto_vacuum".to_owned(), "full".into()),
        ("journal_mode".to_owned(), "wal".into()),
    ]);
    let chosen = Chosen::of(&settings, |_| true).unwrap();
    let connection = open(&library, &path);
    connection.execute(&once(&chosen).unwrap()).unwrap();
    let found = pragma::read_back(&connection).unwrap();
    assert_eq!(
        (&found["page_size"][..], &found["auto_vacuum"][..], &found["journal_mode"][..]),
        ("16384", "full", "wal")
    );
    assert_eq!(connection.query_i64("SELECT x FROM t").unwrap(), 1);
}
