//! Effects of a statement by its text: which tables it writes, which files it opens, which setting it changes, and
//! whether it depends on chance or the present time.

use crate::sql::token::{End, Kind, Token, closing, significant, statement, tokens};

/// A PRAGMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pragma {
    /// Its name, in lower case.
    pub name: String,
    /// Whether it has a value or an argument.
    pub has_value: bool,
}

/// The database that an `ATTACH` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attached {
    /// A file whose name is in the text, at these bytes.
    Literal {
        /// The name.
        file: String,
        /// Where the literal begins and ends.
        span: (usize, usize),
    },
    /// A file whose name is bound to the first parameter.
    Parameter,
    /// An expression.
    Other,
}

/// Returns the first word of a statement, in lower case.
pub fn first_word(sql: &str) -> String {
    let first = tokens(sql).find(Token::counts);
    first.map_or_else(String::new, |token| token.text.to_ascii_lowercase())
}

/// Returns a short name for a statement: its first word, and the first table or other thing that it names, in lower
/// case.
pub fn label(sql: &str) -> String {
    let all = significant(sql);
    let first = first_word(sql);
    let named = |words: &[&str]| {
        let mut indices = 0..all.len();
        indices.find_map(|index| {
            let is_ahead = words.iter().any(|word| all[index].is(word));
            is_ahead.then(|| lower(table_at(&all[index + 1..])?)).flatten()
        })
    };
    let object = match first.as_str() {
        "pragma" => pragma(sql).map(|pragma| pragma.name),
        "begin" => all
            .get(1)
            .filter(|token| token.kind == Kind::Word)
            .map(|token| token.text.to_ascii_lowercase()),
        "create" | "drop" | "alter" => named(&["table", "index", "view", "trigger"]),
        _ => named(&["from", "into", "update"]),
    };
    let name = object.map_or_else(|| first.clone(), |object| format!("{first}_{object}"));
    let plain = |c: char| {
        if c.is_alphanumeric() || c == '_' { c } else { '_' }
    };
    name.chars().take(40).map(plain).collect()
}

/// Returns the PRAGMA that a statement is.
pub fn pragma(sql: &str) -> Option<Pragma> {
    let all = significant(sql);
    if !all.first()?.is("pragma") {
        return None;
    }
    let qualified = all.get(2).is_some_and(|dot| dot.text == ".");
    let rest = &all[if qualified { 3 } else { 1 }..];
    Some(Pragma {
        name: rest.first()?.name()?.to_ascii_lowercase(),
        has_value: rest.get(1).is_some_and(|token| token.kind != Kind::Semicolon),
    })
}

/// Returns the database that a statement attaches, if it attaches one.
pub fn attached(sql: &str) -> Option<Attached> {
    let all = significant(sql);
    if !all.first()?.is("attach") {
        return None;
    }
    let has_word = all.get(1).is_some_and(|token| token.is("database"));
    let file = all.get(if has_word { 2 } else { 1 })?;
    let ends = all.get(if has_word { 3 } else { 2 }).is_some_and(|token| token.is("as"));
    Some(match (ends, file.kind, file.name()) {
        (true, Kind::Quoted(true), Some(name)) => {
            Attached::Literal { file: name, span: (file.start, file.start + file.text.len()) }
        }
        (true, Kind::Parameter, _) => Attached::Parameter,
        _ => Attached::Other,
    })
}

/// Returns whether a statement writes a copy of the database to a file.
pub fn vacuums_into(sql: &str) -> bool {
    let all = significant(sql);
    all.first().is_some_and(|token| token.is("vacuum")) && all.iter().any(|token| token.is("into"))
}

/// Returns whether a statement makes a virtual table.
pub fn makes_virtual(sql: &str) -> bool {
    names(sql).get(1).is_some_and(|word| word == "virtual")
}

/// Returns the line of the first statement that opens or makes a file, by `ATTACH` or `VACUUM INTO`. Databases in
/// memory and temporary ones without a name do not count.
pub fn line_that_reaches_files(text: &str) -> Option<usize> {
    let mut rest = text;
    while !rest.is_empty() {
        let end = match statement(rest) {
            End::Semicolon(end) => end,
            End::Backslash(_) | End::OpenQuote(_) | End::Text => rest.len(),
        };
        if reaches_files(&rest[..end]) {
            let first = significant(rest).first().map_or(0, |token| token.start);
            let before = &text[..text.len() - rest.len() + first];
            return Some(1 + before.matches('\n').count());
        }
        rest = &rest[end..];
    }
    None
}

fn reaches_files(sql: &str) -> bool {
    let in_memory = |file: &str| matches!(file, "" | ":memory:");
    match attached(sql) {
        Some(Attached::Literal { file, .. }) => !in_memory(&file),
        Some(Attached::Parameter | Attached::Other) => true,
        None => vacuums_into(sql),
    }
}

/// Returns the tables that a statement, or the body of a trigger, writes; in lower case.
pub fn written(sql: &str) -> Vec<String> {
    targets(&significant(sql)).filter_map(|(_, table)| lower(table)).collect()
}

