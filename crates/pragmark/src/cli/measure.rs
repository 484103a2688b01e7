//! Options of `measure`.

use std::path::PathBuf;

use app::Error;
use app::Result;
use app::measure::{MeasureRequest, Replay, ReplayMode, Sql, Subject, Work};
use clap::{Args, ValueEnum};

use super::record::RecordOptions;
use super::stand_in::{StandInArgs, of_traces};
use super::values::{seconds, settings, values_of, varied};
use crate::commands::run;
use crate::exit::Exit;

/// Options of `measure`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark measure --db app.db -c 'SELECT * FROM users WHERE email = :email'
                                        one statement; values are drawn from the column
  pragmark measure --db app.db -c 'SELECT …' -c 'SELECT …'
                                        which of two queries is faster; `pragmark compare` says whether they answer the same
  pragmark measure --db app.db queries.sql
                                        each statement or named query of a file
  pragmark measure --db app.db queries.sql --vary journal_mode=delete,wal --vary cache_size=-2000,-64000
                                        with several settings, compared with the first of each
  pragmark measure --db app.db queries.sql --index 'orders(customer_id, created_at)'
                                        without and with an index
  pragmark measure --db app.db --db new.db queries.sql
                                        two databases with the same statements
  pragmark measure --db app.db queries.sql --engine default --engine system
                                        two SQLite libraries
  pragmark measure --builtin tpcb-like --set scale_factor=10 --clients 4
                                        the workload of pgbench
  pragmark measure --trace app.trace --vary journal_mode=wal,delete
                                        the recorded traffic of an application, replayed
  pragmark measure --db app.db queries.sql --write my.toml
                                        the same as an experiment file, to extend it")]
pub struct MeasureArgs {
    /// Files of SQL: scripts in pgbench's language, lists of named queries (`-- name: find_user`),
    /// or plain statements. Several files are compared with one another. If databases, engines,
    /// indexes or settings are compared, each variant executes all files.
    pub files: Vec<PathBuf>,
    /// Statement to measure instead of a file. Several are compared with one another, like files.
    #[arg(short = 'c', long = "command", value_name = "SQL", conflicts_with = "builtin")]
    pub commands: Vec<String>,
    /// One of pgbench's scripts instead of a file, on tables that pragmark makes.
    #[arg(long, value_enum, value_name = "NAME", conflicts_with_all = ["files", "dbs"])]
    pub builtin: Option<BuiltinArg>,
    /// Your database. Every trial works on a copy, and the file itself is never changed, even if it is in use. Repeat
    /// it to compare databases [default: an empty one].
    #[arg(long = "db", value_name = "FILE")]
    pub dbs: Vec<PathBuf>,
    /// Trace of `pragmark record` to replay instead of SQL of your own. Every trial works on the databases as they were
    /// when recording began.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "commands", "builtin", "dbs", "setup", "clients", "seconds"])]
    pub trace: Option<PathBuf>,
    /// Order of a replay [default: ordered].
    #[arg(long, value_enum, value_name = "MODE", requires = "trace")]
    pub mode: Option<ModeArg>,
    #[command(flatten)]
    pub stand_ins: StandInArgs,
    /// SQL file to execute on the database of each trial before the work. Use it for a schema or an index.
    #[arg(long, value_name = "FILE")]
    pub setup: Option<PathBuf>,
    /// Setting to vary, with its values, such as journal_mode=delete,wal. The first value is the baseline. A comma between
    /// quotes or brackets belongs to its value. Repeat it for several settings.
    #[arg(long, value_name = "NAME=VALUE,…")]
    pub vary: Vec<String>,
    /// Index to try, such as 'orders(customer_id, created_at)': a variant with it is compared with one without. Repeat it to try
    /// several, each by itself.
    #[arg(long, value_name = "TABLE(COLUMN,…)")]
    pub index: Vec<String>,
    /// Setting of all variants, such as synchronous=normal, page_cache=cold or latency_limit_us=5000. `pragmark list pragmas` and
    /// `pragmark list workloads` show the names.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Measure all combinations of the values, instead of one change at a time.
    #[arg(long)]
    pub combine: bool,
    /// SQLite library: `default`, `system`, a version, or the path of a shared library; repeat it to compare several.
    #[arg(long, value_name = "ENGINE")]
    pub engine: Vec<String>,
    /// Clients that execute at the same time.
    #[arg(long, value_name = "N")]
    pub clients: Option<i64>,
    /// Rounds: trials of each variant. Fewer than three compare nothing.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(2..))]
    pub rounds: u32,
    /// Time of a trial, such as 500ms or 5s [default: about six seconds for all trials together].
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Measure nothing: print the experiment as a file for `pragmark run`, or write it to this
    /// file.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub write: Option<PathBuf>,
    /// Where to measure and record.
    #[command(flatten)]
    pub record: RecordOptions,
    /// Measure without safety tiers. Tiers of engines other than the built-in one take some seconds
    /// for each set of durability settings that no earlier run has measured.
    #[arg(long)]
    pub no_tiers: bool,
}

impl MeasureArgs {
    /// Measures, or writes the experiment.
    pub fn execute(self) -> Result<Exit> {
        if let ([sql, ..], [file, ..]) = (self.commands.as_slice(), self.files.as_slice()) {
            let file = file.display();
            return Err(Error::mistake(format!("-c has the statement `{sql}`, and `{file}` is one more argument"))
                .hint("put the whole statement in quotes, such as -c 'SELECT * FROM users', or name files without -c"));
        }
        let work = match self.trace {
            Some(trace) => Work::Replay(Replay {
                trace,
                mode: self.mode.map(Into::into),
                stand_ins: self.stand_ins.lines(),
            }),
            None if self.stand_ins.are_given() => return Err(of_traces()),
            None => Work::Sql(Sql {
                files: self.files,
                statements: self.commands,
                builtin: self.builtin.and_then(name),
                clients: self.clients,
            }),
        };
        let request = MeasureRequest {
            subject: Subject {
                work,
                databases: self.dbs,
                setup: self.setup,
                vary: varied(&self.vary)?,
                indexes: self.index,
                set: settings(&self.set, "--set")?,
                engines: self.engine,
            },
            combine: self.combine,
            rounds: self.rounds,
            trial_s: self.seconds,
            directories: self.record.dirs,
            out: self.record.out,
            seed: None,
            tiers: !self.no_tiers,
        };
        match self.write {
            Some(out) => run::write_experiment(&request, &out),
            None => run::measure(&request),
        }
    }
}

values_of! {
    /// Orders of a replay.
    enum ModeArg of ReplayMode {
        /// Writing transactions in the recorded order, without pauses: the database ends as in the recording.
        Ordered,
        /// The same with the recorded pauses; `--set speed_percent=200` halves them.
        Paced,
        /// Each connection in its own order.
        Free,
    }
}

/// pgbench's scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BuiltinArg {
    /// Three updates, a query and an insert in one transaction.
    TpcbLike,
    /// An update, a query and an insert in one transaction.
    SimpleUpdate,
    /// One query by key.
    SelectOnly,
}

/// Returns the script's name, which is the level of the setting `builtin`.
fn name(script: BuiltinArg) -> Option<String> {
    Some(script.to_possible_value()?.get_name().to_owned())
}
