//! Texts that are dates, stored as SQLite's date functions read them.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, DictionaryArray, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Field, Schema};
use pragmark_load::{DateOrder, Dates, LoadError, Mode, OnError, Opening, Request, Summary};

use crate::faults::{Workspace, library, run_as};

fn dated(
    workspace: &Workspace,
    text: &str,
    request: &Request,
    dates: Dates,
) -> Result<Summary, LoadError> {
    let mut opening = Opening::new(&library());
    opening.dates = Some(dates);
    run_as(&workspace.write("a.csv", text), request, &opening)
}

#[test]
fn a_column_of_dates_is_stored_as_the_date_functions_read_it() {
    let workspace = Workspace::new();
    let text = "id,day,at,note\n1,13/02/2024,\"Feb 13, 2024 5:30 PM\",01/02/2024\n2,,\"Mar 1, 2024 0:00\",x\n";
    let summary = dated(&workspace, text, &workspace.request(), Dates::default()).unwrap();
    assert_eq!(
        workspace.rows("SELECT day, at, note, date(at, '+1 day') FROM t"),
        [
            "2024-02-13|2024-02-13T17:30:00|01/02/2024|2024-02-14",
            "NULL|2024-03-01T00:00:00|x|2024-03-02"
        ]
    );
    let names: Vec<&str> = summary.dates.iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["day", "at"]);
}

#[test]
fn dates_that_may_begin_with_the_day_or_the_month_are_refused() {
    let workspace = Workspace::new();
    let text = "day\n1/2/2024\n3/4/2024\n";
    let error = dated(&workspace, text, &workspace.request(), Dates::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the dates of column day, such as 1/2/2024, may begin with the day or with the month"
    );
    assert!(!workspace.database().exists());
    let dates = Dates { order: DateOrder::MonthFirst, except: Vec::new() };
    dated(&workspace, text, &workspace.request(), dates).unwrap();
    assert_eq!(workspace.rows("SELECT * FROM t"), ["2024-01-02", "2024-03-04"]);
}

#[test]
fn a_column_with_a_declared_type_stays_as_it_is() {
    let workspace = Workspace::new();
    let dates = Dates { order: DateOrder::Auto, except: vec!["DAY".to_owned()] };
    dated(&workspace, "day\n13/2/2024\n", &workspace.request(), dates).unwrap();
    assert_eq!(workspace.rows("SELECT * FROM t"), ["13/2/2024"]);
}

#[test]
fn columns_that_a_table_declares_as_dates_are_looked_at_too() {
    for rows in [3, 3_000] {
        let workspace = Workspace::new();
        let types = "day DATE, at DATETIME, stamp TIMESTAMP, price DECIMAL(10, 2), n INTEGER";
        let table = format!("CREATE TABLE t({types})");
        workspace.connection().execute(&table).unwrap();
        let row = "31.12.2024,31/12/2024 5:30 PM,2024/12/31 1:02:03,12.50,7\n";
        let text = format!("day,at,stamp,price,n\n{}", row.repeat(rows));
        let mut request = workspace.request();
        request.mode = Mode::Append;
        let summary = dated(&workspace, &text, &request, Dates::default()).unwrap();
        assert_eq!(
            workspace.rows("SELECT DISTINCT * FROM t"),
            ["2024-12-31|2024-12-31T17:30:00|2024-12-31T01:02:03|12.5|7"]
        );
        assert_eq!(summary.dates.len(), 3);
    }
}

#[test]
fn texts_that_the_input_names_once_each_are_looked_at_too() {
    let workspace = Workspace::new();
    let days = DictionaryArray::<Int32Type>::from_iter([
        Some("31.12.2024"),
        None,
        Some("1.2.2024"),
        Some("31.12.2024"),
    ]);
    let schema = Schema::new(vec![Field::new("day", days.data_type().clone(), true)]);
    let rows = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(days)]).unwrap();
    let file = std::fs::File::create(workspace.path("a.arrow")).unwrap();
    let mut writer = FileWriter::try_new(file, &rows.schema()).unwrap();
    writer.write(&rows).unwrap();
    writer.finish().unwrap();
    let mut opening = Opening::new(&library());
    opening.dates = Some(Dates::default());
    run_as(&workspace.path("a.arrow"), &workspace.request(), &opening).unwrap();
    assert_eq!(
        workspace.rows("SELECT * FROM t"),
        ["2024-12-31", "NULL", "2024-02-01", "2024-12-31"]
    );
}

#[test]
fn a_later_text_that_is_no_such_date_is_a_row_that_cannot_be_read() {
    for last in ["2024-02-13", "soon", "13/2/2024 12:00"] {
        let workspace = Workspace::new();
        let days = "13/2/2024,1\n".repeat(150_000);
        let text = format!("day,n\n{days}{last},2\n14/2/2024,3\n");
        let error = dated(&workspace, &text, &workspace.request(), Dates::default()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("row 150001, column day"), "{message}");
        assert!(message.contains(last), "{message}");

        let mut request = workspace.request();
        request.on_error = OnError::Skip;
        request.rejects = Some(workspace.path("bad.csv"));
        let summary = dated(&workspace, &text, &request, Dates::default()).unwrap();
        assert_eq!((summary.rows, summary.rejected), (150_001, 1));
        assert_eq!(
            workspace.rows("SELECT DISTINCT day FROM t ORDER BY day"),
            ["2024-02-13", "2024-02-14"]
        );
        let rejected = std::fs::read_to_string(workspace.path("bad.csv")).unwrap();
        assert!(rejected.contains(&format!("{last},2")), "{rejected}");
    }
}
