//! Why a setting did not take effect, as far as the connection knows.
//!
//! The rules are those of <https://sqlite.org/pragma.html>, and of SQLite's `pragma.c` where that is
//! silent.

use super::model::Pragma;
use crate::connection::Connection;
use crate::error::EngineError;

/// What decides whether settings can take effect.
struct Situation {
    journal_mode: String,
    page_count: i64,
    in_memory: bool,
    in_transaction: bool,
}

impl Situation {
    fn of(connection: &Connection) -> Result<Situation, EngineError> {
        let file = "SELECT coalesce(file, '') FROM pragma_database_list WHERE name = 'main'";
        Ok(Situation {
            journal_mode: connection.query_text("PRAGMA journal_mode")?,
            page_count: connection.query_i64("PRAGMA page_count")?,
            in_memory: connection.query_text(file)?.is_empty(),
            in_transaction: connection.in_transaction(),
        })
    }
}

/// The reason, in words.
pub(super) fn why(
    connection: &Connection,
    pragma: &Pragma,
    wanted: &str,
    got: &str,
) -> Result<String, EngineError> {
    let situation = Situation::of(connection)?;
    let reason = match pragma.name {
        "page_size" => page_size(&situation),
        "auto_vacuum" | "encoding" => creation(pragma.name, &situation),
        "journal_mode" => journal_mode(&situation, wanted),
        "locking_mode" => locking_mode(&situation),
        "mmap_size" => Some(mmap_size(got)),
        "max_page_count" => {
            Some(format!("the database already has {} pages", situation.page_count))
        }
        "threads" => Some(format!("the engine allows {got} (MAX_WORKER_THREADS)")),
        "hard_heap_limit" => Some("a limit can only be lowered while the process runs".to_owned()),
        "soft_heap_limit" => Some("the soft limit cannot exceed hard_heap_limit".to_owned()),
        _ => None,
    };
    let other = match situation.in_transaction {
        true => "a transaction is open",
        false => "SQLite ignored it without giving a reason",
    };
    Ok(reason.unwrap_or_else(|| other.to_owned()))
}

fn page_size(situation: &Situation) -> Option<String> {
    if situation.journal_mode == "wal" {
        return Some("the page size cannot change in WAL mode".to_owned());
    }
    (situation.page_count > 0).then(|| {
        format!(
            "the database already has {} pages; the page size must be set before the first write, \
             or VACUUM run after setting it",
            situation.page_count
        )
    })
}

fn creation(name: &str, situation: &Situation) -> Option<String> {
    (situation.page_count > 0).then(|| {
        let remedy = match name {
            "auto_vacuum" => ", or VACUUM run after setting it",
            _ => " and never changes afterwards",
        };
        format!("the database already exists; it must be set before the first write{remedy}")
    })
}

fn journal_mode(situation: &Situation, wanted: &str) -> Option<String> {
    if situation.in_memory {
        return Some(
            "a database in memory or in a temporary file has only the modes memory and off, or no \
             WAL"
            .to_owned(),
        );
    }
    if situation.in_transaction {
        return Some("the journal mode cannot change while a transaction is open".to_owned());
    }
    (wanted == "wal").then(|| {
        "WAL needs shared memory, which the VFS does not have (or locking_mode=EXCLUSIVE before), \
         and a database that can be written"
            .to_owned()
    })
}

fn locking_mode(situation: &Situation) -> Option<String> {
    if situation.in_memory {
        return Some(
            "a database in memory or in a temporary file is always locked exclusively".to_owned(),
        );
    }
    (situation.journal_mode == "wal").then(|| {
        "exclusive locking was set before WAL mode was entered; leave WAL mode first".to_owned()
    })
}

fn mmap_size(got: &str) -> String {
    match got {
        "0" => "the engine was compiled without memory mapping (MAX_MMAP_SIZE=0)".to_owned(),
        limit => format!("the engine's limit is {limit} bytes (MAX_MMAP_SIZE)"),
    }
}
