use super::*;

/// Statement and text 1 reads, 2 writes, 3 is `BEGIN`, 4 is `COMMIT`.
fn texts() -> Normalised {
    let mut texts = Normalised::default();
    for (id, sql) in [(1, "SELECT"), (2, "INSERT"), (3, "BEGIN"), (4, "COMMIT")] {
        texts.add_text(id, sql.to_owned());
        texts.add_statement(id, id, id != 2);
    }
    texts
}

/// Returns a statement of one millisecond outside of a transaction.
fn event(statement: i64, start_ms: i64) -> Event {
    Event {
        connection: 1,
        statement,
        start_us: start_ms * 1000,
        duration_ns: Some(1_000_000),
        result: Some(0),
        autocommit: true,
        ..Event::default()
    }
}

fn within(statement: i64, start_ms: i64, transaction: i64) -> Event {
    Event { autocommit: false, transaction, ..event(statement, start_ms) }
}

fn analysed(events: &[Event]) -> Analysis {
    analysed_with(events, &[])
}

/// Returns the analysis of events of connections with these settings, from connection 1 on.
fn analysed_with(events: &[Event], settings: &[ConnectionSettings]) -> Analysis {
    let settings = (1..).zip(settings.iter().cloned()).collect();
    let mut analyser = Analyser::new(1_000_000, texts(), settings);
    events.iter().for_each(|event| analyser.take(event));
    analyser.finish()
}

fn patient(busy_timeout_ms: i64) -> ConnectionSettings {
    ConnectionSettings { busy_timeout_ms: Some(busy_timeout_ms), ..ConnectionSettings::default() }
}

#[test]
fn a_99th_percentile_needs_a_hundred_executions_and_is_no_longer_than_the_longest() {
    let of = |count: u64| {
        let mut usage = StatementUse { count, longest_ns: 1_001, ..StatementUse::default() };
        (0..count).for_each(|_| usage.latencies.take(1_001));
        usage.p99_ns()
    };
    assert_eq!(of(99), None);
    assert!(of(100).is_some_and(|p99| p99 <= 1_001.0 && p99 > 900.0));
}

#[test]
fn a_commit_outside_of_a_transaction_is_a_write_in_autocommit() {
    let write = Event { committed: true, changes: 1, ..event(2, 0) };
    let analysis = analysed(&[write, write]);
    assert_eq!((analysis.commits, analysis.autocommit_writes), (2, 2));
    assert_eq!(analysis.statements[0].autocommit_writes, 2);
    assert_eq!(analysis.transactions, 0);
}

#[test]
fn a_transaction_has_a_length_pauses_and_a_slowest_statement() {
    let commit = Event { committed: true, ..event(4, 30) };
    let slow = Event { duration_ns: Some(5_000_000), ..within(2, 10, 2) };
    let analysis = analysed(&[within(3, 0, 0), slow, commit, event(1, 50)]);
    assert_eq!((analysis.transactions, analysis.autocommit_writes), (1, 0));
    assert_eq!(
        analysis.longest,
        [TransactionUse {
            connection: 1,
            start_us: 0,
            duration_us: 31_000,
            idle_us: 9_000 + 15_000,
            statements: 3,
            wrote: true,
            slowest: "INSERT".to_owned(),
        }]
    );
    assert_eq!(analysis.read_before_write, Some(0));
}

#[test]
fn a_transaction_that_reads_and_then_writes_is_counted() {
    let commit = Event { committed: true, ..event(4, 3) };
    let events = [within(3, 0, 0), within(1, 1, 1), within(2, 2, 2), commit];
    assert_eq!(analysed(&events).read_before_write, Some(1));
    let unknown = [within(3, 0, 3), within(2, 2, 3), commit];
    assert_eq!(analysed(&unknown).read_before_write, None, "an old library cannot say");
}

/// Returns the settings of a connection to a database in a file, in WAL mode or with a rollback journal.
fn of_file(database: &str, is_wal: bool) -> ConnectionSettings {
    ConnectionSettings {
        database: database.to_owned(),
        is_wal,
        has_journal: !is_wal,
        log_bytes: is_wal.then_some(5_000),
        ..patient(5)
    }
}

