//! Runs read from the tables of an export, to compare them.

use crate::made_up;
use lab::comparison::{Change, Doubt, RunComparison, RunDigest};
use lab::stats::Interval;
use pragmark_report as report;
use report::export::{Datum, NEEDED_TABLES, RunOfTables, TABLES, TableRow, run_rows, trial_rows};

/// The rows of the made-up run, table by table.
fn rows() -> Vec<TableRow> {
    let (plan, _, trials) = made_up::run();
    let mut rows = run_rows(made_up::analysis());
    for (number, trial) in (0..).zip(&trials) {
        rows.extend(trial_rows(&plan.id, number, trial));
    }
    rows.sort_by_key(|(table, _)| *table);
    rows
}

fn read(rows: &[TableRow]) -> Result<RunDigest, String> {
    let mut run = RunOfTables::default();
    let needed = rows.iter().filter(|row| NEEDED_TABLES.contains(&row.0));
    needed.into_iter().try_for_each(|row| run.add(row))?;
    run.finish()
}

#[test]
fn the_tables_of_a_run_have_its_ratios_figures_and_circumstances() {
    let (whole, read) = (RunDigest::from(made_up::analysis().clone()), read(&rows()).unwrap());
    assert_eq!(read.plan.id, whole.plan.id);
    assert_eq!(read.facts(), whole.facts());
    for (base, new) in [(&whole, &read), (&read, &whole)] {
        let comparison = RunComparison::of(base, new);
        assert_eq!(comparison.differences, []);
        assert_eq!(comparison.experiments.len(), whole.experiments.len());
        let variants = comparison.experiments.iter().flat_map(|experiment| &experiment.variants);
        let changes: Vec<_> = variants.filter_map(|variant| variant.change).collect();
        assert!(changes.len() > 10);
        let is_none = |verdict| verdict == Change::NotDetectable;
        assert!(changes.iter().all(|change| is_none(change.verdict)));
        let alone = Doubt::TablesAlone { run: whole.plan.id.clone() };
        assert!(comparison.doubts.contains(&alone));
        let text = report::render::markdown(&report::runs(&[comparison], &[], &[]));
        assert!(text.contains("from the tables of an export"), "{text}");
    }
}

#[test]
fn an_experiment_that_a_stopped_run_did_not_come_to_is_left_out() {
    let all = read(&rows()).unwrap().experiments;
    let last = &all[all.len() - 1].key;
    let is_of_last = |(table, cells): &TableRow| {
        let form = &TABLES[*table];
        let place = form.columns.iter().position(|column| column.0 == "experiment");
        let cell = place.and_then(|place| cells.get(place));
        form.name == "trial" && cell == Some(&last.as_str().into())
    };
    let mut stopped = rows();
    let of_last: Vec<TableRow> = stopped.extract_if(.., |row| is_of_last(row)).collect();
    let number = TABLES.iter().position(|it| it.name == "trial").unwrap();
    let column = |name| TABLES[number].columns.iter().position(|column| column.0 == name);
    let (id, figures) = (column("trial").unwrap(), |row: &TableRow| TABLES[row.0].name == "figure");
    let lost: Vec<&Datum> = of_last.iter().map(|(_, cells)| &cells[id]).collect();
    stopped.retain(|row| !figures(row) || !row.1.iter().any(|cell| lost.contains(&cell)));
    let run = read(&stopped).unwrap();
    assert_eq!(run.experiments.len(), all.len() - 1);
    assert_eq!(run.experiments[0].workload, all[0].workload);
}

#[test]
fn an_interval_without_an_end_has_none_in_the_tables() {
    let mut analysis = made_up::analysis().clone();
    let mut claims = analysis.experiments.iter_mut().flat_map(|experiment| &mut experiment.claims);
    claims.next().unwrap().interval = Some(Interval::EVERYTHING);
    let rows = run_rows(&analysis);
    let mut cells = rows.iter().flat_map(|(_, cells)| cells);
    assert!(!cells.any(|cell| matches!(cell, Datum::Real(number) if !number.is_finite())));
}

#[test]
fn another_machine_is_seen_in_the_tables() {
    let mut other = rows();
    for (table, cells) in &mut other {
        if TABLES[*table].name == "environment" && cells[1] == "CPU".into() {
            cells[2] = "another CPU".into();
        }
    }
    let comparison = RunComparison::of(&read(&rows()).unwrap(), &read(&other).unwrap());
    assert_eq!(comparison.differences[0].new, "another CPU");
    assert!(comparison.doubts.contains(&Doubt::OtherMachine));
}

#[test]
fn cells_that_are_not_what_they_should_be_are_named() {
    let with = |table: &str, column: &str, cell: Datum| {
        let mut rows = rows();
        let of = |row: &&mut TableRow| TABLES[row.0].name == table;
        let (number, cells) = rows.iter_mut().find(of).unwrap();
        let columns = &TABLES[*number].columns;
        let place = columns.iter().position(|it| it.0 == column).unwrap();
        cells[place] = cell;
        read(&rows).unwrap_err()
    };
    for (table, column, cell, words) in [
        ("trial", "role", "king".into(), "`king`"),
        ("trial", "round", Datum::Integer(-1), "column round of the table trial"),
        ("trial", "outcome", "lost".into(), "`lost`"),
        ("figure", "trial", Datum::Integer(1 << 40), "no trial"),
        ("figure", "value", Datum::None, "column value"),
        ("run", "complete", "yes".into(), "column complete"),
        ("experiment", "metric", "unheard_of".into(), "unheard_of"),
    ] {
        let said = with(table, column, cell);
        assert!(said.contains(words), "{table}.{column}: {said}");
    }
}
