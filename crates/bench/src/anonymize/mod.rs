//! A copy of the user's database that can be shared: with the same schema, numbers, dates and sizes, and other words.
//!
//! The copy is written row by row into a new file, so that nothing of what was replaced, or was deleted before, is left
//! in free pages, in a full-text index or in the samples of ANALYZE. It has the order of rows and the statistics of the
//! original; its pages are packed as after `VACUUM`.

mod disguise;
mod source;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use engine::{Connection, EngineError, Library, OpenFlags, Source, Step, Value};
use lab::experiment::nearest;

use self::disguise::Disguise;
use self::source::{Form, Original, OwnTable, Table};
use crate::error::{Result, TrialError};
use crate::examination::copied;
use script::effect::{literal, quoted};

/// Contents of an anonymized copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anonymized {
    /// The tables with rows, in the order of the schema.
    pub tables: Vec<CopiedTable>,
    /// Virtual tables without rows in the copy, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// Tables, indexes, views and triggers whose definition contains a text, which stays.
    pub with_texts: Vec<String>,
}

/// A table of the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedTable {
    /// Its name.
    pub name: String,
    /// Rows.
    pub rows: u64,
    /// Columns with texts or blobs that were replaced, each with their number.
    pub replaced: Vec<(String, u64)>,
}

/// Writes a copy of a database with other texts and blobs to `out`, which must not exist. Columns of `keep`, each as
/// `table.column`, keep theirs. `directory` is for a temporary copy and should be empty.
///
/// # Errors
/// The database cannot be read or is damaged; a column of `keep` does not exist; a replaced value is equal to another
/// one where that is forbidden; the disk is full.
pub fn anonymize(
    database: &Path,
    keep: &[String],
    directory: &Path,
    out: &Path,
) -> Result<Anonymized> {
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let copy = copied(&library, database, directory)?;
    let cannot = |doing: &'static str, path: &Path| {
        let path = path.display().to_string();
        move |error: EngineError| {
            TrialError::cannot_run(format!("cannot {doing} {path}: {}", error.message()))
        }
    };
    let connection = Connection::open(&library, &copy, OpenFlags::default(), None);
    let connection = connection.map_err(cannot("read", database))?;
    let original = Original::read(&connection).map_err(cannot("read", database))?;
    let keep = columns_to_keep(&original, keep)?;
    let new = Connection::open(&library, out, OpenFlags::default(), None);
    let new = new.map_err(cannot("write", out))?;
    let mut copier = Copier {
        original: &original,
        keep,
        disguise: Disguise::default(),
        new,
        done: Anonymized::default(),
        object: String::new(),
    };
    copier.copy().map_err(|error| copier.failed(&error, out))?;
    copier.new.close().map_err(cannot("write", out))?;
    Ok(copier.done)
}

/// Returns the columns to keep as pairs of table and column; each must exist.
fn columns_to_keep(original: &Original<'_>, keep: &[String]) -> Result<Vec<(String, String)>> {
    let all: Vec<(String, String)> = original.columns().collect();
    let is = |name: &str, (table, column): &(String, String)| {
        name.eq_ignore_ascii_case(&format!("{table}.{column}"))
    };
    let find = |name: &String| {
        all.iter().find(|known| is(name, known)).cloned().ok_or_else(|| {
            let names: Vec<String> = all.iter().map(|(t, c)| format!("{t}.{c}")).collect();
            let hint = nearest(name, names.iter().map(String::as_str));
            let hint = hint.map_or(String::new(), |near| format!("; did you mean {near}?"));
            TrialError::cannot_run(format!("there is no column {name} to keep{hint}"))
        })
    };
    keep.iter().map(find).collect()
}

/// Writes the copy.
struct Copier<'o> {
    original: &'o Original<'o>,
    keep: Vec<(String, String)>,
    disguise: Disguise,
    new: Connection,
    done: Anonymized,
    /// The object that was copied last, for the message of an error; empty where no object is meant.
    object: String,
}

impl Copier<'_> {
    fn failed(&self, error: &EngineError, out: &Path) -> TrialError {
        let why = error.message();
        let hint = if why.contains("constraint failed") {
            "; replaced values break this constraint, so keep the column with --keep TABLE.COLUMN"
        } else {
            ""
        };
        let object = match &*self.object {
            "" => String::new(),
            object => format!(" ({object})"),
        };
        TrialError::cannot_run(format!("cannot write {}{object}: {why}{hint}", out.display()))
    }

    fn copy(&mut self) -> Result<(), EngineError> {
        let original = self.original;
        self.new.execute(&original.file_settings)?;
        self.new.execute("BEGIN")?;
        for table in &original.tables {
            self.table(table)?;
        }
        for index in original.rebuilt() {
            let rebuild = format!("INSERT INTO {0}({0}) VALUES ('rebuild')", index.quoted());
            self.object.clone_from(&index.name);
            self.new.execute(&rebuild)?;
        }
        for (name, sql) in &original.others {
            self.object.clone_from(name);
            self.new.execute(sql)?;
        }
        self.object.clear();
        // The statistics of ANALYZE, which are numbers; its samples are values.
        for OwnTable { name, rows } in &self.original.own_tables {
            if *name == "sqlite_stat1" {
                self.new.execute("ANALYZE sqlite_schema")?;
            }
            self.new.execute(&format!("DELETE FROM {name}"))?;
            for row in rows {
                let values: Vec<String> = row.iter().map(as_literal).collect();
                let values = values.join(", ");
                self.new.execute(&format!("INSERT INTO {name} VALUES ({values})"))?;
            }
        }
        self.new.execute(&original.numbers)?;
        self.new.execute("COMMIT")?;
        self.new.execute(&original.journal)?;
        let definitions = original.definitions().filter(|(_, sql)| sql.contains('\''));
        self.done.with_texts = definitions.map(|(name, _)| name.to_owned()).collect();
        Ok(())
    }

    fn table(&mut self, table: &Table) -> Result<(), EngineError> {
        let name = &table.name;
        if let Form::Unknown(why) = &table.form {
            self.done.left_out.push((name.clone(), why.clone()));
            return Ok(());
        }
        self.object.clone_from(name);
        self.new.execute(&table.sql)?;
        match table.form {
            Form::Contentless => {
                let why = "a full-text index without content has no text to copy";
                self.done.left_out.push((name.clone(), why.to_owned()));
            }
            Form::Rebuilt | Form::Unknown(_) => {}
            Form::Rows { .. } => {
                let copied = self.rows(table)?;
                self.done.tables.push(copied);
            }
        }
        Ok(())
    }

    /// Copies the rows of a table.
    fn rows(&self, table: &Table) -> Result<CopiedTable, EngineError> {
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

fn as_literal(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => literal(text),
        _ => "NULL".to_owned(),
    }
}
