//! Comparison of the databases with the end of the recording.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::{Connection, Library, OpenFlags, Source, Value};
use script::effect::{depends_on_chance, first_word, makes_virtual, written};
use trace::content::{self, Content, SCHEMA, SEQUENCE, Table, is_statistics};

use super::coverage::spread;
use super::outcome::rows;
use super::source::{Database, Recording};
use crate::error::Result;

/// Why a table that `random()` or the present time has written is not compared.
pub(super) const BY_CHANCE: &str = "its content depends on chance or on the present time";

/// The tables at the end of a replay, compared with the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EndState {
    /// Tables that are equal.
    pub(super) equal: Vec<String>,
    /// Tables that differ, with the difference.
    pub(super) differing: Vec<(String, String)>,
    /// Tables of SQLite's own that differ, with the difference: no reason to refuse a replay.
    pub(super) apart: Vec<(String, String)>,
    /// Tables that were not compared, with the reason.
    pub(super) left_out: Vec<(String, String)>,
    /// Databases whose end is not known, with the reason.
    pub(super) unknown: Vec<(String, String)>,
}

impl EndState {
    /// Describes the end in words.
    pub(super) fn words(&self) -> String {
        let tables = |count: usize| match count {
            1 => "1 table".to_owned(),
            count => format!("{count} tables"),
        };
        let mut words = Vec::new();
        if let Some((name, how)) = self.differing.first() {
            let count = self.differing.len();
            let verb = if count == 1 { "differs" } else { "differ" };
            words.push(format!("{} {verb}, first {name}: {how}", tables(count)));
        }
        if !self.equal.is_empty() {
            words.push(format!("{} equal", tables(self.equal.len())));
        }
        if !self.apart.is_empty() {
            let verb = if self.apart.len() == 1 { "differs" } else { "differ" };
            let own = tables(self.apart.len());
            words.push(format!("{own} of SQLite's own {verb}, which refuses no replay"));
        }
        if !self.left_out.is_empty() {
            words.push(format!("{} not compared", tables(self.left_out.len())));
        }
        if let Some((database, why)) = self.unknown.first() {
            words.push(format!("not known of {database}: {why}"));
        }
        words.join("; ")
    }
}

/// Compares every database whose end the recording knows. Schemas are compared only if the variant has not `changed` them.
///
/// # Errors
/// A database of the replay cannot be read.
pub(super) fn compare(
    recording: &Recording,
    cut: u64,
    version: &str,
    changed: bool,
) -> Result<EndState> {
    // The built-in engine compares, and not the trial's.
    let library = Arc::new(Library::load(&Source::Embedded)?);
    let mut ends = EndState::default();
    for database in &recording.databases {
        match recorded(recording, cut, database) {
            Ok(wanted) => {
                let connection =
                    Connection::open(&library, &database.path, OpenFlags::default(), None)?;
                let mut comparison = Comparison::of(&connection, recording, version)?;
                if changed {
                    comparison.reasons.insert(SCHEMA.to_owned(), "the variant changes the schema");
                }
                let before = ends.differing.len();
                comparison.compare(wanted, &content::tables(&connection)?, &mut ends);
                connection.close()?;
                if ends.differing.len() > before && !recording.may_write(database) {
                    ends.differing.truncate(before);
                    let why = "no recorded statement wrote to it, but a backup or another program";
                    ends.unknown.push((database.recorded.clone(), why.to_owned()));
                }
            }
            Err(why) => ends.unknown.push((database.recorded.clone(), why)),
        }
    }
    Ok(ends)
}

/// Returns the tables of a database at the end of the recording, or the reason why they are not known.
fn recorded<'r>(
    recording: &'r Recording,
    cut: u64,
    database: &Database,
) -> Result<&'r [Table], String> {
    if cut > 0 {
        return Err(format!(
            "a commit is missing in the recording, so its last {cut} statements were not replayed"
        ));
    }
    if recording.is_incomplete() {
        return Err("statements are missing in the recording".to_owned());
    }
    if recording.survey.has_open_commit {
        return Err(
            "a process was killed while it committed, so the commit may be in the database or not"
                .to_owned(),
        );
    }
    match recording.ends.iter().find(|end| end.database == database.recorded) {
        Some(end) => end.tables.as_deref().map_err(Clone::clone),
        None => Err("it was not read when recording ended".to_owned()),
    }
}