#[test]
fn reading_before_writing_is_a_finding_where_others_write() {
    let commit = Event { committed: true, ..event(4, 3) };
    let upgrade = [within(3, 0, 0), within(1, 1, 1), within(2, 2, 2), commit];
    let other = Event { connection: 2, committed: true, ..event(2, 9) };
    let named = |second: &str, events: &[Event]| {
        let analysis = analysed_with(events, &[of_file("a", true), of_file(second, true)]);
        assert_eq!(analysis.read_before_write, Some(1));
        analysis.findings() == [Finding::ReadBeforeWrite(1)]
    };
    assert!(named("a", &[upgrade.to_vec(), vec![other]].concat()));
    assert!(!named("a", &upgrade), "the other one only reads");
    assert!(!named("b", &[upgrade.to_vec(), vec![other]].concat()), "another database");
    let refused = Event { connection: 2, result: Some(5), ..event(2, 9) };
    assert_eq!(
        analysed_with(&[upgrade.to_vec(), vec![refused]].concat(), &[of_file("a", true)])
            .upgrades_among_writers,
        1
    );
}

#[test]
fn an_idle_transaction_is_a_finding_where_it_holds_others_up() {
    let named = |held: i64, is_wal: bool| -> Vec<Finding<'static>> {
        let events = [within(3, 0, 0), within(1, 2_000, held), event(4, 4_000)];
        let analysis = analysed_with(&events, &[of_file("a", is_wal)]);
        assert_eq!(analysis.idle_us, 3_998_000);
        let idle = |finding: &Finding<'_>| match finding {
            Finding::Idle(us) => Some(Finding::Idle(*us)),
            Finding::IdleReads(us) => Some(Finding::IdleReads(*us)),
            _ => None,
        };
        analysis.findings().iter().filter_map(idle).collect()
    };
    assert_eq!(named(2, true), [Finding::Idle(1_999_000)], "it had the lock for half of it");
    assert_eq!(named(1, false), [Finding::IdleReads(1_999_000)]);
    assert_eq!(named(1, true), [], "readers hold up no writer with a write-ahead log");
    assert_eq!(named(0, false), [], "BEGIN takes no lock");
}

#[test]
fn a_long_read_during_which_others_commit_pins_the_log() {
    let commits = |count: i64, connection, from_ms: i64| -> Vec<Event> {
        let write = |n| Event { connection, committed: true, ..event(2, from_ms + n) };
        (0..count).map(write).collect()
    };
    let long = Event { duration_ns: Some(2_000_000_000), ..event(1, 0) };
    let transaction = [within(3, 0, 0), within(1, 1, 1), event(4, 2_000)];
    let named = |read: &[Event], writes: Vec<Event>, is_wal: bool| {
        let settings = ["a", "a", "b"].map(|database| of_file(database, is_wal));
        let settings = (1..).zip(settings).collect();
        let mut analyser = Analyser::new(1_000_000, texts(), settings);
        // Numbers of connections are no order of all events.
        let events = [read, &writes].concat();
        events.iter().for_each(|event| analyser.take(event));
        let found = analyser.pins().map(|mut pins| {
            events.iter().for_each(|event| pins.take(event));
            pins.finish()
        });
        analyser.add_pins(found.unwrap_or_default());
        let pins = analyser.finish().pins;
        pins.iter().map(|pin| (pin.sql.clone(), pin.held_us, pin.commits)).collect::<Vec<_>>()
    };
    let pinned = |held_us| vec![("SELECT".to_owned(), held_us, 20)];
    assert_eq!(named(&[long], commits(20, 2, 5), true), pinned(2_000_000));
    assert_eq!(named(&transaction, commits(20, 2, 5), true), pinned(2_000_000));
    assert_eq!(named(&[long], commits(20, 2, 5), false), [], "a rollback journal");
    assert_eq!(named(&[long], commits(20, 3, 5), true), [], "another database");
    assert_eq!(named(&[long], commits(20, 2, 1_995), true), [], "after it");
    assert_eq!(named(&[event(1, 0)], commits(20, 2, 0), true), [], "a short read");
    assert_eq!(named(&[transaction[0], event(4, 2_000)], commits(20, 2, 5), true), []);
}

#[test]
fn databases_in_memory_have_no_costly_commits() {
    let writes: Vec<Event> = (0..40).map(|n| Event { committed: true, ..event(2, n) }).collect();
    let analysis = |database: &str, has_journal: bool| {
        let settings = ConnectionSettings { has_journal, ..of_file(database, false) };
        analysed_with(&writes, &[settings])
    };
    for memory in ["", ":memory:1"] {
        let analysis = analysis(memory, false);
        assert_eq!((analysis.autocommit_in_a_row, analysis.commits_by_mode), (0, [0, 0]));
    }
    let analysis = analysis("a", true);
    assert_eq!((analysis.autocommit_in_a_row, analysis.commits_by_mode), (39, [0, 40]));
}

