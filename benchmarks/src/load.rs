//! Bulk loading compared with copying from an attached database, which the published experiments call the
//! speed limit of SQLite.
//!
//! Three tables: T1 has one random integer, T2 is the table `user` with four columns, T3 has one text of
//! 1 KiB. Each pair loads the same rows with one strategy of the loader and with one kind of copy, in random
//! order, from opening the new database to closing it, synced. The result is checked after the clock
//! stops.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use ::load::{BatchSource, Column, Index, LoadStrategy, Mode, Request, Table, load};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use clap::{Args, ValueEnum};
use engine::{Connection, Library, OpenFlags, Source};
use lab::samples::Comparison;
use lab::seed::Seed;
use lab::stats::median;

use crate::Failure;

/// The tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// `integers(value)`, random over 32 bits.
    T1,
    /// `user(id, area, age, active)`.
    T2,
    /// `texts(value)` of 1 KiB.
    T3,
}

/// The kinds of copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Copy {
    /// `SELECT *`: SQLite may move whole records.
    Whole,
    /// `SELECT a, b, …`: every value is decoded and encoded again.
    Listed,
}

/// What is compared with the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    strategy: LoadStrategy,
    workers: usize,
    /// Whether the database exists, with the empty table, before the clock starts.
    exists: bool,
}

impl Method {
    fn name(self) -> String {
        let place = if self.exists { ", existing database" } else { "" };
        match self.strategy {
            LoadStrategy::Pages => format!("pages, {} thread(s){place}", self.workers),
            strategy => strategy.to_string(),
        }
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(name: &str) -> Result<Method, String> {
        let wanted = || format!("`{name}` is none of arrays, pages-N and existing-N");
        if name == "arrays" {
            return Ok(ARRAYS);
        }
        let (strategy, workers) = name.split_once('-').ok_or_else(wanted)?;
        let workers = workers.parse().map_err(|_| wanted())?;
        let exists = match strategy {
            "pages" => false,
            "existing" => true,
            _ => return Err(wanted()),
        };
        Ok(Method { strategy: LoadStrategy::Pages, workers, exists })
    }
}

const ARRAYS: Method = Method { strategy: LoadStrategy::Arrays, workers: 1, exists: false };

/// What to measure.
#[derive(Debug, Args)]
pub struct Plan {
    /// Tables.
    #[arg(default_values = ["t1", "t2", "t3"])]
    subjects: Vec<Subject>,
    /// Rows [default: 1,000,000 of T1 and T2, 50,000 of T3].
    #[arg(long)]
    rows: Option<usize>,
    /// Methods: `arrays`; `pages-N`, a new database with N threads; `existing-N`, an empty table of an
    /// existing database.
    #[arg(long = "method", default_values = ["arrays", "pages-1", "pages-2", "pages-4", "existing-4"])]
    methods: Vec<Method>,
    /// Kinds of copy.
    #[arg(long = "copy", default_values = ["whole", "listed"])]
    copies: Vec<Copy>,
    /// A column to index; after the copy, with CREATE INDEX. Target: 6 times as fast.
    #[arg(long)]
    index: Option<String>,
    /// Pairs per method and kind of copy.
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Directory for the databases, on the disk to measure.
    #[arg(long = "dir", default_value = ".")]
    directory: PathBuf,
}

/// Rows per batch.
pub const BATCH: usize = 65_536;

/// Measures pairs and prints ratios with intervals.
pub fn run(plan: &Plan) -> Result<(), Failure> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    for subject in &plan.subjects {
        let rows = plan.rows.unwrap_or(subject.default_rows());
        let place = tempfile::tempdir_in(&plan.directory)?;
        Bench {
            library: &library,
            plan,
            subject: *subject,
            rows,
            place: place.path(),
            batches: subject.batches(rows),
        }
        .run()?;
    }
    Ok(())
}

impl Subject {
    /// Small sizes, for a quick check; the published comparison has 20 M, 20 M and 1 M.
    fn default_rows(self) -> usize {
        match self {
            Subject::T1 | Subject::T2 => 1_000_000,
            Subject::T3 => 50_000,
        }
    }

