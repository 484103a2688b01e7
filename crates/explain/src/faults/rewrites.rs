//! Other texts of a statement that give the same rows and let SQLite use an index. Each is tried, also with the indexes that it needs.

use std::ops::Range;
use std::time::Instant;

use engine::schema::{BINARY, Table};
use engine::{EngineError, Step, Value};
use script::effect::quoted;
use script::{Kind, Token, closing};

use super::{Cause, Fault, Remedy, Seen};
use crate::advisor::{SMALL, advise};
use crate::candidates::calls;
use crate::conditions::{begins_condition, ends_condition};
use crate::observe::{Cost, MOST_STEPS};
use crate::schema::name;
use crate::subject::{Query, bind};

/// Seconds for trying indexes for another text.
const TRIED: f64 = 5.0;

/// The cost above which another text that is cheaper is also tried with indexes: about half a millisecond.
const DEAR: i64 = 50_000;

/// Places of a text and what is to stand there.
pub(super) type Edits = Vec<(Range<usize>, String)>;

impl Seen<'_> {
    /// Tries other texts. The best one comes first.
    pub(super) fn rewritten(&self) -> Result<Vec<Fault>, EngineError> {
        if self.observation.is_write {
            return Ok(Vec::new());
        }
        let nulls = self.nulls().map(|cause| Fault { cause, remedy: Remedy::Untried });
        if self.has_any("random randomblob") {
            return Ok(nulls.into_iter().collect());
        }
        let edited =
            |(cause, edits): (Cause, Edits)| Some((cause, edited(&self.query.sql, edits)?));
        let mut tried: Vec<(Cause, String)> = Vec::new();
        tried.extend(self.exists().map(|sql| (Cause::CountForExists, sql)));
        tried
            .extend(self.cast().map(|(text, number, sql)| (Cause::Affinity { text, number }, sql)));
        tried.extend(self.ends().map(|sql| (Cause::MinMax, sql)));
        // Ranges need a look at all rows.
        let is_dear = self.observation.cost.total() as f64 > SMALL;
        let ranges = is_dear.then(|| self.ranges()).flatten();
        let plain = is_dear.then(|| self.plain()).flatten();
        let signed = is_dear.then(|| self.signed()).flatten();
        let unmatched = is_dear.then(|| self.without_match()).flatten();
        let since = is_dear.then(|| self.since()).flatten();
        let latest = is_dear.then(|| self.latest()).flatten();
        let texts = [self.optional(), self.hint(), self.materialized(), unmatched, since, latest];
        let edits = [ranges, plain, signed].into_iter().chain(texts);
        tried.extend(edits.flatten().filter_map(edited));
        tried.extend(is_dear.then(|| self.sides()).flatten());
        let query = |(cause, sql)| (cause, Query { sql, ..self.query.clone() });
        let mut faults = Vec::new();
        for (cause, query) in tried.into_iter().map(query).chain(self.whole_pattern()) {
            let remedy = self.compare(&query)?;
            faults.extend(remedy.map(|(after, remedy)| (after, Fault { cause, remedy })));
        }
        faults.sort_by_key(|(after, _)| *after);
        Ok(faults.into_iter().map(|(_, fault)| fault).chain(nulls).collect())
    }

    /// Returns another statement as a remedy with its cost, if it gives the same rows for half of the cost or less, maybe with indexes.
    fn compare(&self, other: &Query) -> Result<Option<(i64, Remedy)>, EngineError> {
        let connection = self.subject.connect()?;
        connection.limit_steps(MOST_STEPS)?;
        let rows = |query: &Query| -> Result<Vec<String>, EngineError> {
            let mut statement = connection.prepare(&query.sql)?;
            let mut rows = Vec::new();
            for (number, values) in query.values.iter().enumerate() {
                bind(&mut statement, values)?;
                while statement.step()? == Step::Row {
                    let columns = 0..statement.column_count();
                    let values =
                        columns.map(|column| format!("{:?}", statement.column_value(column)));
                    rows.push(format!("{number}: {}", values.collect::<Vec<_>>().join(",")));
                }
                statement.reset()?;
            }
            rows.sort();
            Ok(rows)
        };
        // A text that SQLite refuses is no remedy.
        let (Ok(before), Ok(after)) = (rows(self.query), rows(other)) else { return Ok(None) };
        if before != after {
            return Ok(None);
        }
        let cost = |query: &Query| self.subject.cost(&connection, query, MOST_STEPS);
        let (before, mut after) = (cost(self.query)?, cost(other)?);
        let is_better = |after: Cost| after.total() * 2 < before.total();
        let mut indexes = Vec::new();
        if (!is_better(after) || after.total() > DEAR) && before.total() as f64 > SMALL {
            let start = Instant::now();
            let spent = || start.elapsed().as_secs_f64() / TRIED;
            let advice = advise(self.subject, &[(other.clone(), Some(after))], &spent)?;
            after = advice.changes.first().map_or(after, |change| change.after);
            indexes.extend(advice.made.into_iter().map(|made| made.sql));
        }
        let sql = other.sql.clone();
        let remedy = Remedy::Rewrite { sql, indexes, before, after };
        Ok(is_better(after).then_some((after.total(), remedy)))
    }

    /// Returns a subquery for each `min(…)` and `max(…)` of a statement that asks for nothing else.
    fn ends(&self) -> Option<String> {
        let (all, sql) = (&self.tokens, &self.query.sql);
        let from = all.iter().position(|token| token.is("from"))?;
        let rest = &all[from..];
        let others =
            ["select", "group", "union", "intersect", "except", "order", "limit", "window"];
        let has_others = rest.iter().any(|token| others.iter().any(|word| token.is(word)));
        if !all[0].is("select") || has_others || rest.iter().any(|token| token.text == "?") {
            return None;
        }
        let end = rest.last().map_or(sql.len(), |last| match last.kind {
            Kind::Semicolon => last.start,
            _ => sql.len(),
        });
        let (mut place, mut columns) = (1, Vec::new());
        while place < from {
            let is_end = all[place].is("min") || all[place].is("max");
            let close = closing(all, place + 1).filter(|_| is_end && all[place + 1].text == "(")?;
            let comma = all.get(close..from)?.iter().position(|token| token.text == ",");
            let next = comma.map_or(from, |comma| close + comma);
            let call = &sql[all[place].start..=all[close].start];
            let alias = &sql[all[close].start + 1..all[next].start];
            let rest = sql[all[from].start..end].trim_end();
            // A program may read the column by its name.
            let alias = match alias.trim() {
                "" => format!(" AS {}", quoted(call)),
                _ => alias.trim_end().to_owned(),
            };
            columns.push(format!("(SELECT {call} {rest}){alias}"));
            place = next + usize::from(comma.is_some());
        }
        (columns.len() > 1).then(|| format!("SELECT {}", columns.join(", ")))
    }

    /// Returns the text with a column in place of an operation that gives its own value in every row.
    fn plain(&self) -> Option<(Cause, Edits)> {
        const FORMS: [&str; 3] = ["cast(", "coalesce(", "ifnull("];
        const NEUTRAL: [&str; 4] = ["+0", "-0", "*1", "||''"];
        let sql = &self.query.sql;
        calls(sql).into_iter().find_map(|call| {
            let text = call.text.to_lowercase().replace(' ', "");
            let is_form = FORMS.iter().any(|form| text.starts_with(form));
            let place = self.tokens.iter().position(|token| token.start == call.span.start)?;
            let table = self.table_with(&call.column)?;
            let compared = &table.columns[table.column(&call.column)?];
            let own = affinity(&compared.kind);
            let kind = text.strip_prefix("cast(").and(text.rsplit_once("as"));
            let is_cast = kind.is_some_and(|(_, kind)| affinity(kind) == own);
            let after = self.tokens.partition_point(|token| token.start < call.span.end);
            let column = quoted(&call.column);
            let differs =
                format!("{0} IS NOT {column} OR typeof({0}) <> typeof({column})", call.text);
            let is_plain = (is_form || NEUTRAL.iter().any(|end| text.ends_with(end)))
                && begins_condition(&self.tokens[place.checked_sub(1)?])
                && compared.collation.eq_ignore_ascii_case(BINARY)
                && !text.contains("collate")
                && (is_cast || self.is_alike(own, after, false));
            let is_always = is_plain && self.has_none(table, &differs);
            let is_plain = is_always || (is_plain && self.excludes_default(after));
            let edits = vec![(call.span, format!("{}{}", call.qualifier, name(&call.column)))];
            let cause = Cause::Plain { call: call.text, column: call.column, is_always };
            is_plain.then_some((cause, edits))
        })
    }

    /// Returns whether `coalesce(column, literal)` before this place is compared with another literal, which NULL does not equal either.
    fn excludes_default(&self, after: usize) -> bool {
        let all = after.checked_sub(3).and_then(|place| self.tokens.get(place..after + 2));
        let Some([comma, default, close, equals, literal]) = all else { return false };
        let differ = format!("SELECT {} <> {}", default.text, literal.text);
        [comma.text, close.text, equals.text] == [",", ")", "="]
            && default.is_literal()
            && literal.is_literal()
            && self.subject.connect().is_ok_and(|connection| {
                connection.query_i64(&differ).is_ok_and(|differ| differ == 1)
            })
    }

    /// Returns whether the comparison at this place has the same results for an expression without affinity and for a column with this one,
    /// whatever values there are: with literals and columns that the affinity does not change
    /// (<https://sqlite.org/datatype3.html#type_conversions_prior_to_comparison>).
    fn is_alike(&self, own: Affinity, after: usize, with_columns: bool) -> bool {
        let Some(all) = self.tokens.get(after..) else { return false };
        let is_any = |token: &Token<'_>, words: &str| words.split(' ').any(|word| token.is(word));
        let Some(operator) = all.iter().find(|token| !token.is("not")) else { return false };
        // A pattern matches the text of a value.
        if own == Affinity::None || is_any(operator, "like glob") {
            return true;
        }
        let is_compared = "=<>!".contains(operator.text) || is_any(operator, "in between");
        let (mut depth, mut is_between) = (0, false);
        for (place, token) in all.iter().enumerate() {
            let is_before_dot = all.get(place + 1).is_some_and(|dot| dot.text == ".");
            match token.text {
                "(" => depth += 1,
                ")" if depth == 0 => break,
                ")" => depth -= 1,
                "=" | "<" | ">" | "!" | "," | "." => {}
                "-" if own == Affinity::Number => {}
                _ if token.is("between") => is_between = true,
                _ if token.is("and") && is_between => is_between = false,
                _ if is_before_dot || is_any(token, "not in") => {}
                _ if token.is_number() && own == Affinity::Number => {}
                _ if token.is_text() && own != Affinity::Text => return false,
                _ if token.is_text() => {}
                _ if ends_condition(token) => break,
                _ if with_columns
                    && self.affinity_of(&token.name().unwrap_or_default()) == Some(own) => {}
                _ => return false,
            }
        }
        is_compared
    }

    /// Returns whether no row of a table meets a condition.
    pub(super) fn has_none(&self, table: &Table, condition: &str) -> bool {
        let any =
            format!("SELECT EXISTS (SELECT 1 FROM {} WHERE {condition})", quoted(&table.name));
        self.subject.connect().is_ok_and(|connection| {
            let is_limited = connection.limit_steps(MOST_STEPS).is_ok();
            is_limited && connection.query_i64(&any).is_ok_and(|any| any == 0)
        })
    }

    /// Returns the text without what forbids an index.
    fn hint(&self) -> Option<(Cause, Edits)> {
        let all = &self.tokens;
        let edits_of = |first: usize, last: usize, cause: &str| {
            let end = all.get(last + 1).map_or(self.query.sql.len(), |next| next.start);
            let hint = cause.to_owned();
            (Cause::Hint { hint }, vec![(all[first].start..end, String::new())])
        };
        (0..all.len()).find_map(|place| {
            let next = all.get(place + 1)?;
            if all[place].is("not") && next.is("indexed") {
                return Some(edits_of(place, place + 1, "NOT INDEXED"));
            }
            if all[place].is("indexed") && next.is("by") {
                let index = all.get(place + 2)?;
                return Some(edits_of(place, place + 2, &format!("INDEXED BY {}", index.text)));
            }
            let is_sign = all[place].text == "+" && next.kind != Kind::Parameter;
            let is_first = place > 0 && begins_condition(&all[place - 1]);
            let qualified = all.get(place + 2).is_some_and(|dot| dot.text == ".");
            let last = if qualified { place + 3 } else { place + 1 };
            let own =
                (is_sign && is_first).then(|| self.affinity_of(&all.get(last)?.name()?))??;
            self.is_alike(own, last + 1, true).then(|| edits_of(place, place, "+"))
        })
    }

    /// Returns the text without `MATERIALIZED`.
    fn materialized(&self) -> Option<(Cause, Edits)> {
        let mut pairs = self.tokens.windows(2);
        let pair = pairs.find(|pair| pair[0].is("as") && pair[1].is("materialized"))?;
        Some((Cause::Materialized, vec![(pair[1].start..pair[1].start, "NOT ".to_owned())]))
    }

    /// Returns the text without conditions of the kind `:p IS NULL OR`, and with `:p` in place of `coalesce(:p, column)`, if the
    /// parameters have values here.
    fn optional(&self) -> Option<(Cause, Edits)> {
        let all = &self.tokens;
        let is = |place: usize, word: &str| all.get(place).is_some_and(|token| token.is(word));
        let (mut edits, mut condition) = (Edits::new(), None);
        for place in 0..all.len() {
            if let Some((edit, text)) = self.own_value(place) {
                edits.push(edit);
                condition.get_or_insert(text);
            }
            let is_null =
                all[place].kind == Kind::Parameter && is(place + 1, "is") && is(place + 2, "null");
            if !is_null || self.value(place).is_none_or(|value| value == Value::Null) {
                continue;
            }
            let end = |place: usize| all[place].start + all[place].text.len();
            // AND binds more tightly than OR.
            let begins = || ["where", "on", "or"].iter().any(|word| is(place - 1, word));
            if is(place + 3, "or") && place > 0 && (all[place - 1].text == "(" || begins()) {
                edits.push((all[place].start..all.get(place + 4)?.start, String::new()));
            } else if place > 1 && is(place - 1, "or") && !is(place + 3, "and") {
                edits.push((end(place - 2)..end(place + 2), String::new()));
            } else {
                continue;
            }
            // Without it, those after it have other numbers.
            if all[place].text == "?" {
                return None;
            }
            condition.get_or_insert(format!("{} IS NULL OR", all[place].text));
        }
        Some((Cause::Optional { condition: condition? }, edits))
    }

    /// Returns what replaces `coalesce(:p, column)` at this place behind `column =`, and the call.
    fn own_value(&self, place: usize) -> Option<((Range<usize>, String), String)> {
        let all = &self.tokens;
        let close = closing(all, place + 1)?;
        let is_call = all[place].is("coalesce") || all[place].is("ifnull");
        let parameter = all.get(place + 2).filter(|token| token.kind == Kind::Parameter)?;
        let own = all.get(place + 4..close).filter(|_| all[place + 3].text == ",")?;
        let equals = place.checked_sub(1).filter(|equals| all[*equals].text == "=")?;
        let column = &all[equals.checked_sub(own.len())?..equals];
        let is_own = own.iter().zip(column).all(|(a, b)| a.text.eq_ignore_ascii_case(b.text));
        if !is_call || !is_own || self.value(place + 2).is_none_or(|value| value == Value::Null) {
            return None;
        }
        let span = all[place].start..all[close].start + 1;
        Some(((span.clone(), parameter.text.to_owned()), self.query.sql[span].to_owned()))
    }

    /// Returns how many rows of the list of `NOT IN (SELECT …)` are NULL, so that the condition is never true.
    fn nulls(&self) -> Option<Cause> {
        let all = &self.tokens;
        let open = all.windows(4).position(|four| {
            four[0].is("not") && four[1].is("in") && four[2].text == "(" && four[3].is("select")
        })?;
        let list = &self.query.sql[all[open + 2].start..=all[closing(all, open + 2)?].start];
        let connection = self.subject.connect().ok()?;
        connection.limit_steps(MOST_STEPS).ok()?;
        // A list that depends on the row or on parameters is not known.
        let count =
            format!("WITH list(value) AS {list} SELECT count(*) FROM list WHERE value IS NULL");
        let nulls =
            connection.query_i64(&count).ok().filter(|_| !list.contains(['?', ':', '@', '$']))?;
        (nulls > 0).then_some(Cause::NotIn { nulls })
    }

    /// Returns the text with EXISTS in place of `(SELECT count(…) …) > 0`.
    fn exists(&self) -> Option<String> {
        let all = &self.tokens;
        let open = all.windows(4).position(|four| {
            four[0].text == "("
                && four[1].is("select")
                && four[2].is("count")
                && four[3].text == "("
        })?;
        let close = closing(all, open)?;
        let counted = closing(all, open + 3)?;
        // Of a column, only values are counted.
        let counts_rows = matches!(all[open + 4].text, "*" | "1") && counted == open + 5;
        let inner = &all[counted + 1..close];
        let has_more = ["group", "having", "limit"]
            .iter()
            .any(|word| inner.iter().any(|token| token.is(word)));
        if !counts_rows || has_more || !inner.first()?.is("from") {
            return None;
        }
        let operator: String = all[close + 1..]
            .iter()
            .map_while(|token| "<>=!".contains(token.text).then_some(token.text))
            .collect();
        let number = all.get(close + 1 + operator.len())?;
        let negated = match (operator.as_str(), number.text) {
            (">", "0") | (">=", "1") | ("<>" | "!=", "0") => false,
            ("=" | "==" | "<=", "0") | ("<", "1") => true,
            _ => return None,
        };
        let sql = &self.query.sql;
        let inner = &sql[all[counted + 1].start..all[close].start];
        let rest = number.start + number.text.len();
        let not = if negated { "NOT " } else { "" };
        Some(format!("{}{not}EXISTS (SELECT 1 {inner}){}", &sql[..all[open].start], &sql[rest..]))
    }

    /// Returns a text column and a column of numbers that are compared, and the text with the number as text.
    fn cast(&self) -> Option<(String, String, String)> {
        let (all, sql) = (&self.tokens, &self.query.sql);
        let side = |first: usize| {
            let (_, table, column, end) = self.column(first)?;
            let kind = &table.columns[table.column(&column)?].kind;
            let end = all[end - 1].start + all[end - 1].text.len();
            Some((affinity(kind) == Affinity::Text, all[first].start..end))
        };
        let mut sides = (1..all.len().saturating_sub(1)).filter(|place| all[*place].text == "=");
        sides.find_map(|place| {
            let (left, right) = (side(self.column_before(place)?)?, side(place + 1)?);
            let (text, number) = match (left, right) {
                ((true, text), (false, number)) | ((false, number), (true, text)) => (text, number),
                _ => return None,
            };
            let cast = format!("CAST({} AS TEXT)", &sql[number.clone()]);
            let other = edited(sql, vec![(number.clone(), cast)])?;
            Some((sql[text].to_owned(), sql[number].to_owned(), other))
        })
    }

    /// Returns the affinity of a column, if all tables of the statement that have it agree.
    fn affinity_of(&self, column: &str) -> Option<Affinity> {
        let tables = script::effect::names(&self.query.sql);
        let tables = tables.iter().filter_map(|table| self.schema().table(table));
        let affinities =
            tables.filter_map(|table| Some(affinity(&table.columns[table.column(column)?].kind)));
        let mut affinities: Vec<Affinity> = affinities.collect();
        affinities.dedup();
        let [affinity] = affinities[..] else { return None };
        Some(affinity)
    }
}

/// Affinities of columns, as far as comparisons tell them apart.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Affinity {
    Text,
    Number,
    None,
}

/// Returns the affinity of a declared type (<https://sqlite.org/datatype3.html#determination_of_column_affinity>).
pub(super) fn affinity(kind: &str) -> Affinity {
    let kind = kind.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    match (has(&["INT"]), has(&["CHAR", "CLOB", "TEXT"])) {
        (false, true) => Affinity::Text,
        (false, false) if kind.is_empty() || has(&["BLOB"]) => Affinity::None,
        _ => Affinity::Number,
    }
}

/// Returns a text with its edits, unless these overlap.
fn edited(sql: &str, mut edits: Edits) -> Option<String> {
    edits.sort_by_key(|(span, _)| span.start);
    if edits.windows(2).any(|pair| pair[1].0.start < pair[0].0.end) {
        return None;
    }
    let mut edited = sql.to_owned();
    for (span, text) in edits.into_iter().rev() {
        edited.replace_range(span, &text);
    }
    Some(edited)
}
