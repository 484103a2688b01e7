//! Random statements and random changes of them, judged by the rows themselves.
//!
//! `PROPTEST_CASES=2000 PROPTEST_RNG_SEED=7 cargo test -p pragmark-bench --lib answers::properties` tries others.

use engine::{Connection, Library, OpenFlags, Source};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use std::sync::Arc;

use super::tests::{changes, make};

const COLUMNS: [&str; 8] =
    ["id", "k", "day", "name", "price", "k + id AS s", "day || name AS t", "-id AS id"];

const ORDERS: [&str; 8] = ["", "", "id", "day, id", "k DESC, id", "day", "k, day", "name DESC"];

const INDEXES: [&str; 4] =
    ["visit(k, day DESC)", "visit(day, name)", "visit(name, k)", "visit(price)"];

/// A statement, by its parts.
#[derive(Clone, Debug)]
struct Statement {
    columns: Vec<&'static str>,
    condition: String,
    order: &'static str,
    limit: Option<u8>,
}

impl Statement {
    fn sql(&self, with_limit: bool) -> String {
        let Statement { columns, condition, order, limit } = self;
        let order = if order.is_empty() { String::new() } else { format!(" ORDER BY {order}") };
        let limit = limit.filter(|_| with_limit).map_or(String::new(), |n| format!(" LIMIT {n}"));
        let columns = columns.join(", ");
        format!("-- name: q\nSELECT {columns} FROM visit WHERE {condition}{order}{limit}")
    }

    fn is_total(&self) -> bool {
        self.order.ends_with("id")
    }
}

fn condition() -> impl Strategy<Value = String> {
    let form = select(vec![
        "k = #", "id < 2#", "day = 'd#'", "k > # AND day <> 'd1'", "id IN (3, #, 12)",
        "price > #.5",
    ]);
    (form, 0..9_u8).prop_map(|(form, n)| form.replace('#', &n.to_string()))
}

fn statement() -> impl Strategy<Value = Statement> {
    let columns = subsequence(COLUMNS.to_vec(), 1..4);
    let limit = proptest::option::weighted(0.3, 1..6_u8);
    (columns, condition(), select(ORDERS.to_vec()), limit).prop_map(
        |(columns, condition, order, limit)| Statement { columns, condition, order, limit },
    )
}

/// A statement, and one that takes some of its parts from another.
fn both() -> impl Strategy<Value = [Statement; 2]> {
    (statement(), statement(), 0..16_u8).prop_map(|(base, other, parts)| {
        let is_other = |part: u8| parts & (1 << part) != 0;
        let new = Statement {
            columns: if is_other(0) { other.columns } else { base.columns.clone() },
            condition: if is_other(1) { other.condition } else { base.condition.clone() },
            order: if is_other(2) { other.order } else { base.order },
            limit: if is_other(3) { other.limit } else { base.limit },
        };
        [base, new]
    })
}

/// Returns the names of the columns, and the rows.
fn rows(connection: &Connection, sql: &str) -> (Vec<String>, Vec<String>) {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = 0..statement.column_count();
    let names = columns.clone().map(|column| statement.column_name(column).unwrap()).collect();
    let mut rows = Vec::new();
    while statement.step().unwrap() == engine::Step::Row {
        let values = columns.clone().map(|column| statement.column_value(column));
        rows.push(format!("{:?}", values.collect::<Vec<_>>()));
    }
    (names, rows)
}

/// Returns whether the base allows the answer of the new statement; `None` if the rows do not tell.
fn is_allowed(connection: &Connection, [base, new]: &[Statement; 2]) -> Option<bool> {
    let [(names, wanted), (new_names, found)] =
        [base, new].map(|statement| rows(connection, &statement.sql(true)));
    if names != new_names || wanted.len() != found.len() {
        return Some(false);
    }
    if wanted == found {
        // Rows that are alike by chance have other answers without the LIMIT, or no order.
        let is_same =
            base.sql(false) == new.sql(false) || (base.limit.is_none() && base.order == new.order);
        return is_same.then_some(true);
    }
    let mut all = rows(connection, &base.sql(false)).1;
    let are_of_base = found.iter().all(|row| {
        let place = all.iter().position(|own| own == row);
        place.map(|place| all.swap_remove(place)).is_some()
    });
    (!are_of_base || base.is_total()).then_some(false)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_change_is_a_difference_unless_the_base_allows_it(both in both(), index in select(INDEXES.to_vec())) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("visits.db");
        make(&path);
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let connection = Connection::open(&library, &path, OpenFlags::default(), None).unwrap();
        let Some(is_allowed) = is_allowed(&connection, &both) else { return Ok(()) };
        let [base, new] = both.map(|statement| statement.sql(true));
        let index = format!("CREATE INDEX further ON {index}");
        let changes = changes(&base, &new, Some(&index));
        let found = changes.iter().any(|change| change.difference().is_some());
        prop_assert_eq!(!found, is_allowed, "{}; {}: {:?}", base, new, changes);
    }
}
