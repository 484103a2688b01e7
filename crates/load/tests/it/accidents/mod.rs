//! Accidents of loads: processes that are killed, disks that are full, and other processes that read and write
//! meanwhile. Afterwards the database is the old one or the complete new one, sound, and the next load succeeds.
//!
//! A few rounds of each kind are tests. More of them:
//!
//! ```sh
//! PRAGMARK_ACCIDENTS=100 cargo test --release -p pragmark-load --test it accidents -- --nocapture --include-ignored
//! ```
//!
//! is a hundred kills and a hundred sizes of disk in each scene, and a hundred loads next to other processes.

mod disks;
mod kills;
mod others;
mod scenes;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::library;
use engine::{Connection, OpenFlags};

use scenes::{SCENES, Scene};

fn open(path: &Path) -> Connection {
    let connection = Connection::open(&library(), path, OpenFlags::default(), None).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    connection
}

/// How often each accident happens.
fn rounds(usual: usize) -> usize {
    let wanted = std::env::var("PRAGMARK_ACCIDENTS").ok();
    wanted.map_or(usual, |rounds| rounds.parse().unwrap())
}

/// The number of the scene, and the database, of a process that loads.
const SCENE: &str = "PRAGMARK_TEST_SCENE";
const DATABASE: &str = "PRAGMARK_TEST_DATABASE";

/// The KiB that a file of that process may have.
const ROOM: &str = "PRAGMARK_TEST_ROOM";

/// Limits the length of files, from now on: SQLite itself is loaded from one.
fn limit_files() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let _ = library();
    if let Some(room) = std::env::var_os(ROOM) {
        let room: u64 = room.to_str().unwrap().parse().unwrap();
        let limit = Rlimit { current: Some(room << 10), maximum: None };
        setrlimit(Resource::Fsize, limit).unwrap();
    }
}

/// Not a test of its own: what the tests start. It loads once; an error is its exit code 9.
#[test]
fn child_that_loads() {
    let (Some(scene), Some(database)) = (std::env::var_os(SCENE), std::env::var_os(DATABASE))
    else {
        return;
    };
    let number: usize = scene.to_str().unwrap().parse().unwrap();
    limit_files();
    if let Err(error) = SCENES[number].load(Path::new(&database)) {
        eprintln!("{error}");
        std::process::exit(9);
    }
    std::process::exit(0);
}

/// This program as a process that does one of the tests that are started.
fn child(program: &mut Command, test: &str, scene: usize, database: &Path) {
    let test = format!("accidents::{test}");
    program
        .args(["--exact", &test, "--nocapture"])
        .env(SCENE, scene.to_string())
        .env(DATABASE, database)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
}

/// A scene with its database before the load, and the contents before and after it.
struct Prepared {
    folder: tempfile::TempDir,
    scene: &'static Scene,
    number: usize,
    before: Option<Contents>,
    after: Contents,
}

/// All rows of all tables.
type Contents = Vec<String>;

impl Prepared {
    fn all() -> impl Iterator<Item = Prepared> {
        let scenes = SCENES.iter().enumerate();
        scenes.map(|(number, scene)| Prepared::new(number, scene))
    }

    fn new(number: usize, scene: &'static Scene) -> Prepared {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base.db");
        if !scene.before.is_empty() {
            open(&base).execute(scene.before).unwrap();
        }
        let mut prepared = Prepared {
            before: scene.contents(&base),
            folder,
            scene,
            number,
            after: Contents::new(),
        };
        let database = prepared.fresh();
        prepared.scene.load(&database).unwrap();
        prepared.after = prepared.scene.contents(&database).unwrap();
        assert_ne!(prepared.before.as_ref(), Some(&prepared.after));
        prepared
    }

    /// The database as it was, in a folder of its own.
    fn fresh(&self) -> PathBuf {
        let folder = self.folder.path().join("now");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        std::fs::create_dir(&folder).unwrap();
        let database = folder.join("a.db");
        if self.before.is_some() {
            std::fs::copy(self.folder.path().join("base.db"), &database).unwrap();
        }
        database
    }

    /// Whether the load has happened; a database in between fails the test.
    fn is_loaded(&self, database: &Path) -> bool {
        let found = self.scene.contents(database);
        let is_loaded = found.as_ref() == Some(&self.after);
        assert!(is_loaded || found == self.before, "{}", self.scene.name);
        is_loaded
    }
}
