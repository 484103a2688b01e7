//! When commits ended, and where a recording has to be cut because one of them is missing.

use super::lane::Spans;
use super::turns::Tracker;
use super::{Commits, ROUNDED};
use crate::error::TrialError;
use crate::workload::replay::tape::{Calls, Span, Take};

/// When commits ended.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// By ticket less one; the greatest number for those that no call has.
    of_tickets: Vec<i64>,
    /// The same for a ticket and all later ones: it grows with the ticket.
    at_least: Vec<i64>,
}

impl Ends {
    /// How many commits there are.
    pub(super) fn count(&self) -> u64 {
        self.of_tickets.len() as u64
    }

    /// How many commits had ended at a moment.
    pub(super) fn until(&self, moment: i64) -> u64 {
        self.at_least.partition_point(|end| *end <= moment) as u64
    }

    /// Leaves out the commits after so many.
    fn truncated(mut self, count: u64) -> Ends {
        self.of_tickets.resize(count as usize, i64::MAX);
        let mut least = i64::MAX;
        self.at_least = self.of_tickets.clone();
        for end in self.at_least.iter_mut().rev() {
            least = least.min(*end);
            *end = least;
        }
        self
    }
}

/// When the commits ended, and the spans of the calls that are left if there is a commit missing; none if all are.
///
/// # Errors
/// The tape cannot be read.
pub(super) fn cut(take: &Take, commits: &Commits) -> Result<(Ends, Option<Spans>), TrialError> {
    let (ends, last) = read(take, commits)?;
    let known = |ticket: &u64| {
        let end = ends.of_tickets.get(*ticket as usize - 1);
        end.is_some_and(|end| *end != i64::MAX) || commits.further.binary_search(ticket).is_ok()
    };
    let whole = (1..).take_while(known).count() as u64;
    if whole == commits.begun.max(last) {
        return Ok((ends.truncated(whole), None));
    }
    let ends = ends.truncated(whole);
    let before = ends.of_tickets.iter().rev().find(|end| **end != i64::MAX);
    let until = before.copied().unwrap_or(i64::MIN);
    let mut spans = Spans::new();
    for connection in take.spans.keys() {
        let span = kept(take.calls(*connection), until, whole)?;
        spans.extend((span.calls > 0).then_some((*connection, span)));
    }
    Ok((ends, Some(spans)))
}

/// The ends of all commits that calls have, and the last ticket. A ticket that is greater than the number of calls comes
/// after one that is missing.
fn read(take: &Take, commits: &Commits) -> Result<(Ends, u64), TrialError> {
    let calls: u64 = take.spans.values().map(|span| span.calls).sum();
    let most = calls + commits.further.len() as u64;
    let mut last = commits.further.last().copied().unwrap_or(0);
    let mut ends = Ends::default();
    for connection in take.spans.keys() {
        let mut calls = take.calls(*connection);
        while let Some(mark) = calls.mark()? {
            let Some(ticket) = mark.ticket.filter(|ticket| *ticket > 0) else {
                continue;
            };
            last = last.max(ticket);
            if ticket <= most {
                let length = ends.of_tickets.len().max(ticket as usize);
                ends.of_tickets.resize(length, i64::MAX);
                ends.of_tickets[ticket as usize - 1] = mark.end;
            }
        }
    }
    Ok((ends, last))
}

/// The calls of a connection up to the first transaction that began after a moment or has a later commit.
fn kept(mut calls: Calls<'_>, until: i64, whole: u64) -> Result<Span, TrialError> {
    let (mut span, mut transaction) = (Span::NONE, Span::NONE);
    let mut tracker = Tracker::default();
    while let Some(mark) = calls.mark()? {
        if tracker.begins(&mark) {
            span = span.and(&std::mem::replace(&mut transaction, Span::NONE));
        }
        if mark.start > until || mark.ticket.is_some_and(|ticket| ticket > whole) {
            return Ok(span);
        }
        transaction.add(&mark);
    }
    Ok(span.and(&transaction))
}

/// Whether something that ended at a moment was certainly over at another.
pub(super) fn is_over(end: i64, moment: i64) -> bool {
    end.saturating_add(ROUNDED) <= moment
}
