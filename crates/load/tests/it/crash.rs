//! A load into a database that exists is there as a whole or not at all, wherever it is cut off: under the
//! storage models of the crash laboratory, and by killing a process that loads.
//!
//! What SQLite does is recorded; the pages written past it are taken from the finished file, and put into
//! the record before SQLite's first write, where they are written and synced.
//!
//! `PRAGMARK_CRASH_STATES=20000 cargo test --release -p pragmark-load --test it crash` looks at more states.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::library;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use crash::{Content, Harness, Model, Trace, visit};
use engine::vfs::{Call, FileId, FileKind, RecordingVfs, SyncKind};
use engine::{Connection, Library, OpenFlags, Source};
use lab::seed::Seed;
use pragmark_load::{BatchSource, Column, Index, LoadStrategy, Mode, Request, Table, load};

fn open(library: &Arc<Library>, path: &Path) -> Connection {
    Connection::open(library, path, OpenFlags::default(), None).unwrap()
}

fn table(name: &str) -> Table {
    let mut table = Table::new(name);
    table.types = vec![Column::new("a", "INTEGER"), Column::new("b", "TEXT")];
    table
}

/// Rows whose texts now and then need pages of their own.
fn rows(range: std::ops::Range<i64>) -> RecordBatch {
    let texts = range.clone().map(|row| {
        let length = if row % 500 == 0 { 9_000 } else { 20 };
        format!("{row:0length$}")
    });
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(range.clone())),
        Arc::new(StringArray::from_iter_values(texts)),
    ];
    RecordBatch::try_new(Arc::new(schema()), arrays).unwrap()
}

fn schema() -> Schema {
    Schema::new(vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)])
}

fn run(library: &Arc<Library>, request: &Request, range: std::ops::Range<i64>) {
    let mut source = BatchSource::new("test", &schema(), std::iter::once(rows(range)));
    let summary = load(library, &mut source, request, &mut |_| true).unwrap();
    assert_eq!(summary.rows, summary.rows_by_pages);
}

/// A load and the database before it.
struct Scene {
    name: &'static str,
    before: String,
    mode: Mode,
    table: Table,
    rows: i64,
}

/// The table `t` with rows, what is done before it is made, and what else there is.
fn filled(first: &str, more: &str) -> String {
    format!(
        "{first} CREATE TABLE t(a INTEGER, b TEXT); {more}
        WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 700)
        INSERT INTO t SELECT i, printf('%0100d', i) FROM n;"
    )
}

fn scenes() -> Vec<Scene> {
    let mut indexed = table("new");
    indexed.indexes = vec![Index { columns: vec!["b".to_owned()], unique: true }];
    vec![
        Scene {
            name: "rows are added to a table with indexes",
            before: filled("", "CREATE INDEX i ON t(b); CREATE UNIQUE INDEX u ON t(a DESC, b);"),
            mode: Mode::Append,
            table: table("t"),
            rows: 1_500,
        },
        Scene {
            name: "rows are added to a database with a write-ahead log",
            before: filled("PRAGMA journal_mode = WAL;", "CREATE INDEX i ON t(b);"),
            mode: Mode::Append,
            table: table("t"),
            rows: 1_500,
        },
        Scene {
            name: "rows are added to a database with auto_vacuum",
            before: filled("PRAGMA auto_vacuum = FULL;", "CREATE TABLE o(x);"),
            mode: Mode::Append,
            table: table("t"),
            rows: 3_000,
        },
        Scene {
            name: "rows are added",
            before: filled("", ""),
            mode: Mode::Append,
            table: table("t"),
            rows: 3_000,
        },
        Scene {
            name: "a table is filled",
            before: "CREATE TABLE t(a INTEGER, b TEXT); CREATE INDEX i ON t(a); CREATE TABLE o(x)"
                .to_owned(),
            mode: Mode::Append,
            table: table("t"),
            rows: 1_500,
        },
        Scene {
            name: "a table is made",
            before: filled("", ""),
            mode: Mode::Create,
            table: indexed,
            rows: 1_500,
        },
        Scene {
            name: "a table is replaced",
            before: filled("", ""),
            mode: Mode::Replace,
            table: table("t"),
            rows: 1_500,
        },
    ]
}

