//! Faults of a statement: causes in its text, its plan and its counts, each with a remedy that was tried.

use engine::schema::{Index, Part, PartOf, Schema, Table};
use engine::{EngineError, Value};
use script::{Kind, Token, parameters, significant};

mod forms;
mod joins;
mod ranges;
mod rewrites;

use crate::advisor::{Advice, Change, MadeIndex};
use crate::conditions::{Never, never};
use crate::implied::key;
use crate::observe::{Cost, Node, Observation};
use crate::subject::{Query, Subject};

/// A fault, and what mends it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The cause.
    pub cause: Cause,
    /// Its remedy.
    pub remedy: Remedy,
}

/// Causes of work that is not needed.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// The planner expects very different numbers of rows, and plans otherwise with statistics.
    Statistics {
        /// The node that is furthest off, with the expected and the actual rows.
        node: Option<(String, f64, f64)>,
    },
    /// Most of the rows that a loop visits are not wanted.
    Filter {
        /// The table.
        table: String,
        /// Rows visited.
        visited: i64,
        /// Rows kept.
        kept: Option<i64>,
    },
    /// No index has the result of this function of a column.
    Function {
        /// The call.
        call: String,
    },
    /// The index of a column has another collation than the comparison.
    Collation {
        /// The column.
        column: String,
        /// The collation of the comparison.
        collation: String,
        /// Whether it belongs to LIKE, which ignores case.
        is_pattern: bool,
    },
    /// The column is in an index, but behind others that the statement does not compare.
    Position {
        /// The index.
        index: String,
        /// The column.
        column: String,
    },
    /// The index begins with the column, but has only the rows that its WHERE clause selects.
    Partial {
        /// The index.
        index: String,
    },
    /// The index has the columns of the order, but with other directions.
    Direction {
        /// The index.
        index: String,
    },
    /// The conditions around an OR have no index each.
    Or,
    /// An index is made for each execution.
    AutomaticIndex {
        /// Its table and columns.
        on: String,
        /// Its rows.
        rows: i64,
        /// How often it is made.
        times: i64,
    },
    /// A trigger scans a table.
    Trigger {
        /// The trigger.
        name: String,
        /// The table.
        table: String,
        /// Rows visited.
        visited: i64,
    },
    /// A table is scanned for rows that refer to one that is changed.
    ForeignKey {
        /// The table with the foreign key.
        child: String,
        /// Its columns: an entry for each key.
        columns: Vec<String>,
        /// Rows visited.
        visited: i64,
    },
    /// A function of a column is compared, where the column itself could be.
    Range {
        /// The call.
        call: String,
        /// The column.
        column: String,
        /// An operand that has to be written as the result of the call is, because its value is not known.
        operand: Option<String>,
    },
    /// The time since a column is compared, where the column itself could be.
    Since {
        /// The difference.
        expression: String,
        /// The column.
        column: String,
    },
    /// An operation is compared that gives the value of its column in every row.
    Plain {
        /// The operation.
        call: String,
        /// The column.
        column: String,
        /// Whether that is so in every row, or only in those that the condition can be true for.
        is_always: bool,
    },
    /// A column's index is used for an order or a list, and many rows are read in vain.
    Walked {
        /// The index.
        index: String,
        /// The column.
        column: String,
        /// Rows read.
        rows: i64,
    },
    /// The sides of an OR compare columns of two tables.
    Sides,
    /// A pattern is put together from a parameter and a wildcard.
    Pattern {
        /// The parameter.
        parameter: String,
    },
    /// No condition joins a table to those that are read before it.
    Product {
        /// The name of the table in the statement.
        table: String,
        /// The rows that meet its own conditions, each time that it is read.
        rows: i64,
    },
    /// A LEFT JOIN is there to find rows without a match.
    WithoutMatch {
        /// The name of the table in the statement.
        table: String,
    },
    /// The largest or smallest value of every group is computed before a condition selects rows.
    Latest {
        /// The table.
        table: String,
        /// `max(…)` or `min(…)`.
        call: String,
    },
    /// Rows are sorted by chance.
    Random {
        /// The rows.
        rows: i64,
    },
    /// Both ends of a column are asked for at once.
    MinMax,
    /// A condition is only there if a parameter has a value.
    Optional {
        /// The text that makes it so, such as `:p IS NULL OR` or `coalesce(:p, column)`.
        condition: String,
    },
    /// The text keeps the planner from an index.
    Hint {
        /// `INDEXED BY` an index, `NOT INDEXED`, or `+`.
        hint: String,
    },
    /// Rows of a common table expression are written down before they are searched.
    Materialized,
    /// A function is compared with a literal that it never gives.
    Never {
        /// The call.
        call: String,
        /// The literal.
        literal: String,
        /// The literal that was meant, if that is known.
        meant: Option<String>,
    },
    /// `NOT IN` a list with NULL is never true.
    NotIn {
        /// How many NULLs the list has.
        nulls: i64,
    },
    /// Rows are sorted that an index could have in order.
    Sort {
        /// The rows.
        rows: i64,
    },
    /// Rows are sorted to group them.
    Group {
        /// The rows.
        rows: i64,
    },
    /// A temporary b-tree tells duplicates.
    Distinct {
        /// How often the statement uses its sorters and temporary b-trees, all together.
        times: i64,
    },
    /// The list of `IN (SELECT …)` is written down for each execution.
    List {
        /// The table that it is read from.
        table: String,
        /// The rows read for it.
        rows: i64,
    },
    /// Each row of the index is looked up in the table for a few more columns.
    NotCovering {
        /// The index.
        index: String,
    },
    /// Rows are read to be left out.
    Offset {
        /// The rows.
        rows: i64,
    },
    /// All rows are counted to know whether there is one.
    CountForExists,
    /// A subquery is executed for each row.
    Correlated {
        /// Its executions.
        times: i64,
        /// Rows that it visits in all.
        visited: i64,
    },
    /// A text and a number are compared, so that the index of the text cannot be used.
    Affinity {
        /// The column of texts.
        text: String,
        /// The column of numbers.
        number: String,
    },
    /// The pattern begins with a wildcard.
    Wildcard {
        /// The pattern.
        pattern: String,
        /// Rows visited.
        visited: i64,
    },
}

