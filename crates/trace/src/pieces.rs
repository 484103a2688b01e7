//! Where the pieces of SQL end that may contain anything: texts, names in quotes, comments.

/// The length of the text in quotes, the comment or the character at the beginning.
pub fn piece(sql: &str, before: Option<char>) -> usize {
    let until = |from: usize, end: &str| {
        sql[from..].find(end).map_or(sql.len(), |at| from + at + end.len())
    };
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut chars = sql.chars();
    let first = chars.next().unwrap_or(' ');
    match (first, chars.next()) {
        ('-', Some('-')) => until(2, "\n"),
        ('/', Some('*')) => until(2, "*/"),
        ('\'' | '"' | '`', _) => quoted(sql, first),
        ('[', _) => until(1, "]"),
        ('x' | 'X', Some('\'')) if !in_word => 1 + quoted(&sql[1..], '\''),
        _ => first.len_utf8(),
    }
}

/// The length of the text in quotes, whose quotes are doubled within it.
fn quoted(sql: &str, quote: char) -> usize {
    let mut chars = sql.char_indices().skip(1).peekable();
    while let Some((at, next)) = chars.next() {
        if next == quote && chars.next_if(|(_, after)| *after == quote).is_none() {
            return at + 1;
        }
    }
    sql.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_statement_end_where_sqlite_sees_their_end() {
        for (sql, length) in [
            ("'it''s' x", 7),
            ("'open", 5),
            ("\"a b\".c", 5),
            ("[a'b] c", 5),
            ("x'00' y", 5),
            ("-- don't\nSELECT", 9),
            ("/* 'a' */b", 9),
            ("ä'", 2),
        ] {
            assert_eq!(piece(sql, None), length, "{sql}");
        }
        assert_eq!(piece("x'00'", Some('a')), 1, "the end of a word");
    }
}