/// Returns a read with this value.
fn valued(value: i64, start_ms: i64) -> Event {
    Event { values: value as u64, ..event(1, start_ms) }
}

#[test]
fn the_same_read_many_times_in_a_row_is_a_run() {
    let run =
        |count: i64, pause: i64| (0..count).map(move |n| valued(n, n * pause)).collect::<Vec<_>>();
    let of = |events: &[Event]| {
        let it = analysed(events).statements.remove(0);
        (it.runs.count, it.runs.times, it.runs.longest)
    };
    assert_eq!(of(&run(4, 2)), (0, 0, 0));
    assert_eq!(of(&run(12, 2)), (1, 12, 12));
    assert_eq!(of(&run(12, 200)), (0, 0, 0), "with pauses");
    let two = [run(10, 2), vec![event(2, 100)], run(11, 2)].concat();
    assert_eq!(analysed(&two).statements.iter().map(|it| it.runs.count).sum::<u64>(), 2);
}

#[test]
fn failures_are_counted_by_extended_code() {
    let busy = Event { result: Some(5), ..event(2, 0) };
    let snapshot = Event { result: Some(517), ..event(2, 1) };
    let analysis = analysed_with(&[busy, snapshot, busy, event(2, 2)], &[patient(2)]);
    let found: Vec<(i64, u64)> = analysis.failures.iter().map(|it| (it.code, it.count)).collect();
    assert_eq!(found, [(5, 2), (517, 1)]);
    let waits = Waits { longest_ns: 1_000_000, total_ns: 2_000_000, timeouts_ms: Some((2, 2)) };
    assert_eq!(analysis.failures[0].waits, waits);
}

/// Returns a statement that was refused after waiting.
fn refused(code: i64, transaction: i64, waited_ms: i64) -> Event {
    let waited = Some(waited_ms * 1_000_000);
    Event { result: Some(code), duration_ns: waited, ..within(2, 3, transaction) }
}

#[test]
fn a_lock_refuses_a_statement_for_one_of_these_reasons() {
    let of = |event: Event, timeout_ms: Option<i64>| {
        let settings = ConnectionSettings { busy_timeout_ms: timeout_ms, ..patient(0) };
        Refusal::of(&event, Kind::Insert, &settings)
    };
    for timeout in [Some(10_000), Some(0), None] {
        assert_eq!(of(refused(517, 1, 0), timeout), Some(Refusal::Upgrade), "in WAL mode");
        assert_eq!(
            of(refused(5, 1, 0), timeout),
            Some(Refusal::Upgrade),
            "with a rollback journal"
        );
    }
    assert_eq!(of(refused(5, 1, 50), Some(50)), Some(Refusal::TimedOut), "of another database");
    assert_eq!(of(refused(5, 0, 50), Some(50)), Some(Refusal::TimedOut));
    assert_eq!(of(refused(5, 2, 50), Some(50)), Some(Refusal::TimedOut), "a COMMIT");
    assert_eq!(of(refused(5, 0, 0), Some(0)), Some(Refusal::NoTimeout));
    assert_eq!(of(refused(5, 0, 50), Some(0)), Some(Refusal::Other), "a handler of its own waited");
    assert_eq!(of(refused(5, 0, 0), Some(50)), Some(Refusal::Other), "sooner than its timeout");
    assert_eq!(of(refused(5, 0, 0), None), Some(Refusal::Other));
    assert_eq!(of(refused(261, 0, 0), Some(50)), Some(Refusal::Other), "recovery");
    assert_eq!(of(refused(262, 1, 0), Some(50)), Some(Refusal::Locked));
    assert_eq!(of(refused(2067, 1, 0), Some(0)), None, "a constraint");
    assert_eq!(of(refused(0, 2, 60), Some(50)), None, "it waited and went on");
    for kind in [Kind::Read, Kind::Transaction] {
        assert_ne!(Refusal::of(&refused(5, 1, 0), kind, &patient(9)), Some(Refusal::Upgrade));
    }
}

