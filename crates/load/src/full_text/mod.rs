//! Full-text indexes over columns of the table: FTS5 with the table as its external content
//! (<https://sqlite.org/fts5.html#external_content_tables>), so that no text is stored twice. Such an index
//! does not notice that the table changes, so those that exist are brought up to date or reported.

mod build;
mod segment;
#[cfg(test)]
mod tests;
mod words;

use engine::{Connection, Value};

use self::build::Source;
use crate::error::{LoadError, Result};
use crate::feed::{Feed, Phase};
use crate::request::{Mode, Request, Summary};
use crate::schema::{ROWID, object, rowid_name, texts};
use crate::sql::{list, quoted, same};
use crate::table::FullText;

/// Bytes of text that become a segment. Until then, their words and the lists of rows are in memory, up to about twice as many bytes.
const SEGMENT: usize = 192 << 20;

impl FullText {
    /// Returns the statement that brings it up to date with the table.
    pub fn rebuild(&self, table: &str) -> String {
        rebuild(&self.name(table))
    }

    /// Checks that its name is free; if the table is replaced, so is an index of that name.
    pub(crate) fn make_room(&self, connection: &Connection, table: &str, mode: Mode) -> Result<()> {
        let name = self.name(table);
        if object(connection, &name)?.is_none() {
            return Ok(());
        }
        if mode == Mode::Replace && is_fts5(connection, &name)? {
            connection.execute(&format!("DROP TABLE {}", quoted(&name)))?;
            return Ok(());
        }
        Err(LoadError::TableExists(name))
    }

    /// Creates and fills it. `report` is called now and then, and ends the work by an error.
    pub(crate) fn make(
        &self,
        connection: &Connection,
        table: &str,
        report: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let (index, rowid) = (self.name(table), content_rowid(connection, table)?);
        let (name, rowid) = (quoted(&index), quoted(&rowid));
        connection.execute(&format!(
            "CREATE VIRTUAL TABLE {name} USING fts5({}, content = {}, content_rowid = {rowid})",
            list(&self.columns),
            quoted(table),
        ))?;
        let texts = self.columns.iter().map(|column| format!("CAST({} AS TEXT)", quoted(column)));
        let texts = texts.collect::<Vec<String>>().join(", ");
        let rows = format!("SELECT {rowid}, {texts} FROM {} ORDER BY {rowid}", quoted(table));
        let columns = self.columns.len();
        let source = Source { index: &index, columns, rows: &rows, segment: SEGMENT };
        if !build::fill(connection, &source, report)? {
            connection.execute(&self.rebuild(table))?;
        }
        Ok(())
    }

    /// Checks that it agrees with the table.
    pub(crate) fn check(&self, connection: &Connection, table: &str) -> Result<()> {
        let name = quoted(&self.name(table));
        connection
            .execute(&format!("INSERT INTO {name}({name}, rank) VALUES ('integrity-check', 1)"))
            .map_err(|error| LoadError::Check(format!("the full-text index: {error}")))
    }
}

/// Returns the statement that brings a full-text index up to date with its table.
pub fn rebuild(index: &str) -> String {
    let name = quoted(index);
    format!("INSERT INTO {name}({name}) VALUES ('rebuild')")
}

/// Returns a name of the rowid of a table.
///
/// # Errors
/// It has none.
fn content_rowid(connection: &Connection, table: &str) -> Result<String> {
    rowid_name(connection, table)?.ok_or_else(|| {
        LoadError::Definition(format!(
            "a full-text index cannot refer to the rows of {table}: {}, {} and {} are all columns; \
             make an INTEGER column the primary key",
            ROWID[0], ROWID[1], ROWID[2]
        ))
    })
}

/// Returns the names of the columns of a table.
fn columns(connection: &Connection, table: &str) -> Result<Vec<String>> {
    texts(connection, &format!("PRAGMA table_info({})", quoted(table)), 1)
}

