//! Query plans of statements.

use engine::{Connection, Value};

/// The plan of a statement, a line for each node, indented by depth; empty where SQLite has none or refuses it.
pub(super) fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let rows = connection.query_all(&format!("EXPLAIN QUERY PLAN {sql}"));
    let mut depths: Vec<(i64, usize)> = vec![(0, 0)];
    let mut lines = Vec::new();
    for row in rows.unwrap_or_default() {
        let [
            Value::Integer(id),
            Value::Integer(parent),
            _,
            Value::Text(detail),
        ] = row.as_slice()
        else {
            continue;
        };
        let known = depths.iter().find(|(id, _)| id == parent);
        let depth = known.map_or(0, |(_, depth)| *depth);
        lines.push(format!("{}{detail}", "  ".repeat(depth)));
        depths.push((*id, depth + 1));
    }
    lines
}