#[test]
fn a_refused_write_names_its_transaction_and_counts_as_read_before_write() {
    let transaction = |begin: i64| {
        let at = |event: Event| Event { start_us: event.start_us + begin * 1000, ..event };
        [within(3, 0, 0), within(1, 1, 1), refused(517, 1, 0), event(4, 4)].map(at)
    };
    let events = [transaction(0), transaction(10)].concat();
    let analysis = analysed_with(&events, &[patient(10_000)]);
    let [refusal] = &analysis.refusals[..] else { panic!("{:?}", analysis.refusals) };
    assert_eq!((refusal.refusal, refusal.code, refusal.count), (Refusal::Upgrade, 517, 2));
    assert_eq!(refusal.transaction, ["BEGIN", "SELECT", "INSERT"]);
    assert_eq!(analysis.read_before_write, Some(2));
    let experiments: Vec<_> = analysis.findings().iter().map(Finding::experiment).collect();
    assert_eq!(experiments, [Some("contention-begin-mode"); 2], "and not the busy timeout");
    let alone = ConnectionSettings { is_exclusive: true, ..patient(0) };
    assert_eq!(analysed_with(&events, &[alone]).read_before_write, Some(0));
}

/// Returns a write in autocommit that waited for so long of its time.
fn waiting(connection: i64, start_ms: i64, ms: i64, waited_ms: i64) -> Event {
    let [duration_ns, waited_ns] = [ms, waited_ms].map(|ms| Some(ms * 1_000_000));
    Event { connection, committed: true, duration_ns, waited_ns, ..event(2, start_ms) }
}

#[test]
fn waits_are_named_with_who_held_the_lock_where_they_took_much_of_the_time() {
    let named = |events: &[Event]| {
        let settings = ["a", "a", "a"].map(|database| of_file(database, true));
        let mut analyser = Analyser::new(1_000_000, texts(), (1..).zip(settings).collect());
        events.iter().for_each(|event| analyser.take(event));
        let found = analyser.holders().map(|mut holders| {
            events.iter().for_each(|event| holders.take(event));
            holders.finish()
        });
        analyser.add_holders(found.unwrap_or_default());
        let analysis = analyser.finish();
        let is_named = |finding: &Finding<'_>| matches!(finding, Finding::Refused(usage) if usage.refusal == Refusal::Waited);
        let usage = analysis.refusals.iter().find(|usage| usage.refusal == Refusal::Waited);
        (analysis.findings().iter().any(is_named), usage.cloned())
    };
    // One holds the lock for two seconds in BEGIN and COMMIT; the third one waits for as long as the second.
    let begin = Event { transaction: 2, ..within(3, 0, 2) };
    let read = within(1, 5, 2);
    let commit = event(4, 2_000);
    let events = [begin, read, commit, waiting(2, 10, 2_001, 1_990), waiting(3, 10, 1_999, 1_991)];
    let (is_named, usage) = named(&events);
    let usage = usage.unwrap();
    assert!(is_named);
    assert_eq!((usage.count, usage.code), (2, 0));
    assert_eq!((usage.waits.longest_ns, usage.waits.total_ns), (1_991_000_000, 3_981_000_000));
    assert_eq!(usage.transaction, ["INSERT"]);
    let [holder] = &usage.holders[..] else { panic!("{:?}", usage.holders) };
    assert_eq!((holder.sql.as_str(), holder.count, holder.held_us), ("SELECT", 2, 2_001_000));
    // Of a long one, a little; and a few short ones.
    assert!(!named(&[waiting(1, 0, 20_000, 1_100)]).0);
    let few: Vec<Event> = (0..19).map(|n| waiting(1, n * 10, 5, 4)).collect();
    assert!(!named(&few).0);
    assert!(named(&[&few[..], &[waiting(1, 200, 5, 4)]].concat()).0);
    assert_eq!(named(&[waiting(1, 0, 5, 0), event(2, 10)]).1, None);
}

#[test]
fn the_share_of_waits_is_known_where_all_that_ended_can_tell() {
    let of = |events: &[Event]| analysed(events).statements[0].share_of_waits();
    assert_eq!(of(&[waiting(1, 0, 4, 3), waiting(1, 10, 4, 0)]), Some(0.375));
    let unfinished = Event { duration_ns: None, waited_ns: None, ..event(2, 20) };
    assert_eq!(of(&[waiting(1, 0, 4, 3), unfinished]), Some(0.75));
    assert_eq!(of(&[waiting(1, 0, 4, 3), event(2, 10)]), None);
}

