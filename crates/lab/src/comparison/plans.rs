//! Query plans of two libraries, compared by their meaning.
//!
//! The wording of `EXPLAIN QUERY PLAN` is not an interface. SQLite 3.24 replaced the numbers of subqueries by a tree, and
//! 3.36 left the word TABLE out and says an alias instead of the table. Between two versions, nodes are therefore compared
//! in the words of 3.36 and without their depth; with one version they are compared as they are.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// A plan that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlanChange {
    /// The nodes of the base, indented by depth.
    pub base: Vec<String>,
    /// The nodes of the new side, indented by depth.
    pub new: Vec<String>,
    /// Tables that the new side reads whole (SCAN) more often than the base.
    pub scans: Vec<String>,
    /// Tables that the base reads whole more often than the new side.
    pub scans_no_more: Vec<String>,
    /// Whether the new side sorts more often (USE TEMP B-TREE).
    pub sorts_more: bool,
}

impl PlanChange {
    /// Returns the change between two plans, or `None` if they are the same.
    pub fn between(base: &[String], new: &[String], same_version: bool) -> Option<PlanChange> {
        if same_plan(base, new, same_version) {
            return None;
        }
        let (before, after) = (scans(base), scans(new));
        let sorts =
            |node: &[String]| node.iter().filter(|node| node.contains("TEMP B-TREE")).count();
        Some(PlanChange {
            base: base.to_vec(),
            new: new.to_vec(),
            scans: more(&after, &before),
            scans_no_more: more(&before, &after),
            sorts_more: sorts(new) > sorts(base),
        })
    }
}

/// Returns whether two plans are the same: word by word from one version of SQLite, otherwise by the meaning of their
/// nodes.
pub fn same_plan(one: &[String], other: &[String], same_version: bool) -> bool {
    if same_version { one == other } else { normalised(one) == normalised(other) }
}

/// Counts how often each table, or whatever else is named, is read whole.
fn scans(plan: &[String]) -> BTreeMap<String, usize> {
    let mut scans = BTreeMap::new();
    for node in normalised(plan) {
        let name = node.strip_prefix("SCAN ");
        // A VALUES clause and a computed subquery are not tables.
        let is_table = |name: &&str| !name.starts_with(['(', '#']) && *name != "CONSTANT ROW";
        if let Some(name) = name.and_then(|name| name.split(" USING ").next()).filter(is_table)
            && !node.contains(" VIRTUAL TABLE INDEX ")
        {
            *scans.entry(name.to_owned()).or_default() += 1;
        }
    }
    scans
}

fn more(these: &BTreeMap<String, usize>, those: &BTreeMap<String, usize>) -> Vec<String> {
    let more = these.iter().filter(|(name, count)| those.get(*name) < Some(count));
    let names: BTreeSet<&String> = more.map(|(name, _)| name).collect();
    names.into_iter().cloned().collect()
}

/// Returns the nodes of a plan in the words of SQLite 3.36 and later, without depth, with subqueries by alias or else
/// numbered in their order.
pub fn normalised(plan: &[String]) -> Vec<String> {
    let mut numbers = Numbers {
        aliases: plan.iter().filter_map(|node| alias(node)).collect(),
        known: BTreeMap::new(),
    };
    plan.iter().map(|node| numbers.renamed(&words(node))).collect()
}

/// Returns the number and the alias of a subquery if an earlier version names both.
fn alias(node: &str) -> Option<(String, String)> {
    let (_, rest) = node.split_once("SUBQUERY ")?;
    let (number, alias) = rest.split_once(" AS ")?;
    let alias = alias.split(' ').next()?;
    Some((number.to_owned(), alias.to_owned()))
}

/// Returns a node in the words of 3.36.
fn words(node: &str) -> String {
    let node = node.trim();
    // Versions before 3.8 estimate rows.
    let node = node.split_once(" (~").map_or(node, |(node, _)| node);
    let node = node.strip_prefix("EXECUTE ").unwrap_or(node);
    for action in ["SCAN ", "SEARCH "] {
        let rest = node.strip_prefix(action);
        let rest =
            rest.and_then(|rest| rest.strip_prefix("TABLE ").or(rest.strip_prefix("SUBQUERY ")));
        if let Some(rest) = rest {
            return format!("{action}{}", named_by_alias(rest));
        }
    }
    node.to_owned()
}

/// Returns `t AS a USING …` as `a USING …`.
fn named_by_alias(rest: &str) -> String {
    match rest.split_once(" AS ") {
        Some((table, alias)) if !table.contains(" USING ") => alias.to_owned(),
        _ => rest.to_owned(),
    }
}

