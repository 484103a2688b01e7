//! Indexes that could serve a statement, by the questions that SQLite's planner asks of each table, and by functions of
//! columns in the text.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use engine::schema::{BINARY, Index, Part, PartOf, Schema, Table};
use engine::{Connection, EngineError, OpenFlags, Question, Questions, Term, TermKind, Value};
use script::effect::quoted;
use script::{Kind, Token, tokens};

use crate::implied::implied;
use crate::schema::{name, sql_of};
use crate::subject::{Query, Subject};
use crate::text::closing;

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
        let word = |part: &Part| table.map_or(String::new(), |table| sql_of(table, part));
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
    /// Answers to questions about all rows of a table, each counted once.
    asked: RefCell<BTreeMap<String, bool>>,
}

impl<'s> Planner<'s> {
    /// Prepares a schema without rows.
    ///
    /// # Errors
    /// SQLite's.
    pub fn new(
        subject: &'s Subject,
        connection: &'s Connection,
    ) -> Result<Planner<'s>, EngineError> {
        let memory = Path::new(":memory:");
        let empty = Connection::open(subject.library(), memory, OpenFlags::default(), None)?;
        let collations = empty.query_all("SELECT name FROM pragma_collation_list")?;
        let questions = Questions::new(empty)?;
        for table in &subject.schema.tables {
            let columns = table.columns.iter().map(|column| {
                let kind = column.kind.replace(['(', ')', ','], " ");
                // Without a collation that only the application has, the other columns have candidates.
                let is_known = collations
                    .iter()
                    .any(|row| row[0].to_string().eq_ignore_ascii_case(&column.collation));
                let collation = if is_known { column.collation.as_str() } else { BINARY };
                format!("{} {kind} COLLATE {collation}", quoted(&column.name))
            });
            // A table whose declaration SQLite takes only in its own form has no candidates.
            let _ = questions.add_table(&table.name, &columns.collect::<Vec<String>>());
        }
        for sql in &subject.schema.others {
            // The same for what stands on it.
            let _ = questions.add(sql);
        }
        let selectivity = subject.schema.tables.iter();
        let selectivity =
            selectivity.map(|table| (table.name.clone(), distinct(connection, table)));
        Ok(Planner {
            schema: &subject.schema,
            connection,
            questions,
            selectivity: selectivity.collect(),
            asked: RefCell::default(),
        })
    }

    /// Returns the indexes that could serve a statement and do not exist; with partial ones if asked, for which tables are counted.
    pub fn candidates(&self, query: &Query, with_partial: bool) -> Vec<Candidate> {
        // What cannot be prepared without the application's functions has no candidates.
        let implied = implied(self.schema, &query.sql);
        let texts = std::iter::once(&query.sql).chain(&implied);
        let questions: Vec<Question> =
            texts.flat_map(|sql| self.questions.of(sql).unwrap_or_default()).collect();
        let (mut all, mut partial) = (BTreeSet::new(), BTreeSet::new());
        let expressions = self.expressions(query);
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
                    let others: Vec<Part> = parts.iter().filter(is_other).cloned().collect();
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
        let ranked = expressions.into_iter().chain(ranked);
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
        let all: Vec<Token<'_>> = tokens(&query.sql).filter(Token::counts).collect();
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
                let value = all.get(place + 2).filter(|value| is(1, "=") && is_literal(value))?;
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

    /// Returns lists of terms for a question, the most promising first, each with the number of those that it only covers.
    /// Patterns that begin with a wildcard are open.
    fn orders(&self, table: &Table, question: &Question, is_open: bool) -> Vec<(Vec<Part>, usize)> {
        let terms = |kind: TermKind| {
            let terms = question.terms.iter().filter(move |term| term.kind == kind);
            terms.filter(|term| {
                table.columns.get(term.column).is_some_and(|column| !column.is_rowid)
            })
        };
        let equal = self.arranged(table, terms(TermKind::Equal).map(part).collect());
        if terms(TermKind::Equal).count() == 0
            && question
                .terms
                .iter()
                .any(|term| term.kind == TermKind::Equal && table.columns[term.column].is_rowid)
        {
            return Vec::new();
        }
        let with = |more: Vec<Part>| [equal.clone(), more].concat();
        let is_new = |part: &Part| !equal.iter().any(|equal| equal.of == part.of);
        let mut orders = Vec::new();
        let sorted: Vec<Part> = sorted(table, question).into_iter().filter(is_new).collect();
        let ranges: Vec<Part> = terms(TermKind::Range).map(part).filter(is_new).collect();
        if !sorted.is_empty() {
            orders.push(with(sorted.clone()));
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
        let covering = orders.iter().filter_map(|parts| covering(table, question, parts));
        let covering: Vec<(Vec<Part>, usize)> = covering.collect();
        let single = equal.into_iter().map(|part| vec![part]);
        orders.into_iter().chain(single).map(|parts| (parts, 0)).chain(covering).collect()
    }

    /// Arranges equal terms: as an existing index has them, then those with the most different values first.
    fn arranged(&self, table: &Table, mut parts: Vec<Part>) -> Vec<Part> {
        parts.dedup();
        let distinct = self.selectivity.iter().find(|(name, _)| *name == table.name);
        let distinct_of = |part: &Part| match (&part.of, distinct) {
            (PartOf::Column(number), Some((_, distinct))) => distinct[*number],
            _ => 0.0,
        };
        parts.sort_by(|a, b| distinct_of(b).total_cmp(&distinct_of(a)));
        let shared =
            |index: &Index| index.parts.iter().take_while(|part| parts.contains(part)).count();
        let leading = table.indexes.iter().max_by_key(|index| shared(index));
        let leading = leading.map_or(&[][..], |index| &index.parts[..shared(index)]);
        let others = parts.iter().filter(|part| !leading.contains(part));
        leading.iter().chain(others).cloned().collect()
    }

    /// Returns indexes on functions and operations of a single column that the text compares or sorts by.
    fn expressions(&self, query: &Query) -> Vec<Candidate> {
        let all: Vec<Token<'_>> = tokens(&query.sql).filter(Token::counts).collect();
        let calls = (0..all.len()).filter_map(|place| {
            call(&query.sql, &all, place).or_else(|| operation(&query.sql, &all, place))
        });
        let calls: Vec<Call> = calls.filter(|call| call.is_compared).collect();
        let named: Vec<&Table> = script::effect::names(&query.sql)
            .iter()
            .filter_map(|name| self.schema.table(name))
            .collect();
        let candidates = calls.iter().flat_map(|call| {
            let has = named.iter().filter(|table| table.column(&call.column).is_some());
            has.map(|table| Candidate {
                table: table.name.clone(),
                parts: vec![Part {
                    of: PartOf::Expression(call.text.clone()),
                    collation: BINARY.to_owned(),
                    is_descending: false,
                }],
                covering: 0,
                condition: None,
            })
        });
        let unique: BTreeSet<Candidate> = candidates.collect();
        unique.into_iter().collect()
    }
}

/// A call of a function on a column, or an operation of a column and a literal.
pub(crate) struct Call {
    /// Its text, without the name of a table before the column.
    pub(crate) text: String,
    pub(crate) column: String,
    /// Whether it is compared with something or sorted by.
    is_compared: bool,
}

/// Functions with the same value each time, so that an index may have them.
const DETERMINISTIC: &str = "lower upper substr substring length trim ltrim rtrim abs date datetime strftime julianday \
    unixepoch time json_extract coalesce ifnull instr replace hex round cast";

/// Returns the call of a function on a column whose name is the token at this place.
pub(crate) fn call(sql: &str, all: &[Token<'_>], place: usize) -> Option<Call> {
    let function = all[place].text.to_lowercase();
    if all[place].kind != Kind::Word
        || !DETERMINISTIC.split(' ').any(|name| name == function)
        || all.get(place + 1)?.text != "("
    {
        return None;
    }
    let end = closing(all, place + 1)?;
    let inner = &all[place + 2..end];
    let is_column =
        |token: &&Token<'_>| token.name().is_some() && !token.is("as") && !is_number(token);
    // An index must not depend on parameters, other tables, the present time or the time zone.
    let is_fixed = inner.iter().all(|token| {
        let varies = |text: &&str| token.text.eq_ignore_ascii_case(text);
        token.kind != Kind::Parameter && !["'now'", "'localtime'", "'utc'"].iter().any(varies)
    });
    let first =
        inner.iter().filter(|token| !token.text.starts_with('\'')).clone().find(is_column)?;
    let qualified = inner.iter().position(|token| token.start == first.start)?;
    let column = match inner.get(qualified + 1) {
        Some(dot) if dot.text == "." => inner.get(qualified + 2)?,
        _ => first,
    };
    let mut text = sql[all[place].start..all[end].start + 1].to_owned();
    if column.start != first.start {
        text = text.replacen(&sql[first.start..column.start], "", 1);
    }
    is_fixed.then(|| Call {
        text,
        column: column.name().unwrap_or_default(),
        is_compared: is_compared(all, place, end),
    })
}

/// Returns the operation that begins with the token at this place, the name of a column, and ends with a literal, such as
/// `data ->> '$.city'` and `at / 86400`. Others are rarely more than a way to keep an index from being used.
fn operation(sql: &str, all: &[Token<'_>], place: usize) -> Option<Call> {
    let column = all[place].name().filter(|_| !is_number(&all[place]))?;
    let is_qualified = place > 1 && all[place - 1].text == ".";
    let first = if is_qualified { place - 2 } else { place };
    let is_operator = |token: &Token<'_>| "->/%*+|&".contains(token.text);
    let operator: String = all[place + 1..]
        .iter()
        .take_while(|token| is_operator(token))
        .map(|one| one.text)
        .collect();
    let end = place + 1 + operator.len();
    let literal = all.get(end).filter(|token| is_literal(token))?;
    let is_part = first > 0 && is_operator(&all[first - 1]) && all[first - 1].text != ">";
    (["->", "->>", "/", "%", "*"].contains(&&*operator) && !is_part).then(|| Call {
        text: sql[all[place].start..literal.start + literal.text.len()].to_owned(),
        column,
        is_compared: is_compared(all, first, end),
    })
}

/// Returns whether what is between these tokens is compared with something or sorted by.
fn is_compared(all: &[Token<'_>], first: usize, last: usize) -> bool {
    let after = all.get(last + 1).is_some_and(|token| {
        matches!(token.text, "=" | "<" | ">" | "!")
            || ["in", "between", "like", "glob", "is"].iter().any(|word| token.is(word))
    });
    let before = first
        .checked_sub(1)
        .is_some_and(|before| matches!(all[before].text, "=" | "<" | ">") || all[before].is("by"));
    after || before
}

/// Returns whether a text of the statement or a value begins with a wildcard, so that no index finds what it matches.
fn has_open_pattern(query: &Query) -> bool {
    let begins = |text: &str| text.starts_with(['%', '*']);
    let is_open = |token: Token<'_>| token.text.starts_with('\'') && begins(&token.text[1..]);
    let mut values = query.values.iter().flatten();
    tokens(&query.sql).any(is_open)
        || values.any(|value| matches!(value, Value::Text(text) if begins(text)))
}

fn is_literal(token: &Token<'_>) -> bool {
    is_number(token) || token.text.starts_with('\'')
}

fn is_number(token: &Token<'_>) -> bool {
    token.text.starts_with(|c: char| c.is_ascii_digit())
}

fn part(term: &Term) -> Part {
    Part {
        of: PartOf::Column(term.column),
        collation: term.collation.clone(),
        is_descending: false,
    }
}

/// Returns the terms for a pattern: `LIKE` ignores case, `GLOB` does not
/// (<https://sqlite.org/optoverview.html#the_like_optimization>).
fn patterns(term: &Term) -> [Part; 2] {
    [BINARY, "NOCASE"].map(|collation| Part { collation: collation.to_owned(), ..part(term) })
}

/// Returns the terms of the wanted order. SQLite reads an index backwards, so all descending ones need none that descends.
fn sorted(table: &Table, question: &Question) -> Vec<Part> {
    let is_mixed = question.order.iter().any(|(_, descending)| !descending);
    let order = question.order.iter().filter_map(|(column, descending)| {
        Some(Part {
            of: PartOf::Column(*column),
            collation: table.columns.get(*column)?.collation.clone(),
            is_descending: *descending && is_mixed,
        })
    });
    // The rowid is at the end of every index.
    let is_rowid = |part: &Part| match part.of {
        PartOf::Column(number) => table.columns[number].is_rowid,
        PartOf::Expression(_) => false,
    };
    order.take_while(|part| !is_rowid(part)).collect()
}

/// Returns the terms with all other columns that the statement reads, if these are few.
fn covering(table: &Table, question: &Question, parts: &[Part]) -> Option<(Vec<Part>, usize)> {
    let is_read = |number: &usize| *number < 63 && question.read & (1 << number) != 0;
    let has = |number: &usize| parts.iter().any(|part| part.of == PartOf::Column(*number));
    let numbers = 0..table.columns.len();
    let missing: Vec<usize> = numbers
        .filter(|number| is_read(number) && !has(number) && !table.columns[*number].is_rowid)
        .collect();
    let covered = missing.iter().map(|number| Part {
        of: PartOf::Column(*number),
        collation: table.columns[*number].collation.clone(),
        is_descending: false,
    });
    // An index of all columns is the table once more.
    let is_copy = parts.len() + missing.len() + 1 >= table.columns.len();
    let is_few = !missing.is_empty() && missing.len() <= COVERED && question.read >> 63 == 0;
    let is_useful = is_few && !is_copy;
    is_useful.then(|| (parts.iter().cloned().chain(covered).collect(), missing.len()))
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
