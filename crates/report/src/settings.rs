//! Settings ready to paste: PRAGMAs and what goes with them (busy timeout, BEGIN mode, mutexes) in
//! the form that each binding of SQLite takes.
//!
//! It stands apart from the views because it knows the bindings and no run. Every form is text that
//! works as it stands, in two parts:
//!
//! 1. what is set *once for each database file* ([`once`]): `page_size`, `auto_vacuum` and `encoding`
//!    take effect only before the first table is written (the first two also with a VACUUM), and a binding that has a key for them may
//!    still apply them too late (sqlite-jdbc and modernc do, without a word);
//! 2. what is set *on every connection* ([`Binding::text`]). `journal_mode = wal` stays with the file
//!    and is also set on connections, where it costs nothing and cannot be forgotten.
//!
//! The forms are in `templates/settings.txt` and follow the sources or the documents of the bindings. `tests/bindings` applies them
//! through the bindings themselves, except those that [`Binding::is_executed`] names; `crates/pragmark/tests/settings.rs` applies the
//! PRAGMAs in all of them with the embedded engine.

use askama::Template;
use lab::level::{Level, Settings};
use lab::text::one_line;

/// Whether `tests/bindings` executes the text of a binding. Others need a device, a compiler or a project that no registry has.
const EXECUTED: bool = true;
const BY_DOCUMENTS: bool = false;

/// Remarks that bindings over one driver share.
const OF_MATTN: &str = "By default the driver waits 5 seconds for locks, and with _journal_mode=WAL sets synchronous = normal.";
const OF_BETTER_SQLITE3: &str = "The driver waits 5 seconds for locks; its SQLite is compiled with foreign_keys = on, a cache of 16,000 KiB and, in WAL mode, synchronous = normal.";
const OF_SQLX: &str = "sqlx waits 5 seconds for locks and sets foreign_keys = on itself.";
const OF_JDBC: &str = "sqlite-jdbc waits 3 seconds for locks by default.";

/// A binding in words.
struct About {
    name: &'static str,
    title: &'static str,
    language: &'static str,
    comment_mark: &'static str,
    is_executed: bool,
    remark: &'static str,
}

/// Defines the bindings: name, title, language, what begins a comment, whether the text is executed, and what the binding does by
/// itself.
macro_rules! bindings {
    ($($binding:ident: $name:literal, $title:literal, $language:literal, $mark:literal, $is_executed:expr, $remark:expr;)*) => {
        /// A way to use SQLite from a program.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Binding {
            $(#[doc = $title] $binding,)*
        }

        impl Binding {
            /// Every binding, those that are shown unasked first.
            pub const ALL: &[Binding] = &[$(Binding::$binding),*];

            /// In the order of [`Binding::ALL`].
            const ABOUT: &[About] = &[$(About {
                name: $name,
                title: $title,
                language: $language,
                comment_mark: $mark,
                is_executed: $is_executed,
                remark: $remark,
            }),*];
        }
    };
}

