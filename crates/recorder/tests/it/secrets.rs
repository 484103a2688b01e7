//! Real programs with something to hide: what must not be in their recordings is not there.

use crate::workspace::Workspace;
use pragmark_recorder::{Options, Values};

#[test]
fn redacted_values_keep_their_length_equality_and_order() {
    let workspace = Workspace::new(&Options { values: Values::Hashed, ..Options::default() });
    let script = "import sqlite3\nc = sqlite3.connect('a.db')\n\
                  for x in ('secret', 'secret', 'public', 'secure'): c.execute('SELECT ?', (x,))\n\
                  c.execute(\"SELECT 'literal', x'00', 42 -- comment\")\n";
    let Some(it) = workspace.python(script) else {
        return;
    };
    let values = it.values_of("SELECT ?");
    assert_eq!(values[0], values[1]);
    assert_ne!(values[0], values[2]);
    let order = |value: &str| -> Vec<u8> {
        assert!(value.starts_with("HashedText(") && value.contains("length: 6"), "{value}");
        let number = value.split("order: ").nth(1).unwrap();
        let bytes = number.split(['[', ']']).nth(1).unwrap().split(", ");
        bytes.map(|it| it.parse().unwrap()).collect()
    };
    let orders: Vec<Vec<u8>> = values.iter().map(|it| order(it)).collect();
    assert!(orders[2] < orders[1] && orders[1] < orders[3], "{orders:?}");
    assert_eq!(orders[0], orders[1]);
    // The arguments of the process, which have the script, are left out, too.
    for word in ["secret", "public", "literal"] {
        assert!(!workspace.raw_contains(word), "{word}");
    }
    assert!(it.statements[4].sql.contains("42"));
}

#[test]
fn values_of_a_connection_with_a_key_are_omitted() {
    let workspace = Workspace::new(&Options::default());
    let script = "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute(\"PRAGMA key = 'hunter2'\")\n\
                  c.execute(\"SELECT ?, 'hunter3', 77\", ('hunter4',))\n";
    let Some(it) = workspace.python(script) else {
        return;
    };
    assert_eq!(it.statements[0].sql, "PRAGMA key = ?");
    assert_eq!(it.statements[1].sql, "SELECT ?, ?, ?");
    assert_eq!(it.values_of("SELECT ?, ?, ?"), ["Omitted"]);
    assert_eq!(it.notes, [3]);
}

#[test]
fn keys_are_left_out_however_they_are_written() {
    for statement in [
        r#"PRAGMA key = "hunter2""#,
        r#"PRAGMA key = "x'68756e74657232'""#,
        "PRAGMA main.key = hunter2",
        "PRAGMA rekey('hunter2')",
        "pragma/**/hexkey=hunter2",
        "PRAGMA /* ' = */ key = hunter2",
        "ATTACH 'b.db' AS b KEY 'hunter2'",
        "ATTACH 'b.db' AS b KEY \"my key hunter2\"",
        "ATTACH 'monkey.db' AS b KEY 'hunter2'",
        "ATTACH 'b.db' AS keystore KEY 'hunter2'",
        "ATTACH 'b.db' AS [it's] KEY 'hunter2'",
        "ATTACH 'file:b.db?key=hunter2' AS b",
        "/* web */;; PRAGMA key = 'hunter2'",
        "PRAGMA 'main'.[key] = 'hunter2'",
    ] {
        let workspace = Workspace::new(&Options::default());
        let script = format!(
            "import sqlite3\nc = sqlite3.connect('a.db')\ntry: c.execute({statement:?})\n\
             except sqlite3.Error: pass\ntry: c.execute('SELECT \"hunter3\", 7')\nexcept sqlite3.Error: pass\n"
        );
        let Some(it) = workspace.python(&script) else {
            return;
        };
        let texts: Vec<&str> = it.statements.iter().map(|it| it.sql.as_str()).collect();
        assert!(!texts.concat().contains("hunter"), "{texts:?}");
        assert!(!texts.concat().contains("68756e"), "{texts:?}");
    }
}

#[test]
fn texts_in_double_quotes_are_hashed_unless_they_are_a_word() {
    let workspace = Workspace::new(&Options { values: Values::Hashed, ..Options::default() });
    let script = "import sqlite3\nc = sqlite3.connect('a.db')\n\
                  c.execute('SELECT \"me@example.com\" AS \"name\"')\n";
    let Some(it) = workspace.python(script) else {
        return;
    };
    let sql = &it.statements[0].sql;
    assert!(!sql.contains("example"), "{sql}");
    assert!(sql.contains("AS \"name\""), "{sql}");
}

#[test]
fn texts_behind_a_name_in_brackets_are_hashed() {
    let workspace = Workspace::new(&Options { values: Values::Hashed, ..Options::default() });
    let script = "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute(\"CREATE TABLE t([it's])\")\n\
                  c.execute(\"SELECT [it's], 'secret' FROM t\")\n";
    let Some(it) = workspace.python(script) else {
        return;
    };
    assert!(it.statements[1].sql.starts_with("SELECT [it's], '#"));
    assert!(!workspace.raw_contains("secret"));
}

#[test]
fn a_text_is_hidden_on_the_connection_with_the_key_only() {
    let workspace = Workspace::new(&Options::default());
    let script = "import sqlite3\nsecret, plain = sqlite3.connect('a.db'), sqlite3.connect('b.db')\n\
                  secret.execute('PRAGMA key = 1')\n\
                  for c in (secret, plain, secret): c.execute(\"SELECT 'value'\").fetchall()\n";
    let Some(it) = workspace.python(script) else {
        return;
    };
    assert_eq!(it.rows_of("SELECT 'value'"), 1);
    assert_eq!(it.rows_of("SELECT ?"), 2);
}
