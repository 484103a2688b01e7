//! Findings in an application's traffic: rules over an analysis, each with its threshold.

use super::{Analysis, CycleUse, Kind, PinUse, Refusal, RefusalUse, StatementUse, Unprotected};

/// From this share of the time of all statements on, a statement is worth naming.
const TIME_SHARE: f64 = 0.25;
/// From this share of all commits on, writes in autocommit in a row are worth naming, if there are at least [`MANY`].
const AUTOCOMMIT_SHARE: f64 = 0.5;
/// From this share of all connections on, short ones are worth naming, if there are at least [`MANY`].
const SHORT_SHARE: f64 = 0.5;
/// The fewest executions, commits or preparations about which anything is said.
const MANY: u64 = 20;
/// From this many steps in full scans for each row that is returned or changed on, a statement is worth naming.
const SCANS_PER_ROW: u64 = 100;
/// The fewest steps in full scans about which anything is said.
const SCANS: u64 = 10_000;
/// The fewest microseconds without a statement within transactions about which anything is said.
const IDLE_US: i64 = 1_000_000;
/// From this share of the time of all statements on, waiting for locks is worth naming, if at least [`MANY`] statements waited or
/// they did for [`WAITED_NS`].
const WAIT_SHARE: f64 = 0.1;
/// The fewest nanoseconds of a few waits about which anything is said.
const WAITED_NS: u64 = 1_000_000_000;
/// How many statements are named for the same reason.
const NAMED: usize = 3;

