//! The classes: which schemas there are, and what is to be put into them.

use lab::seed::SplitMix64;
use pragmark_load::{LoadStrategy, OnError};

/// What a case loads, and where.
pub(super) struct Plan {
    /// The columns of the input: `c0`, `c1`, …
    pub(super) columns: Vec<Input>,
    pub(super) made: Made,
    /// By what the rows of `t` are ordered when they are compared.
    pub(super) order: String,
    pub(super) page_size: u32,
    /// PRAGMAs of a database that is there before.
    pub(super) pragmas: &'static str,
    /// What all keys are above: where SQLite never gives one below 1, a given one must not come later.
    pub(super) lowest_key: i64,
    /// Bytes reserved in each page of a database that is there before.
    pub(super) reserved: u8,
    /// Whether the table has rows before the load.
    pub(super) rows_before: bool,
    pub(super) on_error: OnError,
    /// Whether the input is a file of CSV, which can be read again.
    pub(super) from_file: bool,
    pub(super) strategies: &'static [Option<LoadStrategy>],
}

/// A column of the input.
pub(super) struct Input {
    pub(super) declared: &'static str,
    pub(super) content: Content,
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
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
    /// Integers in any order, of which a few come twice.
    Doubled,
    /// Days, which the input writes as people do.
    Days,
}

