//! Any table and any rows: every strategy gives what INSERT gives.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn integers() -> impl Strategy<Value = Value> {
    prop_oneof![
        (any::<i64>(), 0_u32..64).prop_map(|(value, bits)| value >> bits),
        select(edges::INTEGERS.to_vec()),
    ]
    .prop_map(Value::Integer)
}

fn reals() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<f64>(),
        any::<i32>().prop_map(f64::from),
        (-100_i32..100).prop_map(|value| f64::from(value) / 4.0),
        select(edges::REALS.to_vec()),
    ]
    .prop_map(Value::Real)
}

fn texts(page_size: u32) -> impl Strategy<Value = Value> {
    let long =
        (0..3 * page_size as usize, "[a-zé]").prop_map(|(length, text)| text.repeat(length / 2));
    prop_oneof![
        4 => "[ -~]{0,12}",
        4 => "[ \t]?[-+]?[0-9]{0,20}(\\.[0-9]{0,20})?([eE][-+]?[0-9]{1,3})?[ \n]?",
        1 => "\\PC{0,40}",
        1 => long,
        2 => select(edges::TEXTS.to_vec()).prop_map(str::to_owned),
    ]
    .prop_map(Value::Text)
}

fn blobs(page_size: u32) -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (any::<u8>(), 0..3 * page_size as usize).prop_map(|(byte, length)| vec![byte; length]),
    ]
    .prop_map(Value::Blob)
}

/// Values of one storage class and NULLs, which a column of the declared type takes.
fn column(
    declared: &'static str,
    strict: bool,
    page_size: u32,
    rows: usize,
) -> BoxedStrategy<Vec<Value>> {
    let of = |values: BoxedStrategy<Value>| {
        prop::collection::vec(prop_oneof![5 => values, 1 => Just(Value::Null)], rows).boxed()
    };
    let integers = of(integers().boxed());
    let reals = of(reals().boxed());
    let texts = of(texts(page_size).boxed());
    let blobs = of(blobs(page_size).boxed());
    match (strict, declared) {
        (true, "INTEGER") => integers,
        (true, "REAL") => prop_oneof![integers, reals].boxed(),
        (true, "TEXT") => prop_oneof![integers, reals, texts].boxed(),
        (true, "BLOB") => blobs,
        _ => prop_oneof![integers, reals, texts, blobs].boxed(),
    }
}

/// Ascending keys; where the flag is false, NULL, which means one more than the last.
fn keys(steps: Vec<(bool, u8)>, last: &mut i64) -> Vec<Value> {
    steps
        .into_iter()
        .map(|(own, step)| {
            *last += if own { 1 + i64::from(step) * i64::from(step) } else { 1 };
            if own { Value::Integer(*last) } else { Value::Null }
        })
        .collect()
}

/// The types that columns of a table can be declared with.
fn type_names(strict: bool) -> Vec<&'static str> {
    let names = ["INTEGER", "REAL", "TEXT", "BLOB"];
    let more: &[_] = if strict { &["ANY"] } else { &["", "NUMERIC", "DECIMAL(10,2)"] };
    [&names, more].concat()
}

/// Up to two indexes, each over some of the columns.
fn indexes(columns: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
    let all: Vec<_> = (0..columns).collect();
    let indexed = prop::sample::subsequence(all, 1..=columns);
    prop::collection::btree_set(indexed, 0..3).prop_map(|sets| sets.into_iter().collect())
}

/// Tables with rowids that have no batches.
fn tables() -> impl Strategy<Value = Case> {
    let kinds = (any::<bool>(), any::<bool>(), any::<bool>());
    let page_sizes = select((9..=16).map(|bits| 1_u32 << bits).collect::<Vec<_>>());
    (kinds, page_sizes, 1_usize..4, 1_usize..6).prop_flat_map(
        |((strict, rowid_alias, sorted), page_size, workers, columns)| {
            let declared = prop::collection::vec(select(type_names(strict)), columns);
            (declared, indexes(columns)).prop_map(move |(mut declared, indexes)| {
                if rowid_alias {
                    declared[0] = "INTEGER";
                }
                Case {
                    declared,
                    strict,
                    rowid_alias,
                    page_size,
                    workers,
                    indexes,
                    key: Vec::new(),
                    sorted,
                    batches: Vec::new(),
                }
            })
        },
    )
}

/// The columns of a batch, and for each row how far its key is from the last.
type Batch = (Vec<Vec<Value>>, Vec<(bool, u8)>);

/// Rows for a table.
fn batch(table: &Case, rows: usize) -> impl Strategy<Value = Batch> + use<> {
    let column = |declared: &&'static str| column(declared, table.strict, table.page_size, rows);
    let columns: Vec<_> = table.declared.iter().map(column).collect();
    (columns, prop::collection::vec((any::<bool>(), any::<u8>()), rows))
}

/// Gives the first column of a table with a rowid alias keys that ascend over all batches.
fn with_keys(mut batches: Vec<Batch>, mut last: i64) -> Vec<Vec<Vec<Value>>> {
    if let Some(step) = batches.iter_mut().find_map(|(_, steps)| steps.first_mut()) {
        // The first key of all sets where the others begin.
        step.0 = true;
    }
    let keyed = |(mut columns, steps): Batch| {
        columns[0] = keys(steps, &mut last);
        columns
    };
    batches.into_iter().map(keyed).collect()
}

