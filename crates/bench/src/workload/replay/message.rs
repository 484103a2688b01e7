//! What a replay and the processes that execute a part of it say to one another, as JSON lines.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use lab::level::Settings;
use lab::trial::{Latency, ReadBack};
use serde::{Deserialize, Serialize};

use super::lane::Report;
use super::outcome::Differences;
use super::plan::PlanIndex;
use super::source::LeftOut;
use super::tape::TakeIndex;
use super::times::Times;
use crate::error::TrialError;
use crate::measure::LatencyHistogram;
use crate::workload::contention::message::Counters;
use crate::workload::sql::answers::Tally;

/// Everything that a process must know before it opens a connection.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Part {
    /// Every setting of the variant.
    pub(super) settings: Settings,
    pub(super) engine: String,
    pub(super) trace: PathBuf,
    pub(super) directory: PathBuf,
    /// The process of the trial.
    pub(super) parent: u32,
    /// Statements that are not replayed.
    pub(super) left_out: HashMap<i64, LeftOut>,
    pub(super) take: TakeIndex,
    pub(super) plan: PlanIndex,
    /// The lanes that it executes.
    pub(super) lanes: Vec<usize>,
    /// Where the numbers of all processes are; none where connections are not held to the recorded order.
    pub(super) turns: Option<PathBuf>,
    /// What pauses are divided by; none where there are none.
    pub(super) speed: Option<f64>,
    /// The normalised statements whose times are kept apart.
    pub(super) timed: Vec<i64>,
    /// Whether what it does to files is counted.
    pub(super) counting: bool,
}

/// What the replay wants of a process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Execute the lanes.
    Begin,
    /// Close the connections, report and end.
    Leave,
}

/// What a process answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It waits for the order to begin.
    Ready,
    /// The lanes are executed.
    Done,
    /// The connections are closed.
    Left(Box<Done>),
    /// The variant cannot be run here.
    CannotRun(String),
    /// Something was wrong.
    Failed(String),
}

/// What a process has done.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) times: TimesRecord,
    pub(super) report: Summary,
    pub(super) connections: Vec<ReadBack>,
    /// What it did to files and to page caches, by metric, in a counting trial.
    pub(super) counts: Option<BTreeMap<String, f64>>,
    /// CPU time in user mode and in the kernel, in seconds.
    pub(super) cpu: (f64, f64),
    pub(super) peak_memory: Option<f64>,
}

/// The reports of lanes, put together.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) differences: Differences,
    /// Calls that were compared.
    pub(super) compared: u64,
    /// Busy errors.
    pub(super) busy: u64,
    /// What was counted, by normalised statement.
    pub(super) counters: HashMap<i64, Counters>,
    /// What was answered, by normalised statement.
    pub(super) answers: HashMap<i64, Tally>,
}

impl Summary {
    /// Puts reports together.
    pub(super) fn of(reports: Vec<Report>) -> Summary {
        let mut sum = Summary::default();
        for report in reports {
            sum.add(report.done);
        }
        sum
    }

    /// Adds another one.
    pub(super) fn add(&mut self, other: Summary) {
        self.differences.add(other.differences);
        self.compared += other.compared;
        self.busy += other.busy;
        for (form, counters) in other.counters {
            self.counters.entry(form).or_default().add(counters);
        }
        for (form, tally) in other.answers {
            let entry = self.answers.entry(form);
            entry.and_modify(|it| it.add(tally)).or_insert(tally);
        }
    }

    /// The share of compared statements that did the same as in the recording, in percent.
    pub(super) fn agreement(&self) -> f64 {
        match self.compared {
            0 => 100.0,
            compared => 100.0 * (1.0 - self.differences.count as f64 / compared as f64),
        }
    }
}

/// [`Times`] between processes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TimesRecord {
    statements: u64,
    transactions: u64,
    latency: Latency,
    of_forms: Vec<(i64, Latency)>,
}

impl TimesRecord {
    /// # Errors
    /// A histogram cannot be written.
    pub(super) fn of(times: &Times) -> Result<TimesRecord, TrialError> {
        let of_forms = times.of_forms.iter();
        let of_forms = of_forms.map(|(form, latency)| Ok((*form, latency.latency()?)));
        Ok(TimesRecord {
            statements: times.statements,
            transactions: times.transactions,
            latency: times.latency.latency()?,
            of_forms: of_forms.collect::<Result<_, TrialError>>()?,
        })
    }

    /// # Errors
    /// A histogram cannot be read.
    pub(super) fn read(&self) -> Result<Times, TrialError> {
        let of_forms = self.of_forms.iter();
        let of_forms =
            of_forms.map(|(form, latency)| Ok((*form, LatencyHistogram::read(latency)?)));
        Ok(Times {
            statements: self.statements,
            transactions: self.transactions,
            latency: LatencyHistogram::read(&self.latency)?,
            of_forms: of_forms.collect::<Result<_, TrialError>>()?,
        })
    }
}
