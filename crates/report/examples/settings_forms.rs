//! Writes settings in the form of every binding into a folder, for `tests/bindings/check.py`, which
//! applies them through the bindings: `cargo run -p pragmark-report --example settings_forms -- DIR`.

use std::fs;
use std::path::{Path, PathBuf};

use lab::level::{Level, Settings};
use pragmark_report::settings::{Binding, Chosen, once};

/// Sets of settings: usual ones, unusual ones that bindings have no keys for, and a single one.
const CASES: [(&str, &str); 3] = [
    (
        "usual",
        r#"{"journal_mode": "wal", "synchronous": "normal", "cache_size": -8000, "mmap_size": 1048576,
            "temp_store": "memory", "foreign_keys": true, "wal_autocheckpoint": 500,
            "busy_timeout": 4321, "transaction": "immediate", "page_size": 8192,
            "auto_vacuum": "incremental"}"#,
    ),
    (
        "unusual",
        r#"{"journal_mode": "persist", "synchronous": "extra", "secure_delete": "fast", "threads": 2,
            "cell_size_check": true, "locking_mode": "exclusive", "foreign_keys": false,
            "journal_size_limit": 65536, "open_mutex": "full", "transaction": "exclusive",
            "page_size": 1024}"#,
    ),
    ("single", r#"{"cache_size": 500}"#),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: settings_forms DIR")?;
    let folder = PathBuf::from(folder);
    for (name, settings) in CASES {
        let settings: Settings = serde_json::from_str(settings)?;
        write(&folder.join(name), &settings)?;
    }
    Ok(())
}

fn write(folder: &Path, settings: &Settings) -> Result<(), Box<dyn std::error::Error>> {
    fs::create_dir_all(folder)?;
    let chosen = Chosen::of(settings, |_| true)?;
    for binding in Binding::ALL {
        let path = folder.join(format!("{}.txt", binding.name()));
        fs::write(path, binding.text(&chosen))?;
    }
    fs::write(folder.join("once.sql"), once(&chosen).unwrap_or_default())?;
    // What must be read back; how transactions begin and connections are opened is no PRAGMA.
    let pragmas: serde_json::Map<String, serde_json::Value> = settings
        .iter()
        .filter(|(name, _)| !["transaction", "open_mutex"].contains(&name.as_str()))
        .map(|(name, level)| (name.clone(), value(level)))
        .collect();
    fs::write(folder.join("expected.json"), serde_json::to_string_pretty(&pragmas)?)?;
    Ok(())
}

fn value(level: &Level) -> serde_json::Value {
    serde_json::to_value(level).expect("a level is a plain value")
}