/// Tables with rowids, in up to three batches of fewer rows than `largest`.
fn cases(largest: usize) -> impl Strategy<Value = Case> {
    let sizes = prop::collection::vec(0..largest, 0..4);
    (tables(), sizes, -100_i64..1000).prop_flat_map(|(table, sizes, first)| {
        let batches: Vec<_> = sizes.iter().map(|rows| batch(&table, *rows)).collect();
        batches.prop_map(move |batches| Case {
            batches: if table.rowid_alias {
                with_keys(batches, first)
            } else {
                batches.into_iter().map(|(columns, _)| columns).collect()
            },
            ..table.clone()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_strategy_gives_what_insert_gives(case in cases(60)) {
        check_new(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adding_to_a_table_gives_what_insert_gives(case in cases(60), first in 0_usize..4) {
        check_added(&case, first);
    }
}

/// Tables WITHOUT ROWID, with a primary key of two columns in any order.
fn keyed_cases(largest: usize) -> impl Strategy<Value = Case> {
    let keys = prop::collection::btree_set(("[ab]{0,12}", any::<i16>()), 0..largest);
    let keys = keys.prop_map(|keys| keys.into_iter().collect::<Vec<_>>()).prop_shuffle();
    let page_sizes = select(vec![512_u32, 1024, 4096, 65_536]);
    let names = vec!["INTEGER", "REAL", "TEXT", "BLOB", "", "NUMERIC"];
    let declared = prop::collection::vec(select(names), 0..3);
    let indexed = prop::sample::subsequence(vec![0, 1], 1..=2);
    let indexes = prop::collection::btree_set(indexed, 0..2);
    let key = select(vec![vec![0, 1], vec![1, 0]]);
    let means = (1_usize..4, any::<bool>());
    (keys, declared, page_sizes, indexes, key, means).prop_flat_map(
        |(keys, others, page_size, indexes, key, (workers, sorted))| {
            let columns: Vec<_> = others
                .iter()
                .map(|declared| column(declared, false, page_size, keys.len()))
                .collect();
            columns.prop_map(move |others_values| {
                let texts = keys.iter().map(|(text, _)| Value::Text(text.clone()));
                let numbers = keys.iter().map(|(_, number)| Value::Integer(i64::from(*number)));
                let mut columns = vec![texts.collect(), numbers.collect()];
                columns.extend(others_values);
                let mut declared = vec!["TEXT", "INTEGER"];
                declared.extend(&others);
                Case {
                    declared,
                    strict: false,
                    rowid_alias: false,
                    page_size,
                    workers,
                    indexes: indexes.iter().cloned().collect(),
                    key: key.clone(),
                    sorted,
                    batches: parts(&columns, keys.len().div_ceil(3)),
                }
            })
        },
    )
}

/// The columns in batches of so many rows.
fn parts(columns: &[Vec<Value>], rows: usize) -> Vec<Vec<Vec<Value>>> {
    let all = columns[0].len();
    let starts = (0..all).step_by(rows.max(1));
    let part = |start: usize| {
        let part = start..all.min(start + rows);
        columns.iter().map(|values| values[part.clone()].to_vec()).collect()
    };
    starts.map(part).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_without_rowid_are_what_insert_makes_them(case in keyed_cases(200)) {
        check_keyed(&case);
    }
}

/// A new table by every strategy against INSERT.
pub(super) fn check_new(case: &Case) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let rows: usize = case.batches.iter().map(|columns| columns[0].len()).sum();

    let summary = case.load(&path("pages"), LoadStrategy::Pages).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (rows as u64, rows as u64));
    let summary = case.load(&path("arrays"), LoadStrategy::Arrays).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (rows as u64, 0));

    let by_pages = contents(&path("pages"), case.declared.len());
    let create: Vec<String> = by_pages.0.iter().map(|object| object[3].to_string()).collect();
    case.insert(&path("insert"), &create.join("; "));
    let by_insert = contents(&path("insert"), case.declared.len());
    assert_eq!(&by_pages, &by_insert);
    assert_eq!(contents(&path("arrays"), case.declared.len()), by_insert);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 3, "{:?}", left);
}

/// Rows added to a table that has the batches before `first`.
fn check_added(case: &Case, first: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (before, added) = case.batches.split_at(first.min(case.batches.len()));
    let create = case.create(&path("pages"));
    case.insert(&path("insert"), &create);
    case.insert_part(&path("pages"), &create, before);

    let rows = case.rows(added);
    let strategy = Some(LoadStrategy::Pages);
    let summary = case.append(&path("pages"), before.len(), strategy).unwrap();
    assert_eq!((summary.rows, summary.rows_by_pages), (rows as u64, rows as u64));
    assert_eq!(
        contents(&path("pages"), case.declared.len()),
        contents(&path("insert"), case.declared.len())
    );
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{:?}", left);
}

/// A table WITHOUT ROWID against INSERT.
fn check_keyed(case: &Case) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let summary = case.load(&path("pages"), LoadStrategy::Pages).unwrap();
    let rows = case.rows(&case.batches) as u64;
    assert_eq!((summary.rows, summary.rows_by_pages), (rows, rows));
    let order = case.key.iter().map(|number| format!("c{number}")).collect::<Vec<_>>().join(", ");
    let by_pages = contents_by(&path("pages"), case.declared.len(), &order);
    let create: Vec<String> = (by_pages.0.iter())
        .filter(|object| object[3] != Value::Null)
        .map(|object| object[3].to_string())
        .collect();
    case.insert(&path("insert"), &create.join("; "));
    assert_eq!(by_pages, contents_by(&path("insert"), case.declared.len(), &order));
}
