//! Classes of schemas, each with tables of thousands of rows: whatever the way, the database is the one
//! that INSERT makes.
//!
//! The cases of `ways.rs` are small and shrink when they fail; these are large, drawn by a plain
//! generator that costs less than the loads, and known by class and number: `PRAGMARK_TEST_CLASS` and
//! `PRAGMARK_TEST_CASE` draw one of them again.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use engine::{Connection, ErrorKind, Step, Value, ValueRef};
use lab::seed::{Seed, SplitMix64};
use pragmark_load::{
    Column, Index, LoadError, Mode, OnError, Request, Summary, Table, Way, WayChoice,
};

use super::{batch, edges, open, reserve, run};

/// All classes, by name.
const CLASSES: &[(&str, Class)] = &[
    ("affinities", affinities),
    ("integer primary key", integer_primary_key),
    ("STRICT", strict),
    ("indexes", indexes),
    ("unique indexes", unique_indexes),
    ("primary key of columns", primary_key_of_columns),
    ("WITHOUT ROWID", without_rowid),
    ("WITHOUT ROWID that exists", without_rowid_that_exists),
    ("DESC", descending),
    ("partial indexes", partial_indexes),
    ("indexes on expressions", indexes_on_expressions),
    ("collations", collations),
    ("reserved bytes", reserved_bytes),
    ("UTF-16", utf_16),
    ("auto_vacuum", auto_vacuum),
    ("generated columns", generated_columns),
    ("defaults", defaults),
    ("AUTOINCREMENT", autoincrement),
    ("CHECK", check_constraints),
    ("triggers", triggers),
    ("rows there before", rows_before),
    ("rows and indexes there before", rows_and_indexes_before),
    ("refused rows", refused_rows),
];

/// Draws a schema and what is to be put into it.
type Class = fn(&mut SplitMix64) -> Plan;

/// What a case loads, and where.
struct Plan {
    /// The columns of the input: `c0`, `c1`, …
    columns: Vec<Input>,
    made: Made,
    /// By what the rows of `t` are ordered when they are compared.
    order: String,
    page_size: u32,
    /// PRAGMAs of a database that is there before.
    pragmas: &'static str,
    /// What all keys are above: where SQLite never gives one below 1, a given one must not come later.
    lowest_key: i64,
    /// Bytes reserved in each page of a database that is there before.
    reserved: u8,
    /// Whether the table has rows before the load.
    rows_before: bool,
    on_error: OnError,
    ways: &'static [WayChoice],
}

/// A column of the input.
struct Input {
    declared: &'static str,
    content: Content,
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Values of one storage class in each batch, and NULLs.
    Any,
    /// As far as a column of the declared type takes them when the table is STRICT.
    Strict,
    /// Ascending integers, and NULLs that mean one more.
    Key,
    /// Integers of which none comes twice, in any order.
    UniqueIntegers,
    /// Texts of which none comes twice, in any order.
    UniqueTexts,
    /// A few integers, many times each, and NULLs.
    Few,
}

