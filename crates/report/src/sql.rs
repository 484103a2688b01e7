//! Statements in the text of a report.

/// Returns the beginning of a statement, at most `length` characters and `…`. A long list of columns is left out, because the tables
/// and conditions behind it say more.
pub fn shortened(text: &str, length: usize) -> String {
    if text.chars().count() <= length {
        return text.to_owned();
    }
    let text = match columns(text) {
        Some(list) => format!("{}…{}", &text[..list.start], &text[list.end..]),
        None => text.to_owned(),
    };
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

/// From how many bytes on a list of columns is long.
const LONG_LIST: usize = 24;

/// Where a query has its columns, if they are a long list.
fn columns(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.get(..7)?.eq_ignore_ascii_case("SELECT ").then_some(7)?;
    let (mut depth, mut quote) = (0, None);
    for (at, character) in text.char_indices().skip(start) {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, ' ') if depth == 0 && starts_with_from(&text[at + 1..]) => {
                return (at - start >= LONG_LIST).then_some(start..at);
            }
            _ => {}
        }
    }
    None
}

fn starts_with_from(text: &str) -> bool {
    text.get(..5).is_some_and(|text| text.eq_ignore_ascii_case("FROM "))
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_long_list_of_columns_is_left_out_of_what_is_quoted() {
        let long = r#"SELECT "poll"."id", "poll"."a from b", max(x FROM y) FROM "poll" WHERE "poll"."id" = ?"#;
        assert_eq!(shortened(long, 70), r#"SELECT … FROM "poll" WHERE "poll"."id" = ?"#);
        assert_eq!(shortened(long, 20), r#"SELECT … FROM "poll"…"#);
        assert_eq!(shortened(long, 100), long);
        assert_eq!(shortened("SELECT a FROM t WHERE b = ?", 20), "SELECT a FROM t WHER…");
        assert_eq!(shortened("SELECT é", 7), "SELECT…");
        assert_eq!(shortened("UPDATE t SET a = ?", 10), "UPDATE t S…");
    }
}