/// The remedy of a fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// The indexes of this step of the advice.
    Indexes(usize),
    /// `ANALYZE`, with the cost before and after.
    Analyze(Cost, Cost),
    /// Another text, which was tried and gives the same rows.
    Rewrite {
        /// The text.
        sql: String,
        /// The statements that make the indexes that it needs.
        indexes: Vec<String>,
        /// The cost before.
        before: Cost,
        /// The cost after.
        after: Cost,
    },
    /// Something that was not tried here.
    Untried,
}

/// Rows from which on reading them in vain is named.
const MANY: i64 = 1_000;

/// Returns the faults of a statement.
///
/// # Errors
/// SQLite's, such as a full disk.
pub fn faults(
    subject: &Subject,
    query: &Query,
    observation: &Observation,
    advice: &Advice,
) -> Result<Vec<Fault>, EngineError> {
    let seen = Seen { subject, query, observation, tokens: significant(&query.sql) };
    let mut faults: Vec<Fault> = Vec::new();
    faults.extend(seen.statistics(advice));
    for made in advice.made.iter().filter(|made| helps(made, query)) {
        for cause in seen.causes(made, advice) {
            let fault = Fault { cause, remedy: Remedy::Indexes(made.step) };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    }
    if let Some(found) = never(&subject.connect()?, &query.sql) {
        let Never { call, literal, meant, .. } = found;
        let cause = Cause::Never { call, literal, meant };
        faults.push(Fault { cause, remedy: Remedy::Untried });
        return Ok(faults);
    }
    let own = advice.changes.iter().find(|change| change.name == query.name);
    let indexed = own.map_or(i64::MAX, |change| change.after.total());
    faults.extend(seen.rewritten()?.into_iter().filter(|fault| {
        match (&fault.cause, &fault.remedy) {
            // Fewer matches to read may be nothing beside the indexes that both texts need.
            (Cause::WithoutMatch { .. }, Remedy::Rewrite { after, .. }) => {
                after.total() < indexed / 2
            }
            _ => true,
        }
    }));
    // The column itself needs no index on the operation.
    let plain = faults.iter().find_map(|fault| match &fault.cause {
        Cause::Plain { call, .. } => Some(Cause::Function { call: call.clone() }),
        _ => None,
    });
    faults.retain(|fault| Some(&fault.cause) != plain.as_ref());
    let is_rewritten = faults.iter().any(|fault| matches!(fault.remedy, Remedy::Rewrite { .. }));
    faults.extend(seen.untried(advice, is_rewritten));
    Ok(faults)
}

/// Returns whether an index makes a statement cheaper.
pub fn helps(made: &MadeIndex, query: &Query) -> bool {
    let mut changes = made.changes.iter();
    changes.any(|change| change.name == query.name && change.after.total() < change.before.total())
}

struct Seen<'s> {
    subject: &'s Subject,
    query: &'s Query,
    observation: &'s Observation,
    tokens: Vec<Token<'s>>,
}

