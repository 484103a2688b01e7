//! Plans of small recordings, and a property of all plans: they can be carried out.

use proptest::prelude::*;
use trace::{Call, Values};

use super::*;
use crate::workload::replay::calls::CallWriter;

/// A call of a connection from one microsecond to another.
fn call(connection: i64, start_us: i64, end_us: i64) -> Call {
    Call {
        event: 0,
        connection,
        statement: 1,
        start_us,
        duration_ns: Some((end_us - start_us) * 1_000),
        rows: 0,
        changes: 0,
        result: Some(0),
        ticket: None,
        prepared: false,
        early: false,
        autocommit: true,
        transaction: 0,
        values: Values::Bound(Vec::new()),
    }
}

fn commit(connection: i64, start_us: i64, end_us: i64, ticket: u64) -> Call {
    Call { ticket: Some(ticket), ..call(connection, start_us, end_us) }
}

/// A call within a transaction that has written.
fn written(connection: i64, start_us: i64, end_us: i64) -> Call {
    Call { autocommit: false, transaction: 2, ..call(connection, start_us, end_us) }
}

/// A plan, read.
struct Planned {
    /// The steps of each thread, with the numbers of their calls.
    threads: Vec<Vec<(Step, usize)>>,
    /// The process of each thread.
    processes: Vec<usize>,
    cut: u64,
}

impl Planned {
    /// Plans the replay of calls, whose events are their numbers here.
    fn of(calls: &[Call], commits: &Commits) -> Planned {
        Planned::by_processes(calls, commits, &HashMap::new())
    }

    fn by_processes(calls: &[Call], commits: &Commits, processes: &HashMap<i64, i64>) -> Planned {
        let folder = tempfile::tempdir().unwrap();
        let mut recorded = CallWriter::create(&folder.path().join("calls")).unwrap();
        for (number, call) in calls.iter().enumerate() {
            let event = number as i64;
            recorded.add(&Call { event, ..call.clone() }).unwrap();
        }
        let calls = recorded.finish().unwrap();
        let plan = plan(calls, commits, processes, folder.path()).unwrap();
        let steps = |thread| {
            let mut steps = plan.steps(thread);
            let next = move || steps.step().unwrap();
            std::iter::from_fn(next).map(|(step, call)| (step, call.event as usize))
        };
        let threads = 0..plan.threads.len();
        Planned {
            threads: threads.map(|thread| steps(thread).collect()).collect(),
            processes: plan.threads.iter().map(|thread| thread.process).collect(),
            cut: plan.cut,
        }
    }

    /// Before each turn: how many steps of which threads must have been executed.
    fn before(&self) -> Vec<Vec<(usize, u64)>> {
        let steps = self.threads.iter().flatten().map(|(step, _)| step);
        let mut turns: Vec<&Step> = steps.filter(|step| step.begins > 0).collect();
        turns.sort_by_key(|step| step.begins);
        turns.into_iter().map(|step| step.before.clone()).collect()
    }

    /// The thread that begins with a call.
    fn thread(&self, call: usize) -> usize {
        self.threads.iter().position(|thread| thread[0].1 == call).unwrap()
    }
}

fn planned(calls: &[Call]) -> Planned {
    planned_with(calls, &[])
}

/// The same where some connections have a rollback journal.
fn planned_with(calls: &[Call], waiting: &[i64]) -> Planned {
    let commits = Commits {
        begun: calls.iter().filter(|it| it.ticket.is_some()).count() as u64,
        waiting: waiting.iter().copied().collect(),
        ..Commits::default()
    };
    Planned::of(calls, &commits)
}

/// The step of a call.
fn step(plan: &Planned, call: usize) -> &Step {
    let mut steps = plan.threads.iter().flatten();
    &steps.find(|(_, of)| *of == call).unwrap().0
}

