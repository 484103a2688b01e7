//! Names and terms of indexes as people write them.

use engine::schema::{BINARY, Part, PartOf, Table};
use script::effect::quoted;

/// Returns a term of an index as `CREATE INDEX` has it.
pub fn sql_of(table: &Table, part: &Part) -> String {
    let (mut sql, collation) = match &part.of {
        PartOf::Column(number) => {
            let column = &table.columns[*number];
            (name(&column.name), column.collation.as_str())
        }
        PartOf::Expression(text) => (text.clone(), BINARY),
    };
    if !part.collation.eq_ignore_ascii_case(collation) {
        sql = format!("{sql} COLLATE {}", part.collation);
    }
    if part.is_descending { format!("{sql} DESC") } else { sql }
}

/// Returns a name as it is usually written: in quotes only if it needs them.
pub fn name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = name.chars().all(|c| is_plain(c.to_ascii_lowercase()));
    if begins && plain && !is_keyword(name) { name.to_owned() } else { quoted(name) }
}

/// Returns whether a word is no name without quotes.
pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.split(' ').any(|keyword| keyword.eq_ignore_ascii_case(word))
}

/// Returns subqueries for the least and the greatest rowid of a table; its name is quoted already. SQLite looks each of them up,
/// and reads the whole table if one query asks for both.
pub(crate) fn ends(table: &str) -> [String; 2] {
    ["min", "max"].map(|end| format!("(SELECT {end}(rowid) FROM {table})"))
}

/// Words of SQL that are not names without quotes (<https://sqlite.org/lang_keywords.html>), as far as columns and tables are
/// called so.
const KEYWORDS: &str = "add all alter and as autoincrement between case check collate column commit constraint create \
    cross current_date current_time current_timestamp default deferrable delete desc asc distinct drop else end escape \
    except exists foreign from full group having if in index inner insert intersect into is isnull join key left like \
    limit match natural not notnull null of offset on or order outer plan primary query references replace right row \
    rows rollback select set table then to transaction trigger union unique update using values view when where with";
