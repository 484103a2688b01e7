//! The statements of a recording, and the share of them that can be replayed as they were: the statements that SQLite can
//! prepare here, without the functions, collations and virtual tables that the application defines itself, and that use no table
//! whose content depends on others.
//!
//! Statements are prepared on the databases as they were when recording began. Statements whose tables did not exist then are
//! prepared on a database in memory with the tables of the whole recording.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use engine::{Connection, EngineError, StandIn, Value};
use script::effect::{attached, first_word, names, written};
use trace::Text;

use super::source::{Amount, LeftOut, Recording};
use crate::workload::prelude::*;

/// The share of a recording that can be replayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Coverage {
    /// Statements executed in the recording, except settings of the variant and errors of the moment.
    pub(super) all: Amount,
    /// Statements that can be replayed.
    pub(super) replayed: Amount,
    /// Missing objects, with the number of statements that need each.
    pub(super) missing: BTreeMap<String, u64>,
}

impl Coverage {
    /// Returns the share of statements that can be replayed, in percent.
    pub(super) fn percent(&self) -> f64 {
        share(self.replayed.calls as f64, self.all.calls as f64)
    }

    /// Returns the share of their time in the recording, in percent.
    pub(super) fn time_percent(&self) -> f64 {
        share(self.replayed.time_ns, self.all.time_ns)
    }

    /// Refuses a recording if a smaller share of it can be replayed.
    ///
    /// # Errors
    /// The missing objects.
    pub(super) fn check(&self, least: usize) -> Result<()> {
        let shares = [self.percent(), self.time_percent()];
        let smaller = shares[0].min(shares[1]);
        if smaller >= least as f64 {
            return Ok(());
        }
        // Rounded down: what is missing is not nothing.
        let [statements, time] = shares.map(|share| (share * 10.0).floor() / 10.0);
        let missing = causes_first(&self.missing).into_iter().map(|(what, calls)| match calls {
            1 => format!("{what} (1 statement)"),
            calls => format!("{what} ({calls} statements)"),
        });
        let missing: Vec<String> = missing.collect();
        Err(TrialError::cannot_run(format!(
            "{statements:.1} % of the statements and {time:.1} % of their time can be replayed, below min_coverage = {least}; missing: {}; --set min_coverage={} replays the rest{}",
            missing.join(", "),
            smaller.floor(),
            options_for(self.missing.keys())
                .map_or(String::new(), |options| format!("; {options}"))
        )))
    }
}

/// Returns missing objects before the content of tables that is missing because of them.
pub fn causes_first(missing: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut all: Vec<_> = missing.iter().map(|(what, calls)| (what.as_str(), *calls)).collect();
    all.sort_by_key(|(what, _)| what.starts_with("content of "));
    all
}

/// Returns whether a stand-in can do the work of a missing object.
pub(super) fn can_be_stood_in(what: &str) -> bool {
    what.starts_with("collation ") || what.starts_with("function ")
}

/// Returns a stand-in for each missing object that can have one.
pub(super) fn suggested<'a>(missing: impl Iterator<Item = &'a String>) -> BTreeSet<StandIn> {
    let one = |what: &String| {
        let by = if what.starts_with("collation ") { "nocase" } else { "?1" };
        let (_, name) = what.split_once(' ')?;
        // The application replaces a function of SQLite's.
        let is_known = name.ends_with(OTHER_ARGUMENTS);
        (can_be_stood_in(what) && !is_known)
            .then(|| StandIn { name: name.to_owned(), by: by.to_owned() })
    };
    missing.filter_map(one).collect()
}

/// Returns the options with stand-ins for missing objects, if any can have one.
pub fn options_for<'a>(missing: impl Iterator<Item = &'a String>) -> Option<String> {
    let all = suggested(missing);
    let option =
        |one: &StandIn| format!(" --stand-in '{}'", one.to_string().replace('\'', "'\\''"));
    let options: String = all.iter().map(option).collect();
    (!all.is_empty()).then(|| format!("stand-ins help, but answers may differ:{options}"))
}

/// Returns the stand-ins that do the work of one of these missing objects.
///
/// # Errors
/// A stand-in for a collation is an expression, or one for a function a collation.
pub(super) fn needed(
    stand_ins: &[StandIn],
    missing: &BTreeMap<String, u64>,
) -> Result<Vec<StandIn>> {
    let mut needed = Vec::new();
    for stand_in in stand_ins {
        let kinds = missing.keys().filter_map(|what| {
            let (kind, name) = what.split_once(' ')?;
            name.split(' ').next()?.eq_ignore_ascii_case(&stand_in.name).then_some(kind)
        });
        let kinds: Vec<&str> = kinds.collect();
        let own = if stand_in.is_collation() { "collation" } else { "function" };
        if kinds.contains(&own) {
            needed.push(stand_in.clone());
        } else if let Some(kind) =
            kinds.iter().find(|kind| ["collation", "function"].contains(kind))
        {
            let other = match *kind {
                "collation" => "binary, nocase or rtrim",
                _ => "an expression such as lower(?1)",
            };
            let StandIn { name, by } = stand_in;
            return Err(TrialError::Mistake(format!(
                "{name} is a {kind}, for which {other} can stand in, not {by}"
            )));
        }
    }
    Ok(needed)
}

fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { 100.0 * part / all } else { 100.0 }
}

/// Looks for missing objects, and leaves out the statements that need them.
///
/// # Errors
/// A database cannot be opened.
pub(super) fn examine(trial: &Trial<'_>, recording: &mut Recording) -> Result<Coverage> {
    let forms = forms(recording);
    let mut missing: HashMap<i64, String> = HashMap::new();
    let mut schema = Vec::new();
    let mut files: BTreeSet<Option<&Path>> = forms.values().map(|(file, _)| *file).collect();
    let modules = Modules::of(recording);
    while let Some(file) = files.pop_first() {
        let of_file = forms.iter().filter(|(_, (of, _))| *of == file);
        let texts: Vec<(i64, &Text)> = of_file.map(|(form, (_, text))| (*form, *text)).collect();
        let real = file.map(|file| sqlite::open(trial, file)).transpose()?;
        let databases = Databases::of(trial, real, recording, &mut schema)?;
        for (form, text) in texts {
            if let Some(what) = databases.lack(&text.sql, &modules) {
                missing.insert(form, what);
            }
        }
    }
    for text in recording.texts.values() {
        if let Some(what) = missing.get(&text.normalised) {
            recording.left_out.entry(text.id).or_insert(LeftOut::Missing(what.clone()));
        }
    }
    let depending = spread(recording, &schema, |_, id| recording.lacks(id));
    Ok(count(recording, &depending))
}

/// Returns one text of each normalised statement, with the database on which it is executed.
fn forms(recording: &Recording) -> HashMap<i64, (Option<&Path>, &Text)> {
    let mut forms = HashMap::new();
    for (statement, executions) in &recording.survey.statements {
        if let Some(text) = recording.texts.get(statement) {
            let file = recording.database_of(executions.connection);
            let file = file.map(|database| database.path.as_path());
            forms.entry(text.normalised).or_insert((file, text));
        }
    }
    forms
}

/// Databases on which statements are prepared.
struct Databases {
    /// The recorded one as it was.
    real: Option<Connection>,
    /// One in memory with the tables that existed and those that the application created.
    whole: Connection,
    /// The missing object that the schema of the recorded one needs.
    of_schema: Option<String>,
}

impl Databases {
    /// Adds the schema that existed to `schema`.
    fn of(
        trial: &Trial<'_>,
        real: Option<Connection>,
        recording: &Recording,
        schema: &mut Vec<String>,
    ) -> Result<Databases> {
        let whole = Connection::in_memory(&trial.library)?;
        let mut of_schema = None;
        if let Some(real) = &real {
            let sql = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid";
            for sql in real.query_all(sql)?.iter().flatten().map(Value::to_string) {
                let made = whole.execute(&sql);
                of_schema = of_schema.or(made.err().and_then(|error| missing(&error)));
                schema.push(sql);
            }
        }
        let mut texts: Vec<&Text> = recording.texts.values().collect();
        texts.sort_by_key(|text| text.id);
        for text in texts.iter().filter(|text| first_word(&text.sql) == "create") {
            // An object that cannot be created shows when statements that use it are prepared.
            let _ = whole.execute(&text.sql);
        }
        Ok(Databases { real, whole, of_schema })
    }

    /// Returns the missing object that a statement needs.
    fn lack(&self, sql: &str, modules: &Modules) -> Option<String> {
        let prepared = |connection: &Connection| connection.prepare(sql).map(drop);
        let makes_anew = |name: &String| ["vacuum", "rename", "drop"].contains(&name.as_str());
        match (first_word(sql).as_str(), self.real.as_ref().map(prepared)) {
            // These prepare the schema when they are executed.
            ("vacuum" | "alter", _) if names(sql).iter().any(makes_anew) => self.of_schema.clone(),
            ("create", _) => {
                let executed = self.whole.execute("BEGIN").and_then(|()| self.whole.execute(sql));
                self.whole.execute("ROLLBACK").and(executed).err().and_then(|error| missing(&error))
            }
            (_, Some(Ok(()))) => None,
            (_, Some(Err(error))) if missing(&error).is_some() => missing(&error),
            _ => {
                let error = prepared(&self.whole).err()?;
                missing(&error).or_else(|| modules.missing(&error))
            }
        }
    }
}

/// The names of tables that statements make, unless they may use further files.
struct Modules(Option<BTreeSet<String>>);