/// Returns a statement that writes these tables of the main database, even if temporary views hide them. The body of a trigger
/// may not name a database.
pub fn in_main(sql: &str, is_hidden: impl Fn(&str) -> bool) -> String {
    let all = significant(sql);
    let mut qualified = sql.to_owned();
    if first_word(sql) == "create" {
        return qualified;
    }
    for (verb, table) in targets(&all).collect::<Vec<_>>().into_iter().rev() {
        let is_bare = !sql[..table.start].trim_end().ends_with('.');
        if is_bare && !verb.is("table") && lower(table).is_some_and(|name| is_hidden(&name)) {
            qualified.insert_str(table.start, "main.");
        }
    }
    qualified
}

/// Returns each word that is followed by a table that is written, and the name of the table.
fn targets<'a>(all: &'a [Token<'a>]) -> impl Iterator<Item = (Token<'a>, Token<'a>)> {
    all.iter().enumerate().filter_map(|(index, token)| {
        let deletes = token.is("from") && index > 0 && all[index - 1].is("delete");
        let writes = token.is("into") || token.is("update") || token.is("table") || deletes;
        Some((*token, table_at(&all[index + 1..])?)).filter(|_| writes)
    })
}

fn lower(name: Token<'_>) -> Option<String> {
    Some(name.name()?.to_ascii_lowercase())
}

/// Returns the name of a table after `INSERT INTO`, `UPDATE OR IGNORE`, `CREATE TABLE IF NOT EXISTS` and so on.
fn table_at<'a>(mut rest: &[Token<'a>]) -> Option<Token<'a>> {
    while rest.first().is_some_and(|token| token.is("or")) {
        rest = rest.get(2..)?;
    }
    while rest
        .first()
        .is_some_and(|token| ["if", "not", "exists"].iter().any(|word| token.is(word)))
    {
        rest = &rest[1..];
    }
    // `DO UPDATE SET`, `BEFORE UPDATE ON`, `UPDATE OF column`.
    if ["set", "on", "of"].iter().any(|word| rest.first().is_some_and(|token| token.is(word))) {
        return None;
    }
    let qualified = rest.get(1).is_some_and(|dot| dot.text == ".");
    rest.get(if qualified { 2 } else { 0 }).copied()
}

/// Returns the names in a statement, keywords included, in lower case.
pub fn names(sql: &str) -> Vec<String> {
    tokens(sql).filter_map(|token| token.name()).map(|name| name.to_ascii_lowercase()).collect()
}

/// Returns whether chance or the present time have a part in what a statement does.
pub fn depends_on_chance(sql: &str) -> bool {
    has_chance(&significant(sql))
}

pub(super) fn has_chance(all: &[Token<'_>]) -> bool {
    const WORDS: [&str; 3] = ["current_time", "current_date", "current_timestamp"];
    const OF_CHANCE: [&str; 2] = ["random", "randomblob"];
    const OF_TIME: [&str; 7] =
        ["date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"];
    let is_now = |token: &Token<'_>| {
        let name = token.name().filter(|_| token.kind != Kind::Word).unwrap_or_default();
        ["now", "subsec", "subsecond"].iter().any(|now| name.eq_ignore_ascii_case(now))
    };
    all.iter().enumerate().any(|(index, token)| {
        let is = |names: &[&str]| names.iter().any(|name| token.is(name));
        if all.get(index + 1).is_none_or(|next| next.text != "(") {
            return is(&WORDS);
        }
        let end = closing(all, index + 1).unwrap_or(all.len());
        let arguments = &all[index + 2..end];
        // Without a time they are of the present one; the first argument of `strftime` is its format.
        let is_alone = !arguments.iter().any(|token| token.text == ",");
        let is_present = arguments.is_empty() || token.is("strftime") && is_alone;
        is(&OF_CHANCE) || is(&OF_TIME) && (is_present || arguments.iter().any(is_now))
    })
}

