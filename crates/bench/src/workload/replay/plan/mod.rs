//! The order of a replay, from the times and the commits of the recording: a pure function.
//!
//! Connections that were never open at the same time share a **lane**, which a thread executes. Transactions that write
//! have a **turn**: those that were committed in the order of their tickets, those that were rolled back between the
//! commits that surrounded them. A turn begins when the one before it has ended, and when the reading statements of
//! other lanes that had ended before it began have been executed. A statement that holds no lock begins when the turns
//! whose commits had ended before it began have ended. Statements within a transaction wait for nothing, because they
//! may hold a lock. Everything that is waited for came earlier in the recording, so a replay cannot stand still.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use trace::Call;

/// Nanoseconds by which a start, which is recorded in microseconds, may be later than it is said to be.
const ROUNDED: i64 = 1_000;

/// What a lane does, and in which order.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) steps: Vec<Step>,
}

/// One execution of a statement.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Step {
    /// The number of the call.
    pub(super) call: usize,
    /// Turns that must have ended before.
    pub(super) after: u64,
    /// The turn that it begins; 0 for none.
    pub(super) begins: u64,
    /// The turn that ends with it; 0 for none.
    pub(super) ends: u64,
    /// The pause before it in the recording, in nanoseconds.
    pub(super) pause_ns: u64,
    /// Whether it is the last of its connection.
    pub(super) closes: bool,
    /// Whether the same prepared statement is executed once more.
    pub(super) keeps: bool,
}

/// A replay.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) lanes: Vec<Lane>,
    /// Before each turn, by its number less one: how many steps of which lanes must have been executed, as far as no
    /// earlier turn says so.
    pub(super) before: Vec<Vec<(usize, u64)>>,
    /// Calls at the end of the recording that are not replayed, because a commit before them is missing.
    pub(super) cut: usize,
}

fn start(call: &Call) -> i64 {
    call.start_us.saturating_mul(1_000)
}

fn end(call: &Call) -> i64 {
    start(call).saturating_add(call.duration_ns.unwrap_or(0))
}

/// The commits of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Commits {
    /// How many were begun.
    pub(super) begun: u64,
    /// Those that no call has as its ticket, because the statement made several.
    pub(super) further: Vec<u64>,
    /// The connections to databases with a rollback journal.
    pub(super) waiting: HashSet<i64>,
}

/// Some calls of a connection that are a transaction, or one statement outside of one.
#[derive(Clone, Debug, Default)]
struct Transaction {
    calls: Vec<usize>,
    /// The tickets with the calls that have them.
    tickets: Vec<(u64, usize)>,
    /// Whether it was rolled back after it had written.
    undone: bool,
}

/// Plans the replay of calls, of which those of a connection are in the order of their starts.
pub(super) fn plan(calls: &[Call], commits: &Commits) -> Plan {
    let mut transactions = transactions(calls);
    let (kept, limit) = cut(calls, &mut transactions, commits);
    let cut = calls.len() - kept;
    let lanes = lanes(calls, &transactions);
    let ends = ends_of_commits(calls, &transactions, limit);
    let mut draft = Draft::new(calls, &lanes, ends, &commits.waiting);
    draft.number_turns(&lanes);
    let mut plan = Plan {
        lanes: draft.steps(&lanes),
        before: Vec::new(),
        cut,
    };
    plan.before = before(calls, &plan, &commits.waiting);
    mark_statements(calls, &mut plan.lanes);
    plan
}

/// The transactions of each connection in their order.
fn transactions(calls: &[Call]) -> BTreeMap<i64, Vec<Transaction>> {
    let mut all: BTreeMap<i64, Vec<Transaction>> = BTreeMap::new();
    let mut open: HashMap<i64, bool> = HashMap::new();
    for (index, call) in calls.iter().enumerate() {
        let of_connection = all.entry(call.connection).or_default();
        let open = open.entry(call.connection).or_default();
        if !*open || of_connection.is_empty() {
            of_connection.push(Transaction::default());
        }
        let Some(transaction) = of_connection.last_mut() else {
            continue;
        };
        transaction.calls.push(index);
        if let Some(ticket) = call.ticket {
            transaction.tickets.push((ticket, index));
        }
        let ended = call.duration_ns.is_some();
        // Of a statement without an end, what followed is not known.
        *open = if ended { !call.autocommit } else { *open };
        transaction.undone |= *open && call.transaction == 2;
    }
    for transaction in all.values_mut().flatten() {
        transaction.undone &= transaction.tickets.is_empty();
    }
    all
}