#[test]
fn writers_take_turns_and_a_read_waits_for_the_commits_that_had_ended() {
    let calls = [
        commit(1, 0, 10, 1),
        commit(1, 20, 30, 2),
        call(2, 15, 40),
        call(2, 50, 60),
        call(3, 5, 70),
    ];
    let plan = planned(&calls);
    assert_eq!(plan.threads.len(), 3);
    let (first, second) = (step(&plan, 0), step(&plan, 1));
    assert_eq!((first.after, first.begins, first.ends), (0, 1, 1));
    assert_eq!((second.after, second.begins, second.ends), (1, 2, 2));
    let after = [2, 3, 4].map(|call| step(&plan, call).after);
    assert_eq!(after, [1, 2, 0]);
}

#[test]
fn with_a_rollback_journal_a_read_saw_what_was_committed_while_it_waited() {
    let calls = [commit(1, 0, 10, 1), commit(1, 20, 30, 2), call(2, 15, 40), call(3, 15, 25)];
    let plan = planned_with(&calls, &[2, 3]);
    assert_eq!([2, 3].map(|call| step(&plan, call).after), [2, 1]);
    let plan = planned(&calls);
    assert_eq!([2, 3].map(|call| step(&plan, call).after), [1, 1]);
}

#[test]
fn with_a_rollback_journal_a_turn_waits_for_reads_that_ended_before_its_commit() {
    let calls = [call(1, 0, 25), commit(2, 20, 40, 1), call(3, 10, 45)];
    let plan = planned_with(&calls, &[1, 2, 3]);
    assert_eq!(plan.before(), [vec![(plan.thread(0), 1)]]);
    assert_eq!(step(&plan, 2).after, 1);
    assert_eq!(planned(&calls).before(), [vec![]]);
}

#[test]
fn a_turn_waits_for_reads_that_had_ended_before_it_began() {
    let calls = [call(1, 0, 10), call(1, 20, 90), commit(2, 30, 40, 1)];
    let plan = planned(&calls);
    assert_eq!(plan.before(), [vec![(plan.thread(0), 1)]]);
}

#[test]
fn a_transaction_begins_in_its_turn_and_waits_for_nothing_within() {
    let calls = [written(1, 0, 10), written(1, 20, 30), commit(1, 40, 50, 2), commit(2, 0, 5, 1)];
    let plan = planned(&calls);
    assert_eq!(step(&plan, 0).after, 1);
    assert_eq!(step(&plan, 1).after, 0);
    let last = step(&plan, 2);
    assert_eq!((last.after, last.begins, last.ends), (0, 0, 2));
}

#[test]
fn what_was_rolled_back_has_its_turn_between_the_commits_around_it() {
    let calls = [commit(1, 0, 10, 1), commit(1, 60, 70, 2), written(2, 20, 30), call(2, 40, 50)];
    let plan = planned(&calls);
    let (begin, end) = (step(&plan, 2), step(&plan, 3));
    assert_eq!((begin.after, begin.begins, end.ends), (1, 2, 2));
    assert_eq!(step(&plan, 1).after, 2);
}

#[test]
fn connections_one_after_the_other_share_a_lane() {
    let calls = [call(1, 0, 10), call(2, 20, 30), call(3, 25, 40)];
    let plan = planned(&calls);
    assert_eq!(plan.threads.len(), 2);
    assert!(plan.threads[0].iter().all(|(step, _)| step.closes));
    assert_eq!(plan.threads[0][1].0.pause_ns, 10_000);
}

#[test]
fn each_process_has_its_own_lanes_and_processes_one_after_the_other_are_one() {
    let calls = [call(1, 0, 10), call(2, 5, 8), call(3, 20, 30), call(4, 25, 60), call(5, 50, 70)];
    let processes = HashMap::from([(1, 71), (2, 72), (3, 71), (4, 73), (5, 74)]);
    let plan = Planned::by_processes(&calls, &Commits::default(), &processes);
    let has = |thread: &Vec<(Step, usize)>, call| thread.iter().any(|(_, of)| *of == call);
    let thread = |call| plan.threads.iter().position(|thread| has(thread, call));
    assert_eq!(thread(0), thread(2));
    let process = |call| plan.processes[thread(call).unwrap()];
    assert_eq!(process(1), process(3));
    assert_eq!(process(0), process(4));
    assert_ne!(process(0), process(1));
}