/// Who makes the table.
pub(super) enum Made {
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

pub(super) const PAGES: Option<LoadStrategy> = Some(LoadStrategy::Pages);
const ARRAYS: Option<LoadStrategy> = Some(LoadStrategy::Arrays);
const BOTH: &[Option<LoadStrategy>] = &[PAGES, ARRAYS];
/// For what the page writer leaves to SQL.
const AS_IT_CAN: &[Option<LoadStrategy>] = &[None];

const DECLARED: &[&str] = &["INTEGER", "REAL", "TEXT", "BLOB", "", "NUMERIC", "DECIMAL(10,2)"];
const STRICT_TYPES: &[&str] = &["INTEGER", "REAL", "TEXT", "BLOB", "ANY"];
const PAGE_SIZES: &[u32] = &[512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];

pub(super) fn one_of<T: Copy>(random: &mut SplitMix64, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

fn some(random: &mut SplitMix64, number: u64, content: Content) -> Vec<Input> {
    let number = 1 + random.below(number);
    let declared = match content {
        Content::Strict => STRICT_TYPES,
        _ => DECLARED,
    };
    let mut column = || Input { declared: one_of(random, declared), content };
    (0..number).map(|_| column()).collect()
}

/// These columns, and up to three of anything.
fn and_some(random: &mut SplitMix64, columns: &[(&'static str, Content)]) -> Vec<Input> {
    let first = columns.iter().map(|&(declared, content)| Input { declared, content });
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
            from_file: false,
            strategies: BOTH,
        }
    }

    /// As it can, into a table that SQL has made.
    fn by_sql(
        random: &mut SplitMix64,
        columns: &[(&'static str, Content)],
        sql: &'static str,
    ) -> Plan {
        let columns = and_some(random, columns);
        Plan { strategies: AS_IT_CAN, ..Plan::new(random, columns, Made::BySql(sql)) }
    }
}

pub(super) fn affinities(random: &mut SplitMix64) -> Plan {
    let columns = some(random, 6, Content::Any);
    Plan::new(random, columns, plain())
}

pub(super) fn integer_primary_key(random: &mut SplitMix64) -> Plan {
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

pub(super) fn strict(random: &mut SplitMix64) -> Plan {
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

pub(super) fn indexes(random: &mut SplitMix64) -> Plan {
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

pub(super) fn unique_indexes(random: &mut SplitMix64) -> Plan {
    let unique = [("INTEGER", Content::UniqueIntegers), ("TEXT", Content::UniqueTexts)];
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

pub(super) fn primary_key_of_columns(random: &mut SplitMix64) -> Plan {
    let unique = [("INT", Content::UniqueIntegers), ("TEXT", Content::UniqueTexts)];
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

pub(super) fn without_rowid(random: &mut SplitMix64) -> Plan {
    let unique = [("TEXT", Content::UniqueTexts), ("INTEGER", Content::UniqueIntegers)];
    let columns = and_some(random, &unique);
    let key = one_of(random, &[[0, 1], [1, 0]]);
    let made = Made::ByLoad {
        strict: false,
        key: key.to_vec(),
        without_rowid: true,
        indexes: vec![(vec![2], false)],
        exists: false,
    };
    Plan { order: format!("c{}, c{}", key[0], key[1]), ..Plan::new(random, columns, made) }
}

pub(super) fn without_rowid_that_exists(random: &mut SplitMix64) -> Plan {
    let unique = [("TEXT", Content::UniqueTexts), ("INTEGER", Content::UniqueIntegers)];
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

pub(super) fn descending(random: &mut SplitMix64) -> Plan {
    let unique = [("INTEGER", Content::UniqueIntegers), ("INTEGER", Content::Few)];
    Plan {
        strategies: BOTH,
        ..Plan::by_sql(
            random,
            &unique,
            "CREATE TABLE t({columns}); CREATE INDEX i ON t(c2 DESC, c1);
             CREATE UNIQUE INDEX j ON t(c1, c0 DESC)",
        )
    }
}

pub(super) fn partial_indexes(random: &mut SplitMix64) -> Plan {
    let unique = [("INTEGER", Content::UniqueIntegers), ("INTEGER", Content::Few)];
    Plan::by_sql(
        random,
        &unique,
        "CREATE TABLE t({columns}); CREATE INDEX i ON t(c2) WHERE c1 > 3;
         CREATE UNIQUE INDEX j ON t(c0) WHERE c2 IS NOT NULL",
    )
}

pub(super) fn indexes_on_expressions(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[("", Content::Any), ("TEXT", Content::UniqueTexts)],
        "CREATE TABLE t({columns}); CREATE INDEX i ON t(typeof(c0), length(c2));
         CREATE UNIQUE INDEX j ON t(lower(c1) || '!')",
    )
}

pub(super) fn collations(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[("TEXT COLLATE NOCASE", Content::Any), ("TEXT COLLATE RTRIM", Content::UniqueTexts)],
        "CREATE TABLE t({columns}); CREATE INDEX i ON t(c0, c2 COLLATE RTRIM);
         CREATE UNIQUE INDEX j ON t(c1)",
    )
}

pub(super) fn reserved_bytes(random: &mut SplitMix64) -> Plan {
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

pub(super) fn utf_16(random: &mut SplitMix64) -> Plan {
    Plan {
        pragmas: one_of(random, &["PRAGMA encoding = 'UTF-16le'", "PRAGMA encoding = 'UTF-16be'"]),
        ..Plan::by_sql(
            random,
            &[("TEXT", Content::Any), ("TEXT", Content::UniqueTexts)],
            "CREATE TABLE t({columns}); CREATE INDEX i ON t(c0); CREATE UNIQUE INDEX j ON t(c1)",
        )
    }
}

const AUTO_VACUUM: &[&str] = &["PRAGMA auto_vacuum = FULL", "PRAGMA auto_vacuum = INCREMENTAL"];

pub(super) fn auto_vacuum(random: &mut SplitMix64) -> Plan {
    Plan {
        pragmas: one_of(random, AUTO_VACUUM),
        strategies: BOTH,
        ..Plan::by_sql(
            random,
            &[("INTEGER", Content::Few), ("", Content::Any)],
            "CREATE TABLE t({columns}); CREATE INDEX i ON t(c0); CREATE INDEX j ON t(c1, c2)",
        )
    }
}

pub(super) fn auto_vacuum_and_rows_before(random: &mut SplitMix64) -> Plan {
    Plan { pragmas: one_of(random, AUTO_VACUUM), ..rows_before(random) }
}

pub(super) fn write_ahead_log(random: &mut SplitMix64) -> Plan {
    Plan {
        pragmas: "PRAGMA journal_mode = WAL",
        ..one_of(random, &[rows_before, rows_and_indexes_before])(random)
    }
}

pub(super) fn generated_columns(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[("", Content::Any), ("INTEGER", Content::Few)],
        "CREATE TABLE t(kind TEXT AS (typeof(c0)) STORED, {columns}, long AS (length(c0)) VIRTUAL,
         next INTEGER AS (c1 + 1) STORED); CREATE INDEX i ON t(long, kind)",
    )
}

pub(super) fn defaults(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[("INTEGER", Content::Any)],
        "CREATE TABLE t(first DEFAULT 'x', {columns}, number TEXT DEFAULT 7, made REAL DEFAULT (1 + 1),
         none INTEGER, must NOT NULL DEFAULT x'00ff')",
    )
}

pub(super) fn autoincrement(random: &mut SplitMix64) -> Plan {
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

pub(super) fn check_constraints(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[
            ("INTEGER CHECK (c0 BETWEEN 0 AND 9)", Content::Few),
            ("TEXT NOT NULL CHECK (length(c1) > 0)", Content::UniqueTexts),
        ],
        "CREATE TABLE t({columns}, CHECK (c0 IS NULL OR c1 <> ''))",
    )
}

pub(super) fn triggers(random: &mut SplitMix64) -> Plan {
    Plan::by_sql(
        random,
        &[("INTEGER", Content::Few)],
        "CREATE TABLE t({columns}); CREATE TABLE log(row, c0, c1);
         CREATE TRIGGER r AFTER INSERT ON t
         BEGIN INSERT INTO log VALUES (new.rowid, new.c0, new.c1); END",
    )
}

pub(super) fn rows_before(random: &mut SplitMix64) -> Plan {
    Plan {
        rows_before: true,
        strategies: BOTH,
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

pub(super) fn rows_and_indexes_before(random: &mut SplitMix64) -> Plan {
    Plan {
        rows_before: true,
        ..Plan::by_sql(
            random,
            &[("INTEGER", Content::UniqueIntegers), ("", Content::Any)],
            "CREATE TABLE t({columns}); CREATE UNIQUE INDEX i ON t(c0); CREATE INDEX j ON t(c1, c2)",
        )
    }
}

/// Rows are written as pages unless one has the key of another.
pub(super) fn skipped_keys(random: &mut SplitMix64) -> Plan {
    let content = one_of(random, &[Content::UniqueIntegers, Content::Doubled]);
    let columns = [("INTEGER", content), ("TEXT", Content::UniqueTexts)];
    let columns = columns.map(|(declared, content)| Input { declared, content });
    let made = Made::BySql("CREATE TABLE t({columns}); CREATE UNIQUE INDEX i ON t(c0)");
    Plan {
        on_error: OnError::Skip,
        from_file: true,
        strategies: &[None, ARRAYS],
        ..Plan::new(random, columns.into(), made)
    }
}

pub(super) fn dates(random: &mut SplitMix64) -> Plan {
    let columns = [("TEXT", Content::Days), ("INTEGER", Content::Few), ("DATE", Content::Days)];
    let columns = columns.map(|(declared, content)| Input { declared, content });
    let made = Made::BySql("CREATE TABLE t({columns}); CREATE INDEX i ON t(c2)");
    Plan { from_file: true, ..Plan::new(random, columns.into(), made) }
}

/// Rows that do not fit are left out, as INSERT leaves them out one by one.
pub(super) fn refused_rows(random: &mut SplitMix64) -> Plan {
    Plan {
        on_error: OnError::Skip,
        strategies: &[ARRAYS],
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
