//! The parameters of `sql`.

use std::time::Duration;

use crate::drive::parameters::{FILES_OF_OWN_SQL, Retrying, Workers, open_files};
use crate::parameters::{DatabasePath, FilePath, Micros, Millis, SqlText, WeightedFilePaths};
use crate::workload::prelude::*;
use crate::workload::preparation::Preparation;

choice! {
    /// Which of pgbench's scripts is executed.
    enum Builtin {
        /// Three updates, a query and an insert in one transaction.
        TpcbLike = "tpcb-like",
        /// An update, a query and an insert in one transaction.
        SimpleUpdate = "simple-update",
        /// One query by key.
        SelectOnly = "select-only",
    }

    /// The meaning of a file without names of queries and without meta commands.
    enum Unit {
        /// One transaction of all its statements.
        File = "file",
        /// A transaction for each statement.
        Statement = "statement",
    }

    /// When statements are prepared.
    enum Preparing {
        /// Once, and executed again and again.
        Once = "once",
        /// For each execution.
        Each = "each",
    }

    /// Whether the file is in the page cache of the operating system when the work begins.
    enum Caching {
        /// All of it, as far as memory suffices.
        Warm = "warm",
        /// Nothing of it, except what opening a connection reads.
        Cold = "cold",
        /// What the preparation of the trial has left there.
        AsIs = "as-is",
    }

    /// How often each existing value is drawn for a parameter.
    enum Drawing {
        /// All equally often.
        Uniform = "uniform",
        /// By Zipf's law, with a parameter of 1.1: a few values very often.
        Zipfian = "zipfian",
    }
}

/// Executions of each script whose answers are digested by default.
const ANSWERS: usize = 20;

/// The time for answers by default, as a share of the time of the work.
const SHARE_OF_ANSWERS: f64 = 0.2;

/// How many answers are digested.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Executions of each script at most.
    pub(super) executions: usize,
    /// The time in which all scripts are executed more than once.
    pub(super) limit: Option<Duration>,
}

impl Extent {
    /// Returns whether this many scripts may take this time.
    pub(super) fn allows(&self, time: Duration, scripts: usize, all: usize) -> bool {
        self.limit.is_none_or(|limit| time <= limit.mul_f64(scripts as f64 / all as f64))
    }
}

/// Clients at most.
const MOST_CLIENTS: i64 = 1_024;

parameters! {
    /// The parameters of one trial.
    #[derive(Clone, Debug)]
    struct Parameters {
        /// Your own database file: each trial works on a copy, and the file itself is never changed. Without it, the
        /// database is empty, or has the tables of pgbench.
        database: Option<DatabasePath> = None;
        /// SQL file that is executed on the database of each trial before the work, such as a schema.
        setup: Option<FilePath> = None;
        preparation: Preparation;
        /// Files of SQL to execute, separated by commas, each with its weight after @, such as `read.sql@9,
        /// write.sql`. A file is a script of pgbench, or a list of queries with names (`-- name: find_user`).
        scripts: Option<WeightedFilePaths> = None;
        /// SQL to execute instead of files.
        sql: Option<SqlText> = None;
        /// Which of pgbench's own scripts is executed; tpcb-like where nothing else is named.
        builtin: Option<Builtin> = None;
        /// Size of pgbench's tables, in units of 100,000 accounts; the variable :scale of scripts.
        scale_factor: usize = 1, 1..=100_000;
        /// What a file without names of queries and without meta commands is.
        unit: Unit = Unit::File;
        /// Connections that execute scripts at the same time.
        clients: u32 = 1, 1..=MOST_CLIENTS;
        /// What each client belongs to.
        workers: Workers = Workers::Threads;
        /// Time in which transactions start; a backlog is stopped after the same time again.
        duration as "stop_after_ms": Millis = 1_000, 1..;
        /// Transactions of each client, instead of a time; 0: as many as there is time for.
        transactions: usize = 0, 0..;
        /// Executions of each script by each client, one script after the other whatever their weights, instead of a
        /// time: the same work in every trial. 0: none of this.
        executions: usize = 0, 0..=1_000_000;
        /// Transactions per second that arrive at random times for all clients together; latency then counts from
        /// the arrival. 0: each client starts its next transaction when the last has ended.
        rate as "rate_per_s": usize = 0, 0..=10_000_000;
        /// Pause of a client between two transactions.
        think as "think_us": Micros = 0, 0..=3_600_000_000;
        /// Latency limit of a transaction: the share of those that took longer is reported. 0: none.
        latency_limit as "latency_limit_us": Micros = 0, 0..=3_600_000_000;
        /// Executions of scripts that share one transaction; 0: the scripts decide; a statement outside
        /// of BEGIN and COMMIT commits alone.
        group: usize = 0, 0..=1_000_000;
        /// When statements are prepared.
        prepare: Preparing = Preparing::Once;
        /// Whether the file is in the page cache of the operating system when the work begins.
        page_cache: Caching = Caching::Warm;
        /// How often each existing value is drawn for a parameter.
        draw: Drawing = Drawing::Uniform;
        /// Executions of each script whose answers are compared with those of the baseline; 0: none. By default at most
        /// 20, and at least one, in a fifth of the time of the work.
        answers: Option<usize> = None, 0..=1_000_000;
        /// Rows of each statement's answers that are recorded as well, and of each table that is written; 0: none.
        answer_rows: usize = 0, 0..=1_000_000;
        retrying: Retrying;
    }
}

impl Parameters {
    /// Checks the rules between parameters.
    pub(super) fn check(&self, settings: &Settings) -> Result<()> {
        let locking = settings.get("locking_mode").and_then(Level::as_text);
        let own = [&self.scripts, &self.sql].iter().filter(|given| given.is_some()).count();
        let why = if own + usize::from(self.builtin.is_some()) > 1 {
            "scripts, sql and builtin exclude one another"
        } else if self.database.is_some() && own == 0 {
            "database requires scripts or sql"
        } else if self.clients > 1 && locking == Some("exclusive") {
            "locking_mode = exclusive admits one client"
        } else if self.executions > 0 && self.transactions + self.group + self.rate > 0 {
            "executions excludes transactions, group and rate_per_s"
        } else {
            return Ok(());
        };
        Err(TrialError::cannot_run(why))
    }

    /// Returns the script of pgbench that is executed, if any.
    pub(super) fn pgbench(&self) -> Option<Builtin> {
        match (&self.scripts, &self.sql) {
            (None, None) => Some(self.builtin.unwrap_or(Builtin::TpcbLike)),
            _ => None,
        }
    }

    /// Returns how many answers are digested after work that took this time.
    pub(super) fn extent_of_answers(&self, work: Duration) -> Extent {
        Extent {
            executions: self.answers.unwrap_or(ANSWERS),
            limit: self.answers.is_none().then(|| work.mul_f64(SHARE_OF_ANSWERS)),
        }
    }

    /// Returns how long the work lasts; zero if a number of transactions ends it.
    pub(super) fn time(&self) -> Duration {
        if self.is_timed() { self.duration } else { Duration::ZERO }
    }

    /// Returns whether the work ends after a time and not after a number of transactions.
    pub(super) fn is_timed(&self) -> bool {
        self.transactions == 0 && self.executions == 0
    }

    /// Returns the needs of a trial from the operating system.
    pub(super) fn needs(&self) -> Needs {
        let clients = u64::from(self.clients);
        Needs {
            open_files: open_files(clients + 1, FILES_OF_OWN_SQL),
            threads: clients + 1,
            ..Needs::default()
        }
    }
}
