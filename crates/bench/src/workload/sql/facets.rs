//! Digests of the answers of one statement, facet by facet: SQL may leave the order of rows or single columns open, and the
//! rest is still compared.

use std::collections::BTreeSet;

use engine::{Connection, EngineError, Statement, Step, Value};
use lab::trial::{Answer, AnswerRows, Facet};
use script::effect::{depends_on_chance, literal};
use script::{may_be_open, orders_rows};
use twox_hash::XxHash3_64;

/// The most columns of an answer that are digested only to name those that differ.
const MOST_COLUMNS: usize = 20;

/// The answers of a statement so far.
#[derive(Default)]
pub(super) struct Facets {
    executions: u64,
    rows: u64,
    /// Whether the answer may depend on chance or the present time.
    volatile: bool,
    is_ordered: bool,
    /// Whether columns are digested in more than one way, because SQL may leave some of them open.
    may_be_open: bool,
    /// Columns of the user's statement. Others are keys of the order.
    shown: Option<usize>,
    names: u64,
    pub(super) sum: u64,
    order: u64,
    /// Those of the first term of the order, of the first two, and so on.
    keys: Vec<u64>,
    rounded: u64,
    has_rounded: bool,
    changes: Option<u64>,
    /// All rows without the limit of the statement.
    pub(super) unlimited: Option<u64>,
    /// The definition of the table, if it is one.
    pub(super) schema: Option<u64>,
    columns: Vec<Column>,
    /// The rows, if they are kept.
    pub(super) kept: Option<Kept>,
}

/// Rows of answers that are kept to show how they differ from others.
#[derive(Default)]
pub(super) struct Kept {
    /// Rows that may still be kept.
    room: usize,
    /// The executions that ended.
    pub(super) executions: Vec<AnswerRows>,
    /// The one under way.
    pub(super) current: AnswerRows,
}

impl Kept {
    /// Keeps this many rows; `None` if it is none.
    pub(super) fn at_most(room: usize) -> Option<Kept> {
        (room > 0).then(|| Kept { room, ..Kept::default() })
    }

    fn add(&mut self, row: impl Iterator<Item = Value>) {
        self.current.is_cut |= self.room == 0;
        if let Some(room) = self.room.checked_sub(1) {
            self.room = room;
            self.current.rows.push(row.map(|value| as_literal(&value)).collect());
        }
    }
}

/// Writes a value as in SQL, which shows its storage class. A long one is cut and has a checksum.
pub(super) fn as_literal(value: &Value) -> String {
    const MOST: usize = 200;
    let text = match value {
        Value::Text(text) => literal(text),
        other => other.to_string(),
    };
    match text.char_indices().nth(MOST) {
        None => text,
        Some((end, _)) => {
            let sum = XxHash3_64::oneshot(text.as_bytes());
            format!("{}… ({} bytes, checksum {sum:016x})", &text[..end], text.len())
        }
    }
}

/// The values of one column.
#[derive(Default)]
struct Column {
    name: String,
    /// Whether it is an expression, whose REAL values may have other last digits.
    is_expression: bool,
    sum: u64,
    order: u64,
    members: u64,
}

/// Executes a bound statement once, and returns its answer with the first rows. What SQL leaves open in it is not tested.
///
/// # Errors
/// SQLite's.
pub fn answer_of(
    connection: &Connection,
    statement: &mut Statement<'_, '_>,
    sql: &str,
) -> Result<(Answer, Vec<AnswerRows>), EngineError> {
    const ROWS: usize = 1_000;
    let mut facets = Facets::of(sql, depends_on_chance(sql), None);
    facets.kept = Kept::at_most(ROWS);
    while statement.step()? == Step::Row {
        facets.add_row(statement);
    }
    facets.end(connection, statement);
    let rows = facets.kept.take().map_or(Vec::new(), |kept| kept.executions);
    let mut answer = facets.answer();
    if facets.may_be_open {
        answer.set_untested();
    }
    Ok((answer, rows))
}

/// Returns a number with a fraction, also from its text.
fn fraction(value: &Value) -> Option<f64> {
    match value {
        Value::Real(value) => Some(*value),
        Value::Text(text) if text.contains('.') => text.parse().ok(),
        _ => None,
    }
}

/// Digests a value: `exact` with its storage class; otherwise numbers to 9 digits and the words of texts in any order.
fn hash(value: &Value, exact: bool) -> u64 {
    // A negative zero is a zero.
    let rounded = |value: f64| format!("{:.8e}", value + 0.0).into_bytes();
    let sorted = |bytes: &[u8]| {
        let mut words: Vec<&[u8]> =
            bytes.split(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()).collect();
        words.sort_unstable();
        words.join(&b' ')
    };
    let (kind, bytes) = match value {
        Value::Null => (0, Vec::new()),
        Value::Integer(value) => (1, value.to_le_bytes().to_vec()),
        Value::Real(value) if exact => (2, value.to_bits().to_le_bytes().to_vec()),
        Value::Real(value) => (2, rounded(*value)),
        Value::Text(text) if exact => (3, text.as_bytes().to_vec()),
        Value::Text(text) => (3, fraction(value).map_or_else(|| sorted(text.as_bytes()), rounded)),
        Value::Blob(bytes) if exact => (4, bytes.clone()),
        Value::Blob(bytes) => (4, sorted(bytes)),
    };
    XxHash3_64::oneshot_with_seed(kind, &bytes)
}