/// Subqueries by their numbers, which depend on the version of SQLite.
struct Numbers {
    aliases: BTreeMap<String, String>,
    known: BTreeMap<String, usize>,
}

impl Numbers {
    /// Returns the node with its subquery numbered in the order in which the plan names them.
    fn renamed(&mut self, node: &str) -> String {
        for kind in ["SUBQUERY ", "MATERIALIZE ", "CO-ROUTINE ", "SCAN ", "SEARCH "] {
            let Some((before, number)) = node.split_once(kind) else { continue };
            let digits = |c: char| c.is_ascii_digit();
            let number = number.strip_prefix("(subquery-").unwrap_or(number);
            let end = number.find(|number| !digits(number)).unwrap_or(number.len());
            let (number, rest) = number.split_at(end);
            if number.is_empty() {
                continue;
            }
            if let Some(alias) = self.aliases.get(number) {
                return format!("{before}{kind}{alias}{rest}");
            }
            let next = self.known.len() + 1;
            let number = *self.known.entry(number.to_owned()).or_insert(next);
            return format!("{before}{kind}#{number}{}", rest.trim_start_matches(')'));
        }
        node.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(nodes: &[&str]) -> Vec<String> {
        nodes.iter().map(|node| (*node).to_owned()).collect()
    }

    fn change(base: &[&str], new: &[&str]) -> Option<PlanChange> {
        PlanChange::between(&plan(base), &plan(new), false)
    }

    #[test]
    fn wordings_of_one_plan_are_the_same_between_versions_and_not_within_one() {
        for (old, new) in [
            ("SCAN TABLE t", "SCAN t"),
            ("SCAN TABLE t AS a", "SCAN a"),
            ("SEARCH TABLE t AS a USING INDEX i (b=?)", "SEARCH a USING INDEX i (b=?)"),
            ("SCAN TABLE t USING COVERING INDEX i", "SCAN t USING COVERING INDEX i"),
            (
                "SEARCH TABLE t USING INTEGER PRIMARY KEY (rowid=?) (~1 rows)",
                "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)",
            ),
            ("EXECUTE CORRELATED SCALAR SUBQUERY 1", "  CORRELATED SCALAR SUBQUERY 2"),
            ("SCAN SUBQUERY 1 AS x", "SCAN x"),
            ("SCAN SUBQUERY 1", "SCAN (subquery-4)"),
            ("EXECUTE LIST SUBQUERY 1", "LIST SUBQUERY 1"),
            ("USE TEMP B-TREE FOR ORDER BY", "USE TEMP B-TREE FOR ORDER BY"),
        ] {
            assert_eq!(change(&[old], &[new]), None, "{old} / {new}");
            assert_eq!(same_plan(&plan(&[old]), &plan(&[new]), true), old == new);
        }
    }

    #[test]
    fn a_subquery_with_an_alias_has_it_in_every_node() {
        let old = ["CO-ROUTINE 1", "SCAN TABLE t", "SCAN SUBQUERY 1 AS g"];
        let new = ["CO-ROUTINE g", "  SCAN t", "SCAN g"];
        assert_eq!(change(&old, &new), None);
    }

    #[test]
    fn a_search_that_became_a_scan_is_named_with_its_table() {
        let change = change(
            &["SEARCH TABLE orders AS o USING INDEX by_user (user=?)"],
            &["SCAN o", "USE TEMP B-TREE FOR ORDER BY"],
        );
        let change = change.unwrap();
        assert_eq!(change.scans, ["o"]);
        assert!(change.scans_no_more.is_empty() && change.sorts_more);
    }

    #[test]
    fn a_scan_that_became_a_search_is_named_too() {
        let change = change(&["SCAN t"], &["SEARCH t USING INDEX i (a=?)"]).unwrap();
        assert_eq!((change.scans.len(), change.scans_no_more), (0, plan(&["t"])));
        assert!(!change.sorts_more);
    }

    #[test]
    fn another_index_is_another_plan_without_a_scan() {
        let change = change(&["SEARCH t USING INDEX i (a=?)"], &["SEARCH t USING INDEX j (a=?)"]);
        assert!(change.unwrap().scans.is_empty());
    }

    #[test]
    fn what_no_table_is_read_for_is_no_scan() {
        let change = change(
            &["SEARCH t USING INDEX i (a=?)"],
            &["SCAN CONSTANT ROW", "SCAN f VIRTUAL TABLE INDEX 0:M1", "SCAN 2 CONSTANT ROWS"],
        );
        assert!(change.unwrap().scans.is_empty());
    }
}