/// Something that deserves a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding<'a> {
    /// A statement takes a large share of the time.
    Time(&'a StatementUse),
    /// Steps in full scans for few rows.
    FullScans(&'a StatementUse),
    /// The same read many times in a row.
    Runs(&'a StatementUse),
    /// Several reads in turn, many times in a row.
    Cycles(&'a CycleUse),
    /// Single rows inserted in a row within a transaction.
    SingleRows(&'a StatementUse),
    /// Prepared again on the same connection for most of their executions.
    Prepared(Vec<&'a StatementUse>),
    /// Most commits are transactions of one statement soon after another one.
    Autocommit {
        /// Writes in autocommit in a row.
        writes: u64,
        /// All commits.
        commits: u64,
    },
    /// Most commits end a transaction of `BEGIN`, one statement and `COMMIT`, soon after another such transaction.
    SingleStatement {
        /// Such transactions in a row.
        transactions: u64,
        /// All commits.
        commits: u64,
    },
    /// Most connections were opened for few statements.
    ShortConnections {
        /// Connections with few statements.
        short: u64,
        /// All connections with statements.
        connections: u64,
    },
    /// Transactions that read before they wrote.
    ReadBeforeWrite(u64),
    /// Statements that failed because of a lock, or waited for one.
    Refused(&'a RefusalUse),
    /// A setting that protects data on some connections only.
    Unprotected(&'a Unprotected),
    /// A reading transaction that kept a write-ahead log from being reset.
    Pinned(&'a PinUse),
    /// Transactions that had written were open without a statement, for this many microseconds in all.
    Idle(i64),
    /// Transactions that had only read were, with a rollback journal.
    IdleReads(i64),
}

impl Finding<'_> {
    /// Returns the experiment that measures what the advice brings, where there is one.
    pub fn experiment(&self) -> Option<&'static str> {
        match self {
            Finding::Runs(_) | Finding::Cycles(_) => Some("orm-activerecord"),
            Finding::SingleRows(_) => Some("insert-unroll"),
            Finding::Prepared(_) | Finding::Autocommit { .. } | Finding::SingleStatement { .. } => {
                Some("txn-basics")
            }
            Finding::ShortConnections { .. } => Some("databases-open-close"),
            Finding::ReadBeforeWrite(_) => Some("contention-begin-mode"),
            Finding::Refused(usage) => match usage.refusal {
                Refusal::Upgrade => Some("contention-begin-mode"),
                Refusal::TimedOut | Refusal::NoTimeout | Refusal::Waited => {
                    Some("contention-busy-timeout")
                }
                Refusal::Locked | Refusal::Other => None,
            },
            Finding::Time(_)
            | Finding::FullScans(_)
            | Finding::Unprotected(_)
            | Finding::Pinned(_)
            | Finding::Idle(_)
            | Finding::IdleReads(_) => None,
        }
    }
}

impl Analysis {
    /// Returns the findings, in a fixed order of kinds.
    pub fn findings(&self) -> Vec<Finding<'_>> {
        let mut all = self.of_statements(Finding::Time, |statement| {
            self.share_of_time(statement) >= TIME_SHARE && statement.count >= MANY
        });
        all.extend(self.of_statements(Finding::FullScans, scans_much));
        all.extend(self.of_statements(Finding::Runs, |statement| statement.runs.times >= MANY));
        let cycles = self.cycles.iter().filter(|cycle| cycle.runs.times >= MANY);
        all.extend(cycles.take(NAMED).map(Finding::Cycles));
        all.extend(
            self.of_statements(Finding::SingleRows, |statement| statement.single_rows >= MANY),
        );
        let prepared: Vec<_> = self.statements.iter().filter(is_prepared_again).collect();
        all.extend((!prepared.is_empty()).then_some(Finding::Prepared(prepared)));
        all.extend(self.of_transactions());
        all
    }

    /// Returns the share of the time of all statements that one took.
    pub fn share_of_time(&self, statement: &StatementUse) -> f64 {
        statement.total_ns as f64 / self.total_ns.max(1) as f64
    }

    /// Returns whether waiting for locks took much of the time.
    pub(super) fn waits_much(&self) -> bool {
        self.waited_ns as f64 >= WAIT_SHARE * self.total_ns.max(1) as f64
            && (self.waited >= MANY || self.waited_ns >= WAITED_NS)
    }

    fn of_statements<'a>(
        &'a self,
        finding: fn(&'a StatementUse) -> Finding<'a>,
        is_so: impl Fn(&StatementUse) -> bool,
    ) -> Vec<Finding<'a>> {
        self.statements
            .iter()
            .filter(|statement| is_so(statement))
            .take(NAMED)
            .map(finding)
            .collect()
    }

    fn of_transactions(&self) -> Vec<Finding<'_>> {
        let (writes, commits) = (self.autocommit_in_a_row, self.commits);
        let is_much =
            |count: u64| count >= MANY && count as f64 >= AUTOCOMMIT_SHARE * commits as f64;
        let transactions = self.single_in_a_row;
        let (short, connections) = (self.short_connections, self.connections);
        let is_short = short >= MANY && short as f64 >= SHORT_SHARE * connections as f64;
        let mixed = self.upgrades_among_writers;
        let is_named = |usage: &&RefusalUse| usage.refusal != Refusal::Waited || self.waits_much();
        let refusals = self.refusals.iter().filter(is_named);
        let (writing, reading) = (self.idle_writing_us, self.idle_reading_us);
        [
            is_much(writes).then_some(Finding::Autocommit { writes, commits }),
            is_much(transactions).then_some(Finding::SingleStatement { transactions, commits }),
            is_short.then_some(Finding::ShortConnections { short, connections }),
            (mixed > 0).then_some(Finding::ReadBeforeWrite(mixed)),
        ]
        .into_iter()
        .flatten()
        .chain(refusals.map(Finding::Refused))
        .chain(self.unprotected.iter().map(Finding::Unprotected))
        .chain(self.pins.iter().map(Finding::Pinned))
        .chain((writing >= IDLE_US).then_some(Finding::Idle(writing)))
        .chain((reading >= IDLE_US).then_some(Finding::IdleReads(reading)))
        .collect()
    }
}

/// Returns whether a statement scans much for the rows that it returns or changes.
pub fn scans_much(usage: &StatementUse) -> bool {
    let rows = usage.rows.max(usage.changes).max(1);
    usage.scan_steps >= SCANS && usage.scan_steps / rows >= SCANS_PER_ROW
}

/// Returns whether a statement is prepared again for most executions; `BEGIN` and `COMMIT` are prepared in no time.
fn is_prepared_again(usage: &&StatementUse) -> bool {
    usage.kind != Kind::Transaction
        && usage.prepared_again >= MANY
        && usage.prepared_again * 2 > usage.count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(statement: StatementUse) -> Vec<&'static str> {
        let analysis =
            Analysis { statements: vec![statement], total_ns: 1000, ..Analysis::default() };
        let name = |finding: &Finding<'_>| match finding {
            Finding::Time(_) => "time",
            Finding::FullScans(_) => "scans",
            Finding::Runs(_) => "runs",
            Finding::SingleRows(_) => "single rows",
            Finding::Prepared(_) => "prepared",
            _ => "other",
        };
        analysis.findings().iter().map(name).collect()
    }

    #[test]
    fn statements_are_named_from_their_thresholds_on() {
        let twenty = || StatementUse { count: 20, ..StatementUse::default() };
        let of = |change: fn(&mut StatementUse)| {
            let mut it = twenty();
            change(&mut it);
            findings(it)
        };
        type Case = (fn(&mut StatementUse), &'static [&'static str]);
        let cases: [Case; 10] = [
            (|_| {}, &[]),
            (|it| it.total_ns = 250, &["time"]),
            (|it| it.total_ns = 249, &[]),
            (|it| (it.scan_steps, it.rows) = (10_000, 100), &["scans"]),
            (|it| (it.scan_steps, it.rows) = (10_000, 101), &[]),
            (|it| it.prepared_again = 20, &["prepared"]),
            (|it| (it.prepared_again, it.count) = (20, 40), &[]),
            (|it| (it.prepared_again, it.kind) = (20, Kind::Transaction), &[]),
            (|it| it.single_rows = 20, &["single rows"]),
            (|it| it.runs.times = 20, &["runs"]),
        ];
        for (number, (change, wanted)) in cases.into_iter().enumerate() {
            assert_eq!(of(change), wanted, "case {number}");
        }
    }

    #[test]
    fn transactions_are_named_from_their_thresholds_on() {
        let analysis = Analysis {
            commits: 40,
            autocommit_in_a_row: 20,
            upgrades_among_writers: 1,
            idle_writing_us: 1_000_000,
            connections: 40,
            short_connections: 20,
            ..Analysis::default()
        };
        assert_eq!(
            analysis.findings(),
            [
                Finding::Autocommit { writes: 20, commits: 40 },
                Finding::ShortConnections { short: 20, connections: 40 },
                Finding::ReadBeforeWrite(1),
                Finding::Idle(1_000_000),
            ]
        );
        let single = Analysis { commits: 40, single_in_a_row: 20, ..Analysis::default() };
        let named = Finding::SingleStatement { transactions: 20, commits: 40 };
        assert_eq!(single.findings(), [named]);
        let few = Analysis {
            commits: 41,
            connections: 41,
            short_connections: 20,
            autocommit_in_a_row: 20,
            ..Analysis::default()
        };
        assert!(few.findings().is_empty());
    }
}
