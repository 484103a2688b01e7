//! The rows of a table, copied one by one.

use engine::{EngineError, Step, Value};

use super::source::Table;
use super::{CopiedTable, Copier};
use crate::examination::quoted;

impl Copier<'_> {
    /// Copies the rows of a table.
    pub(super) fn rows(&self, table: &Table) -> Result<CopiedTable, EngineError> {
        let columns = table.stored();
        let names: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
        let (names, quoted_table) = (names.join(", "), table.quoted());
        let marks = vec!["?"; columns.len()].join(", ");
        let mut select =
            self.original.connection.prepare(&format!("SELECT {names} FROM {quoted_table}"))?;
        let mut insert =
            self.new.prepare(&format!("INSERT INTO {quoted_table}({names}) VALUES ({marks})"))?;
        let replaces: Vec<bool> = columns.iter().map(|column| !self.keeps(table, column)).collect();
        let (mut rows, mut replaced) = (0, vec![0; columns.len()]);
        while select.step()? == Step::Row {
            for (column, replaces) in (0..).zip(&replaces) {
                let value = select.column_value(column);
                let other = replaces.then(|| self.other(&value)).flatten();
                replaced[column as usize] += u64::from(other.is_some());
                insert.bind_value(column + 1, &other.unwrap_or(value))?;
            }
            insert.run()?;
            rows += 1;
        }
        let replaced = columns.iter().map(ToString::to_string).zip(replaced);
        Ok(CopiedTable {
            name: table.name.clone(),
            rows,
            replaced: replaced.filter(|(_, count)| *count > 0).collect(),
        })
    }

    fn keeps(&self, table: &Table, column: &str) -> bool {
        let mut keep = self.keep.iter();
        keep.any(|(of, kept)| *of == table.name && kept == column)
    }

    /// Returns the replacement of a value, or `None` if the value stays.
    fn other(&self, value: &Value) -> Option<Value> {
        let other = match value {
            Value::Text(text) => Value::Text(self.disguise.text(text)),
            Value::Blob(bytes) => Value::Blob(self.disguise.blob(bytes)),
            _ => return None,
        };
        (other != *value).then_some(other)
    }
}