/// Who makes the table.
enum Made {
    /// The loader.
    ByLoad {
        strict: bool,
        key: Vec<usize>,
        without_rowid: bool,
        indexes: Vec<(Vec<usize>, bool)>,
        /// Whether the database is there before.
        exists: bool,
    },
    /// SQL, before the load; `{columns}` stands for the input's.
    BySql(&'static str),
}

const PAGES: WayChoice = WayChoice::Only(Way::Pages);
const ARRAYS: WayChoice = WayChoice::Only(Way::Arrays);
const BOTH: &[WayChoice] = &[PAGES, ARRAYS];
/// For what the page writer leaves to SQL.
const AS_IT_CAN: &[WayChoice] = &[WayChoice::Auto];

const DECLARED: &[&str] = &[
    "INTEGER",
    "REAL",
    "TEXT",
    "BLOB",
    "",
    "NUMERIC",
    "DECIMAL(10,2)",
];
const STRICT_TYPES: &[&str] = &["INTEGER", "REAL", "TEXT", "BLOB", "ANY"];
const PAGE_SIZES: &[u32] = &[512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

fn one_of<T: Copy>(random: &mut SplitMix64, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

fn some(random: &mut SplitMix64, number: u64, content: Content) -> Vec<Input> {
    let number = 1 + random.below(number);
    let declared = match content {
        Content::Strict => STRICT_TYPES,
        _ => DECLARED,
    };
    let mut column = || Input {
        declared: one_of(random, declared),
        content,
    };
    (0..number).map(|_| column()).collect()
}

/// These columns, and up to three of anything.
fn and_some(random: &mut SplitMix64, columns: &[(&'static str, Content)]) -> Vec<Input> {
    let first = columns
        .iter()
        .map(|&(declared, content)| Input { declared, content });
    let mut all: Vec<Input> = first.collect();
    all.extend(some(random, 3, Content::Any));
    all
}

/// A plain table that the loader makes.
fn plain() -> Made {
    Made::ByLoad {
        strict: false,
        key: Vec::new(),
        without_rowid: false,
        indexes: Vec::new(),
        exists: false,
    }
}

impl Plan {
    fn new(random: &mut SplitMix64, columns: Vec<Input>, made: Made) -> Plan {
        Plan {
            columns,
            made,
            order: "rowid".to_owned(),
            page_size: one_of(random, PAGE_SIZES),
            pragmas: "",
            lowest_key: -1_000,
            reserved: 0,
            rows_before: false,
            on_error: OnError::Fail,
            ways: BOTH,
        }
    }

    /// As it can, into a table that SQL has made.
    fn by_sql(
        random: &mut SplitMix64,
        columns: &[(&'static str, Content)],
        sql: &'static str,
    ) -> Plan {
        let columns = and_some(random, columns);
        Plan {
            ways: AS_IT_CAN,
            ..Plan::new(random, columns, Made::BySql(sql))
        }
    }
}

fn affinities(random: &mut SplitMix64) -> Plan {
    let columns = some(random, 6, Content::Any);
    Plan::new(random, columns, plain())
}

fn integer_primary_key(random: &mut SplitMix64) -> Plan {
    let columns = and_some(random, &[("INTEGER", Content::Key)]);
    let made = Made::ByLoad {
        strict: false,
        key: vec![0],
        without_rowid: false,
        indexes: Vec::new(),
        exists: false,
    };
    Plan::new(random, columns, made)
}

fn strict(random: &mut SplitMix64) -> Plan {
    let columns = some(random, 6, Content::Strict);
    let made = Made::ByLoad {
        strict: true,
        key: Vec::new(),
        without_rowid: false,
        indexes: Vec::new(),
        exists: false,
    };
    Plan::new(random, columns, made)
}

fn indexes(random: &mut SplitMix64) -> Plan {
    let columns = and_some(random, &[("INTEGER", Content::Few), ("", Content::Any)]);
    let made = Made::ByLoad {
        strict: false,
        key: Vec::new(),
        without_rowid: false,
        indexes: vec![(vec![0], false), (vec![1, 0], false), (vec![2], false)],
        exists: false,
    };
    Plan::new(random, columns, made)
}

fn unique_indexes(random: &mut SplitMix64) -> Plan {
    let unique = [
        ("INTEGER", Content::UniqueIntegers),
        ("TEXT", Content::UniqueTexts),
    ];
    let columns = and_some(random, &unique);
    let made = Made::ByLoad {
        strict: false,
        key: Vec::new(),
        without_rowid: false,
        indexes: vec![(vec![0], true), (vec![1], true), (vec![2, 0], true)],
        exists: false,
    };
    Plan::new(random, columns, made)
}

fn primary_key_of_columns(random: &mut SplitMix64) -> Plan {
    let unique = [
        ("INT", Content::UniqueIntegers),
        ("TEXT", Content::UniqueTexts),
    ];
    let columns = and_some(random, &unique);
    let made = Made::ByLoad {
        strict: false,
        key: one_of(random, &[[0, 1], [1, 0], [2, 1]]).to_vec(),
        without_rowid: false,
        indexes: Vec::new(),
        exists: false,
    };
    Plan::new(random, columns, made)
}

fn without_rowid(random: &mut SplitMix64) -> Plan {
    let unique = [
        ("TEXT", Content::UniqueTexts),
        ("INTEGER", Content::UniqueIntegers),
    ];
    let columns = and_some(random, &unique);
    let key = one_of(random, &[[0, 1], [1, 0]]);
    let made = Made::ByLoad {
        strict: false,
        key: key.to_vec(),
        without_rowid: true,
        indexes: vec![(vec![2], false)],
        exists: false,
    };
    Plan {
        order: format!("c{}, c{}", key[0], key[1]),
        ..Plan::new(random, columns, made)
    }
}

fn without_rowid_that_exists(random: &mut SplitMix64) -> Plan {
    let unique = [
        ("TEXT", Content::UniqueTexts),
        ("INTEGER", Content::UniqueIntegers),
    ];
    Plan {
        order: "c1, c0".to_owned(),
        ..Plan::by_sql(
            random,
            &unique,
            "CREATE TABLE t({columns}, PRIMARY KEY (c1, c0 DESC)) WITHOUT ROWID;
             CREATE INDEX i ON t(c2, c0)",
        )
    }
}

fn descending(random: &mut SplitMix64) -> Plan {
    let unique = [
        ("INTEGER", Content::UniqueIntegers),
        ("INTEGER", Content::Few),
    ];
    Plan {
        ways: BOTH,
        ..Plan::by_sql(
            random,
            &unique,
            "CREATE TABLE t({columns}); CREATE INDEX i ON t(c2 DESC, c1);
             CREATE UNIQUE INDEX j ON t(c1, c0 DESC)",
        )
    }
}

fn partial_indexes(random: &mut SplitMix64) -> Plan {
    let unique = [
        ("INTEGER", Content::UniqueIntegers),
        ("INTEGER", Content::Few),
    ];
    Plan::by_sql(
        random,
        &unique,
        "CREATE TABLE t({columns}); CREATE INDEX i ON t(c2) WHERE c1 > 3;
         CREATE UNIQUE INDEX j ON t(c0) WHERE c2 IS NOT NULL",
    )
}

fn indexes_on_expressions(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[("", Content::Any), ("TEXT", Content::UniqueTexts)],
        "CREATE TABLE t({columns}); CREATE INDEX i ON t(typeof(c0), length(c2));
         CREATE UNIQUE INDEX j ON t(lower(c1) || '!')",
    )
}

fn collations(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[
            ("TEXT COLLATE NOCASE", Content::Any),
            ("TEXT COLLATE RTRIM", Content::UniqueTexts),
        ],
        "CREATE TABLE t({columns}); CREATE INDEX i ON t(c0, c2 COLLATE RTRIM);
         CREATE UNIQUE INDEX j ON t(c1)",
    )
}

fn reserved_bytes(random: &mut SplitMix64) -> Plan {
    let columns = and_some(random, &[("INTEGER", Content::Key), ("TEXT", Content::Any)]);
    let made = Made::ByLoad {
        strict: false,
        key: vec![0],
        without_rowid: false,
        indexes: vec![(vec![1], false)],
        exists: true,
    };
    Plan {
        reserved: 1 + random.below(32) as u8,
        page_size: one_of(random, &PAGE_SIZES[..7]),
        ..Plan::new(random, columns, made)
    }
}

fn utf_16(random: &mut SplitMix64) -> Plan {
    Plan {
        pragmas: one_of(
            random,
            &[
                "PRAGMA encoding = 'UTF-16le'",
                "PRAGMA encoding = 'UTF-16be'",
            ],
        ),
        ..Plan::by_sql(
            random,
            &[("TEXT", Content::Any), ("TEXT", Content::UniqueTexts)],
            "CREATE TABLE t({columns}); CREATE INDEX i ON t(c0); CREATE UNIQUE INDEX j ON t(c1)",
        )
    }
}

fn auto_vacuum(random: &mut SplitMix64) -> Plan {
    Plan {
        pragmas: one_of(
            random,
            &[
                "PRAGMA auto_vacuum = FULL",
                "PRAGMA auto_vacuum = INCREMENTAL",
            ],
        ),
        ..Plan::by_sql(
            random,
            &[("INTEGER", Content::Few)],
            "CREATE TABLE t({columns}); CREATE INDEX i ON t(c0)",
        )
    }
}

fn generated_columns(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[("", Content::Any), ("INTEGER", Content::Few)],
        "CREATE TABLE t(kind TEXT AS (typeof(c0)) STORED, {columns}, long AS (length(c0)) VIRTUAL,
         next INTEGER AS (c1 + 1) STORED); CREATE INDEX i ON t(long, kind)",
    )
}

fn defaults(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[("INTEGER", Content::Any)],
        "CREATE TABLE t(first DEFAULT 'x', {columns}, number TEXT DEFAULT 7, made REAL DEFAULT (1 + 1),
         none INTEGER, must NOT NULL DEFAULT x'00ff')",
    )
}

fn autoincrement(random: &mut SplitMix64) -> Plan {
    Plan {
        rows_before: random.below(2) == 0,
        lowest_key: 0,
        ..Plan::by_sql(
            random,
            &[("INTEGER PRIMARY KEY AUTOINCREMENT", Content::Key)],
            "CREATE TABLE t({columns})",
        )
    }
}

fn check_constraints(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[
            ("INTEGER CHECK (c0 BETWEEN 0 AND 9)", Content::Few),
            ("TEXT NOT NULL CHECK (length(c1) > 0)", Content::UniqueTexts),
        ],
        "CREATE TABLE t({columns}, CHECK (c0 IS NULL OR c1 <> ''))",
    )
}