    /// The table without indexes.
    pub fn table(self) -> Table {
        let columns: &[(&str, &str)] = match self {
            Subject::T1 => &[("value", "INTEGER")],
            Subject::T2 => {
                &[("id", "INTEGER"), ("area", "CHAR(6)"), ("age", "INTEGER"), ("active", "INTEGER")]
            }
            Subject::T3 => &[("value", "TEXT")],
        };
        let mut table = Table::new("t");
        table.types =
            columns.iter().map(|(name, declared)| Column::new(*name, *declared)).collect();
        if self == Subject::T2 {
            table.primary_key = vec!["id".to_owned()];
        }
        table
    }

    /// Rows of random values, as many to a batch as [`BATCH`] says.
    pub fn batches(self, rows: usize) -> Vec<RecordBatch> {
        let mut generator = Seed(1).child("load").generator();
        let mut integer = || i64::from(generator.next_u64() as i32);
        let mut made = Vec::new();
        for first in (0..rows).step_by(BATCH) {
            let count = BATCH.min(rows - first);
            let arrays: Vec<ArrayRef> = match self {
                Subject::T1 => vec![integers((0..count).map(|_| integer()))],
                Subject::T2 => vec![
                    integers((first as i64 + 1..).take(count)),
                    texts((0..count).map(|_| format!("{:06}", integer().rem_euclid(1_000_000)))),
                    integers((0..count).map(|_| 5 + 5 * integer().rem_euclid(3))),
                    integers((0..count).map(|_| integer().rem_euclid(2))),
                ],
                Subject::T3 => vec![texts((0..count).map(|_| {
                    let words: Vec<String> =
                        (0..64).map(|_| format!("{:016x}", integer())).collect();
                    words.concat()
                }))],
            };
            made.push(batch(self, arrays));
        }
        made
    }

    fn schema(self, types: &[DataType]) -> Schema {
        let names: Vec<String> = self.table().types.into_iter().map(|column| column.name).collect();
        let fields =
            names.into_iter().zip(types).map(|(name, of)| Field::new(name, of.clone(), true));
        Schema::new(fields.collect::<Vec<_>>())
    }
}

/// An index that is not unique.
pub fn index(column: &str) -> Index {
    Index { columns: vec![column.to_owned()], unique: false }
}