/// Returns a name as an identifier in quotes.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a text as a literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_that_are_written_are_named_in_any_form() {
        for (sql, tables) in [
            ("INSERT OR IGNORE INTO main.\"A b\" SELECT * FROM c", &["a b"][..]),
            ("insert into t values (1) ON CONFLICT(a) DO UPDATE SET b = 1", &["t"]),
            ("UPDATE OR REPLACE t SET a = 1", &["t"]),
            ("DELETE FROM [t] WHERE a IN (SELECT b FROM c)", &["t"]),
            ("REPLACE INTO t VALUES (1)", &["t"]),
            ("CREATE TABLE IF NOT EXISTS t(a)", &["t"]),
            (
                "CREATE TRIGGER x AFTER UPDATE OF a ON t BEGIN INSERT INTO log VALUES (1); DELETE FROM old; END",
                &["log", "old"],
            ),
            ("SELECT * FROM t", &[]),
            ("SELECT 'INSERT INTO t' -- UPDATE t", &[]),
        ] {
            assert_eq!(written(sql), tables, "{sql}");
        }
    }

    #[test]
    fn written_tables_are_those_of_the_main_database() {
        for (sql, qualified) in [
            (
                "INSERT INTO t SELECT * FROM t ON CONFLICT DO UPDATE SET a = t.a",
                "INSERT INTO main.t SELECT * FROM t ON CONFLICT DO UPDATE SET a = t.a",
            ),
            (
                "WITH c AS (SELECT 1) UPDATE OR IGNORE \"T\" SET a = (SELECT max(a) FROM t)",
                "WITH c AS (SELECT 1) UPDATE OR IGNORE main.\"T\" SET a = (SELECT max(a) FROM t)",
            ),
            ("DELETE FROM t AS x", "DELETE FROM main.t AS x"),
            ("DELETE FROM temp . t", "DELETE FROM temp . t"),
            ("INSERT INTO other VALUES (1)", "INSERT INTO other VALUES (1)"),
            ("DROP TABLE t", "DROP TABLE t"),
            ("CREATE TEMP TABLE t AS SELECT 1", "CREATE TEMP TABLE t AS SELECT 1"),
            (
                "CREATE TRIGGER r AFTER INSERT ON o BEGIN UPDATE t SET a = 1; END",
                "CREATE TRIGGER r AFTER INSERT ON o BEGIN UPDATE t SET a = 1; END",
            ),
        ] {
            assert_eq!(in_main(sql, |name| name == "t"), qualified);
        }
    }

    #[test]
    fn pragmas_and_attached_files_are_recognised_behind_comments() {
        let pragma = |sql| pragma(sql).map(|it| (it.name, it.has_value));
        assert_eq!(
            pragma("/* x */ PRAGMA main.Journal_Mode = wal;"),
            Some(("journal_mode".to_owned(), true))
        );
        assert_eq!(pragma("pragma page_size;"), Some(("page_size".to_owned(), false)));
        assert_eq!(pragma("SELECT 1"), None);
        let sql = "ATTACH DATABASE 'it''s.db' AS x";
        assert_eq!(
            attached(sql),
            Some(Attached::Literal { file: "it's.db".to_owned(), span: (16, 26) })
        );
        assert_eq!(&sql[16..26], "'it''s.db'");
        assert_eq!(attached("attach ? as x"), Some(Attached::Parameter));
        assert_eq!(attached("attach 'a' || 'b' as x"), Some(Attached::Other));
        assert_eq!(attached("SELECT 'attach'"), None);
        assert!(vacuums_into("VACUUM main INTO 'x'") && !vacuums_into("VACUUM"));
    }

    #[test]
    fn the_first_statement_that_reaches_a_file_has_a_line() {
        let line = line_that_reaches_files;
        assert_eq!(line("SELECT 1;\n\n-- x\nATTACH 'a.db' AS a;"), Some(4));
        assert_eq!(line("ATTACH ':memory:' AS a; ATTACH '' AS b; VACUUM"), None);
        assert_eq!(line("ATTACH ? AS a"), Some(1));
        assert_eq!(line("ATTACH 'a' || 'b' AS a"), Some(1));
        assert_eq!(line("VACUUM;\nVACUUM main INTO 'x';"), Some(2));
        let trigger = "CREATE TRIGGER r AFTER INSERT ON t BEGIN\nSELECT 1;\nEND;\nattach 'x' as y;";
        assert_eq!(line(trigger), Some(4));
        assert_eq!(line("SELECT 'ATTACH ''a'' AS b; VACUUM INTO ''c'''"), None);
    }

    #[test]
    fn labels_are_short_and_have_no_signs() {
        for (sql, name) in [
            ("SELECT count(*) FROM users u", "select_users"),
            ("INSERT OR REPLACE INTO \"a b\" VALUES (1)", "insert_a_b"),
            ("UPDATE t SET a = 1", "update_t"),
            ("BEGIN IMMEDIATE", "begin_immediate"),
            ("BEGIN;", "begin"),
            ("COMMIT", "commit"),
            ("PRAGMA main.cache_size = 1", "pragma_cache_size"),
            ("CREATE TABLE IF NOT EXISTS x(a)", "create_x"),
            ("SELECT 1", "select"),
            ("SELECT a FROM (SELECT b FROM c)", "select_c"),
        ] {
            assert_eq!(label(sql), name, "{sql}");
        }
    }

    #[test]
    fn chance_and_the_present_time_are_recognised() {
        for sql in [
            "INSERT INTO t VALUES (random())",
            "SELECT datetime('NOW')",
            "CREATE TABLE t(a DEFAULT CURRENT_TIMESTAMP)",
            "SELECT unixepoch ( )",
            "SELECT strftime('%f'), date(day, '+1 day') FROM t",
            "SELECT strftime('%f', \"now\")",
            "SELECT unixepoch('subsec')",
        ] {
            assert!(depends_on_chance(sql), "{sql}");
        }
        for sql in [
            "INSERT INTO t VALUES (last_insert_rowid())",
            "SELECT datetime(created), 'random' FROM t",
            "SELECT random, strftime('%Y', day) FROM t WHERE city <> 'now' AND date(random)",
        ] {
            assert!(!depends_on_chance(sql), "{sql}");
        }
    }
}