fn triggers(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[("INTEGER", Content::Few)],
        "CREATE TABLE t({columns}); CREATE TABLE log(row, c0, c1);
         CREATE TRIGGER r AFTER INSERT ON t
         BEGIN INSERT INTO log VALUES (new.rowid, new.c0, new.c1); END",
    )
}

fn rows_before(random: &mut SplitMix64) -> Plan {
    Plan {
        rows_before: true,
        ways: BOTH,
        ..Plan::by_sql(
            random,
            &[("INTEGER PRIMARY KEY", Content::Key)],
            "CREATE TABLE other(a, b); CREATE INDEX other_a ON other(a);
             WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)
             INSERT INTO other SELECT i, 'text ' || i FROM n;
             CREATE TABLE t({columns}); DELETE FROM other WHERE a % 3 = 0",
        )
    }
}

fn rows_and_indexes_before(random: &mut SplitMix64) -> Plan {
    Plan {
        rows_before: true,
        ..Plan::by_sql(
            random,
            &[("INTEGER", Content::UniqueIntegers), ("", Content::Any)],
            "CREATE TABLE t({columns}); CREATE UNIQUE INDEX i ON t(c0); CREATE INDEX j ON t(c1, c2)",
        )
    }
}

/// Rows that do not fit are left out, as INSERT leaves them out one by one.
fn refused_rows(random: &mut SplitMix64) -> Plan {
    Plan {
        on_error: OnError::Skip,
        ways: &[ARRAYS],
        ..Plan::by_sql(
            random,
            &[
                ("INTEGER NOT NULL", Content::Few),
                ("INTEGER CHECK (c1 <> 3)", Content::Few),
                ("INTEGER UNIQUE", Content::UniqueIntegers),
            ],
            "CREATE TABLE t({columns}, UNIQUE (c0, c1, c2))",
        )
    }
}