impl Seen<'_> {
    fn schema(&self) -> &Schema {
        &self.subject.schema
    }

    fn statistics(&self, advice: &Advice) -> Option<Fault> {
        let changes = advice.analyzed.as_ref()?;
        let change = changes.iter().find(|change| change.name == self.query.name)?;
        let off = self.observation.nodes.iter().filter_map(|node| {
            let (expected, actual) = (node.expected?, node.actual()?);
            let ratio = (expected.max(1.0) / actual.max(1.0)).ln().abs();
            Some((ratio, (node.detail.clone(), expected, actual)))
        });
        let node =
            off.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(ratio, _)| *ratio > 10_f64.ln());
        Some(Fault {
            cause: Cause::Statistics { node: node.map(|(_, node)| node) },
            remedy: Remedy::Analyze(change.before, change.after),
        })
    }

    /// Returns why the statement has no use of an index that helps it.
    fn causes(&self, made: &MadeIndex, advice: &Advice) -> Vec<Cause> {
        let Some(table) = self.schema().table(&made.index.table) else { return Vec::new() };
        let mut causes = Vec::new();
        causes
            .extend(self.implied(table, made, advice).or_else(|| self.cause(table, made, advice)));
        let mut own = made.changes.iter().filter(|change| change.name == self.query.name);
        let uses = |change: &Change| (change.before.temporary, change.after.temporary);
        let (before, after) = own.next().map_or((0, 0), uses);
        let grouped = self.grouped().filter(|_| after * 2 < before);
        let rows_of_groups = if let Some(Cause::Group { rows }) = grouped { rows } else { 0 };
        let is_spared = after * 2 < before - rows_of_groups;
        if let Some(rows) = self.observation.sorted.filter(|rows| *rows > 1 && is_spared)
            && !causes.iter().any(|cause| matches!(cause, Cause::Direction { .. }))
        {
            causes.push(Cause::Sort { rows });
        }
        causes.extend(grouped);
        if let Some(list) = self.listed(table).filter(|_| after * 2 < before) {
            causes.retain(|cause| !matches!(cause, Cause::Filter { kept: None, .. }));
            causes.push(list);
        }
        if causes.is_empty() {
            causes.push(self.filter(table));
        }
        causes.retain(|cause| !matches!(cause, Cause::Filter { visited: 0, .. }));
        causes
    }

    fn cause(&self, table: &Table, made: &MadeIndex, advice: &Advice) -> Option<Cause> {
        let first = made.index.parts.first()?;
        let PartOf::Column(number) = first.of else {
            let PartOf::Expression(call) = &first.of else { return None };
            let is_collated = call.to_ascii_uppercase().contains(" COLLATE ");
            return (!is_collated).then(|| Cause::Function { call: call.clone() });
        };
        let column = table.columns.get(number)?;
        if !first.collation.eq_ignore_ascii_case(&column.collation) {
            return Some(Cause::Collation {
                column: column.name.clone(),
                collation: first.collation.clone(),
                is_pattern: self.tokens.iter().any(|token| token.is("like") || token.is("glob")),
            });
        }
        if let Some(cause) = self.automatic_index(advice, Some(table)) {
            return Some(cause);
        }
        let same = |index: &&Index| {
            let columns = |parts: &[Part]| -> Vec<PartOf> {
                parts.iter().map(|part| part.of.clone()).collect()
            };
            columns(&index.parts) == columns(&made.index.parts)
        };
        let is_sorted = self.tokens.iter().any(|token| token.is("order"));
        let mut whole = table.indexes.iter().filter(|index| !index.is_partial && is_sorted);
        if let Some(index) = whole.find(same) {
            return Some(Cause::Direction { index: index.name.clone() });
        }
        if let Some(index) = self.looked_up(table, first, made) {
            return Some(Cause::NotCovering { index });
        }
        let behind = |index: &&Index| index.parts.iter().skip(1).any(|part| part.of == first.of);
        if let Some(index) = table.indexes.iter().find(behind)
            && self.is_compared(&column.name)
        {
            let (index, column) = (index.name.clone(), column.name.clone());
            return Some(Cause::Position { index, column });
        }
        let leads = |index: &&Index| index.parts.first().is_some_and(|part| part.of == first.of);
        let mut leading = table.indexes.iter().filter(leads);
        if self.is_in_or(&column.name) && leading.clone().next().is_none() {
            return Some(Cause::Or);
        }
        if made.index.condition.is_none()
            && let Some(index) = leading.find(|index| index.is_partial)
        {
            return Some(Cause::Partial { index: index.name.clone() });
        }
        let filter = self.filter(table);
        match &filter {
            Cause::Filter { visited, kept, .. } if kept.is_none_or(|kept| kept * 2 < *visited) => {
                Some(filter)
            }
            _ => None,
        }
    }

    /// Returns the largest index that is made for each execution, and that an index of this table spares: one of the same table, or one
    /// of a table that gets none.
    fn automatic_index(&self, advice: &Advice, table: Option<&Table>) -> Option<Cause> {
        let is_spared = |of: &str| {
            let is_same = |name: &str| name.eq_ignore_ascii_case(of);
            let is_made = |made: &MadeIndex| helps(made, self.query) && is_same(&made.index.table);
            table.is_none_or(|table| is_same(&table.name)) || !advice.made.iter().any(is_made)
        };
        let made = self.observation.nodes.iter().filter_map(|node| {
            let on = node.detail.strip_prefix("CREATE AUTOMATIC INDEX ON ")?;
            // An index that no row was looked up in was not built.
            let rows = node.visited.filter(|rows| *rows > 0)?;
            let times = node.loops.unwrap_or(1);
            is_spared(on.split('(').next()?).then(|| (rows, on.to_owned(), times))
        });
        let (rows, on, times) = made.max()?;
        Some(Cause::AutomaticIndex { on, rows, times })
    }

    /// Returns the trigger or the foreign key for which an index is used that the statement itself has no use for.
    fn implied(&self, table: &Table, made: &MadeIndex, advice: &Advice) -> Option<Cause> {
        if let Some(cause) = self.triggered(Some(table)) {
            return Some(cause);
        }
        let key_of = |made: &MadeIndex| {
            let key =
                key(self.schema(), table, &made.index.columns(self.schema()), &self.query.sql);
            key.map(|key| key.columns.join(", "))
        };
        key_of(made)?;
        let is_together =
            |other: &&MadeIndex| other.step == made.step && other.index.table == made.index.table;
        let columns = advice.made.iter().filter(is_together).filter_map(key_of).collect();
        let visited = self.nodes(table).filter_map(|node| node.visited).max().unwrap_or(0);
        let visited = visited + self.observation.repeated().get(table.name.as_str()).unwrap_or(&0);
        Some(Cause::ForeignKey { child: table.name.clone(), columns, visited })
    }

    /// Returns the trigger that scans most rows, of this table if one is given.
    fn triggered(&self, table: Option<&Table>) -> Option<Cause> {
        let scans = self.observation.triggered.iter().filter(|(name, of, visited)| {
            let is_of = table.is_none_or(|table| of.eq_ignore_ascii_case(&table.name));
            name.is_some() && *visited >= MANY && is_of
        });
        let (name, table, visited) = scans.max_by_key(|(_, _, visited)| *visited)?.clone();
        Some(Cause::Trigger { name: name?, table, visited })
    }

    /// Returns the index that begins with this term, if all rows found by it are wanted and looked up in the table, which takes much of
    /// what is saved.
    fn looked_up(&self, table: &Table, first: &Part, made: &MadeIndex) -> Option<String> {
        /// The most that a look-up in a table costs, in steps: a path through a deep tree.
        const MOST: i64 = 50;
        let mut changes = made.changes.iter();
        let change = changes.find(|change| change.name == self.query.name)?;
        let saved = change.before.total() - change.after.total();
        let begins = |index: &&Index| index.parts.first() == Some(first);
        let mut indexes = table.indexes.iter().filter(begins);
        let is_used = |name: &str| {
            let node =
                self.observation.nodes.iter().find(|node| node.object.as_deref() == Some(name));
            node.is_some_and(|node| {
                !node.detail.contains("COVERING")
                    && node.kept.is_some()
                    && node.kept == node.visited
                    && node.visited.unwrap_or(0) * MOST >= saved
            })
        };
        let index = indexes.find(|index| is_used(&index.name))?;
        self.observation.sorted.is_none().then(|| index.name.clone())
    }

    /// Returns the temporary b-tree that groups rows or tells duplicates.
    fn grouped(&self) -> Option<Cause> {
        let mut trees = self.observation.nodes.iter().filter_map(|node| {
            let purpose = node.detail.strip_prefix("USE TEMP B-TREE FOR ")?;
            match (purpose, node.visited) {
                ("GROUP BY", Some(rows)) => Some(Cause::Group { rows }),
                ("DISTINCT" | "count(DISTINCT)", _) => {
                    Some(Cause::Distinct { times: self.observation.cost.temporary })
                }
                _ => None,
            }
        });
        trees.next()
    }

    /// Returns the list of an `IN (SELECT …)` that is written down, though an index of this table could be it.
    fn listed(&self, table: &Table) -> Option<Cause> {
        let nodes = &self.observation.nodes;
        let list = nodes.iter().position(|node| node.detail.starts_with("LIST SUBQUERY"))?;
        let inner = nodes[list + 1..].iter().take_while(|node| node.depth > nodes[list].depth);
        let mut inner = inner.filter(|node| node.object.as_deref() == Some(&*table.name));
        let rows = inner.next()?.visited?;
        Some(Cause::List { table: table.name.clone(), rows })
    }

    /// Returns the nodes that read a table.
    fn nodes(&self, table: &Table) -> impl Iterator<Item = &Node> {
        self.observation.nodes.iter().filter(|node| {
            let object = node.object.as_deref().unwrap_or_default();
            let index = table.indexes.iter().any(|index| index.name == object);
            index || object.eq_ignore_ascii_case(&table.name)
        })
    }

    fn filter(&self, table: &Table) -> Cause {
        // Searches for rows that refer to changed ones have no expectation.
        let node = self.nodes(table).max_by_key(|node| (node.expected.is_some(), node.visited));
        Cause::Filter {
            table: table.name.clone(),
            visited: node.and_then(|node| node.visited).unwrap_or(0),
            kept: node.and_then(|node| node.kept),
        }
    }

    /// Returns whether the text compares the column on one side of an OR.
    fn is_in_or(&self, column: &str) -> bool {
        let is_column =
            |token: &Token<'_>| token.name().is_some_and(|name| name.eq_ignore_ascii_case(column));
        let places = (0..self.tokens.len()).filter(|place| is_column(&self.tokens[*place]));
        let mut near = places.map(|place| {
            // `OR alias.column`, and `column = value OR`.
            let (before, after) = (place.saturating_sub(3), (place + 5).min(self.tokens.len()));
            &self.tokens[before..after]
        });
        near.any(|tokens| tokens.iter().any(|token| token.is("or")))
    }

    /// Returns whether the text compares the column with something.
    fn is_compared(&self, column: &str) -> bool {
        let is_column =
            |token: &Token<'_>| token.name().is_some_and(|name| name.eq_ignore_ascii_case(column));
        self.tokens.windows(2).any(|pair| {
            let is_operator = matches!(pair[1].text, "=" | "<" | ">")
                || ["in", "is", "between", "like", "glob"].iter().any(|word| pair[1].is(word));
            is_column(&pair[0]) && is_operator
        })
    }

    /// Returns the faults whose remedies change the application or the schema more than can be tried here.
    fn untried(&self, advice: &Advice, is_rewritten: bool) -> Vec<Fault> {
        let is_mended = is_rewritten || advice.made.iter().any(|made| helps(made, self.query));
        let causes = [
            self.product(),
            self.offset(),
            self.random(),
            (!is_mended).then(|| self.correlated()).flatten(),
            (!is_mended).then(|| self.wildcard()).flatten(),
            (!is_mended).then(|| self.triggered(None)).flatten(),
            (!is_mended).then(|| self.automatic_index(advice, None)).flatten().filter(
                |cause| matches!(cause, Cause::AutomaticIndex { rows, .. } if *rows >= MANY),
            ),
        ];
        let fault = |cause| Fault { cause, remedy: Remedy::Untried };
        causes.into_iter().flatten().map(fault).collect()
    }

    fn offset(&self) -> Option<Cause> {
        let place = self.tokens.iter().rposition(|token| token.is("offset"))?;
        let rows = self.integer(place + 1)?;
        (rows >= MANY).then_some(Cause::Offset { rows })
    }

    /// Returns the table with this column, if only one of the statement has it.
    fn table_with(&self, column: &str) -> Option<&Table> {
        let tables = script::effect::names(&self.query.sql);
        let tables = tables.iter().filter_map(|table| self.schema().table(table));
        let mut having = tables.filter(|table| table.column(column).is_some());
        let first = having.next()?;
        having.all(|other| other.name == first.name).then_some(first)
    }

    /// Returns the integer that a token stands for.
    fn integer(&self, place: usize) -> Option<i64> {
        match self.value(place)? {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the value of a literal or a parameter.
    fn value(&self, place: usize) -> Option<Value> {
        let token = self.tokens.get(place)?;
        if token.kind == Kind::Parameter {
            let all = parameters(&self.tokens).into_iter();
            let number = all.rev().find(|parameter| parameter.place == place)?.number;
            return self.query.values.first()?.get(number - 1).cloned();
        }
        match token.kind {
            Kind::Word => token.text.parse().ok().map(Value::Integer),
            Kind::Quoted(true) if token.is_text() => token.name().map(Value::Text),
            _ => None,
        }
    }

    fn correlated(&self) -> Option<Cause> {
        let nodes = &self.observation.nodes;
        // EXISTS asks for one row, and a join cannot ask for less.
        let begins = |three: &[Token<'_>]| three[1].text == "(" && three[2].is("select");
        let mut subqueries = self.tokens.windows(3).filter(|three| begins(three));
        if subqueries.all(|three| three[0].is("exists")) {
            return None;
        }
        let outer = nodes.iter().position(|node| node.detail.starts_with("CORRELATED"))?;
        let inner = nodes[outer + 1..].iter().take_while(|node| node.depth > nodes[outer].depth);
        let loops: Vec<_> = inner.filter_map(|node| node.loops.zip(node.visited)).collect();
        let (times, _) = *loops.first()?;
        let visited: i64 = loops.iter().map(|(_, visited)| visited).sum();
        (times >= 100 && visited >= 10 * times && visited >= MANY)
            .then_some(Cause::Correlated { times, visited })
    }

    fn wildcard(&self) -> Option<Cause> {
        let is_pattern = |token: &Token<'_>| token.is("like") || token.is("glob");
        let place = self.tokens.iter().position(is_pattern)?;
        let Value::Text(pattern) = self.value(place + 1)? else { return None };
        let is_negated = self.tokens.get(place.checked_sub(1)?)?.is("not");
        let column = self.tokens.get(place.checked_sub(if is_negated { 2 } else { 1 })?)?.name()?;
        let table = self.table_with(&column)?;
        let Cause::Filter { visited, .. } = self.filter(table) else { return None };
        let is_open = pattern.starts_with(['%', '*']);
        (is_open && visited >= MANY).then_some(Cause::Wildcard { pattern, visited })
    }
}