bindings! {
    Shell: "shell", "sqlite3 shell", "sql", "--", EXECUTED, "";
    C: "c", "C", "c", "//", EXECUTED, "";
    Python: "python", "Python, sqlite3", "python", "#", EXECUTED, "Python waits 5 seconds for locks by default.";
    Django: "django", "Python, Django 5.1+", "python", "#", EXECUTED, "Django sets foreign_keys = on itself, and waits 5 seconds for locks unless OPTIONS has another timeout.";
    SqlAlchemy: "sqlalchemy", "Python, SQLAlchemy 2", "python", "#", EXECUTED, "";
    Rails: "rails", "Ruby, Rails 7.2+", "yaml", "#", EXECUTED, "Other settings stay as Rails sets them: foreign_keys = on, journal_mode = wal, synchronous = normal, mmap_size = 128 MiB, journal_size_limit = 64 MiB, cache_size = 2000 pages.";
    Mattn: "mattn", "Go, mattn/go-sqlite3", "go", "//", EXECUTED, OF_MATTN;
    Modernc: "modernc", "Go, modernc.org/sqlite", "go", "//", EXECUTED, "The driver runs PRAGMAs in the order of their names, busy_timeout first.";
    BetterSqlite3: "better-sqlite3", "Node, better-sqlite3", "js", "//", EXECUTED, OF_BETTER_SQLITE3;
    Jdbc: "jdbc", "Java, sqlite-jdbc", "java", "//", EXECUTED, OF_JDBC;
    Rusqlite: "rusqlite", "Rust, rusqlite", "rust", "//", EXECUTED, "";
    Sqlx: "sqlx", "Rust, sqlx", "rust", "//", EXECUTED, OF_SQLX;
    Node: "node", "Node, node:sqlite", "js", "//", EXECUTED, "node:sqlite sets foreign_keys = on itself.";
    Bun: "bun", "Bun, bun:sqlite", "js", "//", EXECUTED, "";
    Drizzle: "drizzle", "Node, Drizzle with better-sqlite3", "js", "//", EXECUTED, OF_BETTER_SQLITE3;
    Knex: "knex", "Node, Knex with better-sqlite3", "js", "//", EXECUTED, OF_BETTER_SQLITE3;
    Prisma: "prisma", "Node, Prisma with better-sqlite3", "js", "//", BY_DOCUMENTS, "The adapter has one connection.";
    Sequelize: "sequelize", "Node, Sequelize 6", "js", "//", EXECUTED, "";
    TypeOrm: "typeorm", "Node, TypeORM with better-sqlite3", "js", "//", EXECUTED, "TypeORM sets foreign_keys = on itself and has one connection.";
    Gorm: "gorm", "Go, GORM with mattn/go-sqlite3", "go", "//", EXECUTED, OF_MATTN;
    Diesel: "diesel", "Rust, Diesel 2", "rust", "//", EXECUTED, "";
    SeaOrm: "seaorm", "Rust, SeaORM", "rust", "//", EXECUTED, OF_SQLX;
    Exposed: "exposed", "Kotlin, Exposed", "kotlin", "//", BY_DOCUMENTS, OF_JDBC;
    Room: "room", "Kotlin, Room", "kotlin", "//", BY_DOCUMENTS, "The callback reaches the connection that writes; the readers of the pool keep Android's settings.";
    Grdb: "grdb", "Swift, GRDB", "swift", "//", BY_DOCUMENTS, "A DatabasePool sets journal_mode = wal itself. GRDB 7 begins transactions that write with BEGIN IMMEDIATE.";
    EfCore: "efcore", "C#, EF Core", "csharp", "//", BY_DOCUMENTS, "EF Core creates databases with journal_mode = wal, and repeats locked statements until the command's timeout, 30 seconds.";
    Laravel: "laravel", "PHP, Laravel 11+", "php", "//", BY_DOCUMENTS, "";
    Doctrine: "doctrine", "PHP, Doctrine DBAL", "php", "//", BY_DOCUMENTS, "";
    Ecto: "ecto", "Elixir, Ecto", "elixir", "#", BY_DOCUMENTS, "Other settings stay as Ecto sets them: journal_mode = wal, synchronous = normal, foreign_keys = on, cache_size = -64000; it waits 2 seconds for locks.";
    Expo: "expo", "React Native, expo-sqlite", "js", "//", BY_DOCUMENTS, "";
}

impl Binding {
    /// The bindings that pages and lists show; the others are printed on request.
    pub const SHOWN: usize = 12;

