//! What the calls of a recording are, by statement: gathered while all of them pass once.

use std::collections::BTreeMap;

use engine::Value;
use trace::{Bound, Call, Values};

use super::source::{Fate, LeftOut, Recording};

/// The calls of a recording.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// By statement.
    pub(super) statements: BTreeMap<i64, Executions>,
    /// Whether a process was killed while it committed, so that it is not known whether the commit is in the database.
    pub(super) has_open_commit: bool,
    /// When the first call started and the last one ended, in microseconds.
    span_us: Option<(i64, i64)>,
}

/// The calls of a statement, without those that are no part of a replay, such as errors of the moment.
#[derive(Debug, Default)]
pub(super) struct Executions {
    /// The first connection that executed it.
    pub(super) connection: i64,
    /// Those that can be executed.
    pub(super) whole: Amount,
    /// Those that cannot, because something is not in the trace: what.
    pub(super) lacking: BTreeMap<&'static str, Amount>,
    /// Whether the text `now` was bound.
    pub(super) binds_now: bool,
}

/// A number of calls and their time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Amount {
    pub(super) calls: u64,
    pub(super) time_ns: f64,
}

impl Amount {
    pub(super) fn add(&mut self, other: Amount) {
        self.calls += other.calls;
        self.time_ns += other.time_ns;
    }
}

impl Survey {
    /// Notes a call.
    pub(super) fn note(&mut self, recording: &Recording, call: &Call) {
        let end = call.start_us + call.duration_ns.unwrap_or(0) / 1_000;
        let span = self.span_us.get_or_insert((call.start_us, end));
        *span = (span.0.min(call.start_us), span.1.max(end));
        self.has_open_commit |= call.ticket.is_some() && call.duration_ns.is_none();
        let fate = recording.fate_by_itself(call);
        if fate == Fate::Apart {
            return;
        }
        let amount = Amount { calls: 1, time_ns: call.duration_ns.unwrap_or(0) as f64 };
        let executions = self.statements.entry(call.statement);
        let executions = executions
            .or_insert_with(|| Executions { connection: call.connection, ..Executions::default() });
        executions.binds_now |= binds_now(call);
        match fate {
            Fate::Missing(what) => executions.lacking.entry(what).or_default().add(amount),
            _ => executions.whole.add(amount),
        }
    }

    /// The time from the first to the last statement, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.span_us.map_or(0.0, |(first, last)| (last - first) as f64 / 1e6)
    }
}

impl Executions {
    /// What becomes of them: those that are replayed, and what the others lack.
    pub(super) fn fates<'r>(
        &'r self,
        left_out: Option<&'r LeftOut>,
    ) -> (Amount, Vec<(&'r str, Amount)>) {
        let lacking = self.lacking.iter().map(|(what, amount)| (*what, *amount));
        match left_out {
            None => (self.whole, lacking.collect()),
            Some(LeftOut::Setting) => (Amount::default(), Vec::new()),
            Some(LeftOut::Missing(what)) => {
                let mut all = self.whole;
                lacking.for_each(|(_, amount)| all.add(amount));
                (Amount::default(), vec![(what, all)])
            }
        }
    }
}

fn binds_now(call: &Call) -> bool {
    let Values::Bound(values) = &call.values else {
        return false;
    };
    let mut values = values.iter().map(Bound::value);
    values.any(|value| matches!(value, Value::Text(text) if text.eq_ignore_ascii_case("now")))
}
