//! Joins: tables that no condition joins, and a LEFT JOIN for rows without a match.

use super::rewrites::Edits;
use super::{Cause, MANY, Seen};

impl Seen<'_> {
    pub(super) fn has_any(&self, words: &str) -> bool {
        self.tokens.iter().any(|token| words.split(' ').any(|word| token.is(word)))
    }

    fn is_single(&self) -> bool {
        self.tokens.iter().filter(|token| token.is("select")).count() == 1
    }

    /// Returns a table whose rows are combined with all rows of others, because no condition has columns of both.
    pub(super) fn product(&self) -> Option<Cause> {
        if !self.is_single() || self.has_any("cross natural using") {
            return None;
        }
        let named = script::tables(&self.tokens);
        let number = |name: &str| {
            named.iter().position(|(table, alias)| {
                name.eq_ignore_ascii_case(alias.as_ref().unwrap_or(table))
                    || name.eq_ignore_ascii_case(table)
            })
        };
        let mut groups: Vec<usize> = (0..named.len()).collect();
        let (mut in_condition, mut last) = (false, None);
        for (place, token) in self.tokens.iter().enumerate() {
            let begins = ["where", "on", "and"].iter().any(|word| token.is(word));
            let ends = ["join", "group", "order", "limit"].iter().any(|word| token.is(word));
            (in_condition, last) =
                if begins || ends { (begins, None) } else { (in_condition, last) };
            let Some(name) = token.name().filter(|_| in_condition) else { continue };
            let is_qualifier = self.tokens.get(place + 1).is_some_and(|dot| dot.text == ".");
            let own = self.table_with(&name).filter(|_| !is_qualifier);
            let Some(of) = number(own.map_or(&name, |table| &table.name)) else { continue };
            if let Some(last) = last.replace(of) {
                let (from, to) = (groups[last], groups[of]);
                groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
        let nodes = self.observation.nodes.iter();
        let mut read =
            nodes.filter_map(|node| Some((number(node.detail.split(' ').nth(1)?)?, node)));
        let mut before = vec![groups[read.next()?.0]];
        read.find_map(|(of, node)| {
            let is_alone = !before.contains(&groups[of]);
            before.push(groups[of]);
            let (loops, rows) = (node.loops?, node.kept.or(node.visited)?);
            let (table, alias) = &named[of];
            let is_table = self.schema().table(table).is_some();
            let is_product = is_alone && is_table && loops > 1 && rows >= MANY.max(2 * loops);
            let table = alias.as_ref().unwrap_or(table).clone();
            is_product.then_some(Cause::Product { table, rows })
        })
    }

    /// Returns the text with NOT EXISTS in place of a LEFT JOIN and the condition that it finds nothing.
    pub(super) fn without_match(&self) -> Option<(Cause, Edits)> {
        const NEXT: [&str; 7] = ["where", "left", "inner", "join", "cross", "natural", "full"];
        let all = &self.tokens;
        let condition = self.outer("where").filter(|_| self.is_single() && !self.has_any("or"))?;
        let left = self.outer("left")?;
        let join = left + if all.get(left + 1)?.is("outer") { 2 } else { 1 };
        let on = (join..condition).find(|place| all[*place].is("on"))?;
        let table = all.get(join + 1)?.name()?;
        let of = all[on - 1].name()?;
        let end = (on..=condition).find(|place| NEXT.iter().any(|word| all[*place].is(word)))?;
        let term = (condition..all.len().checked_sub(4)?).find(|place| {
            let null = all[place + 3].is("is") && all[place + 4].is("null");
            null && all[place + 1].text == "." && all[*place].name().as_ref() == Some(&of)
        })?;
        let column = all[term + 2].name()?;
        let known = self.schema().table(&table)?;
        let is_column = |place: usize| {
            let qualified =
                all[place - 1].text == "." && all[place - 2].name().as_ref() == Some(&of);
            qualified && all[place].name().as_ref() == Some(&column)
        };
        // What is equal to something is not NULL in a row that matches.
        let is_equal = |place: usize| {
            is_column(place) && (all[place + 1].text == "=" || all[place - 3].text == "=")
        };
        let is_rowid = known.column(&column).is_some_and(|column| known.columns[column].is_rowid);
        let is_own = is_rowid || (on + 2..end).any(is_equal);
        let count =
            |sign: &str| all[condition..term].iter().filter(|token| token.text == sign).count();
        let is_outer = count("(") == count(")");
        let is_term = is_outer && (all[term - 1].is("where") || all[term - 1].is("and"));
        let exists = format!(
            "NOT EXISTS (SELECT 1 FROM {} WHERE {})",
            self.text(join + 1, on),
            self.text(on + 1, end)
        );
        let last = &all[term + 4];
        let edits = vec![
            (all[left].start..all[end].start, String::new()),
            (all[term].start..last.start + last.text.len(), exists),
        ];
        (is_own && is_term).then_some((Cause::WithoutMatch { table: of }, edits))
    }
}