fn integers(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn texts(values: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn batch(subject: Subject, arrays: Vec<ArrayRef>) -> RecordBatch {
    let types: Vec<DataType> = arrays.iter().map(|array| array.data_type().clone()).collect();
    RecordBatch::try_new(Arc::new(subject.schema(&types)), arrays).expect("columns of one length")
}

struct Bench<'b> {
    library: &'b Arc<Library>,
    plan: &'b Plan,
    subject: Subject,
    rows: usize,
    place: &'b Path,
    batches: Vec<RecordBatch>,
}

impl Bench<'_> {
    fn run(&self) -> Result<(), Failure> {
        let pairs = self.plan.pairs;
        self.load(&self.place.join("source.db"), ARRAYS)?;
        println!("{:?}, {} rows, {pairs} pairs each:", self.subject, self.rows);
        let mut order = Seed(2).generator();
        for method in &self.plan.methods {
            for form in &self.plan.copies {
                let (mut loads, mut copies) = (Vec::new(), Vec::new());
                for _ in 0..pairs {
                    let first = order.below(2);
                    for turn in 0..2 {
                        if turn == first {
                            loads.push(self.timed_load(*method)?);
                        } else {
                            copies.push(self.timed(|path| self.copy(path, *form))?);
                        }
                    }
                }
                report(&method.name(), *form, &loads, &copies)?;
            }
        }
        Ok(())
    }

    fn timed_load(&self, method: Method) -> Result<Took, Failure> {
        if method.exists {
            let empty = self.open(&self.made())?;
            let columns: Vec<String> = (self.table().types.iter())
                .map(|column| format!("{} {}", column.name, column.declared))
                .collect();
            let sql = format!("CREATE TABLE t({})", columns.join(", "));
            let keyed = sql.replace("id INTEGER", "id INTEGER PRIMARY KEY");
            empty.execute(&keyed)?;
            if let Some(column) = &self.plan.index {
                empty.execute(&format!("CREATE INDEX t_index ON t({column})"))?;
            }
            empty.close()?;
        }
        self.timed(|path| self.load(path, method))
    }

    fn made(&self) -> PathBuf {
        self.place.join("made.db")
    }

    /// The time to create a database, which is checked and removed afterwards.
    fn timed(&self, make: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<Took, Failure> {
        let path = self.made();
        let (begin, cpu_before) = (Instant::now(), cpu_seconds());
        make(&path)?;
        let took = Took { seconds: begin.elapsed().as_secs_f64(), cpu: cpu_seconds() - cpu_before };
        self.check(&path)?;
        std::fs::remove_file(&path)?;
        Ok(took)
    }

    fn table(&self) -> Table {
        let mut table = self.subject.table();
        table.indexes = self.plan.index.iter().map(|column| index(column)).collect();
        table
    }

    fn load(&self, path: &Path, method: Method) -> Result<(), Failure> {
        let mut request = Request::new(path, self.table());
        request.strategy = Some(method.strategy);
        request.workers = Some(method.workers);
        if method.exists {
            request.mode = Mode::Append;
        }
        let schema = self.batches[0].schema();
        let batches = self.batches.iter().cloned();
        let mut source = BatchSource::new("memory", &schema, batches);
        load(self.library, &mut source, &request, &mut |_| true)?;
        Ok(())
    }

    /// The default journal mode and syncs.
    fn copy(&self, path: &Path, form: Copy) -> Result<(), Failure> {
        let connection = self.open(path)?;
        let source = self.place.join("source.db");
        let create =
            self.open(&source)?.query_text("SELECT sql FROM sqlite_master WHERE name = 't'")?;
        let names: Vec<String> =
            self.subject.table().types.into_iter().map(|column| column.name).collect();
        let selected = match form {
            Copy::Whole => "*".to_owned(),
            Copy::Listed => names.join(", "),
        };
        connection.execute(&format!(
            "ATTACH '{}' AS source; BEGIN; {create}; \
             INSERT INTO main.t SELECT {selected} FROM source.t; COMMIT; DETACH source",
            source.display()
        ))?;
        if let Some(column) = &self.plan.index {
            connection.execute(&format!("CREATE INDEX t_index ON t({column})"))?;
        }
        connection.close()?;
        Ok(())
    }

    fn check(&self, path: &Path) -> Result<(), Failure> {
        let sums: Vec<String> = (self.subject.table().types.iter())
            .map(|column| format!("total(length({0})), total({0})", column.name))
            .collect();
        let sql = format!("SELECT count(*), {} FROM t", sums.join(", "));
        let made = self.open(path)?.query_all(&sql)?;
        let expected = self.open(&self.place.join("source.db"))?.query_all(&sql)?;
        if made != expected || made[0][0] != engine::Value::Integer(self.rows as i64) {
            return Err(format!("{} has wrong content", path.display()).into());
        }
        Ok(())
    }

    fn open(&self, path: &Path) -> Result<Connection, Failure> {
        Ok(Connection::open(self.library, path, OpenFlags::default(), None)?)
    }
}

/// The time taken.
#[derive(Clone, Copy, Debug)]
struct Took {
    seconds: f64,
    /// CPU seconds of all threads, more meaningful on a busy machine.
    cpu: f64,
}

/// The CPU seconds of this process, user and system.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn report(method: &str, form: Copy, loads: &[Took], copies: &[Took]) -> Result<(), Failure> {
    let ratios = copies.iter().zip(loads).map(|(copy, load)| (copy.seconds / load.seconds).ln());
    let of = |took: &[Took], which: fn(&Took) -> f64| {
        let values: Vec<f64> = took.iter().map(which).collect();
        median(&values).unwrap_or(f64::NAN)
    };
    let seconds: fn(&Took) -> f64 = |took| took.seconds;
    let cpu: fn(&Took) -> f64 = |took| took.cpu;
    let comparison = Comparison::new(ratios.collect()).ok_or("at least two pairs are needed")?;
    let interval = comparison.interval(0.05);
    let form = match form {
        Copy::Whole => "SELECT *",
        Copy::Listed => "listed columns",
    };
    println!(
        "  {method}: {:.3} s; ATTACH copy ({form}) {:.3} s; {:.2} times as fast [{:.2}, {:.2}]; \
         processors {:.3} s and {:.3} s",
        of(loads, seconds),
        of(copies, seconds),
        comparison.ratio(),
        interval.low,
        interval.high,
        of(loads, cpu),
        of(copies, cpu),
    );
    Ok(())
}