    /// The name by which a command line selects it.
    pub fn name(self) -> &'static str {
        Binding::ABOUT[self as usize].name
    }

    /// The binding of this name.
    pub fn find(name: &str) -> Option<Binding> {
        Binding::ALL.iter().copied().find(|binding| binding.name() == name)
    }

    /// Returns its name for readers.
    pub fn title(self) -> &'static str {
        Binding::ABOUT[self as usize].title
    }

    /// The language of the text, as Markdown names it.
    pub fn language(self) -> &'static str {
        Binding::ABOUT[self as usize].language
    }

    /// Returns the mark that begins a comment in the text ([`comment`]).
    pub fn comment_mark(self) -> &'static str {
        Binding::ABOUT[self as usize].comment_mark
    }

    /// Returns the text to paste for every connection. Lines end in a line feed.
    pub fn text(self, chosen: &Chosen) -> String {
        form(self, chosen)
    }

    /// Returns what the binding does by itself, which was not measured unless it is among the settings.
    pub fn remark(self) -> Option<&'static str> {
        Some(Binding::ABOUT[self as usize].remark).filter(|remark| !remark.is_empty())
    }

    /// Returns the settings that a connection has where the application sets none, as far as they are not SQLite's defaults, by the
    /// journal mode of the file. Sources as for [`Binding::remark`].
    pub fn in_force(self, is_wal: bool) -> Vec<(&'static str, &'static str)> {
        match self {
            Binding::Rails => vec![
                ("journal_mode", "wal"),
                ("synchronous", "normal"),
                ("mmap_size", "134217728"),
                ("journal_size_limit", "67108864"),
                ("cache_size", "2000"),
            ],
            Binding::BetterSqlite3
            | Binding::Drizzle
            | Binding::Knex
            | Binding::Prisma
            | Binding::TypeOrm => {
                let synchronous = is_wal.then_some(("synchronous", "normal"));
                synchronous.into_iter().chain([("cache_size", "-16000")]).collect()
            }
            Binding::Ecto => {
                vec![("journal_mode", "wal"), ("synchronous", "normal"), ("cache_size", "-64000")]
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether `tests/bindings` executes its text.
    pub fn is_executed(self) -> bool {
        Binding::ABOUT[self as usize].is_executed
    }

    /// Returns which of the settings the binding cannot set.
    pub fn cannot(self, chosen: &Chosen) -> Option<String> {
        let is_fast = |pragma: &Pragma| pragma.is("secure_delete", "fast");
        if self == Binding::Ecto && chosen.connection.iter().any(is_fast) {
            return Some(
                "Ecto sets secure_delete itself and does not know the value fast.".to_owned(),
            );
        }
        let opens_with_flags = matches!(
            self,
            Binding::C
                | Binding::Mattn
                | Binding::Gorm
                | Binding::Jdbc
                | Binding::Exposed
                | Binding::Rusqlite
                | Binding::Sqlx
        );
        let flag = chosen.mutex_flag().filter(|_| !opens_with_flags)?;
        Some(format!("It cannot open connections with {flag}."))
    }
}

/// Returns what to do once for each database file, new or with content, as a script for the `sqlite3` shell
/// while nothing else has the file open; none if nothing shapes the file.
///
/// A database in WAL mode keeps its page size even through VACUUM, so the script leaves that mode first
/// (<https://sqlite.org/pragma.html#pragma_page_size>). The encoding is set ahead of everything, and
/// VACUUM does not write it as long as there has been no table.
pub fn once(chosen: &Chosen) -> Option<String> {
    let statements = |pragmas: &[Pragma]| -> String {
        pragmas.iter().map(|pragma| pragma.sql() + ";\n").collect()
    };
    let is_encoding = |pragma: &Pragma| pragma.name == "encoding";
    let (encoding, shape) = chosen.file.split_at(chosen.file.partition_point(is_encoding));
    let table = match encoding {
        [] => "",
        _ => "CREATE TABLE sets_the_encoding(x);\nDROP TABLE sets_the_encoding;\n",
    };
    let wal = if chosen.is_wal() { "PRAGMA journal_mode = wal;\n" } else { "" };
    let analyze = if chosen.analyze { "ANALYZE;\n" } else { "" };
    let written_anew = if chosen.file.is_empty() {
        String::new()
    } else {
        let (encoding, shape) = (statements(encoding), statements(shape));
        format!("{encoding}PRAGMA journal_mode = delete;\n{shape}{table}VACUUM;\n{wal}")
    };
    Some(written_anew + analyze).filter(|script| !script.is_empty())
}

/// The PRAGMAs for which mattn/go-sqlite3 has keys, `_` before the name (`Open` in `sqlite3.go`,
/// version 1.14), and that are settings of connections. Unknown keys are ignored without a word.
const MATTN_KEYS: &str = "cache_size case_sensitive_like defer_foreign_keys foreign_keys
    ignore_check_constraints journal_mode locking_mode query_only recursive_triggers secure_delete
    synchronous";

/// The PRAGMAs that sqlite-jdbc knows (`SQLiteConfig.Pragma`, version 3.54) and that are settings of
/// connections. An unknown parameter stays in the name of the file.
const JDBC_PARAMETERS: &str = "automatic_index cache_size cache_spill case_sensitive_like
    defer_foreign_keys foreign_keys journal_mode journal_size_limit legacy_alter_table locking_mode
    max_page_count mmap_size read_uncommitted recursive_triggers reverse_unordered_selects secure_delete
    synchronous temp_store wal_autocheckpoint";

/// Parameters that sqlite-jdbc takes for truth values.
const JDBC_TRUTH: &str = "automatic_index case_sensitive_like defer_foreign_keys foreign_keys
    legacy_alter_table read_uncommitted recursive_triggers reverse_unordered_selects";

/// Setters of the gem sqlite3 2.x (`lib/sqlite3/pragmas.rb`) for settings of connections. Rails sets a
/// PRAGMA through the method of its name, and only warns where there is none.
const RAILS_SETTERS: &str = "automatic_index cache_size cache_spill case_sensitive_like
    cell_size_check checkpoint_fullfsync defer_foreign_keys foreign_keys fullfsync
    ignore_check_constraints journal_mode journal_size_limit locking_mode max_page_count mmap_size
    query_only read_uncommitted recursive_triggers reverse_unordered_selects secure_delete
    soft_heap_limit synchronous temp_store threads wal_autocheckpoint";

/// The PRAGMAs for which exqlite has keys (`Exqlite.Connection`), with `wal_auto_check_point` for the last. It sets some of them
/// unasked, which may undo what `custom_pragmas` has set.
const ECTO_KEYS: &str = "cache_size cache_spill case_sensitive_like foreign_keys journal_mode
    journal_size_limit locking_mode secure_delete synchronous temp_store wal_autocheckpoint";

/// The flags of `sqlite3_open_v2` for reading, writing and creating.
const READ_WRITE_CREATE: u32 = 0x2 | 0x4;

/// Settings in the form of a binding.
#[derive(Template)]
#[template(path = "settings.txt")]
struct Form<'a> {
    binding: Binding,
    chosen: &'a Chosen,
    /// The PRAGMAs of connections that the binding has keys for.
    by_key: Vec<&'a Pragma>,
    /// Those that it has none for.
    others: Vec<&'a Pragma>,
    /// The parameters of a data source name or URL.
    parameters: String,
}

/// Returns the text to paste for every connection.
fn form(binding: Binding, chosen: &Chosen) -> String {
    let pragmas = chosen.connection.iter();
    let (by_key, others): (Vec<&Pragma>, Vec<&Pragma>) =
        pragmas.partition(|pragma| match binding {
            Binding::Mattn | Binding::Gorm => is_among(MATTN_KEYS, pragma),
            Binding::Jdbc | Binding::Exposed => is_among(JDBC_PARAMETERS, pragma),
            Binding::Ecto => is_among(ECTO_KEYS, pragma) && !pragma.is("secure_delete", "fast"),
            Binding::Laravel => is_among("journal_mode synchronous", pragma),
            Binding::Rails => {
                // Some setters know fewer values than SQLite does.
                let unknown_to_setter = pragma.is("synchronous", "extra")
                    || pragma.is("secure_delete", "fast")
                    || (pragma.name == "cache_spill" && pragma.is_number());
                is_among(RAILS_SETTERS, pragma) && !unknown_to_setter
            }
            _ => true,
        });
    let form =
        Form { binding, chosen, parameters: parameters(binding, chosen, &by_key), by_key, others };
    form.render().expect("a string takes any text")
}

fn is_among(names: &str, pragma: &Pragma) -> bool {
    names.split_whitespace().any(|name| name == pragma.name)
}

/// Returns the end of a data source name or URL. modernc.org/sqlite sorts PRAGMAs by name, `busy_timeout` first,
/// so the order there is for the reader only.
fn parameters(binding: Binding, chosen: &Chosen, by_key: &[&Pragma]) -> String {
    let parameter = |name: &str, value: &str| match binding {
        Binding::Mattn | Binding::Gorm => format!("_{name}={value}"),
        Binding::Modernc => format!("_pragma={name}({value})"),
        _ => format!("{name}={value}"),
    };
    let timeout = chosen.busy_timeout_ms.map(|ms| parameter("busy_timeout", &ms.to_string()));
    let pragmas = by_key.iter().map(|pragma| match binding {
        Binding::Jdbc | Binding::Exposed => parameter(&pragma.name, &jdbc_value(pragma)),
        _ => parameter(&pragma.name, &pragma.value),
    });
    let begin = chosen.begin.map(|begin| match binding {
        Binding::Jdbc | Binding::Exposed => {
            format!("transaction_mode={}", begin.to_uppercase())
        }
        _ => format!("_txlock={begin}"),
    });
    let mutex = chosen.mutex.and_then(|mutex| match binding {
        Binding::Mattn | Binding::Gorm => Some(format!("_mutex={mutex}")),
        Binding::Jdbc | Binding::Exposed => Some(format!("open_mode={}", open_mode(mutex))),
        _ => None,
    });
    let all: Vec<String> = timeout.into_iter().chain(pragmas).chain(begin).chain(mutex).collect();
    if all.is_empty() { String::new() } else { format!("?{}", all.join("&")) }
}

/// sqlite-jdbc compares truth values with `true` and `false`, and other words in capitals.
fn jdbc_value(pragma: &Pragma) -> String {
    match (is_among(JDBC_TRUTH, pragma), &pragma.value[..]) {
        (true, "on") => "true".to_owned(),
        (true, "off") => "false".to_owned(),
        (_, value) => value.to_uppercase(),
    }
}

/// The flags of `sqlite3_open_v2` as a number.
fn open_mode(mutex: &str) -> u32 {
    READ_WRITE_CREATE | if mutex == "no" { 0x8000 } else { 0x1_0000 }
}

/// PRAGMAs that shape the file and take effect only before its first table is written, or with a
/// VACUUM (<https://sqlite.org/pragma.html>).
const OF_THE_FILE: [&str; 3] = ["encoding", "page_size", "auto_vacuum"];

/// The name of the PRAGMA that every binding has an option of its own for.
const BUSY_TIMEOUT: &str = "busy_timeout";

/// Settings of connections and of the file, in the order in which they have to be applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// PRAGMAs that are set once for each database file.
    file: Vec<Pragma>,
    /// Whether statistics for the planner are collected once for each database file.
    analyze: bool,
    /// PRAGMAs that are set on every connection, `busy_timeout` apart.
    connection: Vec<Pragma>,
    /// How long a statement waits for a lock, in milliseconds.
    busy_timeout_ms: Option<i64>,
    /// How transactions begin.
    begin: Option<&'static str>,
    /// Mutexes of a connection.
    mutex: Option<&'static str>,
}