/// Draws values; a huge one costs more than a thousand small ones, so they are rare.
struct Values<'g> {
    random: &'g mut SplitMix64,
    page_size: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    Integer,
    Real,
    Text,
    Blob,
}

const ALL: &[Storage] = &[
    Storage::Integer,
    Storage::Real,
    Storage::Text,
    Storage::Blob,
];

/// What a column of a STRICT table takes of one storage class without a refusal.
fn strict_storage(declared: &str) -> &'static [Storage] {
    match declared {
        "INTEGER" => &ALL[..1],
        "REAL" => &ALL[..2],
        "TEXT" => &ALL[..3],
        "BLOB" => &ALL[3..],
        _ => ALL,
    }
}

impl Values<'_> {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn value(&mut self, storage: Storage) -> Value {
        match storage {
            Storage::Integer => Value::Integer(self.integer()),
            Storage::Real => Value::Real(self.real()),
            Storage::Text => Value::Text(self.text()),
            Storage::Blob => Value::Blob(self.blob()),
        }
    }

    fn integer(&mut self) -> i64 {
        match self.below(8) {
            0 => one_of(self.random, &edges::INTEGERS),
            _ => self.random.next_u64() as i64 >> self.below(64),
        }
    }

    fn real(&mut self) -> f64 {
        match self.below(4) {
            0 => one_of(self.random, &edges::REALS),
            1 => self.random.next_u64() as i32 as f64,
            2 => self.below(800) as f64 / 4.0 - 100.0,
            _ => Some(f64::from_bits(self.random.next_u64()))
                .filter(|real| !real.is_nan())
                .unwrap_or(-1.5),
        }
    }

    fn text(&mut self) -> String {
        match self.below(8) {
            0 => one_of(self.random, &edges::TEXTS).to_owned(),
            1 => self.integer().to_string(),
            2 => format!("{}e{}", self.below(1_000), self.below(40)),
            _ => {
                let length = self.length() / 2;
                let letter = one_of(self.random, &['a', 'é', 'Z', '\u{4e2d}', '\'']);
                let mut text = format!("{:x}", self.below(1 << 20));
                text.extend(std::iter::repeat_n(letter, length));
                text
            }
        }
    }

    fn blob(&mut self) -> Vec<u8> {
        let length = self.length();
        let byte = self.below(256) as u8;
        vec![byte; length]
    }

    /// Short mostly, over a few pages now and then, and a megabyte once in a great while.
    fn length(&mut self) -> usize {
        let bound = match self.below(100_000) {
            0 => 1 << 21,
            1..200 => 3 * self.page_size,
            _ => 24,
        };
        self.below(bound) as usize
    }

    /// A column of a batch.
    fn column(&mut self, input: &Input, rows: std::ops::Range<usize>, all: &Drawn) -> Vec<Value> {
        let storages = match input.content {
            Content::Strict => strict_storage(input.declared),
            _ => ALL,
        };
        let storage = one_of(self.random, storages);
        // None, some, or all of them.
        let nulls = one_of(self.random, &[0, 0, 1, 1, 1, 1, 1, 6]);
        let number = |row: usize| all.numbers[row];
        rows.map(|row| match input.content {
            Content::UniqueIntegers => Value::Integer(number(row) * 7 - 1_000),
            Content::UniqueTexts => Value::Text(format!("{:x}-{}", number(row) % 251, number(row))),
            Content::Key => all.keys[row].clone(),
            _ if self.below(6) < nulls => Value::Null,
            Content::Few => Value::Integer(self.below(10) as i64),
            Content::Any | Content::Strict => self.value(storage),
        })
        .collect()
    }
}