/// Leaves out what came after the first commit that is missing; the number of calls that remain, and that of commits.
fn cut(
    calls: &[Call],
    transactions: &mut BTreeMap<i64, Vec<Transaction>>,
    commits: &Commits,
) -> (usize, u64) {
    let mut ended: BTreeMap<u64, i64> = BTreeMap::new();
    for (ticket, call) in transactions.values().flatten().flat_map(|it| &it.tickets) {
        ended.insert(*ticket, end(&calls[*call]));
    }
    let known: BTreeSet<u64> = ended.keys().chain(&commits.further).copied().collect();
    let in_order = (1..).zip(&known).take_while(|(number, it)| number == *it);
    let whole = in_order.count() as u64;
    if whole == commits.begun.max(known.last().copied().unwrap_or(0)) {
        return (calls.len(), whole);
    }
    let before = ended.range(..=whole).next_back();
    let until = before.map_or(i64::MIN, |(_, end)| *end);
    let mut kept = 0;
    for of_connection in transactions.values_mut() {
        let remains = |it: &Transaction| {
            let in_time = it.calls.iter().all(|call| start(&calls[*call]) <= until);
            in_time && it.tickets.iter().all(|(ticket, _)| *ticket <= whole)
        };
        let count = of_connection.iter().take_while(|it| remains(it)).count();
        of_connection.truncate(count);
        kept += of_connection.iter().map(|it| it.calls.len()).sum::<usize>();
    }
    (kept, whole)
}

/// The transactions of each lane: connections one after the other that were never open at the same time.
fn lanes(
    calls: &[Call],
    of_connections: &BTreeMap<i64, Vec<Transaction>>,
) -> Vec<Vec<Transaction>> {
    let mut spans: Vec<(i64, i64, &Vec<Transaction>)> = Vec::new();
    for transactions in of_connections.values() {
        let used = || transactions.iter().flat_map(|it| &it.calls);
        if let (Some(first), Some(last)) = (used().next(), used().map(|it| end(&calls[*it])).max())
        {
            spans.push((start(&calls[*first]), last, transactions));
        }
    }
    spans.sort_by_key(|(first, ..)| *first);
    let mut lanes: Vec<(i64, Vec<Transaction>)> = Vec::new();
    for (first, last, transactions) in spans {
        let free = lanes
            .iter_mut()
            .find(|(ended, _)| ended.saturating_add(ROUNDED) <= first);
        match free {
            Some((ended, lane)) => {
                *ended = last;
                lane.extend(transactions.iter().cloned());
            }
            None => lanes.push((last, transactions.clone())),
        }
    }
    lanes.into_iter().map(|(_, lane)| lane).collect()
}

/// By ticket less one: when it and all later ones had not yet ended. It grows with the ticket.
fn ends_of_commits(
    calls: &[Call],
    transactions: &BTreeMap<i64, Vec<Transaction>>,
    commits: u64,
) -> Vec<i64> {
    let mut ends = vec![i64::MAX; commits as usize];
    for (ticket, call) in transactions.values().flatten().flat_map(|it| &it.tickets) {
        if let Some(known) = ends.get_mut(*ticket as usize - 1) {
            *known = end(&calls[*call]);
        }
    }
    let mut least = i64::MAX;
    for known in ends.iter_mut().rev() {
        least = least.min(*known);
        *known = least;
    }
    ends
}

/// Where a transaction that writes has its turn: after so many commits; those that were rolled back after the commit
/// itself, by their start and their first call.
type Key = (u64, u8, i64, usize);

struct Draft<'a> {
    calls: &'a [Call],
    /// When the first call started.
    began: i64,
    ends: Vec<i64>,
    waiting: &'a HashSet<i64>,
    /// For each lane and transaction, the last ticket before and the first after it.
    bounds: Vec<Vec<(u64, u64)>>,
    turns: BTreeMap<Key, u64>,
    /// The turn of each ticket.
    of_tickets: Vec<u64>,
}

