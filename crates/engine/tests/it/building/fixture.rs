//! A cache, a cargo and a compiler for tests.

use super::{NEWEST, untrained};
use pragmark_engine::build::{BuildError, BuildName, Builder, Built, Cache, Tools};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// A cache, a cargo and a compiler.
pub struct Fixture {
    pub directory: TempDir,
    pub cancelled: AtomicBool,
}

impl Fixture {
    /// The compiler makes the default engine, whatever it is given.
    pub fn new() -> Fixture {
        let fixture = Fixture {
            directory: tempfile::tempdir().expect("a directory"),
            cancelled: AtomicBool::new(false),
        };
        fixture.offer(NEWEST);
        fixture.compile_with(&format!("cp {} \"$out\"", env!("PRAGMARK_DEFAULT_ENGINE")));
        fixture
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn script(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("writes");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("allowed");
    }

    /// Gives cargo a source that calls itself this version.
    pub fn offer(&self, version: &str) {
        let source = self.path("crate/sqlite3");
        fs::create_dir_all(&source).expect("a directory");
        let header = format!("#define SQLITE_VERSION \"{version}\"\n");
        fs::write(source.join("sqlite3.h"), header).expect("writes");
        fs::write(source.join("sqlite3.c"), "int x;\n").expect("writes");
        let manifest = self.path("crate/Cargo.toml");
        let answer = format!(
            r#"{{"packages":[{{"name":"libsqlite3-sys","manifest_path":"{}"}}]}}"#,
            manifest.display()
        );
        fs::write(self.path("answer.json"), answer).expect("writes");
        let answer = self.path("answer.json");
        self.script("cargo", &format!("[ $1 = fetch ] || cat {}", answer.display()));
    }

    /// The compiler prints its version, logs its commands, and otherwise runs this, `$out` being the
    /// file to be made.
    pub fn compile_with(&self, script: &str) {
        self.script(
            "cc",
            &format!(
                r#"case "$*" in
--version) echo "a compiler 1.0"; exit;;
-dumpmachine) echo a-machine; exit;;
*/dev/null*) exit;;
esac
echo "$*" >> {}
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
{script}"#,
                self.path("commands").display()
            ),
        );
    }

    /// What the compiler had to compile or link, a line each.
    pub fn commands(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("commands")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn tools(&self) -> Tools {
        Tools {
            compiler: self.path("cc").display().to_string(),
            cargo: self.path("cargo").display().to_string(),
        }
    }

    pub fn cache(&self) -> Cache {
        Cache::at(self.path("cache"))
    }

    pub fn build_with(
        &self,
        tools: Tools,
        name: &str,
        train: &(dyn Fn(&Path) -> Result<(), String> + Sync),
    ) -> Result<Built, BuildError> {
        let cache = self.cache();
        let builder = Builder::new(&cache, tools, train, || "now".to_owned(), &self.cancelled);
        let names = [name.parse::<BuildName>().expect("a name")];
        let mut results = builder.build_all(&names, 2, &|_| {});
        assert_eq!(results.len(), 1);
        results.remove(0)
    }

    pub fn build(&self, name: &str) -> Result<Built, BuildError> {
        self.build_with(self.tools(), name, &untrained)
    }

    /// Everything in the cache but empty lock files.
    pub fn left(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.path("cache")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false if path.extension().is_some_and(|end| end == "lock") => {}
                    false => found.push(path.display().to_string()),
                }
            }
        }
        found
    }
}
