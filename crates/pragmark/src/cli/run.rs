//! Options of `run`.

use std::path::PathBuf;

use app::fleet::FleetRequest;
use app::fleet::server::ServerRequest;
use app::run::{Experiments, RepeatRequest, ResumeRequest, RunRequest, TextRequest};
use app::{Error, Result};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use super::fleet::FleetRunArgs;
use super::list::ScaleArg;
use super::values::{not_negative, seconds};
use crate::commands::run;
use crate::complete;
use crate::exit::Exit;

/// Options of `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pragmark run                          the tour, in less than five minutes
  pragmark run index-timing             one experiment at the default scale
  pragmark run --quick insert-unroll    a preliminary answer in seconds
  pragmark run 001                      every experiment of an article
  pragmark run my.toml --dir /ssd --dir /hdd
                                        your own experiment on two disks
  pragmark run fts-queries --text mails.csv --columns subject,body
                                        full-text search in your own text
  pragmark run --resume pragmark-runs/20261120-101500-4711
                                        continue an interrupted run")]
pub struct RunArgs {
    /// Experiments to run: names from `pragmark list`, paths of your own files, or the number of an article, such as 001 for
    /// every experiment on insert speed [default: the tour].
    #[arg(add = ArgValueCompleter::new(complete::experiments))]
    pub experiments: Vec<String>,
    /// Give a preliminary answer in seconds: quick scale, three to five rounds, paired t
    /// intervals. For exploration, not decisions.
    #[arg(long)]
    pub quick: bool,
    /// Data size [default: `quick` for the tour and with --quick, otherwise `default`].
    #[arg(long, value_enum)]
    pub scale: Option<ScaleArg>,
    /// Directory to measure in. Use it when your data is on another disk than the current
    /// directory; repeat it to compare disks.
    #[arg(long = "dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// SQLite library to measure: `default` (built into pragmark), `system`, a version with optional
    /// option sets (3.46.0, 3.54.1+recommended; built when first needed), the name of an added
    /// engine, or the path of a shared library. Use it to measure the SQLite that your application
    /// loads.
    #[arg(long, default_value = "default", value_name = "ENGINE", add = ArgValueCompleter::new(complete::engines))]
    pub engine: String,
    /// PostgreSQL server for experiments that compare with one, such as
    /// postgresql://user@host/database. Use it to measure an existing server. Trials use a schema
    /// of their own and remove it. Repeat it with --resume [default: a private server in the measured
    /// directory, started from the installed PostgreSQL].
    #[arg(long, value_name = "URI")]
    pub postgres: Option<String>,
    /// Directory of your own drivers for other languages, one folder per language; a driver replaces an
    /// included one of the same name. Use it to measure a driver that you have written or changed.
    /// Repeat it with --resume.
    #[arg(long, value_name = "DIR")]
    pub drivers: Option<PathBuf>,
    /// File with your own documents for the experiments on full-text search, instead of generated
    /// ones, in any format of `pragmark load`: CSV or TSV with a header, JSON Lines, Parquet, Arrow or
    /// a SQLite database. Queries are drawn from it. Use it to find the tokenizer that suits your text.
    #[arg(long, value_name = "FILE")]
    pub text: Option<PathBuf>,
    /// Columns of --text to use, of any type [default: all text columns].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "text")]
    pub columns: Vec<String>,
    /// Table of --text, if it is a database with several tables.
    #[arg(long, value_name = "TABLE", requires = "text")]
    pub table: Option<String>,
    /// File with your own queries on --text, one per line: full-text expressions, and patterns such as
    /// `subject LIKE %invoice%` (also GLOB and REGEXP) [default: queries drawn from the text]. Use it to
    /// measure the queries of your application.
    #[arg(long, value_name = "FILE", requires = "text")]
    pub queries: Option<PathBuf>,
    /// Folder for the record and the report [default: pragmark-runs/TIME in the current
    /// directory].
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Seed of all random choices [default: random]. Use it to repeat a run with the same order and
    /// data.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Continue the interrupted run in this folder, with its own plan.
    #[arg(long, value_name = "FOLDER", group = "stored", conflicts_with_all = ["experiments", "quick", "scale", "dirs", "engine", "text", "queries", "out", "seed", "time_limit", "trial_limit", "no_tiers"], add = ArgValueCompleter::new(complete::runs))]
    pub resume: Option<PathBuf>,
    /// Begin a new run with the plan of the run in this folder, whichever command made it: the same
    /// experiments, directories, scale and seed, unless --seed gives another. Use it to see if a result holds.
    #[arg(long, value_name = "FOLDER", group = "stored", conflicts_with_all = ["experiments", "quick", "scale", "dirs", "engine", "text", "queries", "trial_limit"], add = ArgValueCompleter::new(complete::runs))]
    pub repeat: Option<PathBuf>,
    /// Resume or repeat a run that somebody else began, or whose plan was changed, without asking. Use it only if
    /// you trust the folder: the run loads libraries and writes to directories that its plan names.
    #[arg(long, requires = "stored", conflicts_with = "experiments")]
    pub trust: bool,
    /// Time limit of the whole run, such as 90s, 40m or 1h30m. A round that would probably exceed it
    /// is not started.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub time_limit: Option<f64>,
    /// Time limit of a single trial, which is then stopped and recorded as timed out. Increase it for
    /// --scale paper, where a run is refused if its trials would probably exceed it.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = seconds)]
    pub trial_limit: f64,
    /// Seconds to measure the noise of the machine before the run, to estimate the detectable
    /// difference; 0 skips it.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = not_negative)]
    pub probe: f64,
    /// Run without safety tiers. Tiers of engines other than the built-in one take some seconds for
    /// each set of durability settings that no earlier run has measured.
    #[arg(long)]
    pub no_tiers: bool,
    /// Start a run with --scale paper without asking for confirmation.
    #[arg(long)]
    pub yes: bool,
    /// Over a fleet.
    #[command(flatten)]
    pub fleet: FleetRunArgs,
}

