//! Other forms of a statement: a sign that keeps SQLite from an index, a SELECT for each side of an OR, and patterns in one piece.

use engine::Value;
use engine::schema::{PartOf, Table};
use script::{Kind, closing, parameters, tables};

use super::rewrites::Edits;
use super::{Cause, MANY, Seen};
use crate::schema::name;
use crate::subject::Query;

impl Seen<'_> {
    /// Returns the place of a keyword outside parentheses.
    pub(super) fn outer(&self, word: &str) -> Option<usize> {
        let mut depth = 0;
        self.tokens.iter().position(|token| {
            depth += i32::from(token.text == "(") - i32::from(token.text == ")");
            depth == 0 && token.is(word)
        })
    }

    /// Returns the text from a token to before another one.
    pub(super) fn text(&self, first: usize, end: usize) -> &str {
        let last = &self.tokens[end - 1];
        &self.query.sql[self.tokens[first].start..last.start + last.text.len()]
    }

    /// Returns the column that begins at this place: the table that the text calls so, the column, and the place after it.
    pub(super) fn column(&self, place: usize) -> Option<(String, &Table, String, usize)> {
        let all = &self.tokens;
        let of = all.get(place)?.name().filter(|_| !all[place].is_text())?;
        if all.get(place + 1).is_none_or(|dot| dot.text != ".") {
            let table = self.table_with(&of)?;
            return Some((table.name.to_lowercase(), table, of, place + 1));
        }
        let is_of = |name: &String| name.eq_ignore_ascii_case(&of);
        let named = tables(all);
        let mut named = named.iter();
        let (table, _) = named.find(|(table, alias)| alias.as_ref().map_or(is_of(table), is_of))?;
        let (table, column) = (self.schema().table(table)?, all.get(place + 2)?.name()?);
        table.column(&column)?;
        Some((of.to_lowercase(), table, column, place + 3))
    }

    /// Returns the place where the column begins that ends before this place.
    pub(super) fn column_before(&self, place: usize) -> Option<usize> {
        let is_qualified = place > 2 && self.tokens[place - 2].text == ".";
        place.checked_sub(if is_qualified { 3 } else { 1 })
    }

    /// Returns the text with `+` before a column by whose index SQLite reads many rows in vain, for an order or for a list.
    pub(super) fn signed(&self) -> Option<(Cause, Edits)> {
        let all = &self.tokens;
        let by = ["group", "order"].iter().find_map(|word| Some(self.outer(word)? + 2));
        let is_distinct = all.first()?.is("select") && all.get(1)?.is("distinct");
        let list = all
            .windows(3)
            .position(|three| three[0].is("in") && three[1].text == "(" && three[2].is("select"));
        let is_sorted = self.observation.sorted.is_some_and(|rows| rows >= MANY);
        let list = list.filter(|_| is_sorted && self.outer("limit").is_some());
        let list = list.and_then(|place| self.column_before(place));
        let distinct = is_distinct.then_some(2);
        [by, distinct, list].into_iter().flatten().find_map(|place| {
            let (_, table, column, end) = self.column(place)?;
            let number = table.column(&column)?;
            let mut nodes = self.observation.nodes.iter();
            let (index, rows) = nodes.find_map(|node| {
                let of = node.object.as_deref()?;
                let index = table.indexes.iter().find(|index| index.name == of)?;
                let rows = node.visited.filter(|rows| *rows >= MANY)?;
                let is_vain = list == Some(place) || node.kept.is_some_and(|kept| kept < rows / 2);
                let is_own = index.parts.first()?.of == PartOf::Column(number);
                (is_vain && is_own).then(|| (index.name.clone(), rows))
            })?;
            let start = all[place].start;
            let mut edits: Edits = vec![(start..start, "+".to_owned())];
            if Some(place) == distinct && matches!(all.get(end)?.text, "," | "FROM" | "from") {
                let start = all[end].start;
                edits.push((start..start, format!("AS {} ", name(&column))));
            }
            Some((Cause::Walked { index, column, rows }, edits))
        })
    }

    /// Returns the text with a SELECT for each side of an OR whose sides compare columns of two tables.
    pub(super) fn sides(&self) -> Option<(Cause, String)> {
        const OTHERS: [&str; 12] = [
            "distinct", "group", "union", "intersect", "except", "over", "count", "sum", "total",
            "avg", "min", "max",
        ];
        let (all, sql) = (&self.tokens, &self.query.sql);
        let condition = self.outer("where")?;
        // Rows without an order are any, and parameters without a number get other ones.
        let is_any = self.outer("limit").is_some() && self.outer("order").is_none();
        let has_others =
            all.iter().any(|token| token.text == "?" || OTHERS.iter().any(|word| token.is(word)));
        if !all[0].is("select") || is_any || has_others {
            return None;
        }
        let last = all.last().filter(|last| last.kind == Kind::Semicolon);
        let end = ["order", "limit"].iter().find_map(|word| self.outer(word));
        let end = end.unwrap_or(all.len() - usize::from(last.is_some()));
        let or = (condition..end).find(|place| all[*place].is("or"))?;
        let mut depth = 0;
        let open = (condition..or).rev().find(|place| {
            depth += i32::from(all[*place].text == "(") - i32::from(all[*place].text == ")");
            depth > 0
        });
        let (first, close) = match open {
            Some(open) => {
                let before = &all[open - 1];
                let close = closing(all, open)?;
                let is_condition = before.is("where") || before.is("and");
                let is_last = close + 1 == end || all[close + 1].is("and");
                (is_condition && is_last).then_some((open + 1, close))?
            }
            None => (condition + 1, end),
        };
        let ((of, ..), (other, ..)) = (self.column(first)?, self.column(or + 1)?);
        let (a, b) = (self.text(first, or), self.text(or + 1, close));
        let head = &sql[..all[first].start];
        let tail = if close < end { self.text(close, end) } else { "" };
        let rest = all.get(end).map_or("", |token| &sql[token.start..]);
        let united =
            format!("{head}{a}{tail} UNION ALL {head}({b}) AND ({a}) IS NOT TRUE{tail} {rest}");
        (of != other).then_some((Cause::Sides, united))
    }

    /// Returns the statement with `LIKE :p` for `LIKE :p || '%'`, and with the wildcard in the values.
    pub(super) fn whole_pattern(&self) -> Option<(Cause, Query)> {
        let all = &self.tokens;
        let place = all.windows(5).position(|five| {
            let [like, parameter, signs @ .., end] = five else { return false };
            like.is("like")
                && parameter.kind == Kind::Parameter
                && signs.iter().all(|sign| sign.text == "|")
                && end.text == "'%'"
        })? + 1;
        let known = parameters(all);
        let number = known.iter().find(|known| known.place == place)?.number;
        let is_own = known.iter().filter(|known| known.number == number).count() == 1;
        let mut query = self.query.clone();
        let (start, end) = (all[place + 1].start, all[place + 3].start + "'%'".len());
        query.sql.replace_range(start..end, "");
        for values in &mut query.values {
            let Value::Text(text) = values.get_mut(number - 1)? else { return None };
            text.push('%');
        }
        let parameter = all[place].text.to_owned();
        is_own.then_some((Cause::Pattern { parameter }, query))
    }

    /// Returns the rows that are sorted by chance.
    pub(super) fn random(&self) -> Option<Cause> {
        let order = self.outer("order")?;
        let rows = self.observation.sorted.filter(|rows| *rows >= MANY)?;
        self.tokens.get(order + 2)?.is("random").then_some(Cause::Random { rows })
    }
}