/// Checks before any row is loaded that indexes can be filled from the table that has just been made: the
/// one requested, and those that an earlier table of its name has left.
pub(crate) fn check(connection: &Connection, request: &Request) -> Result<()> {
    let table = &request.table.name;
    if request.table.full_text.is_some() {
        content_rowid(connection, table)?;
    }
    let known = columns(connection, table)?;
    for index in over(connection, table)? {
        let needed = columns(connection, &index)?;
        let is_known = |name: &&String| known.iter().any(|known| same(known, name));
        let lacks = match needed.iter().find(|name| !is_known(name)) {
            Some(lacking) => format!("no column {lacking}"),
            None if request.table.without_rowid => "no rowids".to_owned(),
            None => continue,
        };
        return Err(LoadError::Definition(format!(
            "the full-text index {index} reads its text from {table}, which is to have {lacks}; \
             drop it first, or recreate it with --fts"
        )));
    }
    Ok(())
}

/// Creates the requested index, and updates existing ones; the summary tells which of them were updated.
pub(crate) fn fill(
    connection: &Connection,
    request: &Request,
    feed: &mut Feed<'_>,
    summary: &mut Summary,
) -> Result<()> {
    let table = &request.table.name;
    let there = over(connection, table)?;
    if request.mode == Mode::Append {
        for index in there {
            if !is_kept_up(connection, table, &index)? {
                summary.stale.push(index);
            }
        }
        return Ok(());
    }
    for index in &there {
        feed.report(Phase::FullText)?;
        connection.execute(&rebuild(index))?;
    }
    if let Some(full_text) = &request.table.full_text {
        feed.report(Phase::FullText)?;
        full_text.make(connection, table, &mut || feed.report(Phase::FullText))?;
    }
    summary.rebuilt = there;
    Ok(())
}

/// Returns whether a trigger inserts into an index what is inserted into the table.
fn is_kept_up(connection: &Connection, table: &str, index: &str) -> Result<bool> {
    let sql = "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'trigger'";
    Ok(pairs(connection, sql)?.iter().any(|(of, sql)| same(of, table) && inserts_into(sql, index)))
}

/// Returns the full-text indexes that read their text from this table.
///
/// # Errors
/// The definition of a table that may be one has an unknown form.
fn over(connection: &Connection, table: &str) -> Result<Vec<String>> {
    let mut indexes = Vec::new();
    for (name, sql) in virtual_tables(connection)? {
        let (module, content) = definition(&sql).ok_or_else(|| {
            LoadError::Definition(format!(
                "the definition of {name} cannot be understood, which may be a full-text index over {table}; \
                 drop it first, and create it again after the load: {sql}"
            ))
        })?;
        if is_full_text(&module) && content.is_some_and(|content| same(&content, table)) {
            indexes.push(name);
        }
    }
    Ok(indexes)
}

/// Names and definitions of the virtual tables that may be full-text indexes.
fn virtual_tables(connection: &Connection) -> Result<Vec<(String, String)>> {
    let sql = "SELECT name, sql FROM sqlite_master WHERE type = 'table' \
               AND sql LIKE 'CREATE VIRTUAL TABLE%USING%fts%' ORDER BY rowid";
    pairs(connection, sql)
}

/// Rows of two texts.
fn pairs(connection: &Connection, sql: &str) -> Result<Vec<(String, String)>> {
    let text = |value: Option<&Value>| value.map(ToString::to_string).unwrap_or_default();
    let rows = connection.query_all(sql)?;
    Ok(rows.iter().map(|row| (text(row.first()), text(row.get(1)))).collect())
}

/// Returns whether a table is an index of FTS5.
fn is_fts5(connection: &Connection, name: &str) -> Result<bool> {
    let is_index = |(known, sql): &(String, String)| {
        same(known, name) && definition(sql).is_some_and(|(module, _)| same(&module, "fts5"))
    };
    Ok(virtual_tables(connection)?.iter().any(is_index))
}