/// A PRAGMA with its value as SQL takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pragma {
    /// Its name.
    name: String,
    /// Its value: a whole number or a word.
    value: String,
}

impl Pragma {
    /// Whether the value is a number rather than a word.
    fn is_number(&self) -> bool {
        self.value.parse::<i64>().is_ok()
    }

    /// Whether it is this PRAGMA with this value.
    fn is(&self, name: &str, value: &str) -> bool {
        self.name == name && self.value == value
    }

    /// The value in a program: a number as it is, a word as text.
    fn literal(&self) -> String {
        if self.is_number() { self.value.clone() } else { format!("\"{}\"", self.value) }
    }

    /// The value in YAML, which would take `off` for the truth value `false`.
    fn yaml(&self) -> String {
        match &self.value[..] {
            "on" | "off" => format!("\"{}\"", self.value),
            value => value.to_owned(),
        }
    }

    /// `PRAGMA name = value`.
    fn sql(&self) -> String {
        format!("PRAGMA {} = {}", self.name, self.value)
    }
}

/// How transactions may begin.
const BEGINS: [&str; 3] = [DEFERRED, "immediate", "exclusive"];
const DEFERRED: &str = "deferred";

/// Mutexes that a connection may have.
const MUTEXES: [&str; 2] = ["no", "full"];