/// Digests a sequence.
fn chained(so_far: u64, next: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(so_far, &next.to_le_bytes())
}

impl Facets {
    /// Digests no answers yet. The answer of a volatile statement may depend on chance. Columns beyond those `shown` are keys.
    pub(super) fn of(sql: &str, volatile: bool, shown: Option<usize>) -> Facets {
        Facets {
            volatile,
            is_ordered: orders_rows(sql),
            may_be_open: volatile || may_be_open(sql),
            shown,
            ..Facets::default()
        }
    }

    /// Notes the columns, once they are known.
    fn note_columns(&mut self, statement: &Statement<'_, '_>) {
        let all = 0..statement.column_count();
        let shown = self.shown.unwrap_or(all.len());
        let mut names = BTreeSet::new();
        self.columns = all
            .take(shown)
            .map(|column| Column {
                name: {
                    // Facets are told apart by the names of their columns.
                    let name = statement.column_name(column).unwrap_or_default();
                    let is_new = names.insert(name.clone());
                    if is_new { name } else { format!("{name} (column {})", column + 1) }
                },
                is_expression: statement.column_declared_type(column).is_none(),
                ..Column::default()
            })
            .collect();
        self.keys = vec![0; statement.column_count() as usize - shown];
        let declared = (0..).take(shown).map(|column| statement.column_declared_type(column));
        let names: Vec<_> = self.columns.iter().map(|column| &column.name).zip(declared).collect();
        self.names = XxHash3_64::oneshot(format!("{names:?}").as_bytes());
    }

    /// Adds the current row of a statement.
    pub(super) fn add_row(&mut self, statement: &Statement<'_, '_>) {
        if self.rows == 0 && self.columns.is_empty() {
            self.note_columns(statement);
        }
        self.rows += 1;
        let (mut row, mut rounded) = (0, 0);
        for (index, column) in (0..).zip(&mut self.columns) {
            let value = statement.column_value(index);
            let exact = hash(&value, true);
            row = chained(row, exact);
            column.sum = column.sum.wrapping_add(exact);
            if self.may_be_open {
                let members = hash(&value, false);
                column.order = chained(column.order, exact);
                column.members = column.members.wrapping_add(members);
            }
            let is_sum = column.is_expression && fraction(&value).is_some();
            self.has_rounded |= is_sum;
            rounded = chained(rounded, hash(&value, !is_sum));
        }
        let mut key = 0;
        for (index, keys) in (self.columns.len() as i32..).zip(&mut self.keys) {
            key = chained(key, hash(&statement.column_value(index), true));
            *keys = chained(*keys, key);
        }
        if let Some(kept) = &mut self.kept {
            kept.add((0..self.columns.len() as i32).map(|index| statement.column_value(index)));
        }
        self.sum = self.sum.wrapping_add(row);
        self.order = chained(self.order, row);
        self.rounded = if self.is_ordered {
            chained(self.rounded, rounded)
        } else {
            self.rounded.wrapping_add(rounded)
        };
    }

    /// Adds the end of an execution.
    pub(super) fn end(&mut self, connection: &Connection, statement: &Statement<'_, '_>) {
        if self.executions == 0 && self.columns.is_empty() {
            self.note_columns(statement);
        }
        self.executions += 1;
        if let Some(kept) = &mut self.kept {
            let mut ended = std::mem::take(&mut kept.current);
            ended.columns = self.columns.iter().map(|column| column.name.clone()).collect();
            kept.executions.push(ended);
        }
        self.order = chained(self.order, self.rows);
        if !statement.is_read_only() {
            let last = chained(connection.changes() as u64, connection.last_insert_rowid() as u64);
            self.changes = Some(chained(self.changes.unwrap_or_default(), last));
        }
    }

    /// Returns the answer as it is recorded.
    pub(super) fn answer(&self) -> Answer {
        let text = |sum: u64| format!("{sum:016x}");
        let mut answer = Answer {
            executions: self.executions,
            rows: self.rows,
            checksum: Some(text(self.sum)),
            by_chance: self.volatile,
            ..Answer::default()
        };
        let mut facet = |facet: Facet, sum: u64| answer.facets.insert(facet, text(sum));
        let of_all = [
            (Facet::Names, (!self.columns.is_empty()).then_some(self.names)),
            (Facet::Changes, self.changes),
            (Facet::Rounded, self.has_rounded.then_some(self.rounded)),
            (Facet::Order, self.is_ordered.then_some(self.order)),
            (Facet::Unlimited, self.unlimited),
            (Facet::Schema, self.schema),
        ];
        let of_keys = (1..).zip(&self.keys).map(|(terms, sum)| (Facet::Keys(terms), Some(*sum)));
        for (kind, sum) in of_all.into_iter().chain(of_keys) {
            sum.map(|sum| facet(kind, sum));
        }
        let is_named = self.may_be_open || self.columns.len() <= MOST_COLUMNS;
        for column in self.columns.iter().filter(|_| is_named) {
            facet(Facet::Column(column.name.clone()), column.sum);
            if !self.may_be_open {
                continue;
            }
            facet(Facet::Members(column.name.clone()), column.members);
            if self.is_ordered {
                facet(Facet::InOrder(column.name.clone()), column.order);
            }
        }
        answer
    }
}
