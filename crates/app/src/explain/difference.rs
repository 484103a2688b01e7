//! The difference between two plans of one statement, in words.

use lab::comparison::normalised;

use crate::words::grouped;

/// The words for plans of one meaning.
const SAME_PLAN: &str = "the plan is the same";

/// Returns the pairs of nodes that belong together, by their places; a node without a counterpart stands alone. Both plans
/// keep their order, and as many nodes as possible that read the same table are paired.
pub(super) fn pairs(one: &[String], other: &[String]) -> Vec<(Option<usize>, Option<usize>)> {
    let [keys, others] = [one, other].map(|plan| plan.iter().map(|node| key(node)).collect());
    let (keys, others): (Vec<&str>, Vec<&str>) = (keys, others);
    // The most pairs from each two places to the ends.
    let mut most = vec![vec![0; others.len() + 1]; keys.len() + 1];
    for (a, key) in keys.iter().enumerate().rev() {
        for (b, other) in others.iter().enumerate().rev() {
            let both = most[a + 1][b + 1] + 1;
            let without = most[a + 1][b].max(most[a][b + 1]);
            most[a][b] = if key == other { both } else { without };
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, Vec::new());
    while a < keys.len() || b < others.len() {
        let (has_one, has_other) = (a < keys.len(), b < others.len());
        let is_pair = has_one && has_other && keys[a] == others[b];
        let takes_one = is_pair || !has_other || (has_one && most[a + 1][b] >= most[a][b + 1]);
        let takes_other = is_pair || !takes_one;
        pairs.push((takes_one.then_some(a), takes_other.then_some(b)));
        (a, b) = (a + usize::from(takes_one), b + usize::from(takes_other));
    }
    pairs
}

/// Returns the table that a node reads, or all of the node.
fn key(node: &str) -> &str {
    read(node).map_or(node, |(table, _)| table)
}

/// Returns the table that a node reads, and how.
fn read(node: &str) -> Option<(&str, &str)> {
    let rest = node.strip_prefix("SCAN ").or(node.strip_prefix("SEARCH "))?;
    Some((rest.split(' ').next().unwrap_or(rest), node))
}

/// Returns how the second of two plans differs from the first, as parts of a sentence; none if they mean the same.
pub(super) fn changes(one: &[String], other: &[String]) -> Vec<String> {
    let [one, other] = [one, other].map(normalised);
    if one == other {
        return Vec::new();
    }
    let [reads, others] =
        [&one, &other].map(|plan| plan.iter().filter_map(|node| read(node)).collect::<Vec<_>>());
    let mut changes = Vec::new();
    for (table, before) in &reads {
        let mut same = others.iter().filter(|(other, _)| other == table);
        // A table that is read several times has no single counterpart.
        let is_once = reads.iter().filter(|(other, _)| other == table).count() == 1;
        if let (Some((_, after)), None, true) = (same.next(), same.next(), is_once)
            && before != after
        {
            let (was, is) = (access(before), access(after));
            changes.push(if was == is {
                format!("`{table}` is {is} on other terms")
            } else {
                format!("`{table}` is {is} instead of {was}")
            });
        }
    }
    let tables = |reads: &[(&str, &str)]| -> Vec<String> {
        reads.iter().map(|(table, _)| format!("`{table}`")).collect()
    };
    let (before, after) = (tables(&reads), tables(&others));
    let sorted = |tables: &[String]| {
        let mut tables = tables.to_vec();
        tables.sort();
        tables
    };
    if before != after && sorted(&before) == sorted(&after) {
        changes.push(format!("the tables are read in the order {}", after.join(", ")));
    }
    for clause in ["ORDER BY", "GROUP BY", "DISTINCT"] {
        let sorts = |plan: &[String]| {
            plan.iter().any(|node| node.contains("TEMP B-TREE") && node.ends_with(clause))
        };
        match (sorts(&one), sorts(&other)) {
            (true, false) => changes.push(format!("{clause} needs no sort any more")),
            (false, true) => changes.push(format!("{clause} needs a sort")),
            _ => {}
        }
    }
    if changes.is_empty() {
        changes.push("the plan has other parts".to_owned());
    }
    changes
}

/// Returns how a node reads its table.
pub(super) fn access(node: &str) -> String {
    let verb = if node.starts_with("SEARCH ") { "searched" } else { "scanned" };
    let index = node.split_once(" INDEX ").map(|(_, rest)| rest);
    match index.map(|rest| rest.split(" (").next().unwrap_or(rest)) {
        _ if node.contains(" AUTOMATIC ") => format!("{verb} by an automatic index"),
        _ if node.contains(" VIRTUAL TABLE ") => format!("{verb} by its module"),
        Some(index) => format!("{verb} by `{index}`"),
        None if node.contains(" PRIMARY KEY") => format!("{verb} by its key"),
        None => verb.to_owned(),
    }
}

/// Returns the difference in one sentence: the changes of the plan and the steps of both sides, if both were executed to
/// their ends.
pub(super) fn sentence(changes: &[String], side: &str, steps: Option<(i64, i64)>) -> String {
    let plan = match changes {
        [] => SAME_PLAN.to_owned(),
        changes => changes.join("; "),
    };
    let effect = match steps {
        None => "one of the two was stopped before its end".to_owned(),
        Some((before, after)) if before == after => {
            format!("both take {} steps", grouped(before.unsigned_abs()))
        }
        Some((before, after)) => {
            let [before, after] = [before, after].map(|steps| grouped(steps.unsigned_abs()));
            format!("{before} → {after} steps")
        }
    };
    format!("With {side}, {plan}: {effect}.")
}

#[cfg(test)]
mod tests {
    use super::{changes, pairs, sentence};

    fn plan(nodes: &[&str]) -> Vec<String> {
        nodes.iter().map(|node| (*node).to_owned()).collect()
    }

    #[test]
    fn another_index_another_order_and_a_spared_sort_are_named() {
        let one = plan(&["SCAN o", "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)"]);
        let other = plan(&["SCAN c", "SEARCH o USING INDEX by_c (c=?)"]);
        assert_eq!(
            changes(&one, &other),
            [
                "`o` is searched by `by_c` instead of scanned",
                "`c` is scanned instead of searched by its key",
                "the tables are read in the order `c`, `o`",
            ]
        );
        let sorted = plan(&["SCAN o", "USE TEMP B-TREE FOR ORDER BY"]);
        let by_index = plan(&["SCAN o USING INDEX by_day"]);
        assert_eq!(
            changes(&sorted, &by_index),
            ["`o` is scanned by `by_day` instead of scanned", "ORDER BY needs no sort any more"]
        );
        assert_eq!(
            changes(
                &plan(&["SEARCH o USING INDEX i (a=?)"]),
                &plan(&["SEARCH o USING INDEX i (a=? AND b>?)"])
            ),
            ["`o` is searched by `i` on other terms"]
        );
    }

    #[test]
    fn plans_in_the_words_of_two_versions_are_the_same() {
        let old = plan(&["SCAN TABLE orders AS o"]);
        assert!(changes(&old, &plan(&["SCAN o"])).is_empty());
        assert_eq!(
            sentence(&[], "3.30.0", Some((1200, 1300))),
            "With 3.30.0, the plan is the same: 1,200 → 1,300 steps."
        );
    }

    #[test]
    fn nodes_of_one_table_stand_side_by_side_and_others_alone() {
        let one = plan(&["SCAN a", "SEARCH b USING INDEX i (x=?)", "USE TEMP B-TREE FOR ORDER BY"]);
        let other = plan(&["SCAN b", "SCAN a"]);
        assert_eq!(
            pairs(&one, &other),
            [(Some(0), None), (Some(1), Some(0)), (Some(2), None), (None, Some(1))]
        );
        assert_eq!(pairs(&one, &one).len(), 3);
    }
}
