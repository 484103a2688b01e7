//! Indexes that could serve a statement, by the questions that SQLite's planner asks of each table. Functions of columns in the text
//! are columns of their own there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use engine::schema::{BINARY, Index, Part, PartOf, Schema, Table};
use engine::{Connection, EngineError, Question, Questions, Term, TermKind, Value};
use script::effect::quoted;
use script::{Kind, Token, closing, significant, tokens, unqualified};

use crate::conditions::never;
use crate::implied::implied;
use crate::schema::{is_keyword, name, sql_of};
use crate::subject::{Query, Subject};

/// An index that is tried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Its table.
    pub table: String,
    /// Its terms.
    pub parts: Vec<Part>,
    /// The number of terms at the end that only spare looking rows up in the table.
    pub covering: usize,
    /// The condition of the rows in it, as CREATE INDEX has it after WHERE; all rows without one.
    pub condition: Option<String>,
}

/// The most columns of an index that are there only to be read from it.
const COVERED: usize = 5;

/// Words for operators in the names of indexes.
const OPERATORS: [(&str, &str); 7] = [
    ("->", " "),
    ("||", " joined "),
    ("+", " plus "),
    ("-", " minus "),
    ("*", " times "),
    ("/", " per "),
    ("%", " modulo "),
];

/// The most candidates for a statement.
const MOST: usize = 32;

/// The largest part of a table's rows for which a partial index is tried, and the most values of a column that is compared with a literal. With
/// more of them the literal stands for a value that is another one each time.
const PARTIAL: (f64, i64) = (0.1, 10);

impl Candidate {
    /// Returns the statement that makes the index under a name.
    pub fn create(&self, schema: &Schema, name: &str) -> String {
        format!("CREATE INDEX {} ON {}", crate::schema::name(name), self.on(schema))
    }

    /// Returns its table, terms and condition as `CREATE INDEX` has them.
    pub fn on(&self, schema: &Schema) -> String {
        let table = schema.table(&self.table);
        let terms = self.parts.iter().filter_map(|part| Some(sql_of(table?, part)));
        let terms = terms.collect::<Vec<String>>().join(", ");
        let condition = self.condition.iter().map(|condition| format!(" WHERE {condition}"));
        format!("{}({terms}){}", crate::schema::name(&self.table), condition.collect::<String>())
    }

    /// Returns the names of its columns, up to the first expression.
    pub fn columns(&self, schema: &Schema) -> Vec<String> {
        let table = schema.table(&self.table);
        let name = |part: &Part| match part.of {
            PartOf::Column(number) => Some(table?.columns[number].name.clone()),
            PartOf::Expression(_) => None,
        };
        self.parts.iter().map_while(name).collect()
    }

    /// Returns whether both are of the same rows and terms.
    pub(crate) fn is_same(&self, other: &Candidate) -> bool {
        self.table == other.table && self.parts == other.parts && self.condition == other.condition
    }

    /// Returns a name by its table and columns that no index of the schema has.
    pub fn name(&self, schema: &Schema) -> String {
        let table = schema.table(&self.table);
        // With collation and direction, so that two candidates have two names.
        let word = |part: &Part| {
            let sql = table.map_or(String::new(), |table| sql_of(table, part));
            match part.of {
                // Operators tell `a || ''` from `a`. In a call, they may belong to its texts.
                PartOf::Expression(_) if !sql.contains('(') => {
                    OPERATORS.iter().fold(sql, |sql, (sign, word)| sql.replace(sign, word))
                }
                _ => sql,
            }
        };
        let words: Vec<String> =
            self.parts.iter().map(word).chain(self.condition.clone()).collect();
        let joined = format!("{}_by_{}", self.table, words.join("_"));
        let letters = joined.chars().map(|c| if c.is_alphanumeric() { c } else { '_' });
        let plain: String = letters.collect();
        let plain = plain.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
        let is_free = |name: &String| schema.table_of_index(name).is_none();
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        std::iter::once(plain.clone()).chain(numbered).find(is_free).unwrap_or(plain.clone())
    }

