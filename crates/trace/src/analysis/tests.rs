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
    let mut analyser = Analyser::new(1_000_000, texts());
    events.iter().for_each(|event| analyser.take(event));
    analyser.finish()
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

#[test]
fn the_same_read_many_times_in_a_row_is_a_run() {
    let run =
        |count: i64, pause: i64| (0..count).map(move |n| event(1, n * pause)).collect::<Vec<_>>();
    let of = |events: &[Event]| {
        let it = analysed(events).statements.remove(0);
        (it.runs, it.in_runs, it.longest_run)
    };
    assert_eq!(of(&run(4, 2)), (0, 0, 0));
    assert_eq!(of(&run(12, 2)), (1, 12, 12));
    assert_eq!(of(&run(12, 200)), (0, 0, 0), "with pauses");
    let two = [run(10, 2), vec![event(3, 100)], run(11, 2)].concat();
    assert_eq!(analysed(&two).statements.iter().map(|it| it.runs).sum::<u64>(), 2);
}

#[test]
fn failures_are_counted_by_primary_code() {
    let busy = Event { result: Some(5), ..event(2, 0) };
    let snapshot = Event { result: Some(517), ..event(2, 1) };
    let analysis = analysed(&[busy, snapshot, event(2, 2)]);
    assert_eq!(analysis.failures, [(5, "INSERT".to_owned(), 2)]);
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
    assert_eq!((it.prepared, it.prepared_again), (3, 1));
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