/// What is drawn for all rows of a case at once.
struct Drawn {
    /// All numbers below that of the rows, in any order.
    numbers: Vec<i64>,
    keys: Vec<Value>,
}

impl Drawn {
    /// `lowest` is below all keys.
    fn new(random: &mut SplitMix64, rows: usize, lowest: i64) -> Drawn {
        let mut numbers: Vec<i64> = (0..rows as i64).collect();
        random.shuffle(&mut numbers);
        let mut last = lowest + random.below(2_000) as i64;
        let keys = (0..rows).map(|row| {
            let given = row == 0 || random.below(3) > 0;
            last += if given {
                1 + (random.below(16) * random.below(16)) as i64
            } else {
                1
            };
            if given {
                Value::Integer(last)
            } else {
                Value::Null
            }
        });
        Drawn {
            keys: keys.collect(),
            numbers,
        }
    }
}

/// A case of a class.
struct Case {
    plan: Plan,
    /// Rows in batches, as columns of values.
    batches: Vec<Vec<Vec<Value>>>,
    /// How many of the batches are in the table before the load.
    before: usize,
    workers: usize,
    rows: usize,
}

impl Case {
    fn draw(class: Class, seed: Seed, most: usize) -> Case {
        let mut random = seed.generator();
        let plan = class(&mut random);
        let rows = (most / 2 + random.below(most as u64 / 2 + 1) as usize).max(1);
        let drawn = Drawn::new(&mut random, rows, plan.lowest_key);
        let parts = 1 + random.below(6) as usize;
        let workers = 1 + random.below(3) as usize;
        let mut values = Values {
            page_size: u64::from(plan.page_size),
            random: &mut random,
        };
        let size = rows.div_ceil(parts);
        let part = |first: usize| {
            let part = first..rows.min(first + size);
            let column = |input| values.column(input, part.clone(), &drawn);
            plan.columns.iter().map(column).collect()
        };
        let batches: Vec<_> = (0..rows).step_by(size).map(part).collect();
        let before = if plan.rows_before {
            batches.len() / 2
        } else {
            0
        };
        Case {
            plan,
            batches,
            before,
            workers,
            rows,
        }
    }