/// Returns the module of a virtual table and the table that its option `content` names, by its definition as SQLite keeps
/// it; `None` where that has another form than is known.
fn definition(sql: &str) -> Option<(String, Option<String>)> {
    match &tokens(sql)[..] {
        [create, r#virtual, table, _name, using, module, arguments @ ..]
            if is(create, "create")
                && is(r#virtual, "virtual")
                && is(table, "table")
                && is(using, "using") =>
        {
            Some((name(module)?, content(arguments)?))
        }
        _ => None,
    }
}

/// Returns whether a module is one of SQLite's for full text.
fn is_full_text(module: &str) -> bool {
    module.to_ascii_lowercase().starts_with("fts")
}

/// Returns the value of the option `content` among arguments in parentheses, if there is one; `None` where they have
/// another form.
fn content(arguments: &[&str]) -> Option<Option<String>> {
    let arguments = arguments.strip_suffix(&[";"]).unwrap_or(arguments);
    if arguments.is_empty() {
        return Some(None);
    }
    let arguments = arguments.strip_prefix(&["("])?.strip_suffix(&[")"])?;
    let mut arguments = arguments.split(|token| *token == ",");
    // FTS5 knows its options by their first letters too.
    let is_content = |argument: &&[&str]| matches!(argument, [name, "=", ..] if "content".starts_with(&name.to_ascii_lowercase()));
    match arguments.find(is_content) {
        None => Some(None),
        Some([_, _, value]) => Some(Some(name(value)?)),
        Some(_) => None,
    }
}

/// Returns whether a trigger of this definition inserts into a table when rows are inserted.
fn inserts_into(trigger: &str, table: &str) -> bool {
    let tokens = tokens(trigger);
    let Some(on) = tokens.iter().position(|token| is(token, "on")) else { return false };
    let names_it =
        |pair: &[&str]| is(pair[0], "into") && name(pair[1]).is_some_and(|name| same(&name, table));
    on > 0 && is(tokens[on - 1], "insert") && tokens[on..].windows(2).any(names_it)
}

/// Returns whether a token is this keyword.
fn is(token: &str, keyword: &str) -> bool {
    token.eq_ignore_ascii_case(keyword)
}

/// Returns the name that a token is, without quotes; `None` of any other character.
fn name(token: &str) -> Option<String> {
    let quote = match token.chars().next()? {
        '[' => "]",
        '\'' | '"' | '`' => &token[..1],
        first => return is_of_word(first).then(|| token.to_owned()),
    };
    let inside = token[1..].strip_suffix(quote).unwrap_or(&token[1..]);
    let is_doubled = quote != "]";
    Some(if is_doubled { inside.replace(&quote.repeat(2), quote) } else { inside.to_owned() })
}

/// Returns the words, the names and texts with their quotes, and the other characters of a statement, without blanks and
/// comments.
fn tokens(sql: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), sql);
    while let Some(first) = rest.chars().next() {
        let is_comment = rest.starts_with("--") || rest.starts_with("/*");
        let length = match first {
            '-' if is_comment => rest.find('\n'),
            '/' if is_comment => rest[2..].find("*/").map(|at| at + 4),
            '\'' | '"' | '`' | '[' => quoted_length(rest, if first == '[' { ']' } else { first }),
            _ if is_of_word(first) => rest.find(|character| !is_of_word(character)),
            _ => Some(first.len_utf8()),
        };
        let (token, behind) = rest.split_at(length.unwrap_or(rest.len()));
        if !is_comment && !first.is_ascii_whitespace() {
            tokens.push(token);
        }
        rest = behind;
    }
    tokens
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$') || !character.is_ascii()
}

/// Returns the length of a text with its quotes, if it ends. A quote is doubled to be part of the text, except a bracket.
fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut at = 1;
    loop {
        at += text[at..].find(quote)? + 1;
        if quote == ']' || !text[at..].starts_with(quote) {
            return Some(at);
        }
        at += 1;
    }
}
