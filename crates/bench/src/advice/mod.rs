//! Changes of the application, apart from settings, that `pragmark tune` measures and a workload can carry out by itself.

mod idle;
mod tables;

use std::collections::BTreeSet;

use engine::{Connection, EngineError};
use lab::level::Level;
use lab::tuning_plan::Advice;
use script::effect;

pub use self::idle::{idle_settings, idle_settings_of_pgbench, schema_advice};

use crate::levers::Ground;
use crate::workload::sql::commits_by_itself;

/// Executions that share a transaction.
const GROUPS: [i64; 2] = [10, 100];

/// Connections that work at the same time.
const CLIENTS: i64 = 4;

/// Returns the changes, at most as many as one block compares.
pub fn advice(ground: &Ground<'_>) -> Vec<Advice> {
    let is_script = ground.workload == "sql";
    let is_script_or_trace = is_script || ground.workload == "replay";
    let all = [
        (is_script && commits_by_itself(ground.base)).then(groups),
        is_script.then(|| clients(ground)),
        (is_script_or_trace && ground.database_bytes.is_some()).then(vacuum),
    ];
    all.into_iter().flatten().flatten().collect()
}

/// Returns whether a statement is planned as an application executes it. Some PRAGMAs take effect when they are prepared
/// and would change the connection that looks at plans.
fn has_plan(sql: &str) -> bool {
    !["pragma", "explain"].contains(&effect::first_word(sql).as_str())
}

/// Returns the rows of a query with two columns.
fn texts(connection: &Connection, sql: &str) -> Result<Vec<[String; 2]>, EngineError> {
    connection.query_rows(sql, |row| Ok([0, 1].map(|column| row.column_value(column).to_string())))
}

fn words(sql: &str) -> BTreeSet<String> {
    sql.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase).collect()
}

fn groups() -> Vec<Advice> {
    let group = |executions: i64| {
        let change =
            format!("{executions} executions in one transaction, which a crash takes together");
        advice_of(change, "group", executions.into())
    };
    GROUPS.map(group).into()
}

/// Returns more connections if the user names none, and a single one if there are several.
fn clients(ground: &Ground<'_>) -> Vec<Advice> {
    let (change, clients) = match ground.base.get("clients").and_then(Level::as_int) {
        None => (format!("{CLIENTS} connections at the same time"), CLIENTS),
        Some(2..) => ("one connection for all, as behind a queue of one writer".to_owned(), 1),
        Some(_) => return Vec::new(),
    };
    vec![advice_of(change, "clients", clients.into())]
}

fn vacuum() -> Vec<Advice> {
    vec![Advice {
        sql: Some("VACUUM;".to_owned()),
        ..advice_of("VACUUM once".to_owned(), "vacuum", true.into())
    }]
}

fn advice_of(change: String, name: &str, level: Level) -> Advice {
    Advice { change, sql: None, counted: None, settings: [(name.to_owned(), level)].into() }
}

#[cfg(test)]
mod tests {
    use lab::level::Settings;

    use super::*;

    fn changes(workload: &str, base: &[(&str, Level)], bytes: Option<u64>) -> Vec<String> {
        let pairs = base.iter().map(|(name, level)| ((*name).to_owned(), level.clone()));
        let base: Settings = pairs.collect();
        let ground = Ground { workload, base: &base, database_bytes: bytes, requested: &[] };
        let all = advice(&ground).into_iter();
        all.flat_map(|it| it.settings.into_keys()).collect()
    }

    #[test]
    fn changes_are_those_that_the_workload_can_carry_out() {
        let update = |sql: &'static str| [("sql", Level::from(sql))];
        let autocommit = update("UPDATE t SET a = a + 1");
        assert_eq!(changes("sql", &autocommit, Some(1)), ["group", "group", "clients", "vacuum"]);
        for sql in ["BEGIN; UPDATE t SET a = 1; COMMIT", "SELECT 1"] {
            let changes = changes("sql", &update(sql), None);
            assert_eq!(changes, ["clients"], "{sql}");
        }
        let given = |clients: i64| [("sql", "SELECT 1".into()), ("clients", clients.into())];
        assert!(changes("sql", &given(1), None).is_empty());
        assert_eq!(changes("sql", &given(2), None), ["clients"]);
        assert_eq!(changes("replay", &[], Some(1)), ["vacuum"]);
        assert!(changes("user-insert", &[], None).is_empty());
    }

    #[test]
    fn every_change_is_one_that_the_workload_accepts() {
        let catalogue = crate::catalogue();
        let base: Settings = [("sql".to_owned(), "DELETE FROM t".into())].into();
        let ground =
            Ground { workload: "sql", base: &base, database_bytes: Some(1), requested: &[] };
        let sql = catalogue.workload("sql").unwrap();
        for (name, level) in advice(&ground).iter().flat_map(|it| &it.settings) {
            let setting = catalogue.settings_of(sql).find(|it| it.name == *name);
            assert!(setting.unwrap().accepts.allows(level), "{name}={level}");
        }
    }
}