/// A value that cannot be written into a program as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the setting `{name}` has the value `{value}`, which is neither a number nor a plain word, so it is not printed"
)]
pub struct BadValue {
    /// The setting.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Chosen {
    /// The settings among `settings` that are PRAGMAs, as `is_pragma` tells from the name, or say how
    /// connections are opened and transactions begin (`open_mutex`, `transaction`), or `analyze`. Others, such as
    /// parameters of a workload, are not settings of SQLite and are left out.
    ///
    /// # Errors
    /// [`BadValue`] for a value that could be more than a value where it is pasted: a record may
    /// come from anywhere.
    pub fn of(settings: &Settings, is_pragma: impl Fn(&str) -> bool) -> Result<Chosen, BadValue> {
        let mut chosen = Chosen::default();
        for (name, level) in settings {
            match (name.as_str(), level) {
                ("analyze", Level::Bool(analyze)) => chosen.analyze = *analyze,
                ("transaction", Level::Text(text)) => chosen.begin = among(&BEGINS, text),
                ("open_mutex", Level::Text(text)) => chosen.mutex = among(&MUTEXES, text),
                (BUSY_TIMEOUT, Level::Int(ms)) => chosen.busy_timeout_ms = Some(*ms),
                (name, level) if is_pragma(name) => chosen.add(name, level)?,
                _ => {}
            }
        }
        chosen.file.sort_by_key(|pragma| rank(&OF_THE_FILE, pragma));
        // The locking mode before the journal mode: only so does WAL with exclusive locks do
        // without shared memory. The journal mode before the rest, because some settings depend on it.
        chosen.connection.sort_by_key(|pragma| rank(&["locking_mode", "journal_mode"], pragma));
        Ok(chosen)
    }

