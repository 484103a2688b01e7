//! Joins: tables that no condition joins, a LEFT JOIN for rows without a match, and the latest row of each group.

use engine::schema::Table;
use script::{Token, closing};

use super::rewrites::Edits;
use super::{Cause, MANY, Seen};

/// A column of a subquery: the name by which others know it, the column of its table, and whether the largest or smallest value is
/// asked for, with that function.
struct Selected {
    name: String,
    column: String,
    end: Option<String>,
}

impl Selected {
    /// Reads `column`, `max(column) AS name` and the like.
    fn of(all: &[Token<'_>]) -> Option<Selected> {
        let is_end =
            ["max", "min"].iter().any(|end| all.first().is_some_and(|token| token.is(end)));
        let (column, rest) = match all {
            [_, open, column, close, rest @ ..]
                if is_end && (open.text, close.text) == ("(", ")") =>
            {
                (column, rest)
            }
            [column, rest @ ..] if !is_end => (column, rest),
            _ => return None,
        };
        let name = match rest {
            [] if !is_end => column,
            [name] => name,
            [of, name] if of.is("as") => name,
            _ => return None,
        };
        let end = is_end.then(|| all[0].text.to_owned());
        Some(Selected { name: name.name()?, column: column.name()?, end })
    }
}

/// Returns the column that terms `a.b = c.d` compare with this one: the name before it, and its own.
fn equal_to<'t, 's>(
    terms: &'t [Token<'s>],
    of: &str,
    column: &str,
) -> Option<(&'t Token<'s>, &'t Token<'s>)> {
    let is = |token: &Token<'_>, name: &str| token.name().is_some_and(|own| own == name);
    terms.split(|token| token.is("and")).find_map(|term| {
        let [left_of, _, left, equals, right_of, _, right] = term else { return None };
        match (
            equals.text,
            is(left_of, of) && is(left, column),
            is(right_of, of) && is(right, column),
        ) {
            ("=", true, false) => Some((right_of, right)),
            ("=", false, true) => Some((left_of, left)),
            _ => None,
        }
    })
}

fn collation(table: &Table, column: &str) -> Option<String> {
    Some(table.columns[table.column(column)?].collation.to_ascii_uppercase())
}

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

    /// Returns the text with a subquery for each row in place of a join with the largest or smallest value of every group.
    pub(super) fn latest(&self) -> Option<(Cause, Edits)> {
        let all = &self.tokens;
        let condition = self.outer("where")?;
        if self.has_any("or left right full union intersect except") {
            return None;
        }
        let is_join = |place: &usize| {
            all[*place].is("join") && all[*place + 1].text == "(" && all[*place + 2].is("select")
        };
        let join = (0..condition.checked_sub(2)?).find(is_join)?;
        let close = closing(all, join + 1)?;
        let from = (join..close).find(|place| all[*place].is("from"))?;
        let group = (from..close).find(|place| all[*place].is("group"))?;
        let mut columns = all[join + 3..from].split(|token| token.text == ",").map(Selected::of);
        let (first, second) = (columns.next()??, columns.next()??);
        let (key, latest) = if first.end.is_none() { (first, second) } else { (second, first) };
        let function = latest.end.filter(|_| columns.next().is_none() && key.end.is_none())?;
        let is_grouped = group + 3 == close && all[close - 1].name()? == key.column;
        let table = all[from + 1].name()?;
        // `x ON x.key = e.key AND e.column = x.latest`.
        let on = close + if all.get(close + 1)?.is("as") { 3 } else { 2 };
        let of = all[on - 1].name()?;
        let end = (on..=condition).find(|place| *place == condition || all[*place].is("join"))?;
        // A parameter without a number has another one at another place.
        if end != on + 16
            || !all[on].is("on")
            || all[join..condition].iter().any(|token| token.text == "?")
        {
            return None;
        }
        let terms = &all[on + 1..end];
        let (row, row_key) = equal_to(terms, &of, &key.name)?;
        let (own, own_column) = equal_to(terms, &of, &latest.name)?;
        // Within the subquery, the row must have a name of its own, and the comparison the same collation.
        let is_row = |token: &Token<'_>| {
            token.name().zip(row.name()).is_some_and(|(name, row)| name.eq_ignore_ascii_case(&row))
        };
        let of_row =
            self.column(terms.partition_point(|token| token.start < row.start) + on + 1)?;
        let is_alike = collation(of_row.1, &of_row.2)?
            == collation(self.schema().table(&table)?, &key.column)?;
        let is_hidden = all[from..group].iter().any(is_row);
        let is_of = |token: &Token<'_>| token.name().is_some_and(|name| name == of);
        let is_single = !all[..join].iter().chain(&all[end..]).any(is_of);
        let also = if group > from + 2 { "AND" } else { "WHERE" };
        let call = format!("{function}({})", latest.column);
        let subquery = format!(
            "WHERE {}.{} = (SELECT {call} {} {also} {} = {}.{}) AND",
            own.text,
            own_column.text,
            self.text(from, group),
            key.column,
            row.text,
            row_key.text
        );
        let start = join - usize::from(all[join - 1].is("inner"));
        let edits = vec![
            (all[start].start..all[end].start, String::new()),
            (all[condition].start..all[condition + 1].start, subquery + " "),
        ];
        (is_grouped && is_single && is_alike && !is_hidden)
            .then_some((Cause::Latest { table, call }, edits))
    }
}
