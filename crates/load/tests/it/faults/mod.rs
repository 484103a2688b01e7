//! Inputs and requests that were once taken silently wrong: each is right now, or an error that says what to do.

mod columnar;
mod conflicts;
mod dates;
mod doubts;
mod drift;
mod foreign_keys;
mod formats;
mod full_text;
mod layouts;
mod names;
mod own_inserts;
mod reading;
mod rejects;
mod types;

use std::path::{Path, PathBuf};

use crate::library;
use engine::{Connection, OpenFlags, Value};
use pragmark_load::{LoadError, Opening, Request, Summary, Table, load, open};

/// A folder with an input, and the database to load into.
struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    fn new() -> Workspace {
        let folder = tempfile::tempdir().unwrap();
        Workspace { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn database(&self) -> PathBuf {
        self.path("a.db")
    }

    /// A request for the table `t` of the database.
    fn request(&self) -> Request {
        Request::new(self.database(), Table::new("t"))
    }

    /// The same request, after the database was removed.
    fn again(&self) -> Request {
        let _ = std::fs::remove_file(self.database());
        self.request()
    }

    fn connection(&self) -> Connection {
        Connection::open(&library(), &self.database(), OpenFlags::default(), None).unwrap()
    }

    /// The rows of a query, their values between bars.
    fn rows(&self, sql: &str) -> Vec<String> {
        let shown = |row: Vec<Value>| {
            let values: Vec<String> = row.iter().map(ToString::to_string).collect();
            values.join("|")
        };
        let rows = self.connection().query_all(sql).unwrap();
        rows.into_iter().map(shown).collect()
    }
}

fn run(input: &Path, request: &Request) -> Result<Summary, LoadError> {
    run_as(input, request, &Opening::new(&library()))
}

fn run_as(input: &Path, request: &Request, opening: &Opening) -> Result<Summary, LoadError> {
    let mut source = open(&[input.to_owned()], opening)?;
    load(&library(), &mut *source, request, &mut |_| true)
}

/// The message of a load that must fail.
fn refused(input: &Path, request: &Request) -> String {
    run(input, request).expect_err("the load succeeded").to_string()
}