/// The comparison of the tables of a database.
struct Comparison {
    /// Reasons why tables are not compared.
    reasons: BTreeMap<String, &'static str>,
    /// Virtual tables, whose internal tables another version may write differently.
    virtual_tables: Vec<String>,
    same_version: bool,
}

impl Comparison {
    fn of(connection: &Connection, recording: &Recording, version: &str) -> Result<Comparison> {
        let schema = connection.query_all("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
        let schema: Vec<String> = schema.iter().flatten().map(Value::to_string).collect();
        let virtual_tables = schema.iter().filter(|sql| makes_virtual(sql));
        let mut reasons = not_replayed(recording, &schema);
        let by_chance = |sql: &str, id| recording.binds_now(id) || depends_on_chance(sql);
        for table in spread(recording, &schema, by_chance) {
            reasons.insert(table, BY_CHANCE);
        }
        Ok(Comparison {
            virtual_tables: virtual_tables.flat_map(|sql| written(sql)).collect(),
            same_version: recording.is_of_version(version),
            reasons,
        })
    }

    /// Returns why a table is not compared.
    fn reason(&self, name: &str) -> Option<&'static str> {
        let name = name.to_ascii_lowercase();
        self.reasons.get(self.owner(&name).unwrap_or(&name)).copied()
    }

    /// Returns the virtual table to which an internal table belongs.
    fn owner(&self, name: &str) -> Option<&String> {
        let owns = |table: &&String| {
            let rest = name.strip_prefix(table.as_str());
            rest.is_some_and(|rest| rest.starts_with('_'))
        };
        self.virtual_tables.iter().find(owns)
    }

    fn compare(&self, wanted: &[Table], found: &[Table], ends: &mut EndState) {
        let all: BTreeSet<&str> =
            wanted.iter().chain(found).map(|table| table.name.as_str()).collect();
        let of = |tables: &[Table], name: &str| {
            let table = tables.iter().find(|table| table.name == name);
            table.map(|table| table.content.clone())
        };
        for name in all {
            let owned = || name.to_owned();
            match (self.reason(name), of(wanted, name), of(found, name)) {
                (Some(why), ..) => ends.left_out.push((owned(), why.to_owned())),
                (_, Some(Err(why)), _) | (_, _, Some(Err(why))) => {
                    ends.left_out.push((owned(), why));
                }
                (_, Some(Ok(one)), Some(Ok(other))) if one == other => ends.equal.push(owned()),
                _ if !self.same_version && self.owner(&name.to_ascii_lowercase()).is_some() => {
                    let why = "an internal table of a virtual table, written by another version of SQLite";
                    ends.left_out.push((owned(), why.to_owned()));
                }
                (_, one, other) => {
                    let how = difference(one.and_then(Result::ok), other.and_then(Result::ok));
                    let list =
                        if is_statistics(name) { &mut ends.apart } else { &mut ends.differing };
                    list.push((owned(), how));
                }
            }
        }
    }
}

fn difference(wanted: Option<Content>, found: Option<Content>) -> String {
    match (wanted, found) {
        (Some(wanted), Some(found)) if wanted.rows == found.rows => {
            format!("the same {} with other content", rows(found.rows))
        }
        (Some(wanted), Some(found)) => {
            format!("{} instead of {}", rows(found.rows), wanted.rows)
        }
        (Some(_), None) => "it is missing".to_owned(),
        _ => "it is not in the recording".to_owned(),
    }
}

/// Returns the tables whose content depends on statements that were not replayed.
fn not_replayed(recording: &Recording, schema: &[String]) -> BTreeMap<String, &'static str> {
    let is_lacking = |id| recording.lacks(id);
    let mut tables = spread(recording, schema, |_, id| is_lacking(id));
    if !tables.is_empty() {
        tables.insert(SEQUENCE.to_owned());
    }
    let mut lacking = recording.texts.values().filter(|text| is_lacking(text.id));
    if lacking.any(|text| ["create", "drop", "alter"].contains(&first_word(&text.sql).as_str())) {
        tables.insert(SCHEMA.to_owned());
    }
    let why = "statements that write it could not be replayed";
    tables.into_iter().map(|table| (table, why)).collect()
}
