//! Programs that are recorded for a test.

use std::path::PathBuf;
use std::process::Command;

use pragmark_recorder::{Folder, Options};

use crate::recorded::Recorded;

/// A folder in which a program is recorded.
pub struct Workspace {
    pub temp: tempfile::TempDir,
    pub folder: Folder,
}

impl Workspace {
    pub fn new(options: &Options) -> Workspace {
        let temp = tempfile::tempdir().unwrap();
        let folder = Folder::create(&temp.path().join("recording"), options).unwrap();
        Workspace { temp, folder }
    }

    pub fn run(&self, program: &str, arguments: &[&str]) -> Option<std::process::ExitStatus> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("LD_PRELOAD", self.folder.preload(None))
            .current_dir(self.temp.path());
        match command.status() {
            Ok(status) => Some(status),
            Err(error) => {
                testing::skip(format!("{program} cannot be started here: {error}"));
                None
            }
        }
    }

    /// Runs a Python script; nothing where there is no Python with `sqlite3`.
    pub fn python(&self, script: &str) -> Option<Recorded> {
        if !testing::has_python() {
            return None;
        }
        self.run("python3", &["-c", script])?;
        Some(self.recorded())
    }

    /// Whether the recording has this word anywhere.
    pub fn raw_contains(&self, word: &str) -> bool {
        let raw = std::fs::read(self.folder.raw()).unwrap();
        raw.windows(word.len()).any(|window| window == word.as_bytes())
    }

    pub fn recorded(&self) -> Recorded {
        Recorded::read(&self.folder.raw())
    }

    pub fn database(&self, name: &str) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join(name)
    }
}