    /// Returns whether another index serves every search that this one serves.
    pub(crate) fn is_served_by(&self, other: &Candidate) -> bool {
        self.table == other.table
            && self.condition == other.condition
            && other.parts.starts_with(&self.parts)
    }
}

/// Asks SQLite's planner which columns indexes could serve.
pub struct Planner<'s> {
    schema: &'s Schema,
    connection: &'s Connection,
    questions: Questions,
    selectivity: Vec<(String, Vec<f64>)>,
    /// Expressions of the statements, each with its column. Tables with such a column have one more for each, behind their own.
    expressions: Vec<(String, String)>,
    /// Answers to questions about all rows of a table, each counted once.
    asked: RefCell<BTreeMap<String, bool>>,
    /// Indexes that are advised already.
    pub(crate) made: Vec<Candidate>,
}

/// The beginning of the names of columns that stand for expressions.
const EXPRESSION: &str = "pragmark_expression_";

impl<'s> Planner<'s> {
    /// Prepares a schema without rows for statements.
    ///
    /// # Errors
    /// SQLite's.
    pub fn new(
        subject: &'s Subject,
        connection: &'s Connection,
        statements: impl IntoIterator<Item = &'s str>,
    ) -> Result<Planner<'s>, EngineError> {
        let views = subject.schema.others.iter().map(String::as_str);
        let calls = statements.into_iter().chain(views).flat_map(|sql| {
            // An index does not mend a comparison that no row meets.
            let never = never(connection, sql).map(|never| never.start);
            calls(sql).into_iter().filter(move |call| never != Some(call.span.start))
        });
        let expressions: BTreeSet<(String, String)> =
            calls.map(|call| (call.text, call.column)).collect();
        let expressions: Vec<(String, String)> = expressions.into_iter().collect();
        let empty = Connection::in_memory(subject.library())?;
        let collations = empty.query_all("SELECT name FROM pragma_collation_list")?;
        let questions = Questions::new(empty)?;
        for table in &subject.schema.tables {
            let columns = table.columns.iter().map(|column| {
                // Without the length of `VARCHAR(20)`, which the module's arguments cannot have.
                let words = column.kind.split(|c: char| !c.is_alphanumeric() && c != '_');
                let is_word = |word: &&str| word.starts_with(|c: char| !c.is_ascii_digit());
                let kind = words.filter(is_word).map(quoted).collect::<Vec<String>>().join(" ");
                // Without a collation that only the application has, the other columns have candidates.
                let is_known = collations
                    .iter()
                    .any(|row| row[0].to_string().eq_ignore_ascii_case(&column.collation));
                let collation = if is_known { column.collation.as_str() } else { BINARY };
                format!("{} {kind} COLLATE {collation}", quoted(&column.name))
            });
            let more = numbers(&expressions, table)
                .map(|number| format!("{EXPRESSION}{number} BLOB HIDDEN"));
            // A table whose declaration SQLite takes only in its own form has no candidates.
            let _ = questions.add_table(&table.name, &columns.chain(more).collect::<Vec<String>>());
        }
        for sql in &subject.schema.others {
            // The same for what stands on it.
            let _ = questions.add(&with_columns(sql, &expressions));
        }
        let selectivity = subject.schema.tables.iter();
        let selectivity =
            selectivity.map(|table| (table.name.clone(), distinct(connection, table)));
        Ok(Planner {
            schema: &subject.schema,
            connection,
            questions,
            selectivity: selectivity.collect(),
            expressions,
            asked: RefCell::default(),
            made: Vec::new(),
        })
    }

    /// Returns the indexes that could serve a statement and do not exist; with partial ones if asked, for which tables are counted.
    pub fn candidates(&self, query: &Query, with_partial: bool) -> Vec<Candidate> {
        // What cannot be prepared without the application's functions has no candidates.
        let implied = implied(self.schema, &query.sql);
        let sql = without_clauses(&query.sql);
        let with_columns = with_columns(sql, &self.expressions);
        let texts = [sql, &with_columns].into_iter().chain(implied.iter().map(String::as_str));
        let questions: Vec<Question> =
            texts.flat_map(|sql| self.questions.of(sql).unwrap_or_default()).collect();
        let (mut all, mut partial) = (BTreeSet::new(), BTreeSet::new());
        let is_open = has_open_pattern(query);
        for question in &questions {
            let Some(table) = self.schema.table(&question.table) else { continue };
            let conditions = if with_partial { self.conditions(query, table) } else { Vec::new() };
            for (rank, (parts, covering)) in
                self.orders(table, question, is_open).into_iter().enumerate()
            {
                let candidate = |parts, covering| Candidate {
                    table: table.name.clone(),
                    parts,
                    covering,
                    condition: None,
                };
                for (column, condition) in &conditions {
                    let is_other = |part: &&Part| part.of != PartOf::Column(*column);
                    let mut others: Vec<Part> = parts.iter().filter(is_other).cloned().collect();
                    if others.is_empty() {
                        others.clone_from(&parts);
                    }
                    let covered = parts[parts.len() - covering..].iter().filter(is_other).count();
                    if others.len() > covered {
                        let condition = Some(condition.clone());
                        partial
                            .insert((rank, Candidate { condition, ..candidate(others, covered) }));
                    }
                }
                all.insert((rank, candidate(parts, covering)));
            }
        }
        let mut chosen: Vec<Candidate> = Vec::new();
        // Partial ones take no place from the others.
        let ranked = all.into_iter().chain(partial).map(|(_, candidate): (usize, _)| candidate);
        for candidate in ranked {
            let is_chosen = chosen.iter().any(|other| other.is_same(&candidate));
            if chosen.len() < MOST && !is_chosen && !self.exists(&candidate) {
                chosen.push(candidate);
            }
        }
        chosen
    }

    /// Returns the conditions in the text that hold for few rows of a table, which a partial index could have, with their columns.
    /// With a parameter for the value, SQLite uses such an index only if the value is bound when it plans.
    fn conditions(&self, query: &Query, table: &Table) -> Vec<(usize, String)> {
        let all = significant(&query.sql);
        let compared = (0..all.len()).filter_map(|place| {
            let column = table.column(&all[place].name()?)?;
            let name = name(&table.columns[column].name);
            let is = |after: usize, word: &str| {
                all.get(place + after).is_some_and(|token| token.is(word) || token.text == word)
            };
            let condition = if is(1, "is") && is(2, "null") {
                format!("{name} IS NULL")
            } else if is(1, "is") && is(2, "not") && is(3, "null") {
                format!("{name} IS NOT NULL")
            } else {
                let value = all.get(place + 2).filter(|value| is(1, "=") && value.is_literal())?;
                self.has_few_values(table, column).then(|| format!("{name} = {}", value.text))?
            };
            Some((column, condition))
        });
        let compared: BTreeSet<(usize, String)> = compared.collect();
        compared.into_iter().filter(|(_, condition)| self.is_rare(table, condition)).collect()
    }

    fn has_few_values(&self, table: &Table, column: usize) -> bool {
        let (_, most) = PARTIAL;
        // The first rows spare counting where they have too many values already.
        let first = self.selectivity.iter().find(|(name, _)| *name == table.name);
        let few = format!("count(DISTINCT {}) <= {most}", name(&table.columns[column].name));
        first.is_none_or(|(_, distinct)| distinct[column] <= most as f64) && self.holds(table, &few)
    }

    fn is_rare(&self, table: &Table, condition: &str) -> bool {
        let (part, _) = PARTIAL;
        self.holds(table, &format!("sum({condition}) <= {part} * count(*)"))
    }

    /// Returns whether a condition on all rows of a table holds. Each is asked of SQLite once, as many statements may have it.
    fn holds(&self, table: &Table, condition: &str) -> bool {
        let sql = format!("SELECT {condition} FROM {}", quoted(&table.name));
        // What cannot be compared here, as a collation is missing, does not hold.
        let ask = || self.connection.query_i64(&sql).is_ok_and(|holds| holds == 1);
        *self.asked.borrow_mut().entry(sql.clone()).or_insert_with(ask)
    }

    fn exists(&self, candidate: &Candidate) -> bool {
        if candidate.condition.is_some() {
            return false;
        }
        let table = self.schema.table(&candidate.table);
        let mut indexes = table.into_iter().flat_map(|table| &table.indexes);
        indexes.any(|index| !index.is_partial && index.parts.starts_with(&candidate.parts))
    }

    /// Returns a column of a question as a term of an index with this collation, or its own; none for the rowid, which is at the end of
    /// every index.
    fn part(&self, table: &Table, number: usize, collation: Option<&str>) -> Option<Part> {
        let (of, own) = match table.columns.get(number) {
            Some(column) if column.is_rowid => return None,
            Some(column) => (PartOf::Column(number), column.collation.as_str()),
            None => {
                let mut more = numbers(&self.expressions, table);
                let (text, _) = &self.expressions[more.nth(number - table.columns.len())?];
                (PartOf::Expression(text.clone()), BINARY)
            }
        };
        Some(Part { of, collation: collation.unwrap_or(own).to_owned(), is_descending: false })
    }

    /// Returns lists of terms for a question, the most promising first, each with the number of those that it only covers.
    /// Patterns that begin with a wildcard are open.
    fn orders(&self, table: &Table, question: &Question, is_open: bool) -> Vec<(Vec<Part>, usize)> {
        let terms = |kind: TermKind| {
            let terms = question.terms.iter().filter(move |term| term.kind == kind);
            terms.filter_map(|term| self.part(table, term.column, Some(&term.collation)))
        };
        let equal = self.arranged(table, terms(TermKind::Equal).collect());
        let is_key =
            |term: &Term| table.columns.get(term.column).is_some_and(|column| column.is_rowid);
        let mut compared = question.terms.iter().filter(|term| term.kind == TermKind::Equal);
        if equal.is_empty() && compared.any(is_key) {
            return Vec::new();
        }
        let with = |more: Vec<Part>| [equal.clone(), more].concat();
        let is_new = |part: &Part| !equal.iter().any(|equal| equal.of == part.of);
        let mut orders = Vec::new();
        let sorted: Vec<Part> = self.sorted(table, question).into_iter().filter(is_new).collect();
        let ranges: Vec<Part> = terms(TermKind::Range).filter(is_new).collect();
        if !sorted.is_empty() {
            orders.push(with(sorted));
        }
        orders.extend(ranges.iter().map(|range| with(vec![range.clone()])));
        orders.extend(
            terms(TermKind::Pattern)
                .filter(|_| !is_open)
                .flat_map(patterns)
                .filter(is_new)
                .map(|part| with(vec![part])),
        );
        orders.push(equal.clone());
        orders.dedup();
        orders.retain(|parts| !parts.is_empty());
        if question.terms.is_empty() && question.order.is_empty() {
            // The list of `IN (SELECT column FROM …)` can be the index itself.
            orders.extend(self.read(table, question).filter(|parts| parts.len() == 1));
        }
        let covering = orders.iter().filter_map(|parts| self.covering(table, question, parts));
        let covering: Vec<(Vec<Part>, usize)> = covering.collect();
        // A range of few rows needs no column with few values before it, which other statements might search.
        let single = equal.into_iter().chain(ranges).map(|part| vec![part]);
        // SQLite may walk an index for its order, and look up each row.
        let whole = table.indexes.iter().filter(|index| !index.is_partial);
        let is_whole = |made: &&Candidate| made.table == table.name && made.condition.is_none();
        let made = self.made.iter().filter(is_whole).map(|made| &made.parts);
        let walked = whole.map(|index| &index.parts).chain(made);
        let extended = walked.filter_map(|parts| self.covering(table, question, parts));
        let plain = orders.into_iter().chain(single).map(|parts| (parts, 0));
        plain.chain(covering).chain(extended).collect()
    }

    /// Returns the terms of the wanted order. SQLite reads an index backwards, so all descending ones need none that descends.
    fn sorted(&self, table: &Table, question: &Question) -> Vec<Part> {
        let is_mixed = question.order.iter().any(|(_, descending)| !descending);
        let order = question.order.iter().map_while(|(column, descending)| {
            let part = self.part(table, *column, None)?;
            Some(Part { is_descending: *descending && is_mixed, ..part })
        });
        order.collect()
    }

    /// Returns the columns that the statement reads, except the rowid; none if it may read one that is not known.
    fn read(&self, table: &Table, question: &Question) -> Option<Vec<Part>> {
        let numbers = (0..63).filter(|number| question.read & (1 << number) != 0);
        let read = numbers.filter_map(|number| self.part(table, number, None));
        (question.read >> 63 == 0).then(|| read.collect())
    }

    /// Returns the terms with all other columns that the statement reads, if these are few.
    fn covering(
        &self,
        table: &Table,
        question: &Question,
        parts: &[Part],
    ) -> Option<(Vec<Part>, usize)> {
        let mut missing = self.read(table, question)?;
        missing.retain(|read| !parts.iter().any(|part| part.of == read.of));
        let count = missing.len();
        // An index of all of several columns is the table once more.
        let columns = table.columns.iter().filter(|column| !column.is_rowid).count().max(3);
        let is_copy = parts.len() + count >= columns;
        ((1..=COVERED).contains(&count) && !is_copy).then(|| ([parts, &missing].concat(), count))
    }

    /// Arranges equal terms: as an existing index has them, then those with the most different values first.
    fn arranged(&self, table: &Table, mut parts: Vec<Part>) -> Vec<Part> {
        parts.dedup();
        let distinct = self.selectivity.iter().find(|(name, _)| *name == table.name);
        let column = |part: &Part| match &part.of {
            PartOf::Column(number) => Some(*number),
            PartOf::Expression(of) => {
                let mut known = self.expressions.iter();
                known.find(|(text, _)| text == of).and_then(|(_, column)| table.column(column))
            }
        };
        let distinct_of =
            |part: &Part| column(part).zip(distinct).map_or(0.0, |(number, (_, all))| all[number]);
        parts.sort_by(|a, b| distinct_of(b).total_cmp(&distinct_of(a)));
        let shared =
            |index: &Index| index.parts.iter().take_while(|part| parts.contains(part)).count();
        let leading = table.indexes.iter().max_by_key(|index| shared(index));
        let leading = leading.map_or(&[][..], |index| &index.parts[..shared(index)]);
        leading.iter().chain(parts.iter().filter(|part| !leading.contains(part))).cloned().collect()
    }
}

