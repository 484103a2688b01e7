//! Execution times of the statements of a replay: of all statements, and of those that are reported apart.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::locks::locked;
use crate::measure::LatencyHistogram;

/// Execution time of one statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Its normalised statement.
    pub(super) form: i64,
    pub(super) time: Duration,
    /// Whether it ended outside of `BEGIN` and `COMMIT` in the recording.
    pub(super) ends: bool,
}

/// Execution times of statements.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Times {
    pub(super) statements: u64,
    /// Number of statements that ended outside of `BEGIN` and `COMMIT` in the recording.
    pub(super) transactions: u64,
    pub(super) latency: LatencyHistogram,
    /// Latencies of the statements that are reported apart, by normalised statement.
    pub(super) of_forms: HashMap<i64, LatencyHistogram>,
}

impl Times {
    /// No times yet. These normalised statements are reported apart.
    pub(super) fn new(forms: &[i64]) -> Times {
        Times {
            statements: 0,
            transactions: 0,
            latency: LatencyHistogram::new(),
            of_forms: forms.iter().map(|form| (*form, LatencyHistogram::new())).collect(),
        }
    }

    /// Adds the times of another process.
    pub(super) fn add(&mut self, other: &Times) {
        self.statements += other.statements;
        self.transactions += other.transactions;
        self.latency.add(&other.latency);
        for (form, latency) in &mut self.of_forms {
            if let Some(other) = other.of_forms.get(form) {
                latency.add(other);
            }
        }
    }

    fn note(&mut self, timed: Timing) {
        self.statements += 1;
        self.transactions += u64::from(timed.ends);
        self.latency.record(timed.time);
        if let Some(latency) = self.of_forms.get_mut(&timed.form) {
            latency.record(timed.time);
        }
    }
}

/// Collects the times of one thread, and adds them to the common ones from time to time: a histogram of its own for each
/// statement would need too much memory with many threads.
pub(super) struct TimingBuffer<'t> {
    times: &'t Mutex<Times>,
    timings: Vec<Timing>,
}

impl<'t> TimingBuffer<'t> {
    /// Number of times that are collected.
    const CAPACITY: usize = 1_024;

    pub(super) fn new(times: &'t Mutex<Times>) -> TimingBuffer<'t> {
        TimingBuffer { times, timings: Vec::with_capacity(TimingBuffer::CAPACITY) }
    }

    pub(super) fn note(&mut self, timed: Timing) {
        self.timings.push(timed);
        if self.timings.len() == TimingBuffer::CAPACITY {
            self.flush();
        }
    }

    pub(super) fn flush(&mut self) {
        let mut times = locked(self.times);
        self.timings.drain(..).for_each(|timed| times.note(timed));
    }
}
