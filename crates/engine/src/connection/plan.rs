//! Query plans.

use super::Connection;
use crate::error::EngineError;
use crate::value::Value;

impl Connection {
    /// The plan of a statement as `EXPLAIN QUERY PLAN` shows it (<https://sqlite.org/eqp.html>): a line for each
    /// node, indented by its depth; nothing where SQLite has no plan for it, such as for `BEGIN`.
    ///
    /// # Errors
    /// SQLite's, such as for a table that does not exist.
    pub fn query_plan(&self, sql: &str) -> Result<Vec<String>, EngineError> {
        let mut depths: Vec<(i64, usize)> = vec![(0, 0)];
        let mut lines = Vec::new();
        for row in self.query_all(&format!("EXPLAIN QUERY PLAN {sql}"))? {
            let [Value::Integer(id), Value::Integer(parent), _, Value::Text(detail)] =
                row.as_slice()
            else {
                continue;
            };
            let known = depths.iter().find(|(id, _)| id == parent);
            let depth = known.map_or(0, |(_, depth)| *depth);
            lines.push(format!("{}{detail}", "  ".repeat(depth)));
            depths.push((*id, depth + 1));
        }
        Ok(lines)
    }
}