    fn add(&mut self, name: &str, level: &Level) -> Result<(), BadValue> {
        let pragma = Pragma { name: name.to_owned(), value: value(name, level)? };
        if OF_THE_FILE.contains(&name) {
            self.file.push(pragma)
        } else {
            self.connection.push(pragma)
        }
        Ok(())
    }

    /// Every PRAGMA in the order in which it is to be applied to a new database, with its value.
    pub fn pragmas(&self) -> Vec<(String, String)> {
        let pair = |pragma: &Pragma| (pragma.name.clone(), pragma.value.clone());
        let timeout = self.busy_timeout_ms.map(|ms| (BUSY_TIMEOUT.to_owned(), ms.to_string()));
        let pragmas = self.file.iter().chain(&self.connection).map(pair);
        timeout.into_iter().chain(pragmas).collect()
    }

    /// Whether connections use a write-ahead log.
    fn is_wal(&self) -> bool {
        let wal = |pragma: &Pragma| pragma.is("journal_mode", "wal");
        self.connection.iter().any(wal)
    }

    /// Returns what to know of a write-ahead log if these settings use one (<https://sqlite.org/wal.html>); lines of their own.
    pub fn remarks_on_wal(&self) -> Vec<&'static str> {
        let is_normal = |pragma: &Pragma| pragma.is("synchronous", "normal");
        let order = "In this order, the journal mode changes while synchronous is still FULL. Otherwise a power cut during the change may corrupt the database.";
        let order = self.connection.iter().any(is_normal).then_some(order);
        let wal = "WAL is stored in the file and stays. The newest commits are in app.db-wal: back up with VACUUM INTO or SQLite's backup \
                   interface, not by copying app.db alone, and use no network file system.";
        if self.is_wal() { std::iter::once(wal).chain(order).collect() } else { Vec::new() }
    }

    /// How transactions begin, where that is not the default.
    fn unusual_begin(&self) -> Option<&'static str> {
        self.begin.filter(|begin| *begin != DEFERRED)
    }

    /// Every statement for a connection, the time to wait for locks first.
    fn statements(&self) -> Vec<String> {
        let timeout = self.busy_timeout_ms.map(|ms| format!("PRAGMA {BUSY_TIMEOUT} = {ms}"));
        timeout.into_iter().chain(self.connection.iter().map(Pragma::sql)).collect()
    }

    /// The flag of `sqlite3_open_v2` for the mutexes (<https://sqlite.org/c3ref/open.html>).
    fn mutex_flag(&self) -> Option<String> {
        Some(format!("SQLITE_OPEN_{}MUTEX", self.mutex?.to_uppercase()))
    }

    /// Whether foreign keys are switched off.
    fn ignores_foreign_keys(&self) -> bool {
        self.connection.iter().any(|pragma| pragma.is("foreign_keys", "off"))
    }

    /// How long a statement waits for a lock, in seconds as a program writes them: `5.0`, `0.25`.
    fn busy_timeout_s(&self) -> Option<String> {
        Some(format!("{:?}", self.busy_timeout_ms? as f64 / 1000.0))
    }
}