#[test]
fn a_statement_is_kept_where_it_is_executed_once_more() {
    let prepared = |it: Call| Call { prepared: true, ..it };
    let calls = [prepared(call(1, 0, 1)), call(1, 2, 3), prepared(call(1, 4, 5))];
    let plan = planned(&calls);
    let keeps: Vec<bool> = plan.threads[0].iter().map(|(step, _)| step.keeps).collect();
    assert_eq!(keeps, [true, false, false]);
}

#[test]
fn a_recording_is_cut_where_a_commit_is_missing_unless_it_is_known_to_have_no_call() {
    let calls = [commit(1, 0, 10, 1), commit(2, 20, 30, 3), call(1, 40, 50), call(3, 5, 8)];
    let commits = |further| Commits { begun: 3, further, ..Commits::default() };
    let torn = Planned::of(&calls, &commits(vec![]));
    assert_eq!(torn.cut, 2);
    let kept: usize = torn.threads.iter().map(Vec::len).sum();
    assert_eq!(kept, 2);
    let whole = Planned::of(&calls, &commits(vec![2]));
    assert_eq!(whole.cut, 0);
    assert_eq!(step(&whole, 2).after, 2);
}

/// Carries a plan out as far as possible, always the first thread that need not wait; how many steps remain.
fn left_waiting(plan: &Planned) -> usize {
    let mut next = vec![0; plan.threads.len()];
    let mut ended = 0;
    loop {
        let ready = (0..next.len()).find(|thread| {
            let step = plan.threads[*thread].get(next[*thread]);
            step.is_some_and(|(step, _)| {
                let mut before = step.before.iter();
                ended >= step.after && before.all(|(of, steps)| next[*of] as u64 >= *steps)
            })
        });
        let Some(thread) = ready else { break };
        ended = ended.max(plan.threads[thread][next[thread]].0.ends);
        next[thread] += 1;
    }
    plan.threads.iter().zip(next).map(|(thread, next)| thread.len() - next).sum()
}

/// A recording of connections that write one at a time: each entry is a connection, what it does, and how long.
fn recording(script: &[(i64, u8, i64)]) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut free = [0; 4];
    let (mut lock, mut ticket) = (0, 0);
    for (connection, kind, time) in script {
        let now: i64 = free[*connection as usize];
        let mut add = |it: Call| calls.push(it);
        let end = match kind % 4 {
            0 | 1 => {
                add(call(*connection, now, now + time));
                now + time
            }
            2 => {
                // It waits for the lock of the one before.
                let end = now.max(lock) + time;
                ticket += 1;
                add(commit(*connection, now, end, ticket));
                lock = end;
                end
            }
            _ => {
                let (begun, end) = (now.max(lock) + 1, now.max(lock) + 1 + time);
                add(written(*connection, now, begun));
                add(written(*connection, begun + 1, end + 1));
                add(call(*connection, end + 2, end + 3));
                lock = end + 3;
                end + 3
            }
        };
        free[*connection as usize] = end + time % 3;
    }
    calls
}

proptest! {
    #[test]
    fn every_plan_can_be_carried_out(
        script in prop::collection::vec((0..4_i64, any::<u8>(), 1..30_i64), 1..60),
        waiting in prop::collection::vec(0..4_i64, 0..4)
    ) {
        let calls = recording(&script);
        let plan = planned_with(&calls, &waiting);
        prop_assert_eq!(plan.cut, 0);
        prop_assert_eq!(left_waiting(&plan), 0);
        let steps: usize = plan.threads.iter().map(Vec::len).sum();
        prop_assert_eq!(steps, calls.len());
    }
}
