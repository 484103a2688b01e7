//! Options of `tune`.

use std::path::PathBuf;

use app::Result;
use app::tune::{Goal, TuneRequest};
use clap::Args;
use clap::builder::PossibleValuesParser;
use lab::tier::MayLose;
use lab::tuning_plan::Constraint;
use report::settings::Binding;

use super::record::RecordOptions;
use super::report::binding;
use super::stand_in::StandInArgs;
use super::values::{seconds, settings, values_of};
use crate::commands::run;
use crate::exit::Exit;

/// Options of `tune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark tune app.trace                              a recorded application
  pragmark tune work.sql --db app.db                   a script on a copy of a database
  pragmark tune tpcb-like --time-limit 10m             the workload of pgbench
  pragmark tune my-question.toml --may-lose recent     the workload and base of an experiment
  pragmark tune work.sql --db app.db --current synchronous=normal --goal p99
                                                       against the settings that the application has now")]
pub struct TuneArgs {
    /// The workload: a trace of `pragmark record`, a script in pgbench's language (.sql), an experiment (a file or a
    /// name; its workload, base and metric are used), a workload of `pragmark list workloads`, or one of tpcb-like,
    /// simple-update and select-only.
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,
    #[command(flatten)]
    pub stand_ins: StandInArgs,
    /// Your database, for scripts. Every trial works on a copy, and the file itself is never changed.
    #[arg(long, value_name = "FILE")]
    pub db: Option<PathBuf>,
    /// Accepted loss in a crash. Settings that may lose more are never tried.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "nothing")]
    pub may_lose: AcceptedLoss,
    /// Time for all trials: search, contributions and confirmation.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = seconds)]
    pub time_limit: f64,
    /// Metric to improve [default: latency for several statements, otherwise throughput].
    #[arg(long, value_enum, value_name = "GOAL")]
    pub goal: Option<GoalArg>,
    /// Limit of another metric, such as 'p99 <= 1.05' (a ratio to the current settings), 'size <= 1.10' or
    /// 'memory <= 256MiB'; repeat it for several. Names are p99, size, memory, cpu, or a metric of `pragmark list metrics`.
    #[arg(long, value_name = "CONSTRAINT", value_parser = Constraint::parsed)]
    pub limit: Vec<Constraint>,
    /// Setting that your application has now, such as synchronous=normal; repeat it for several. The default is
    /// the setting of the trace or of the database file, or SQLite's.
    #[arg(long, value_name = "NAME=VALUE")]
    pub current: Vec<String>,
    /// Binding of your application, such as django or rails: its settings count as the current ones, unless --current names
    /// others.
    #[arg(long, value_name = "BINDING", value_parser = binding)]
    pub current_of: Option<Binding>,
    /// Fixed setting of all trials, such as clients=4 or temp_store=memory.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Setting to vary in addition: locking_mode, which keeps other programs out of the database. Repeat it for several.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(bench::on_request()))]
    pub also: Vec<String>,
    /// SQLite library: `default`, `system`, a version, the path of a shared library, or any of them with option sets
    /// (3.46.0+recommended). Repeat it to search among several; begin with the one that your application uses now.
    #[arg(long, value_name = "ENGINE", default_value = "default")]
    pub engine: Vec<String>,
    /// The folder of an earlier search, for another data size, version or machine. The search tries its recommendation first, measures it
    /// again at the end, and learns from its trials as from a similar workload.
    #[arg(long = "continue", value_name = "FOLDER")]
    pub earlier: Option<PathBuf>,
    /// Time of a trial of a script; a trial of a trace replays all of it [default: a five-hundredth of the time limit, from
    /// 0.2 s to 10 s].
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Where to measure and record.
    #[command(flatten)]
    pub record: RecordOptions,
}

impl TuneArgs {
    /// Searches.
    pub fn execute(self) -> Result<Exit> {
        run::tune(&TuneRequest {
            workload: self.workload,
            stand_ins: self.stand_ins.lines(),
            database: self.db,
            may_lose: self.may_lose.into(),
            time_limit_s: self.time_limit,
            goal: self.goal.map(Into::into),
            limits: self.limit,
            current: settings(&self.current, "--current")?,
            current_of: self.current_of,
            set: settings(&self.set, "--set")?,
            also: self.also,
            engines: self.engine,
            earlier: self.earlier,
            trial_s: self.seconds,
            directories: self.record.dirs,
            out: self.record.out,
            seed: None,
        })
    }
}

values_of! {
    /// Accepted loss in a power cut. A search never tries settings that can corrupt.
    enum AcceptedLoss of MayLose {
        /// No acknowledged transaction.
        Nothing,
        /// Recent transactions; no corruption was seen in ordinary commits.
        Recent,
    }
}

values_of! {
    /// Goals of a search.
    enum GoalArg of Goal {
        /// Transactions per second, or the metric of the experiment.
        Throughput,
        /// Typical latency: the geometric mean over all statements, so a slow one does not hide the others.
        Latency,
        /// The latency that 99 % of the operations do not exceed.
        P99,
        /// The size of the database when the work has ended.
        Size,
        /// CPU time in user mode.
        Cpu,
    }
}