/// What a load did to its file.
struct Recorded {
    before: Vec<u8>,
    after: Vec<u8>,
    calls: Vec<Call>,
}

fn record(scene: &Scene) -> Recorded {
    let folder = tempfile::tempdir().unwrap();
    let library = library();
    let recording = RecordingVfs::register(&library, None).unwrap();
    let path = folder.path().join("db");
    open(&library, &path).execute(&scene.before).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut request = Request::new(&path, scene.table.clone());
    request.mode = scene.mode;
    request.strategy = Some(LoadStrategy::Pages);
    request.vfs = Some(recording.name().to_owned());
    run(&library, &request, 10_000..10_000 + scene.rows);
    let calls = recording.take().into_iter().map(without_folder).collect();
    Recorded { before, after: std::fs::read(&path).unwrap(), calls }
}

/// The same call with the name of the file alone: in memory there are no folders.
fn without_folder(call: Call) -> Call {
    let name_of = |path: PathBuf| PathBuf::from(path.file_name().unwrap_or_default());
    match call {
        Call::Open { file, kind, name, flags, characteristics, sector_size } => {
            Call::Open { file, kind, name: name.map(name_of), flags, characteristics, sector_size }
        }
        Call::Delete { kind, name, with_directory } => {
            Call::Delete { kind, name: name_of(name), with_directory }
        }
        other => other,
    }
}

impl Recorded {
    /// All that was done, the pages written past SQLite included.
    fn trace(&self) -> Trace {
        let writes = |call: &Call| matches!(call, Call::Write { .. });
        let first = self.calls.iter().position(writes).unwrap();
        let database = self.calls.iter().find_map(|call| match call {
            Call::Open { file, kind: FileKind::Database, .. } => Some(*file),
            _ => None,
        });
        let mut calls = self.calls.clone();
        calls.splice(first..first, self.direct(database.unwrap()));
        Trace::new(&[("db".to_owned(), self.before.clone().into())], &calls)
    }

    /// The writes past SQLite, and their sync.
    fn direct(&self, file: FileId) -> Vec<Call> {
        let kind = FileKind::Database;
        let old = self.before.len();
        let chunks = self.after[old..].chunks(64 << 10).enumerate();
        let mut calls: Vec<Call> = chunks
            .map(|(number, bytes)| Call::Write {
                file,
                kind,
                offset: (old + number * (64 << 10)) as u64,
                bytes: bytes.into(),
            })
            .collect();
        calls.push(Call::Sync {
            file,
            kind,
            sync: SyncKind { full: false, data_only: true },
            with_directory: false,
        });
        calls
    }
}

fn budget() -> usize {
    let asked = std::env::var("PRAGMARK_CRASH_STATES").ok();
    asked.map_or(150, |states| states.parse().unwrap())
}

#[test]
fn a_loss_of_power_leaves_the_old_database_or_the_complete_new_one() {
    for scene in scenes() {
        let recorded = record(&scene);
        let trace = recorded.trace();
        let mut bench = Harness::new(&Source::Embedded).unwrap();
        let mut content = |files| -> Content {
            bench.reset(1).unwrap();
            assert_eq!(bench.recover(files, &["db"]).unwrap(), [None], "{}", scene.name);
            bench.examine("db").unwrap().unwrap()
        };
        let old = content(vec![("db".to_owned(), recorded.before.clone().into())]);
        let new = content(vec![("db".to_owned(), recorded.after.clone().into())]);
        assert_ne!(old, new);
        for model in Model::ALL {
            if !model.is_within_assumptions() {
                continue;
            }
            let (mut olds, mut news) = (0, 0);
            visit(&trace, *model, budget(), Seed(7), |candidate| {
                let found = content(candidate.files);
                let is_all = candidate.cut == trace.steps.len() && candidate.faults == 0;
                assert!(
                    found == old && !is_all || found == new,
                    "{}, {model:?}, cut {} of {}",
                    scene.name,
                    candidate.cut,
                    trace.steps.len()
                );
                olds += usize::from(found == old);
                news += usize::from(found == new);
                Ok::<(), Infallible>(())
            })
            .unwrap();
            assert!(olds > 0 && news > 0, "{}, {model:?}: {olds}, {news}", scene.name);
        }
    }
}