impl<'a> Draft<'a> {
    fn new(
        calls: &'a [Call],
        lanes: &[Vec<Transaction>],
        ends: Vec<i64>,
        waiting: &'a HashSet<i64>,
    ) -> Draft<'a> {
        Draft {
            waiting,
            bounds: lanes.iter().map(|lane| bounds(lane)).collect(),
            of_tickets: vec![0; ends.len() + 1],
            turns: BTreeMap::new(),
            began: calls.iter().map(start).min().unwrap_or(0),
            calls,
            ends,
        }
    }

    /// How many commits had ended at a moment.
    fn commits_until(&self, moment: i64) -> u64 {
        self.ends.partition_point(|end| *end <= moment) as u64
    }

    /// How many commits a call saw.
    fn commits_before(&self, call: &Call) -> u64 {
        match self.waiting.contains(&call.connection) {
            true => self.commits_until(end(call)),
            false => self.commits_until(start(call)),
        }
    }

    /// The place of a transaction that was rolled back.
    fn key(&self, transaction: &Transaction, (least, most): (u64, u64)) -> Option<Key> {
        let (first, last) = (transaction.calls.first()?, transaction.calls.last()?);
        let commits = self.commits_until(start(&self.calls[*last]));
        let commits = commits.min(most.saturating_sub(1)).max(least);
        Some((commits, 1, start(&self.calls[*first]), *first))
    }

    fn number_turns(&mut self, lanes: &[Vec<Transaction>]) {
        let mut keys = BTreeMap::new();
        for (lane, bounds) in lanes.iter().zip(&self.bounds) {
            for (transaction, bounds) in lane.iter().zip(bounds) {
                let tickets = transaction
                    .tickets
                    .iter()
                    .map(|(ticket, _)| (*ticket, 0, 0, 0));
                keys.extend(tickets.map(|key| (key, 0)));
                if transaction.undone {
                    keys.extend(self.key(transaction, *bounds).map(|key| (key, 0)));
                }
            }
        }
        for (number, (key, turn)) in (1..).zip(keys.iter_mut()) {
            *turn = number;
            if key.1 == 0 {
                self.of_tickets[key.0 as usize] = number;
            }
        }
        self.turns = keys;
        for ticket in 1..self.of_tickets.len() {
            self.of_tickets[ticket] = self.of_tickets[ticket].max(self.of_tickets[ticket - 1]);
        }
    }

    fn steps(&self, lanes: &[Vec<Transaction>]) -> Vec<Lane> {
        let of_lane = |(lane, bounds): (&Vec<Transaction>, &Vec<(u64, u64)>)| {
            let mut steps = Vec::new();
            for (transaction, bounds) in lane.iter().zip(bounds) {
                self.add(transaction, *bounds, &mut steps);
            }
            self.pace(&mut steps);
            Lane { steps }
        };
        lanes.iter().zip(&self.bounds).map(of_lane).collect()
    }

    /// Adds the steps of a transaction.
    fn add(&self, transaction: &Transaction, bounds: (u64, u64), steps: &mut Vec<Step>) {
        let mut is_locked = false;
        let begin = steps.len();
        for &index in &transaction.calls {
            let call = &self.calls[index];
            let commits = self.commits_before(call).min(bounds.1.saturating_sub(1));
            let after = match is_locked {
                true => 0,
                false => self.of_tickets[commits as usize],
            };
            is_locked |= call.transaction != 0 && !call.autocommit;
            steps.push(Step {
                call: index,
                after,
                ..Step::default()
            });
        }
        self.give_turns(transaction, bounds, &mut steps[begin..]);
    }

    fn give_turns(&self, transaction: &Transaction, bounds: (u64, u64), steps: &mut [Step]) {
        let mut turns: Vec<(u64, usize)> = Vec::new();
        for (ticket, call) in &transaction.tickets {
            turns.push((self.of_tickets[*ticket as usize], *call));
        }
        if transaction.undone
            && let Some(last) = transaction.calls.last()
        {
            let key = self.key(transaction, bounds);
            let turn = key.and_then(|key| self.turns.get(&key));
            turns.extend(turn.map(|turn| (*turn, *last)));
        }
        for (number, (turn, call)) in turns.iter().enumerate() {
            let ending = steps
                .iter()
                .position(|step| step.call == *call)
                .unwrap_or(0);
            let beginning = if number == 0 { 0 } else { ending };
            steps[beginning].after = turn - 1;
            steps[beginning].begins = *turn;
            steps[ending].ends = *turn;
        }
    }

    /// Notes pauses, and the last step of each connection.
    fn pace(&self, steps: &mut [Step]) {
        let mut ended = self.began;
        for index in 0..steps.len() {
            let call = &self.calls[steps[index].call];
            steps[index].pause_ns = (start(call) - ended).max(0) as u64;
            ended = end(call);
            let next = steps.get(index + 1).map(|next| &self.calls[next.call]);
            steps[index].closes = next.is_none_or(|next| next.connection != call.connection);
        }
    }
}