    fn names(&self) -> Vec<String> {
        let names = (0..self.plan.columns.len()).map(|number| format!("c{number}"));
        names.collect()
    }

    /// What is there before the load.
    fn prepare(&self, database: &Path) {
        let size = self.plan.page_size;
        match &self.plan.made {
            Made::ByLoad { exists: false, .. } => {}
            Made::ByLoad { .. } => {
                let sql = format!("PRAGMA page_size = {size}; PRAGMA user_version = 1");
                open(database).execute(&sql).unwrap();
                reserve(database, size as u16, self.plan.reserved);
            }
            Made::BySql(sql) => {
                let connection = open(database);
                let pragmas = self.plan.pragmas;
                connection
                    .execute(&format!("PRAGMA page_size = {size}; {pragmas}"))
                    .unwrap();
                let columns: Vec<String> = (self.names().iter().zip(&self.plan.columns))
                    .map(|(name, column)| format!("{name} {}", column.declared))
                    .collect();
                let sql = sql.replace("{columns}", &columns.join(", "));
                connection.execute(&sql).unwrap();
                self.insert(&connection, &self.batches[..self.before]);
            }
        }
    }

    /// One INSERT for each row; returns how many were refused.
    fn insert(&self, connection: &Connection, batches: &[Vec<Vec<Value>>]) -> u64 {
        let names = self.names();
        let places = vec!["?"; names.len()].join(", ");
        let sql = format!("INSERT INTO t({}) VALUES ({places})", names.join(", "));
        connection.execute("BEGIN").unwrap();
        let mut insert = connection.prepare(&sql).unwrap();
        let mut refused = 0;
        for columns in batches {
            for row in 0..columns[0].len() {
                for (number, values) in columns.iter().enumerate() {
                    insert.bind_value(number as i32 + 1, &values[row]).unwrap();
                }
                match insert.run() {
                    Ok(()) => {}
                    Err(error) if self.is_skipped(&error) => refused += 1,
                    Err(error) => panic!("INSERT refuses what the class should not have: {error}"),
                }
            }
        }
        drop(insert);
        connection.execute("COMMIT").unwrap();
        refused
    }

    fn is_skipped(&self, error: &engine::EngineError) -> bool {
        let sqlite = error.as_sqlite();
        self.plan.on_error == OnError::Skip
            && sqlite.is_some_and(|error| error.kind() == ErrorKind::Constraint)
    }

    fn load(&self, database: &Path, way: WayChoice) -> Result<Summary, LoadError> {
        let mut request = Request::new(database, self.table());
        request.mode = match self.plan.made {
            Made::ByLoad { .. } => Mode::Create,
            Made::BySql(_) => Mode::Append,
        };
        request.way = way;
        request.on_error = self.plan.on_error;
        request.workers = Some(self.workers);
        if let Made::ByLoad { exists: false, .. } = self.plan.made {
            request.page_size = Some(self.plan.page_size);
        }
        let batches = &self.batches[self.before..];
        run(
            batches.iter().map(|columns| batch(columns)).collect(),
            &request,
        )
    }