#[test]
fn a_protection_that_some_connections_to_a_database_lack_is_named() {
    let of = |database: &str, foreign_keys: i64, synchronous: i64| ConnectionSettings {
        database: database.to_owned(),
        foreign_keys: Some(foreign_keys),
        synchronous: Some(synchronous),
        ..patient(5)
    };
    let write = |connection| Event { connection, committed: true, ..event(2, connection) };
    let named = |settings: &[ConnectionSettings], writers: &[i64]| {
        let events: Vec<Event> = writers.iter().map(|connection| write(*connection)).collect();
        let found = analysed_with(&events, settings).unprotected;
        found.iter().map(|it| (it.pragma, it.without, it.with)).collect::<Vec<_>>()
    };
    let three = [of("a", 1, 2), of("a", 1, 2), of("a", 0, 0)];
    assert_eq!(named(&three, &[1, 3]), [("foreign_keys", 1, 2), ("synchronous", 1, 2)]);
    assert_eq!(named(&three, &[1, 2]), [], "it only reads");
    assert_eq!(named(&[of("a", 1, 2), of("b", 0, 0)], &[1, 2]), [], "other databases");
    assert_eq!(named(&[of("a", 0, 1), of("a", 0, 2)], &[1, 2]), [], "both sync, none checks");
    assert_eq!(named(&[of("", 1, 2), of("", 0, 0)], &[1, 2]), [], "in memory");
}

#[test]
fn what_did_not_end_is_counted_and_has_no_time() {
    let open = Event { duration_ns: None, result: None, ..event(2, 0) };
    let analysis = analysed(&[open]);
    assert_eq!((analysis.unfinished, analysis.total_ns), (1, 0));
    assert_eq!(analysis.timeline.iter().map(|bucket| bucket.reads).sum::<u64>(), 1);
}

#[test]
fn writes_in_autocommit_are_in_a_row_where_nothing_but_reads_comes_between() {
    let write = |start_ms| Event { committed: true, ..event(2, start_ms) };
    // The second, the third behind a read; neither the one behind a transaction nor the one after a pause.
    let transaction = [event(3, 8), event(4, 10)];
    let others = [write(12), write(113)];
    let first = [write(0), write(2), event(1, 4), write(6)];
    let analysis = analysed(&[&first[..], &transaction, &others].concat());
    assert_eq!(analysis.autocommit_writes, 5);
    assert_eq!(analysis.autocommit_in_a_row, 2);
}

#[test]
fn transactions_of_one_statement_are_in_a_row_where_nothing_but_reads_comes_between() {
    let transaction = |start_ms: i64, inner: &[i64]| {
        let begin = within(3, start_ms, 0);
        let writes = inner.iter().map(|after| within(2, start_ms + after, 2));
        let commit = Event { committed: true, ..event(4, start_ms + 10) };
        [begin].into_iter().chain(writes).chain([commit]).collect()
    };
    let events: [Vec<Event>; 6] = [
        transaction(0, &[2]),
        transaction(20, &[2]),
        vec![event(1, 35)],
        transaction(40, &[2]),
        // Two statements, and then a single one behind them; and one after a pause.
        [transaction(60, &[2, 4]), transaction(80, &[2])].concat(),
        transaction(200, &[2]),
    ];
    let analysis = analysed(&events.concat());
    assert_eq!((analysis.commits, analysis.single_in_a_row), (6, 2));
    assert_eq!(analysis.autocommit_in_a_row, 0);
}

#[test]
fn a_statement_is_prepared_again_on_a_connection_that_had_prepared_it() {
    let prepared = |connection| Event { prepared: true, connection, ..event(1, 0) };
    let analysis = analysed(&[prepared(1), prepared(1), prepared(2), event(1, 3)]);
    let it = &analysis.statements[0];
    assert_eq!((it.prepared, it.prepared_again, it.other_literals), (3, 1, 0));
}

#[test]
fn a_statement_that_differs_in_its_values_is_prepared_again_for_them() {
    let mut texts = texts();
    texts.add_statement(9, 1, true);
    let mut analyser = Analyser::new(1_000_000, texts, hashbrown::HashMap::new());
    for statement in [1, 9, 9, 1] {
        analyser.take(&Event { prepared: true, ..event(statement, 0) });
    }
    let it = &analyser.finish().statements[0];
    assert_eq!((it.prepared_again, it.other_literals), (3, 2));
}

#[test]
fn a_connection_with_few_statements_is_short() {
    let of = |connection| move |at| Event { connection, ..event(1, at) };
    let many = (0..FEW as i64).map(of(1));
    let few = (1..FEW as i64).map(of(2));
    let analysis = analysed(&many.chain(few).collect::<Vec<Event>>());
    assert_eq!((analysis.connections, analysis.short_connections), (2, 1));
}