impl RunArgs {
    /// Carries out a run.
    pub fn execute(self) -> Result<Exit> {
        // Going on with a run may change the current directory.
        let drivers = self.drivers.as_deref().map(std::path::absolute);
        let drivers = drivers.transpose().map_err(Error::unusable)?;
        let is_stored = self.resume.is_some() || self.repeat.is_some();
        let server = self.fleet.server(is_stored)?;
        let stored = |folder| ResumeRequest {
            folder,
            trusted: self.trust,
            postgres: self.postgres.clone(),
            drivers: drivers.clone(),
        };
        if let Some(folder) = self.resume {
            run::resume(&stored(folder), &server)
        } else if let Some(folder) = self.repeat {
            run::repeat(&RepeatRequest {
                earlier: stored(folder),
                out: self.out,
                seed: self.seed,
                time_limit_s: self.time_limit,
                probe_s: self.probe,
                tiers: !self.no_tiers,
            })
        } else if let Some(run) = self.fleet.adopt {
            run::adopt(&run, &server, self.out.as_deref())
        } else {
            self.start(server, drivers)
        }
    }

    /// Carries out a new run.
    fn start(self, server: ServerRequest, drivers: Option<PathBuf>) -> Result<Exit> {
        let columns = self.columns.iter().map(|name| name.trim().to_owned()).collect();
        let text = self.text.map(|path| TextRequest {
            path,
            options: bench::TextOptions { columns, table: self.table, encoding: None },
            queries: self.queries,
        });
        let request = RunRequest {
            experiments: experiments(self.experiments)?,
            scale: self.scale.map(ScaleArg::into),
            quick: self.quick,
            directories: self.dirs,
            engine: self.engine,
            postgres: self.postgres,
            drivers,
            text,
            out: self.out,
            seed: self.seed,
            time_limit_s: self.time_limit,
            trial_limit_s: self.trial_limit,
            probe_s: self.probe,
            tiers: !self.no_tiers,
            confirmed: self.yes,
        };
        if server.address.is_none() {
            return run::start(&request);
        }
        run::start_fleet(&FleetRequest {
            run: request,
            server,
            on: self.fleet.on,
            per: self.fleet.per.into(),
            agents: self.fleet.agents,
            wait_s: self.fleet.wait,
            patience_s: self.fleet.patience,
            recheck: f64::from(self.fleet.recheck) / 100.0,
            sign_with: self.fleet.sign_with,
        })
    }
}

/// Returns the experiments to run: a number names an article, whose experiments are run.
fn experiments(given: Vec<String>) -> Result<Experiments> {
    let is_source = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let (mut sources, names): (Vec<_>, Vec<_>) = given.into_iter().partition(is_source);
    if sources.len() > 1 {
        return Err(Error::mistake("name one article, such as 001"));
    }
    Ok(match (names, sources.pop()) {
        (names, None) if names.is_empty() => Experiments::Tour,
        (names, source) => Experiments::Named { names, source },
    })
}