/// A call of a function on a column, or an operation of a column.
pub(crate) struct Call {
    /// Its text, without the name of a table before the column.
    pub(crate) text: String,
    pub(crate) column: String,
    /// The name of the table before the column, with the dot.
    pub(crate) qualifier: String,
    pub(crate) span: Range<usize>,
}

/// Functions with the same value each time, so that an index may have them.
const DETERMINISTIC: &str = "lower upper substr substring length trim ltrim rtrim abs date datetime strftime julianday \
    unixepoch time json_extract coalesce ifnull replace hex round cast";

/// Returns the calls and operations that a statement compares, groups or sorts by, where it has them.
pub(crate) fn calls(sql: &str) -> Vec<Call> {
    let all = significant(sql);
    let (mut calls, mut used, mut place) = (Vec::new(), BTreeSet::new(), 0);
    while place < all.len() {
        let found = call(sql, &all, place).or_else(|| operation(sql, &all, place));
        let found = found.or_else(|| collated(sql, &all, place));
        let Some((call, last)) = found else {
            place += 1;
            continue;
        };
        if is_used(&all, &call, last) {
            used.insert(call.text.clone());
        }
        calls.push(call);
        place = last + 1;
    }
    calls.retain(|call| used.contains(&call.text));
    calls
}

/// Returns the call of a function on a column whose name is the token at this place, with the place of its end.
fn call(sql: &str, all: &[Token<'_>], place: usize) -> Option<(Call, usize)> {
    let function = all[place].text.to_lowercase();
    if all[place].kind != Kind::Word
        || !DETERMINISTIC.split(' ').any(|name| name == function)
        || all.get(place + 1)?.text != "("
    {
        return None;
    }
    let end = closing(all, place + 1)?;
    expression(sql, all, place, end)
}

/// Returns the operation that begins with the token at this place, the name of a column or a sign, and goes on with literals and
/// columns of the same table, such as `data ->> '$.city'` and `at / 86400`; with the place of its end.
fn operation(sql: &str, all: &[Token<'_>], place: usize) -> Option<(Call, usize)> {
    let is_operator = |token: &Token<'_>| "->/%*+|&".contains(token.text);
    let before = &all[place.checked_sub(1)?];
    let is_part = is_operator(before) && before.text != ">";
    let is_first = matches!(before.text, "(" | "," | "=" | "<" | ">")
        || ["where", "and", "or", "on", "by"].iter().any(|word| before.is(word));
    let is_negated = all[place].text == "-" && is_first;
    let mut end = operand(all, place + usize::from(is_negated))?;
    let first = end;
    while let Some(next) = all.get(end + 1).filter(|next| is_operator(next)) {
        let signs = all[end + 1..].iter().take_while(|token| is_operator(token)).count();
        let Some(last) = operand(all, end + 1 + signs) else { break };
        // `>` alone compares.
        if next.text == ">" {
            break;
        }
        end = last;
    }
    if is_part || all[place].is_number() || (end == first && !is_negated) {
        return None;
    }
    expression(sql, all, place, end)
}

/// Returns the column at this place, if the statement groups or sorts by it with a collation of its own.
fn collated(sql: &str, all: &[Token<'_>], place: usize) -> Option<(Call, usize)> {
    let end = operand(all, place)?;
    let is_collated = all.get(end + 1)?.is("collate") && end + 2 < all.len();
    let mut listed = listed(all);
    let is_listed = is_collated && listed.any(|token| token.start == all[place].start);
    is_listed.then(|| expression(sql, all, place, end + 2)).flatten()
}

/// Returns where the literal or the column ends that begins at this place.
fn operand(all: &[Token<'_>], place: usize) -> Option<usize> {
    let token = all.get(place)?;
    let end = if all.get(place + 1).is_some_and(|dot| dot.text == ".") { place + 2 } else { place };
    let is_call = all.get(end + 1).is_some_and(|open| open.text == "(");
    let is_name = token.name().is_some() && !is_keyword(token.text);
    (is_name && !is_call && end < all.len()).then_some(end)
}

/// Returns what is between these tokens, unless it depends on parameters, other statements, the present time or the time zone, as an
/// index must not.
fn expression(sql: &str, all: &[Token<'_>], first: usize, last: usize) -> Option<(Call, usize)> {
    let inner = &all[first..=last];
    let varies = |token: &Token<'_>| {
        token.kind == Kind::Parameter
            || token.is("select")
            || ["'now'", "'localtime'", "'utc'"]
                .iter()
                .any(|text| token.text.eq_ignore_ascii_case(text))
    };
    let is_column = |place: &usize| {
        let is_call = inner.get(place + 1).is_some_and(|next| next.text == "(");
        let token = &inner[*place];
        token.name().is_some() && !token.is_text() && !token.is_number() && !is_call
    };
    let place = (0..inner.len()).find(is_column).filter(|_| !inner.iter().any(varies))?;
    let is_qualified = inner.get(place + 1).is_some_and(|dot| dot.text == ".");
    let column = if is_qualified { inner.get(place + 2)? } else { &inner[place] };
    let span = all[first].start..all[last].start + all[last].text.len();
    let qualifier = &sql[inner[place].start..column.start];
    let (column, qualifier) = (column.name()?, qualifier.to_owned());
    let text = unqualified(sql, inner)?;
    Some((Call { text, column, qualifier, span }, last))
}

/// Returns whether a call that ends at this place is compared with something, or what the statement groups or sorts by.
fn is_used(all: &[Token<'_>], call: &Call, last: usize) -> bool {
    let is_compared = |token: &Token<'_>| {
        matches!(token.text, "=" | "<" | ">" | "!")
            || ["in", "between", "like", "glob", "is"].iter().any(|word| token.is(word))
    };
    let after = &all[last + 1..];
    let first = all.partition_point(|token| token.start < call.span.start);
    let before = |back: usize| first.checked_sub(back).map(|place| &all[place]);
    let is_set = before(3).is_some_and(|token| token.is("set") || token.text == ",");
    let is_before = |token: &Token<'_>| {
        matches!(token.text, "<" | ">") || token.is("distinct") || (token.text == "=" && !is_set)
    };
    let has_name = after.first().is_some_and(|token| token.is("as"));
    let name = after.get(usize::from(has_name)).and_then(Token::name);
    after.first().is_some_and(is_compared)
        || before(1).is_some_and(is_before)
        || listed(all).any(|token| {
            let is_name = name.is_some() && token.name() == name;
            is_name || token.is_number() || token.start == call.span.start
        })
}

/// Returns the tokens of what a statement groups or sorts by.
fn listed<'t>(all: &'t [Token<'t>]) -> impl Iterator<Item = &'t Token<'t>> {
    const ENDS: [&str; 7] = ["having", "order", "limit", "window", "union", "except", "intersect"];
    let lists = (0..all.len()).filter(|place| all[*place].is("by"));
    lists.flat_map(|by| {
        let mut depth = 0;
        all[by + 1..].iter().take_while(move |token| {
            depth += i32::from(token.text == "(") - i32::from(token.text == ")");
            depth >= 0 && !ENDS.iter().any(|word| token.is(word))
        })
    })
}

/// Returns whether a text of the statement or a value begins with a wildcard, so that no index finds what it matches.
fn has_open_pattern(query: &Query) -> bool {
    let begins = |text: &str| text.starts_with(['%', '*']);
    let is_open = |token: Token<'_>| token.is_text() && begins(&token.text[1..]);
    let mut values = query.values.iter().flatten();
    tokens(&query.sql).any(is_open)
        || values.any(|value| matches!(value, Value::Text(text) if begins(text)))
}

/// Returns the terms for a pattern: `LIKE` ignores case, `GLOB` does not
/// (<https://sqlite.org/optoverview.html#the_like_optimization>).
fn patterns(part: Part) -> [Part; 2] {
    [BINARY, "NOCASE"].map(|collation| Part { collation: collation.to_owned(), ..part.clone() })
}

/// Returns a statement with columns in place of its expressions.
fn with_columns(sql: &str, expressions: &[(String, String)]) -> String {
    let mut text = sql.to_owned();
    for call in calls(sql).into_iter().rev() {
        if let Some(number) = expressions.iter().position(|(text, _)| *text == call.text) {
            text.replace_range(call.span, &format!("{}{EXPRESSION}{number}", call.qualifier));
        }
    }
    text
}

/// Returns a statement without its ON CONFLICT and RETURNING clauses, which SQLite refuses for virtual tables.
pub(crate) fn without_clauses(sql: &str) -> &str {
    let all = significant(sql);
    let clause = (0..all.len()).find(|place| {
        let is =
            |after: usize, word: &str| all.get(place + after).is_some_and(|token| token.is(word));
        let has_target = is(2, "do") || all.get(place + 2).is_some_and(|open| open.text == "(");
        // RETURNING is a keyword everywhere.
        is(0, "returning") || (is(0, "on") && is(1, "conflict") && has_target)
    });
    clause.map_or(sql, |place| &sql[..all[place].start])
}

/// Returns the numbers of the expressions of a table's columns.
fn numbers(expressions: &[(String, String)], table: &Table) -> impl Iterator<Item = usize> {
    let is_of = |number: &usize| table.column(&expressions[*number].1).is_some();
    (0..expressions.len()).filter(is_of)
}

/// Returns about how many different values each column has in the first rows.
fn distinct(connection: &Connection, table: &Table) -> Vec<f64> {
    const ROWS: usize = 1000;
    let counts =
        table.columns.iter().map(|column| format!("count(DISTINCT {})", name(&column.name)));
    let sql = format!(
        "SELECT {} FROM (SELECT * FROM {} LIMIT {ROWS})",
        counts.collect::<Vec<String>>().join(", "),
        quoted(&table.name)
    );
    let row = connection.query_all(&sql).unwrap_or_default().into_iter().next().unwrap_or_default();
    let number =
        |value: &Value| if let Value::Integer(count) = value { *count as f64 } else { 0.0 };
    let mut distinct: Vec<f64> = row.iter().map(number).collect();
    distinct.resize(table.columns.len(), 0.0);
    distinct
}