#[test]
fn the_latest_execution_is_that_by_time_not_by_number() {
    let of = |id, connection, start_ms| Event { id, connection, ..event(1, start_ms) };
    let analysis = analysed(&[of(1, 1, 30), of(2, 1, 50), of(3, 2, 40)]);
    assert_eq!(analysis.statements[0].latest.event, 2);
}

#[test]
fn the_first_word_says_what_a_statement_does() {
    for (text, readonly, kind) in [
        ("select ?", true, Kind::Read),
        ("WITH a AS (SELECT ?) SELECT * FROM a", true, Kind::Read),
        ("WITH a AS (SELECT ?) DELETE FROM t", false, Kind::Other),
        ("REPLACE INTO t VALUES (?)", false, Kind::Insert),
        ("CREATE INDEX i ON t(a)", false, Kind::Schema),
        ("begin immediate", true, Kind::Transaction),
        ("UPDATE t SET a = ?", false, Kind::Other),
        ("", false, Kind::Other),
    ] {
        assert_eq!(Kind::of(text, readonly), kind, "{text}");
    }
}

#[test]
fn a_refused_statement_names_the_transaction_that_held_the_lock() {
    let settings = |database: &str, is_wal| ConnectionSettings {
        database: database.into(),
        is_wal,
        ..patient(2)
    };
    let of = |connection, event| Event { connection, ..event };
    let blocked = |transaction| of(1, Event { start_us: 10_000, ..refused(5, transaction, 2) });
    let held = |others: &[Event], is_wal| {
        let events = [&[blocked(0)], others].concat();
        let settings = ["a", "a", "b"].map(|database| settings(database, is_wal));
        let settings = (1..).zip(settings).collect();
        let mut analyser = Analyser::new(1_000_000, texts(), settings);
        events.iter().for_each(|event| analyser.take(event));
        let mut holders = analyser.holders().unwrap();
        events.iter().for_each(|event| holders.take(event));
        let found = holders.finish();
        analyser.add_holders(found);
        let [usage] = &analyser.finish().refusals[..] else { panic!() };
        usage.holders.iter().map(|it| (it.sql.clone(), it.held_us, it.idle_us)).collect::<Vec<_>>()
    };
    let writes = |connection, end| {
        let commit = Event { committed: true, ..event(4, end) };
        [within(3, 1, 0), within(2, 5, 2), commit].map(|event| of(connection, event))
    };
    let insert = |held_us, idle_us| vec![("INSERT".to_owned(), held_us, idle_us)];
    assert_eq!(held(&writes(2, 30), true), insert(26_000, 24_000));
    assert_eq!(held(&writes(2, 7), true), [], "it ended before");
    assert_eq!(held(&writes(3, 30), true), [], "another database");
    let waited = Event { duration_ns: Some(30_000_000), committed: true, ..event(4, 1) };
    let both = [writes(2, 30).to_vec(), vec![of(1, waited)]].concat();
    assert_eq!(held(&both, true), insert(26_000, 24_000), "its own connection is not in its way");
    let reads = [of(2, within(1, 5, 1)), of(2, event(4, 30))];
    assert_eq!(held(&reads, true), [], "readers block no writer with a write-ahead log");
    assert_eq!(held(&reads, false), [("SELECT".to_owned(), 26_000, 24_000)]);
}

#[test]
fn an_old_snapshot_is_due_to_a_transaction_that_has_ended_since_it_was_read() {
    let found = |writer: &[Event]| {
        let own = [within(3, 0, 0), within(1, 1, 1), refused(517, 1, 0)];
        let settings = (1..=2).map(|id| (id, ConnectionSettings { is_wal: true, ..patient(9) }));
        let mut analyser = Analyser::new(1_000_000, texts(), settings.collect());
        own.iter().for_each(|event| analyser.take(event));
        let mut holders = analyser.holders().unwrap();
        own.iter().for_each(|event| holders.take(event));
        writer.iter().for_each(|event| holders.take(&Event { connection: 2, ..*event }));
        let mut uses = holders.finish();
        uses.remove(&(Refusal::Upgrade, 517)).unwrap_or_default().len()
    };
    let commit = |at| Event { committed: true, ..event(4, at) };
    assert_eq!(found(&[within(2, 0, 2), commit(2)]), 1);
    assert_eq!(found(&[within(2, 0, 2), commit(5)]), 0, "it was still open");
}
