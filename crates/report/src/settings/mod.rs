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
//!    and is set on connections all the same, where it costs nothing and cannot be forgotten.
//!
//! The forms are in `templates/settings.txt` and follow the sources of the bindings; `tests/bindings` applies them through the bindings
//! themselves, `crates/pragmark/tests/settings.rs` the PRAGMAs in them with the embedded engine.

mod chosen;
mod comment;
mod form;

use chosen::Pragma;
pub use chosen::{BadValue, Chosen};
pub use comment::comment;

/// A way to use SQLite from a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// The `sqlite3` shell.
    Shell,
    /// The C API.
    C,
    /// Python's `sqlite3` module.
    Python,
    /// Django 5.1 and newer.
    Django,
    /// SQLAlchemy 2.
    SqlAlchemy,
    /// Rails 7.2 and newer.
    Rails,
    /// Go, `github.com/mattn/go-sqlite3`.
    Mattn,
    /// Go, `modernc.org/sqlite`.
    Modernc,
    /// Node, better-sqlite3.
    BetterSqlite3,
    /// Java, sqlite-jdbc.
    Jdbc,
    /// Rust, rusqlite.
    Rusqlite,
    /// Rust, sqlx.
    Sqlx,
}

impl Binding {
    /// Every binding, in the order in which they are shown.
    pub const ALL: [Binding; 12] = [
        Binding::Shell,
        Binding::C,
        Binding::Python,
        Binding::Django,
        Binding::SqlAlchemy,
        Binding::Rails,
        Binding::Mattn,
        Binding::Modernc,
        Binding::BetterSqlite3,
        Binding::Jdbc,
        Binding::Rusqlite,
        Binding::Sqlx,
    ];

    /// Name, title, language, and what begins a comment: in the order of [`Binding::ALL`].
    const ABOUT: [(&'static str, &'static str, &'static str, &'static str); 12] = [
        ("shell", "sqlite3 shell", "sql", "--"),
        ("c", "C", "c", "//"),
        ("python", "Python, sqlite3", "python", "#"),
        ("django", "Python, Django 5.1+", "python", "#"),
        ("sqlalchemy", "Python, SQLAlchemy 2", "python", "#"),
        ("rails", "Ruby, Rails 7.2+", "yaml", "#"),
        ("mattn", "Go, mattn/go-sqlite3", "go", "//"),
        ("modernc", "Go, modernc.org/sqlite", "go", "//"),
        ("better-sqlite3", "Node, better-sqlite3", "js", "//"),
        ("jdbc", "Java, sqlite-jdbc", "java", "//"),
        ("rusqlite", "Rust, rusqlite", "rust", "//"),
        ("sqlx", "Rust, sqlx", "rust", "//"),
    ];

    /// The name by which a command line selects it.
    pub fn name(self) -> &'static str {
        Binding::ABOUT[self as usize].0
    }

    /// The binding of this name.
    pub fn find(name: &str) -> Option<Binding> {
        let mut all = Binding::ALL.into_iter();
        all.find(|binding| binding.name() == name)
    }

    /// What a reader calls it.
    pub fn title(self) -> &'static str {
        Binding::ABOUT[self as usize].1
    }

    /// The language of the text, as Markdown names it.
    pub fn language(self) -> &'static str {
        Binding::ABOUT[self as usize].2
    }

    /// What begins a comment in the text ([`comment`]).
    pub fn comment_mark(self) -> &'static str {
        Binding::ABOUT[self as usize].3
    }

    /// What to paste for every connection. Lines end in a line feed.
    pub fn text(self, chosen: &Chosen) -> String {
        form::text(self, chosen)
    }

    /// What the binding does by itself, which was not measured unless it is among the settings.
    pub fn remark(self) -> Option<&'static str> {
        match self {
            Binding::Django => Some(
                "Django sets foreign_keys = on itself, and waits 5 seconds for locks unless OPTIONS has another timeout.",
            ),
            Binding::Rails => Some(
                "What is not named here stays as Rails sets it: foreign_keys = on, journal_mode = wal, synchronous = normal, mmap_size = 128 MiB, journal_size_limit = 64 MiB, cache_size = 2000 pages.",
            ),
            Binding::Mattn => Some(
                "By default the driver waits 5 seconds for locks, and with _journal_mode=WAL sets synchronous = normal.",
            ),
            Binding::Modernc => {
                Some("The driver runs PRAGMAs in the order of their names, busy_timeout first.")
            }
            Binding::BetterSqlite3 => Some(
                "The driver waits 5 seconds for locks; its SQLite is compiled with foreign_keys = on, a cache of 16,000 KiB and, in WAL mode, synchronous = normal.",
            ),
            Binding::Sqlx => {
                Some("sqlx waits 5 seconds for locks and sets foreign_keys = on itself.")
            }
            Binding::Python => Some("Python waits 5 seconds for locks by default."),
            Binding::Jdbc => Some("sqlite-jdbc waits 3 seconds for locks by default."),
            _ => None,
        }
    }

    /// What among the settings the binding has no way to set.
    pub fn cannot(self, chosen: &Chosen) -> Option<String> {
        let opens_with_flags = matches!(
            self,
            Binding::C | Binding::Mattn | Binding::Jdbc | Binding::Rusqlite | Binding::Sqlx
        );
        let mutex = chosen.mutex.filter(|_| !opens_with_flags)?;
        Some(format!("It cannot open connections with {}.", mutex.flag()))
    }
}

/// What to do once for each database file, new or with content, as a script for the `sqlite3` shell
/// while nothing else has the file open; none where nothing shapes the file.
///
/// A database in WAL mode keeps its page size even through VACUUM, so the script leaves that mode first
/// (<https://sqlite.org/pragma.html#pragma_page_size>). The encoding is set ahead of everything, and
/// VACUUM does not write it as long as there has been no table.
pub fn once(chosen: &Chosen) -> Option<String> {
    let statements = |pragmas: &[Pragma]| -> String {
        let all = pragmas.iter().map(|pragma| pragma.sql() + ";\n");
        all.collect()
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