impl Modules {
    fn of(recording: &Recording) -> Modules {
        let texts = || recording.texts.values().map(|text| text.sql.as_str());
        let attaches = texts().any(|sql| attached(sql).is_some());
        let renamed = texts().filter(|sql| first_word(sql) == "alter").flat_map(names);
        Modules((!attaches).then(|| texts().flat_map(written).chain(renamed).collect()))
    }

    /// Returns the module of the application that SQLite takes for a table that does not exist.
    fn missing(&self, error: &EngineError) -> Option<String> {
        let name = error.as_sqlite()?.message().strip_prefix("no such table: ")?;
        let is_made = self.0.as_ref()?.contains(&name.to_ascii_lowercase());
        let is_own = name.contains('.') || name.starts_with("sqlite_");
        (!is_made && !is_own).then(|| format!("virtual table module {name}"))
    }
}

/// Returns the missing object that an error of SQLite names.
fn missing(error: &EngineError) -> Option<String> {
    missing_object(error.as_sqlite()?.message())
}

/// The words behind a function that SQLite has, with other arguments.
const OTHER_ARGUMENTS: &str = " with these arguments";

/// Returns the missing object that a message of SQLite names.
pub fn missing_object(message: &str) -> Option<String> {
    const WORDS: [(&str, &str); 6] = [
        ("no such function: ", "function"),
        ("unknown function: ", "function"),
        ("wrong number of arguments to function ", "function"),
        ("no such collation sequence: ", "collation"),
        ("no such module: ", "virtual table module"),
        ("no such tokenizer: ", "tokenizer"),
    ];
    WORDS.iter().find_map(|(words, kind)| {
        let name = message.split_once(words)?.1.trim_end_matches("()");
        let more = if words.starts_with("wrong") { OTHER_ARGUMENTS } else { "" };
        Some(format!("{kind} {name}{more}"))
    })
}

/// Counts calls. Those that use a table whose content depends on calls that are not replayed are executed, but may do something else
/// than in the recording.
fn count(recording: &Recording, depending: &BTreeSet<String>) -> Coverage {
    let mut coverage = Coverage::default();
    for (statement, executions) in &recording.survey.statements {
        let (replayed, mut missing) = executions.fates(recording.left_out.get(statement));
        let sql = recording.texts.get(statement).map_or("", |text| &text.sql);
        let made = if first_word(sql) == "create" { written(sql) } else { Vec::new() };
        let depends = |name: &String| depending.contains(name) && !made.contains(name);
        let table = names(sql).into_iter().find(depends);
        let content = table.map(|table| format!("content of table {table}"));
        match &content {
            Some(content) if replayed.calls > 0 => missing.push((content, replayed)),
            _ => {
                coverage.replayed.add(replayed);
                coverage.all.add(replayed);
            }
        }
        for (what, amount) in missing {
            *coverage.missing.entry(what.to_owned()).or_default() += amount.calls;
            coverage.all.add(amount);
        }
    }
    coverage
}

/// Returns the tables whose content depends on some statements: tables that such a statement, a default or a trigger writes, and
/// tables that are written from them. A text of the schema has no number in the recording, which is −1.
pub(super) fn spread(
    recording: &Recording,
    schema: &[String],
    is_first: impl Fn(&str, i64) -> bool,
) -> BTreeSet<String> {
    let texts = recording.texts.values().map(|text| (text.sql.as_str(), text.id));
    let all = texts.chain(schema.iter().map(|sql| (sql.as_str(), -1)));
    let mut writers: Vec<(bool, Vec<String>, Vec<String>)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (sql, id) in all {
        let tables = written(sql);
        let is_first = is_first(sql, id);
        if !tables.is_empty() && seen.insert((trace::normalised(sql), is_first)) {
            writers.push((is_first, tables, names(sql)));
        }
    }
    let mut tables: BTreeSet<String> = BTreeSet::new();
    loop {
        let before = tables.len();
        for (is_first, written, names) in &writers {
            if *is_first || names.iter().any(|name| tables.contains(name)) {
                tables.extend(written.iter().cloned());
            }
        }
        if tables.len() == before {
            return tables;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_what_is_missing_and_the_setting_that_allows_it() {
        let amount = |calls, time_ns| Amount { calls, time_ns };
        let (all, replayed) = (amount(2_210, 1_000.0), amount(2_209, 888.0));
        let missing = [("VACUUM INTO".to_owned(), 1)].into();
        let coverage = Coverage { all, replayed, missing };
        let words = coverage.check(95).unwrap_err().to_string();
        for part in [
            "99.9 % of the statements and 88.8 %",
            "VACUUM INTO (1 statement); --set min_coverage=88 ",
        ] {
            assert!(words.contains(part), "{words}");
        }
        assert!(coverage.check(88).is_ok());
    }
}
