//! Whether the table holds the texts: every one of them is read and compared.

use engine::{Connection, Step};

use crate::error::TrialError;
use crate::generate::Texts;
use crate::workload::common::expect;

pub(super) fn check(
    connection: &Connection,
    texts: &Texts,
    rows: usize,
    columns: usize,
) -> Result<(), TrialError> {
    let mut select = connection.prepare("SELECT * FROM texts ORDER BY rowid")?;
    let (mut found, mut wrong) = (0, 0);
    while select.step()? == Step::Row {
        for column in 0..columns {
            let wanted = texts.text(found * columns + column);
            wrong += usize::from(select.column_text(column as i32)? != wanted);
        }
        found += 1;
    }
    expect("the count of rows", found, rows)?;
    expect("the count of wrong texts", wrong, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Library, OpenFlags, Source};
    use lab::seed::Seed;
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn a_missing_row_or_a_changed_text_is_a_wrong_result() {
        let library = Arc::new(Library::load(&Source::Embedded).unwrap());
        let memory = Path::new(":memory:");
        let connection = Connection::open(&library, memory, OpenFlags::default(), None).unwrap();
        let texts = Texts::generate(8, Seed(1));
        let values: Vec<String> = (0..3).map(|n| format!("('{}')", texts.text(n))).collect();
        let sql =
            format!("CREATE TABLE texts(c1 TEXT); INSERT INTO texts VALUES {}", values.join(","));
        connection.execute(&sql).unwrap();
        assert!(check(&connection, &texts, 3, 1).is_ok());
        assert!(check(&connection, &texts, 4, 1).is_err());
        connection.execute("UPDATE texts SET c1 = upper(c1) || '!' WHERE rowid = 2").unwrap();
        let error = check(&connection, &texts, 3, 1).unwrap_err().to_string();
        assert!(error.contains("wrong texts is 1"), "{error}");
    }
}