fn among<'a>(names: &[&'a str], name: &str) -> Option<&'a str> {
    names.iter().copied().find(|known| *known == name)
}

/// The place of a PRAGMA in an order that names only some; the others follow as they are.
fn rank(order: &[&str], pragma: &Pragma) -> usize {
    order.iter().position(|name| *name == pragma.name).unwrap_or(order.len())
}

fn value(name: &str, level: &Level) -> Result<String, BadValue> {
    let text = match level {
        Level::Bool(true) => "on".to_owned(),
        Level::Bool(false) => "off".to_owned(),
        // UTF-8 needs quotes in SQL, and its hyphen may stand nowhere else.
        Level::Text(text) if name == "encoding" && text.starts_with("UTF-") => format!("'{text}'"),
        other => other.to_string(),
    };
    if is_plain_value(&text) && is_plain_name(name) {
        Ok(text)
    } else {
        Err(BadValue { name: name.to_owned(), value: level.to_string() })
    }
}

/// Whether it is a whole number, a word, or the quoted name of an encoding.
fn is_plain_value(text: &str) -> bool {
    const ENCODINGS: [&str; 4] = ["'UTF-8'", "'UTF-16'", "'UTF-16le'", "'UTF-16be'"];
    let is_word = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !text.is_empty() && text.chars().all(plain)
    };
    let is_number = text.parse::<i64>().is_ok() && !text.starts_with('+');
    is_word(text) || is_number || ENCODINGS.contains(&text)
}

fn is_plain_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c == '_';
    !name.is_empty() && name.chars().all(plain)
}

/// Text that a compiler, an interpreter or a template engine acts on even within a comment, and its replacement. Comments
/// carry questions and names out of files, which must stay comments in every language:
///
/// - Java reads `\u000a` as a line break, C joins a line that ends in `\` or `??/` with the next one;
/// - Rails evaluates `<%= … %>` in `database.yml`;
/// - Python takes `coding: NAME` in one of the first two lines for the encoding of the file, and some
///   encodings turn other characters into line breaks.
const ACTED_ON: [(&str, &str); 5] =
    [("\\", "/"), ("??/", "?? /"), ("<%", "< %"), ("coding:", "coding :"), ("coding=", "coding =")];

