//! Python: the standard library's `sqlite3`, Django and SQLAlchemy.

use super::chosen::Chosen;
use super::{FILE, seconds};

/// `sqlite3.connect` and a PRAGMA a line.
pub(super) fn sqlite3(chosen: &Chosen) -> Vec<String> {
    let mut arguments = vec![format!("\"{FILE}\"")];
    if let Some(ms) = chosen.busy_timeout_ms {
        arguments.push(format!("timeout={}", seconds(ms)));
    }
    if let Some(begin) = chosen.begin {
        arguments.push(format!("isolation_level=\"{}\"", begin.upper()));
    }
    let mut lines = vec![
        "import sqlite3".to_owned(),
        String::new(),
        format!("connection = sqlite3.connect({})", arguments.join(", ")),
    ];
    let pragmas = chosen.connection.iter();
    lines.extend(pragmas.map(|pragma| format!("connection.execute(\"{}\")", pragma.sql())));
    lines
}

/// An entry of `DATABASES` in `settings.py`.
pub(super) fn django(chosen: &Chosen) -> Vec<String> {
    let mut lines = vec![
        "# settings.py".to_owned(),
        "DATABASES = {".to_owned(),
        "    \"default\": {".to_owned(),
        "        \"ENGINE\": \"django.db.backends.sqlite3\",".to_owned(),
        format!("        \"NAME\": BASE_DIR / \"{FILE}\","),
        "        \"OPTIONS\": {".to_owned(),
    ];
    if let Some(ms) = chosen.busy_timeout_ms {
        lines.push(format!("            \"timeout\": {},", seconds(ms)));
    }
    if let Some(begin) = chosen.begin {
        let mode = begin.upper();
        lines.push(format!("            \"transaction_mode\": \"{mode}\","));
    }
    if chosen.has_connection_pragmas() {
        lines.push("            \"init_command\": (".to_owned());
        let pragmas = chosen.connection.iter();
        lines.extend(pragmas.map(|pragma| format!("                \"{};\"", pragma.sql())));
        lines.push("            ),".to_owned());
    }
    lines.extend(["        },", "    },", "}"].map(str::to_owned));
    lines
}

/// Listeners of the engine.
///
/// Where transactions begin in a mode of their own, the driver must not begin any itself
/// (<https://docs.sqlalchemy.org/en/20/dialects/sqlite.html>, "Serializable isolation").
pub(super) fn sqlalchemy(chosen: &Chosen) -> Vec<String> {
    let options = chosen.busy_timeout_ms.map_or_else(String::new, |ms| {
        format!(", connect_args={{\"timeout\": {}}}", seconds(ms))
    });
    let mut lines = vec![
        "from sqlalchemy import create_engine, event".to_owned(),
        String::new(),
        format!("engine = create_engine(\"sqlite:///{FILE}\"{options})"),
    ];
    if chosen.has_connection_pragmas() || chosen.begin.is_some() {
        lines.extend(
            [
                "",
                "@event.listens_for(engine, \"connect\")",
                "def set_up(connection, _record):",
            ]
            .map(str::to_owned),
        );
        // A PRAGMA that needs to be outside of a transaction must not find one begun.
        lines.push("    connection.isolation_level = None".to_owned());
        let pragmas = chosen.connection.iter();
        lines.extend(pragmas.map(|pragma| format!("    connection.execute(\"{}\")", pragma.sql())));
        if chosen.begin.is_none() {
            lines.push("    connection.isolation_level = \"\"".to_owned());
        }
    }
    if let Some(begin) = chosen.begin {
        lines.extend(
            [
                "",
                "@event.listens_for(engine, \"begin\")",
                "def begin(connection):",
            ]
            .map(str::to_owned),
        );
        let statement = format!("BEGIN {}", begin.upper());
        lines.push(format!("    connection.exec_driver_sql(\"{statement}\")"));
    }
    lines
}
