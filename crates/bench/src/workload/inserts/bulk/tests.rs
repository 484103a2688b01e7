//! Every method fills every table with the right rows, or says why it cannot.

use engine::{Connection, Library, Source};
use lab::level::Level;
use lab::trial::{Measured, Outcome};

use super::{Method, Table, check_keys, compare, sums_of};
use crate::generate::{Order, Values};
use crate::parameters::Choice;
use crate::workload::common::tests::{memory_database, problem, run};

fn measured(over: &[(&str, Level)]) -> Measured {
    let quick = [("rows", 1_003.into()), ("synchronous", "off".into())];
    let over = [&quick[..], over].concat();
    run("bulk-insert", &over).unwrap_or_else(|error| panic!("{over:?}: {error}"))
}

/// Rows in one statement by which a method is tried.
fn rows_per_statement(method: Method) -> &'static [i64] {
    match method {
        Method::Values => &[1, 20],
        Method::Carray | Method::Columns => &[100, 0],
        Method::AttachValue | Method::AttachStar => &[0],
    }
}

#[test]
fn every_method_fills_every_table_with_verified_rows() {
    for (method, method_name, _) in Method::ALL {
        for (_, table, _) in Table::ALL {
            for index in ["none", "before", "after"] {
                for rows in rows_per_statement(*method) {
                    let measured = measured(&[
                        ("method", (*method_name).into()),
                        ("table", (*table).into()),
                        ("order", "shuffled".into()),
                        ("index", index.into()),
                        ("rows_per_statement", (*rows).into()),
                    ]);
                    assert!(measured.metrics["rows_per_s"] > 0.0);
                    assert!(measured.metrics["bytes_per_row"] > 1.0);
                }
            }
        }
    }
}

#[test]
fn every_order_and_kind_of_value_is_inserted_and_verified() {
    for (_, order, _) in Order::ALL {
        let order = [("order", (*order).into()), ("index", "before".into())];
        measured(&order);
    }
    for (_, values, _) in Values::ALL {
        measured(&[("values", (*values).into()), ("method", "carray".into())]);
    }
}

#[test]
fn methods_go_with_transactions_and_with_preparing_each_time() {
    for (method, rows) in [("values", 20), ("carray", 20), ("carray", 0), ("columns", 20)] {
        for rows_per_txn in [1, 37, 0] {
            for statement in ["reused", "prepared-each-time"] {
                let measured = measured(&[
                    ("method", method.into()),
                    ("rows_per_statement", rows.into()),
                    ("rows_per_txn", rows_per_txn.into()),
                    ("statement", statement.into()),
                ]);
                assert_eq!(measured.latency.is_some(), rows_per_txn > 0);
            }
        }
    }
    for method in ["attach-value", "attach-star"] {
        measured(&[
            ("method", method.into()),
            ("rows_per_statement", 0.into()),
            ("statement", "prepared-each-time".into()),
            ("journal_mode", "wal".into()),
            ("page_size", 8192.into()),
            ("encoding", "UTF-16le".into()),
        ]);
    }
}

#[test]
fn a_watched_transaction_has_windows_and_a_single_statement_has_one() {
    let windows = |method: &str, rows_per_statement: i64| {
        let over = [("method", method.into()), ("rows_per_statement", rows_per_statement.into())];
        measured(&over).windows.len()
    };
    assert!(windows("values", 1) > 80);
    assert!(windows("carray", 10) > 40);
    assert_eq!(windows("carray", 0), 1);
    assert_eq!(windows("attach-star", 0), 1);
}

#[test]
fn the_same_rows_take_the_same_space_by_every_method() {
    let bytes = |method: &str, rows_per_statement: i64| {
        let over = [("method", method.into()), ("rows_per_statement", rows_per_statement.into())];
        measured(&over).metrics["db_bytes"]
    };
    let reference = bytes("values", 1);
    for method in ["carray", "columns", "attach-value", "attach-star"] {
        assert_eq!(bytes(method, 0), reference, "{method}");
    }
}

#[test]
fn an_engine_without_carray_skips_the_variant_with_the_reason() {
    let Some(library) = Library::load(&Source::System).ok().filter(|library| !library.has_carray())
    else {
        testing::skip("the system has no SQLite library without carray");
        return;
    };
    let outcome = match Method::Carray.check_engine(&library) {
        Err(error) => error.outcome(),
        Ok(()) => panic!("the engine has no carray"),
    };
    assert!(matches!(&outcome, Outcome::Skipped { why } if why.contains("carray")));
    assert!(Method::Values.check_engine(&library).is_ok());
}

#[test]
fn what_shapes_the_file_takes_effect_together() {
    // PRAGMA auto_vacuum writes the first page of a new file, after which its page size stays.
    let measured = measured(&[
        ("auto_vacuum", "incremental".into()),
        ("page_size", 16_384.into()),
        ("journal_mode", "wal".into()),
    ]);
    let pragmas = &measured.connections[0].pragmas;
    assert_eq!(pragmas["page_size"], "16384");
    assert_eq!(pragmas["auto_vacuum"], "incremental");
}

fn table_of(values: &[i64]) -> Connection {
    let connection = memory_database(Table::Rowid.create());
    for value in values {
        connection.execute(&format!("INSERT INTO integers VALUES ({value})")).unwrap();
    }
    connection
}

fn difference(values: &[i64], data: &[i64]) -> String {
    let wanted = sums_of(data);
    let wrong = compare(&table_of(values), "NOT INDEXED", &wanted).unwrap_err();
    wrong.to_string()
}

#[test]
fn rows_missing_changed_or_exchanged_are_noticed() {
    let data = [i64::MIN, -7, 0, 3, 1 << 40, i64::MAX];
    assert!(compare(&table_of(&data), "NOT INDEXED", &sums_of(&data)).is_ok());
    assert!(difference(&data[1..], &data).contains("the count"));
    assert!(difference(&[1 << 40], &[1 << 41]).contains("upper halves"));
    assert!(difference(&[8], &[9]).contains("lower halves"));
    assert!(difference(&[1, 5], &[2, 4]).contains("squared residues"));
}

#[test]
fn a_gap_in_the_counted_keys_is_noticed() {
    let connection = table_of(&[10, 20, 30]);
    assert!(check_keys(&connection, Table::Rowid, 3).is_ok());
    let delete = "DELETE FROM integers WHERE rowid = 1";
    connection.execute(delete).unwrap();
    let error = check_keys(&connection, Table::Rowid, 2).unwrap_err();
    assert!(error.to_string().contains("the smallest key"), "{error}");
}

#[test]
fn parameters_that_do_not_go_together_are_named() {
    let value = |name: &str| lab::level::Level::from(name);
    let cases = [
        (vec![("rows_per_statement", 0.into())], "rows_per_statement"),
        (vec![("rows_per_statement", 32_767.into())], "32766"),
        (vec![("method", value("attach-star"))], "rows_per_statement"),
        (
            vec![
                ("method", value("attach-value")),
                ("rows_per_statement", 0.into()),
                ("rows_per_txn", 10.into()),
            ],
            "rows_per_txn",
        ),
        (
            vec![
                ("method", value("attach-star")),
                ("rows_per_statement", 0.into()),
                ("index", value("before-sorted")),
            ],
            "index",
        ),
        (vec![("table", value("without-rowid"))], "order"),
        (vec![("order", value("alphabetical"))], "alphabetical"),
    ];
    for (over, named) in cases {
        let problem = problem("bulk-insert", &over);
        assert!(problem.contains(named), "{over:?}: {problem}");
    }
}
