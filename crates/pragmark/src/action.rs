//! The actions of command lines, with nothing left to interpret: requests of use cases, and how their results are shown.

use std::ffi::OsString;
use std::path::PathBuf;

use app::agent::AgentRequest;
use app::compare::ExactRequest;
use app::crash::CrashRequest;
use app::doctor::DatabaseRequest;
use app::export::{TablesForm, TextForm};
use app::fleet::FleetRequest;
use app::fleet::server::ServerRequest;
use app::guard::GuardRequest;
use app::history::Sources;
use app::load::LoadRequest;
use app::measure::MeasureRequest;
use app::record::RecordRequest;
use app::run::{RepeatRequest, ResumeRequest, RunRequest};
use app::trace::{Edit, ScriptRequest};
use app::tune::TuneRequest;
use clap_complete::Shell;
use crash::schedule::Schedule;
use drivers::Language;
use lab::experiment::Scale;
use report::SettingsQuery;
use report::export::Columns;

/// One command line.
pub enum Action {
    QuickStart(String),
    Run(RunAction),
    Measure(MeasureRequest),
    WriteExperiment { request: MeasureRequest, out: PathBuf },
    Compare { subjects: Vec<PathBuf>, request: ExactRequest, output: Output },
    Tune(TuneRequest),
    Guard { request: GuardRequest, undecided: Option<Undecided> },
    History { sources: Sources, output: Output },
    List(List),
    Show { experiment: Vec<String>, scale: Scale },
    Report { runs: Vec<PathBuf>, form: ReportForm, out: Option<PathBuf> },
    Open { run: Option<PathBuf> },
    Runs { folders: Vec<PathBuf> },
    Prune(Prune),
    Settings { run: Option<PathBuf>, query: SettingsQuery },
    Load { request: Box<LoadRequest>, is_outline: bool },
    Record(RecordAction),
    Trace(TraceAction),
    Anonymize { database: PathBuf, keep: Vec<String>, out: PathBuf },
    Machine { directories: Vec<PathBuf>, noise_s: f64, json: bool },
    Database { request: DatabaseRequest, json: bool },
    Driver(DriverAction),
    NewExperiment { name: String },
    NewDriver { name: String, language: Language },
    Crash(CrashAction),
    Engine(EngineAction),
    Agent(AgentRequest),
    Fleet(FleetAction),
    Generate(Generated),
    InstallCompletions { shell: Option<Shell> },
    Trial,
    ContentionWorker,
    ReplayWorker,
    SignalListener,
    WriteUntilKilled,
    Become { program: PathBuf, arguments: Vec<OsString> },
    MakeSyncedCommits { engine: String },
    DescribeEngine { engine: String },
}

/// Files that are made from the definition of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generated {
    /// The completions of a shell.
    Completions(Shell),
    /// The manual page.
    Manual,
    /// The JSON schema of experiment files.
    Schema,
}

/// Runs to carry out.
pub enum RunAction {
    /// A new one.
    Start(Box<RunRequest>),
    /// A new one over a fleet.
    Fleet(Box<FleetRequest>),
    /// An interrupted one. The server is used if it is a run over a fleet.
    Resume {
        /// The run.
        request: ResumeRequest,
        /// The server.
        server: ServerRequest,
    },
    /// The plan of an earlier one.
    Repeat(RepeatRequest),
    /// One that only the server of a fleet knows.
    Adopt {
        /// Its name.
        run: String,
        /// The server.
        server: ServerRequest,
        /// The folder for the record.
        out: Option<PathBuf>,
    },
}

/// Forms in which a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for the terminal.
    Terminal,
    /// Markdown.
    Markdown,
    /// One page.
    Html,
    /// Every figure as JSON.
    Json,
}

/// The form of a result, and the file for it; standard output by default.
pub struct Output {
    /// The form.
    pub format: Format,
    /// The file.
    pub out: Option<PathBuf>,
}

/// How an undecided budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// As passed.
    Passes,
    /// As failed.
    Fails,
}

/// Lists to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    Experiments,
    Workloads,
    Pragmas,
    Metrics,
}

/// Old runs to remove.
pub struct Prune {
    /// The number of latest runs to keep.
    pub keep: usize,
    /// The age from which runs are removed, in seconds.
    pub older_than_s: Option<f64>,
    /// Whether they are only listed.
    pub dry_run: bool,
    /// Whether the user has confirmed it.
    pub confirmed: bool,
    /// The folders below which they are.
    pub folders: Vec<PathBuf>,
}

/// Forms in which runs are reported.
pub enum ReportForm {
    /// A document of one run.
    Document(Format),
    /// CSV with one row per trial.
    Trials(Columns),
    /// A text.
    Text(TextForm),
    /// Tables of several runs.
    Tables(TablesForm),
}

/// Recordings to make.
pub enum RecordAction {
    /// A new one.
    Record(RecordRequest),
    /// One that was interrupted.
    Seal {
        /// Its folder.
        folder: PathBuf,
        /// The trace to write.
        out: Option<PathBuf>,
    },
}

/// Actions on traces.
pub enum TraceAction {
    /// It is summarised.
    Show {
        /// The trace.
        trace: PathBuf,
        /// The summary.
        output: Output,
    },
    /// Another trace or a file is made.
    Edit {
        /// The edit.
        edit: Edit,
        /// The file to write.
        out: PathBuf,
    },
    /// A script is fitted.
    ToScript(ScriptRequest),
}

/// Actions on drivers.
pub enum DriverAction {
    /// They are listed.
    List,
    /// They are installed.
    Install {
        /// Their names.
        names: Vec<String>,
    },
    /// They are removed.
    Remove {
        /// Their names.
        names: Vec<String>,
    },
}

/// Crash tests.
pub enum CrashAction {
    /// A test.
    Test {
        /// The test.
        request: Box<CrashRequest>,
        /// The form of its result.
        format: Format,
    },
    /// One schedule is played again.
    Play {
        /// The schedule.
        schedule: Schedule,
        /// The engines.
        engines: Vec<String>,
        /// The directory for databases.
        directory: Option<PathBuf>,
    },
    /// The safety tiers that come with the program are measured.
    WriteKnown {
        /// The file to write.
        file: PathBuf,
        /// Whether a first look is enough.
        quick: bool,
        /// The directory for databases.
        directory: Option<PathBuf>,
    },
}

/// Actions on engines.
pub enum EngineAction {
    List { json: bool },
    Build { engines: Vec<String>, experiments: Vec<String> },
    Add { library: PathBuf, name: String },
    Remove { engines: Vec<String> },
    RemoveAll,
    Show { engine: String, json: bool },
}

/// Requests to the server of a fleet.
pub enum FleetAction {
    /// Its agents and runs.
    Status(ServerRequest),
    /// To end agents.
    Drain {
        /// The server.
        server: ServerRequest,
        /// The agents.
        agents: Vec<String>,
    },
    /// To remove a run.
    Purge {
        /// The server.
        server: ServerRequest,
        /// The run.
        run: String,
        /// Even if another process records it.
        force: bool,
    },
}