/// One line of comment behind `mark`, with its line feed; nothing in the text ends it or is acted on.
pub fn comment(mark: &str, text: &str) -> String {
    let text = one_line(text).into_owned();
    let replaced =
        |text: String, (acted_on, written): &(&str, &str)| text.replace(acted_on, written);
    let text = ACTED_ON.iter().fold(text, replaced);
    format!("{mark} {}\n", text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(entries: &[(&str, Level)]) -> Settings {
        let entry = |(name, level): &(&str, Level)| ((*name).to_owned(), level.clone());
        entries.iter().map(entry).collect()
    }

    #[test]
    fn who_pastes_wal_reads_how_to_back_up_and_that_the_order_matters() {
        let remarks = |journal_mode: &str, synchronous: &str| {
            let settings = settings(&[
                ("journal_mode", journal_mode.into()),
                ("synchronous", synchronous.into()),
            ]);
            let chosen = Chosen::of(&settings, |_| true).unwrap();
            chosen.remarks_on_wal().join(" ")
        };
        assert!(remarks("wal", "full").contains("back up with VACUUM INTO"));
        assert!(!remarks("wal", "full").contains("In this order"));
        assert!(remarks("wal", "normal").contains("while synchronous is still FULL"));
        assert_eq!(remarks("delete", "normal"), "");
    }

    #[test]
    fn settings_come_in_the_order_in_which_they_take_effect() {
        let chosen = Chosen::of(
            &settings(&[
                ("auto_vacuum", "incremental".into()),
                ("busy_timeout", 5000.into()),
                ("cache_size", Level::Int(-8000)),
                ("foreign_keys", true.into()),
                ("journal_mode", "wal".into()),
                ("locking_mode", "exclusive".into()),
                ("page_size", 8192.into()),
                ("rows", 10.into()),
                ("transaction", "immediate".into()),
            ]),
            |name| name != "rows",
        )
        .unwrap();
        let names: Vec<String> = chosen.pragmas().into_iter().map(|(name, _)| name).collect();
        let expected = [
            "busy_timeout", "page_size", "auto_vacuum", "locking_mode", "journal_mode",
            "cache_size", "foreign_keys",
        ];
        assert_eq!(names, expected);
        assert_eq!(chosen.begin, Some("immediate"));
        assert_eq!(chosen.connection[3].sql(), "PRAGMA foreign_keys = on");
    }

    #[test]
    fn a_value_that_could_be_more_than_a_value_is_refused() {
        let hostile = settings(&[("journal_mode", "wal'; DROP TABLE t; --".into())]);
        let error = Chosen::of(&hostile, |_| true).unwrap_err();
        assert_eq!(error.name, "journal_mode");
        for value in ["--", "off'", "'off", "''", "UTF-8", "-x", "+1"] {
            let hostile = settings(&[("journal_mode", value.into())]);
            assert!(Chosen::of(&hostile, |_| true).is_err(), "{value}");
        }
        let hostile = settings(&[("x\"); evil(\"", 1.into())]);
        assert!(Chosen::of(&hostile, |_| true).is_err());
        assert!(Chosen::of(&settings(&[]), |_| true).unwrap() == Chosen::default());
    }

    #[test]
    fn a_comment_is_one_line_of_which_nothing_is_acted_on() {
        for (text, written) in [
            ("a\nimport os\r\nb\u{2028}c\u{c}d", "# a import os b c d\n"),
            (r"x \u000a evil(); \", "# x /u000a evil(); /\n"),
            (r"trigraph ??\", "# trigraph ?? /\n"),
            ("<%= `id` %>", "# < %= `id` %>\n"),
            ("coding: utf_7 +AAo-", "# coding : utf_7 +AAo-\n"),
            ("coding=unicode_escape", "# coding =unicode_escape\n"),
            ("cod\u{1b}ing", "# cod\u{fffd}ing\n"),
        ] {
            assert_eq!(comment("#", text), written);
        }
    }
}