    fn table(&self) -> Table {
        let mut table = Table::new("t");
        let columns = self.names().into_iter().zip(&self.plan.columns);
        table.types = columns
            .map(|(name, column)| Column::new(name, column.declared))
            .collect();
        let Made::ByLoad {
            strict,
            key,
            without_rowid,
            indexes,
            ..
        } = &self.plan.made
        else {
            return table;
        };
        let named = |columns: &[usize]| columns.iter().map(|n| format!("c{n}")).collect();
        table.strict = *strict;
        table.primary_key = named(key);
        table.without_rowid = *without_rowid;
        let indexes = indexes.iter().map(|(columns, unique)| Index {
            columns: named(columns),
            unique: *unique,
        });
        table.indexes = indexes.collect();
        table
    }

    /// Loads by each way and compares with INSERT.
    ///
    /// # Errors
    /// The first difference.
    fn check(&self) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let inserted = folder.path().join("insert");
        for way in self.plan.ways {
            let loaded = folder.path().join("load");
            self.prepare(&loaded);
            let summary = self
                .load(&loaded, *way)
                .map_err(|error| format!("{way:?}: {error}"))?;
            if !inserted.exists() {
                self.prepare_as(&inserted, &loaded);
                let connection = open(&inserted);
                let refused = self.insert(&connection, &self.batches[self.before..]);
                if refused != summary.rejected {
                    let rejected = summary.rejected;
                    return Err(format!("{rejected} rows rejected, not {refused}"));
                }
            }
            let rows: usize = self.batches[self.before..].iter().map(|b| b[0].len()).sum();
            if *way == PAGES && summary.rows_by_pages != rows as u64 {
                return Err(format!("not all went by pages: {:?}", summary.why_arrays));
            }
            compare(&loaded, &inserted, &self.plan.order)
                .map_err(|difference| format!("{way:?}: {difference}"))?;
            std::fs::remove_file(&loaded).unwrap();
        }
        Ok(())
    }

    /// The database that INSERT fills: as it is before the load, with the table as the load made it.
    fn prepare_as(&self, database: &Path, loaded: &Path) {
        self.prepare(database);
        if let Made::BySql(_) = self.plan.made {
            return;
        }
        let made = open(loaded)
            .query_all("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
            .unwrap();
        let mut sql = format!("PRAGMA page_size = {};", self.plan.page_size);
        for object in made {
            write!(sql, "{};", object[0]).unwrap();
        }
        open(database).execute(&sql).unwrap();
    }
}

/// Compares schemas, and all tables row by row, and checks the integrity of the first.
///
/// # Errors
/// The first difference.
fn compare(one: &Path, other: &Path, order: &str) -> Result<(), String> {
    let (one, other) = (open(one), open(other));
    let check = one.query_all("PRAGMA integrity_check").unwrap();
    if check != [[Value::Text("ok".to_owned())]] {
        return Err(format!("the check of integrity says {check:?}"));
    }
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name";
    let objects = one.query_all(schema).unwrap();
    if objects != other.query_all(schema).unwrap() {
        return Err("the schemas differ".to_owned());
    }
    for object in objects {
        if object[0] == Value::Text("table".to_owned()) {
            let table = object[1].to_string();
            let order = if table == "t" { order } else { "rowid" };
            same_rows(&one, &other, &table, order)?;
        }
    }
    Ok(())
}

fn same_rows(one: &Connection, other: &Connection, table: &str, order: &str) -> Result<(), String> {
    let sql = format!("SELECT {order}, * FROM {table} ORDER BY {order}");
    let (mut one, mut other) = (one.prepare(&sql).unwrap(), other.prepare(&sql).unwrap());
    for row in 1_u64.. {
        match (one.step().unwrap(), other.step().unwrap()) {
            (Step::Row, Step::Row) => {}
            (Step::Done, Step::Done) => break,
            (found, wanted) => {
                return Err(format!("row {row} of {table}: {found:?}, not {wanted:?}"));
            }
        }
        for column in 0..one.column_count() {
            let found = one.column_value_ref(column).unwrap();
            let wanted = other.column_value_ref(column).unwrap();
            if !is_same(found, wanted) {
                let name = one.column_name(column).unwrap_or_default();
                let place = format!("row {row} of {table}, column {name}");
                return Err(format!("{place}: {found:?}, not {wanted:?}"));
            }
        }
    }
    Ok(())
}

