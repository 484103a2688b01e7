//! Programs that are recorded and sealed for a test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source, Value};
use pragmark_trace::Trace;
use pragmark_trace::analysis::Analysis;
use pragmark_trace::seal::{Sealed, seal};
use recorder::{Folder, Options};

/// Copies a database that nobody has open.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copied = std::fs::copy(from, to);
    copied.map(drop).map_err(|error| error.to_string())
}

/// A folder in which programs are recorded.
pub struct Workspace {
    pub temp: tempfile::TempDir,
    pub library: Arc<Library>,
}

impl Workspace {
    pub fn new() -> Workspace {
        Workspace {
            temp: tempfile::tempdir().unwrap(),
            library: Arc::new(Library::load(&Source::Embedded).unwrap()),
        }
    }

    pub fn trace(&self) -> PathBuf {
        self.temp.path().join("app.trace")
    }

    /// Records a Python script and seals it; nothing where there is no Python with `sqlite3`.
    pub fn sealed(&self, script: &str, options: &Options) -> Option<Sealed> {
        if !testing::has_python() {
            return None;
        }
        let folder = Folder::create(&self.temp.path().join("recording"), options).unwrap();
        let status = Command::new("python3")
            .args(["-c", script])
            .env("LD_PRELOAD", folder.preload(None))
            .current_dir(self.temp.path())
            .status();
        assert!(status.unwrap().success());
        Some(seal(&self.library, &folder, &self.trace(), &copy).unwrap())
    }

    pub fn query(&self, sql: &str) -> Vec<Vec<Value>> {
        let connection =
            Connection::open(&self.library, &self.trace(), OpenFlags::READ_ONLY, None).unwrap();
        connection.query_all(sql).unwrap()
    }

    pub fn text(&self, sql: &str) -> String {
        let rows = self.query(sql);
        let words = rows.iter().flatten().map(|value| match value {
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            other => format!("{other:?}"),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    pub fn analysis(&self) -> Analysis {
        Trace::open(&self.library, &self.trace()).unwrap().analysed().unwrap()
    }
}
