//! How long the statements of a replay took: all of them, and each of those that are reported apart.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use crate::locks::locked;
use crate::measure::LatencyHistogram;

/// How long an executed statement took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    /// Its normalised statement.
    pub(super) form: i64,
    pub(super) time: Duration,
    /// Whether it ended outside of `BEGIN` and `COMMIT` in the recording.
    pub(super) ends: bool,
}

/// How long statements took.
pub(super) struct Times {
    pub(super) statements: u64,
    /// Those that ended outside of `BEGIN` and `COMMIT` in the recording.
    pub(super) transactions: u64,
    pub(super) latency: LatencyHistogram,
    /// By normalised statement, of those that are reported apart.
    pub(super) of_forms: HashMap<i64, LatencyHistogram>,
}

impl Times {
    /// Of nothing yet, with these normalised statements apart.
    pub(super) fn of(forms: impl Iterator<Item = i64>) -> Times {
        Times {
            statements: 0,
            transactions: 0,
            latency: LatencyHistogram::new(),
            of_forms: forms.map(|it| (it, LatencyHistogram::new())).collect(),
        }
    }

    /// Adds those of another process.
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

    fn note(&mut self, timed: Timed) {
        self.statements += 1;
        self.transactions += u64::from(timed.ends);
        self.latency.record(timed.time);
        if let Some(latency) = self.of_forms.get_mut(&timed.form) {
            latency.record(timed.time);
        }
    }
}

/// The times of one lane, which it hands over from time to time: a histogram of its own for each statement would need
/// too much memory where there are many lanes.
pub(super) struct Sheet<'t> {
    times: &'t Mutex<Times>,
    lines: Vec<Timed>,
}

impl<'t> Sheet<'t> {
    /// Lines until they are handed over.
    const LINES: usize = 1_024;

    pub(super) fn of(times: &'t Mutex<Times>) -> Sheet<'t> {
        Sheet { times, lines: Vec::with_capacity(Sheet::LINES) }
    }

    pub(super) fn note(&mut self, timed: Timed) {
        self.lines.push(timed);
        if self.lines.len() == Sheet::LINES {
            self.hand_over();
        }
    }

    pub(super) fn hand_over(&mut self) {
        let mut times = locked(self.times);
        self.lines.drain(..).for_each(|timed| times.note(timed));
    }
}