/// Bit for bit, and of the same storage class.
fn is_same(found: ValueRef<'_>, wanted: ValueRef<'_>) -> bool {
    match (found, wanted) {
        (ValueRef::Real(found), ValueRef::Real(wanted)) => found.to_bits() == wanted.to_bits(),
        (found, wanted) => found == wanted,
    }
}

/// From which all cases are drawn.
const SEED: Seed = Seed(9);

fn seed(class: &str, case: u64) -> Seed {
    SEED.child(class).nth(case)
}

/// Says something at once, which the capture of a test's output would keep back.
fn say(words: &str) {
    // Who cannot be told anything does not need to be.
    let _ = writeln!(std::io::stderr(), "{words}");
}

/// Cases of a class until they have had so many rows; says how far it has come, if that is wanted.
fn until(name: &str, class: Class, rows: usize, most: usize, loudly: bool) {
    let begin = Instant::now();
    let (mut seen, mut told) = (0, 0);
    for number in 0_u64.. {
        let case = Case::draw(class, seed(name, number), most);
        if let Err(difference) = case.check() {
            panic!("class `{name}`, case {number} of at most {most} rows: {difference}");
        }
        seen += case.rows;
        if loudly && (seen >= rows || seen - told >= rows / 4) {
            told = seen;
            let seconds = begin.elapsed().as_secs_f64();
            let cases = number + 1;
            say(&format!(
                "{name}: {seen} of {rows} rows in {cases} cases, {seconds:.1} s"
            ));
        }
        if seen >= rows {
            return;
        }
    }
}

/// All classes, by as many threads as there are processors.
fn every_class(rows: usize, most: usize, loudly: bool) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((name, class)) = CLASSES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    until(name, *class, rows, most, loudly);
                }
            });
        }
    });
}

#[test]
fn differences_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str, sql: &str| {
        let path = folder.path().join(name);
        let create = "CREATE TABLE t(c0, c1); CREATE TABLE log(a)";
        open(&path).execute(&format!("{create}; {sql}")).unwrap();
        path
    };
    let rows = "INSERT INTO t VALUES (1, 'a'), (2, 0.0); INSERT INTO log VALUES (x'00')";
    let wanted = made("wanted", rows);
    assert_eq!(compare(&made("same", rows), &wanted, "rowid"), Ok(()));
    for (number, (from, to, named)) in [
        ("(1, 'a')", "('1', 'a')", "row 1 of t, column c0"),
        ("0.0", "-0.0", "row 2 of t, column c1"),
        ("x'00'", "x'01'", "row 1 of log, column a"),
        (", (2, 0.0)", "", "row 2 of t"),
        (
            "INSERT INTO log",
            "CREATE INDEX i ON t(c0); INSERT INTO log",
            "schemas",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let other = made(&number.to_string(), &rows.replace(from, to));
        let difference = compare(&other, &wanted, "rowid").unwrap_err();
        assert!(difference.contains(named), "{difference}");
    }
}

#[test]
fn every_class_of_schema_is_what_insert_makes_it() {
    every_class(3_000, 1_500, false);
}

/// `PRAGMARK_TEST_ROWS` says another number of rows for each class; `PRAGMARK_TEST_CLASS` and
/// `PRAGMARK_TEST_CASE` one case alone.
#[test]
#[ignore = "takes minutes"]
fn a_million_rows_of_every_class_are_what_insert_makes_them() {
    const MOST: usize = 50_000;
    let variable = |name: &str| std::env::var(name).ok();
    if let Some(name) = variable("PRAGMARK_TEST_CLASS") {
        let known = CLASSES.iter().find(|(known, _)| *known == name);
        let (name, class) = known.expect("a class of this name");
        let number = variable("PRAGMARK_TEST_CASE").map_or(0, |number| number.parse().unwrap());
        let checked = Case::draw(*class, seed(name, number), MOST).check();
        return checked.unwrap_or_else(|difference| panic!("{name}, case {number}: {difference}"));
    }
    let rows = variable("PRAGMARK_TEST_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
    every_class(rows, MOST, true);
}