/// For each transaction of a lane, the last ticket before it and the first one from it on.
fn bounds(lane: &[Transaction]) -> Vec<(u64, u64)> {
    let mut bounds = vec![(0, u64::MAX); lane.len()];
    let mut before = 0;
    for (bound, transaction) in bounds.iter_mut().zip(lane) {
        bound.0 = before;
        before = transaction
            .tickets
            .last()
            .map_or(before, |(ticket, _)| *ticket);
    }
    let mut after = u64::MAX;
    for (bound, transaction) in bounds.iter_mut().zip(lane).rev() {
        after = transaction
            .tickets
            .first()
            .map_or(after, |(ticket, _)| *ticket);
        bound.1 = after;
    }
    bounds
}

/// The steps that must have been executed before each turn: reading ones that did not see it.
fn before(calls: &[Call], plan: &Plan, waiting: &HashSet<i64>) -> Vec<Vec<(usize, u64)>> {
    let reads: Vec<Vec<(i64, u64)>> = plan.lanes.iter().map(|lane| reads(calls, lane)).collect();
    let mut required = vec![0; plan.lanes.len()];
    let mut before = Vec::new();
    for (own, moment) in moments(calls, plan, waiting) {
        let mut news = Vec::new();
        for (lane, reads) in reads.iter().enumerate().filter(|(lane, _)| *lane != own) {
            let count = reads.partition_point(|(end, _)| end.saturating_add(ROUNDED) <= moment);
            let steps = count.checked_sub(1).map_or(0, |last| reads[last].1);
            if steps > required[lane] {
                required[lane] = steps;
                news.push((lane, steps));
            }
        }
        before.push(news);
    }
    before
}

/// For each turn its lane, and until when reading statements that had ended did not see it: its start, and with a rollback
/// journal the end of its commit, or of a later one that ended before.
fn moments(calls: &[Call], plan: &Plan, waiting: &HashSet<i64>) -> Vec<(usize, i64)> {
    let mut turns: BTreeMap<u64, (usize, i64, Option<i64>)> = BTreeMap::new();
    for (number, lane) in plan.lanes.iter().enumerate() {
        for step in &lane.steps {
            let call = &calls[step.call];
            if step.begins > 0 {
                turns.insert(step.begins, (number, start(call), None));
            }
            let ended = turns.get_mut(&step.ends).map(|(.., commit)| commit);
            if let Some(commit) = ended.filter(|_| call.ticket.is_some()) {
                *commit = Some(end(call)).filter(|_| waiting.contains(&call.connection));
            }
        }
    }
    let mut least = i64::MAX;
    for (.., commit) in turns.values_mut().rev() {
        least = commit.map_or(least, |commit| least.min(commit));
        *commit = commit.map(|_| least);
    }
    let moment = |(lane, start, commit): (usize, i64, Option<i64>)| (lane, commit.unwrap_or(start));
    turns.into_values().map(moment).collect()
}

/// The ends of the steps of a lane that belong to no turn, in their order, each with the number of steps up to it or
/// to one that ended earlier.
fn reads(calls: &[Call], lane: &Lane) -> Vec<(i64, u64)> {
    let (mut reads, mut turn) = (Vec::new(), 0);
    for (number, step) in (1..).zip(&lane.steps) {
        turn = if step.begins > 0 { step.begins } else { turn };
        if turn == 0 {
            reads.push((end(&calls[step.call]), number));
        }
        turn = if step.ends == turn { 0 } else { turn };
    }
    reads.sort_unstable();
    let mut most = 0;
    for (_, number) in &mut reads {
        most = most.max(*number);
        *number = most;
    }
    reads
}

/// Notes which prepared statements are executed once more.
fn mark_statements(calls: &[Call], lanes: &mut [Lane]) {
    for lane in lanes {
        let mut later: HashMap<(i64, i64), bool> = HashMap::new();
        for step in lane.steps.iter_mut().rev() {
            let call = &calls[step.call];
            let key = (call.connection, call.statement);
            step.keeps = later.insert(key, !call.prepared).unwrap_or(false);
        }
    }
}

#[cfg(test)]
mod tests;
