//! What plans say of recorded programs: advice is true for every recorded value, and for the schema of its time.

use crate::workspace::Workspace;
use pragmark_trace::Trace;
use pragmark_trace::plans::Plans;
use recorder::Options;

/// The plans of a recorded script; nothing where there is no Python with `sqlite3`.
fn plans(script: &str) -> Option<Plans> {
    let workspace = Workspace::new();
    let script = format!(
        "import sqlite3\ndef open(name): return sqlite3.connect(name, isolation_level=None)\n{script}"
    );
    workspace.sealed(&script, &Options::default())?;
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    Some(Plans::of(&trace, &workspace.analysis()).unwrap())
}

const INDEXES: &str = r#"
c = open("a.db")
c.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, status, name TEXT COLLATE NOCASE, other)")
c.execute("CREATE INDEX partial ON t(id) WHERE status = 'open'")
c.execute("CREATE INDEX pattern ON t(name)")
c.execute("CREATE INDEX unused ON t(other)")
c.execute("CREATE TABLE away(a)")
c.execute("CREATE INDEX of_away ON away(a)")
c.execute("SELECT id FROM t WHERE status = ?", ("open",)).fetchall()
c.execute("SELECT id FROM t WHERE name LIKE ?", ("x%",)).fetchall()
"#;

#[test]
fn an_index_whose_use_depends_on_values_is_not_called_unused() {
    let Some(plans) = plans(INDEXES) else { return };
    let names: Vec<&str> = plans.unused.iter().map(|it| it.index.as_str()).collect();
    assert_eq!(names, ["unused"]);
}

const MIGRATION: &str = r#"
a = open("a.db")
a.execute("SELECT 1").fetchall()
b = open("a.db")
b.execute("CREATE TABLE new(x)")
a.execute("SELECT x FROM new").fetchall()
b.execute("ALTER TABLE new RENAME COLUMN x TO y")
a.execute("SELECT y FROM new").fetchall()
"#;

#[test]
fn statements_are_planned_with_the_schema_of_their_time_whichever_connection_changed_it() {
    let Some(plans) = plans(MIGRATION) else {
        return;
    };
    assert!(plans.unknown.is_empty(), "{:?}", plans.unknown);
    assert!(plans.plans.contains_key("SELECT x FROM new"));
    assert!(plans.plans.contains_key("SELECT y FROM new"));
}

const SORTS: &str = r#"
c = open("a.db")
c.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, day)")
c.execute("CREATE TABLE items(id, of_order)")
c.execute("INSERT INTO orders VALUES (1, 2)")
c.execute("INSERT INTO items VALUES (1, 1), (2, 1)")
for _ in range(30):
    c.execute("SELECT i.id FROM orders o JOIN items i ON i.of_order = o.id ORDER BY o.day, i.id").fetchall()
    c.execute("SELECT id FROM orders ORDER BY day DESC").fetchall()
"#;

#[test]
fn an_index_is_advised_for_an_order_that_it_has_in_full_only() {
    let Some(plans) = plans(SORTS) else { return };
    let sorting: Vec<&str> = plans.sorting.keys().map(String::as_str).collect();
    assert_eq!(sorting, ["SELECT id FROM orders ORDER BY day DESC"]);
}

#[test]
fn current_settings_are_those_of_most_connections_to_files() {
    let workspace = Workspace::new();
    let script = "import sqlite3\nname = 'file:x?mode=memory&cache=shared'\n\
                  open = [sqlite3.connect(name, uri=True) for _ in range(3)] + [sqlite3.connect(':memory:')]\n\
                  for c in open: c.execute('PRAGMA cache_size = -77')\n\
                  for size in (-9, -88): c = sqlite3.connect('a.db'); c.execute(f'PRAGMA cache_size = {size}'); c.close()\n\
                  for c in open: c.close()\n";
    if workspace.sealed(script, &Options::default()).is_none() {
        return;
    }
    let trace = Trace::open(&workspace.library, &workspace.trace()).unwrap();
    let current = trace.most_common_settings_of_files().unwrap();
    let sizes = current.iter().filter(|it| it.name == "cache_size");
    let sizes: Vec<(&str, i64)> = sizes.map(|it| (it.value.as_str(), it.connections)).collect();
    assert_eq!(sizes, [("-88", 1)]);
}
