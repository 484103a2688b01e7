//! The ways of handing SQLite a set, each as an application would do it.

use engine::{Array, BlobArray, Connection, EngineError, Statement, Step, TextArray};

use super::data::{Answer, Keys, Set, as_str};
use super::parameters::{Method, Parameters, Type};
use crate::error::TrialError;

/// Everything prepared for querying.
pub(super) enum Query<'c, 'd> {
    Carray(Statement<'c, 'd>),
    TempTable(TempTable<'c, 'd>),
    InList(&'c Connection),
    JsonEach(Statement<'c, 'd>),
}

/// The statements around a temporary table, which is emptied and filled for each query.
pub(super) struct TempTable<'c, 'd> {
    begin: Statement<'c, 'static>,
    clear: Statement<'c, 'static>,
    insert: Statement<'c, 'd>,
    select: Statement<'c, 'static>,
    commit: Statement<'c, 'static>,
}

impl<'c, 'd> Query<'c, 'd> {
    pub(super) fn prepare(
        connection: &'c Connection,
        parameters: &Parameters,
    ) -> Result<Query<'c, 'd>, TrialError> {
        Ok(match parameters.method {
            Method::Carray => Query::Carray(connection.prepare(&select("carray(?1)"))?),
            Method::TempTable => Query::TempTable(TempTable::prepare(connection, parameters.kind)?),
            Method::InList => Query::InList(connection),
            Method::JsonEach => {
                Query::JsonEach(connection.prepare(&select("(SELECT value FROM json_each(?1))"))?)
            }
        })
    }

    /// Returns queries the rows whose key is in the set.
    pub(super) fn run(&mut self, set: &'d Set) -> Result<Answer, TrialError> {
        match self {
            Query::Carray(query) => query_carray(query, &set.keys),
            Query::TempTable(table) => table.run(&set.keys),
            Query::InList(connection) => query_list(connection, &set.keys),
            Query::JsonEach(query) => {
                let json = json(&set.keys)?;
                Ok(query.with_borrowed(|query| {
                    query.bind_text_borrowed(1, &json)?;
                    answer(query)
                })?)
            }
        }
    }
}

fn query_carray(query: &mut Statement<'_, '_>, keys: &Keys) -> Result<Answer, TrialError> {
    Ok(match keys {
        Keys::Integers(keys) => query.with_array(1, Array::I64(keys), |query| answer(query))?,
        Keys::Texts(keys) => {
            let texts: TextArray<'_> = keys.iter().map(|text| text.as_c_str()).collect();
            query.with_array(1, Array::Text(&texts), |query| answer(query))?
        }
        Keys::Blobs(keys) => {
            let blobs: BlobArray<'_> = keys.iter().map(|blob| &blob[..]).collect();
            query.with_array(1, Array::Blob(&blobs), |query| answer(query))?
        }
    })
}

/// Returns the length of the list stands in the SQL, so the statement is made for each query.
fn query_list(connection: &Connection, keys: &Keys) -> Result<Answer, TrialError> {
    let places = vec!["?"; keys.len()].join(",");
    let mut query = connection.prepare(&select(&format!("({places})")))?;
    for number in 0..keys.len() {
        keys.bind(&mut query, number as i32 + 1, number)?;
    }
    Ok(answer(&mut query)?)
}

fn json(keys: &Keys) -> Result<String, TrialError> {
    let text = match keys {
        Keys::Integers(keys) => serde_json::to_string(keys),
        Keys::Texts(keys) => serde_json::to_string(&keys.iter().map(as_str).collect::<Vec<_>>()),
        Keys::Blobs(_) => return Err(TrialError::cannot_run("JSON has no blobs")),
    };
    text.map_err(|error| TrialError::Measuring(format!("the set as JSON: {error}")))
}

impl<'c, 'd> TempTable<'c, 'd> {
    fn prepare(connection: &'c Connection, kind: Type) -> Result<TempTable<'c, 'd>, TrialError> {
        let without_rowid = match kind {
            Type::Integer => "",
            Type::Text | Type::Blob => "WITHOUT ROWID",
        };
        connection.execute(&format!(
            "CREATE TEMP TABLE wanted(key {} PRIMARY KEY) {without_rowid}",
            Keys::declaration(kind)
        ))?;
        Ok(TempTable {
            begin: connection.prepare("BEGIN")?,
            clear: connection.prepare("DELETE FROM wanted")?,
            insert: connection.prepare("INSERT INTO wanted VALUES (?)")?,
            select: connection.prepare(&select("wanted"))?,
            commit: connection.prepare("COMMIT")?,
        })
    }

    fn run(&mut self, keys: &'d Keys) -> Result<Answer, TrialError> {
        self.begin.run()?;
        self.clear.run()?;
        for number in 0..keys.len() {
            keys.bind(&mut self.insert, 1, number)?;
            self.insert.run()?;
        }
        let answer = answer(&mut self.select)?;
        self.commit.run()?;
        Ok(answer)
    }
}

fn select(set: &str) -> String {
    format!("SELECT count(*), ifnull(sum(payload), 0) FROM items WHERE key IN {set}")
}

/// Reads the one row of a query and resets it.
fn answer(query: &mut Statement<'_, '_>) -> Result<Answer, EngineError> {
    let found = match query.step()? {
        Step::Row => Answer { count: query.column_i64(0), sum: query.column_i64(1) },
        // An aggregate without GROUP BY always has a row; none would be a wrong answer.
        Step::Done => Answer { count: -1, sum: -1 },
    };
    query.reset()?;
    Ok(found)
}
