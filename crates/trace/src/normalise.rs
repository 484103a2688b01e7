//! Texts of statements without what differs from one execution to the next.

use script::effect::first_word;
use script::{Kind, tokens};

/// Returns the text with `?` for every literal and parameter, without comments and with single spaces. Names in single quotes, such
/// as `FROM 't'`, stay. Lists of parameters in parentheses become one, so `IN (1, 2)` equals `IN (?, ?, ?)`, and so do the rows after
/// `VALUES`.
pub fn normalised(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    // `VACUUM INTO` names a file and not a table.
    let is_vacuum = first_word(sql) == "vacuum";
    // The two pieces before, the nearest first.
    let mut before = [""; 2];
    for piece in pieces(sql) {
        let piece = match piece.as_bytes()[0] {
            _ if is_comment(piece) || piece.trim().is_empty() => " ",
            b'\'' if !is_vacuum && names_follow(before) => piece,
            b'\'' | b'?' | b'0'..=b'9' => "?",
            b':' | b'@' | b'$' | b'.' if piece.len() > 1 => "?",
            b'x' | b'X' if piece[1..].starts_with('\'') => "?",
            _ => piece,
        };
        if piece != " " {
            before = [piece, before[0]];
        }
        append(&mut out, piece);
    }
    shorten_lists(out)
}

/// Words after which a text in single quotes is a name.
const BEFORE_NAMES: [&str; 12] = [
    ".", "from", "join", "into", "update", "table", "index", "view", "trigger", "exists",
    "references", "as",
];

/// Returns whether a text in single quotes is a name after these pieces.
fn names_follow([before, earlier]: [&str; 2]) -> bool {
    // `a IS DISTINCT FROM 'b'` compares.
    BEFORE_NAMES.iter().any(|word| word.eq_ignore_ascii_case(before))
        && !earlier.eq_ignore_ascii_case("distinct")
}

fn append(out: &mut String, piece: &str) {
    match piece {
        " " if out.ends_with(['(', ' ', '.']) || out.is_empty() => {}
        "," | ")" | ";" => {
            if out.ends_with(' ') {
                out.pop();
            }
            out.push_str(if piece == "," { ", " } else { piece });
        }
        piece => out.push_str(piece),
    }
}

/// `(?, ?, ?)` as `(?)`, and several of these as one; without a semicolon at the end.
fn shorten_lists(mut text: String) -> String {
    while text.contains("?, ?") {
        text = text.replace("?, ?", "?");
    }
    while text.contains("(?), (?)") {
        text = text.replace("(?), (?)", "(?)");
    }
    text.truncate(text.trim_end_matches([' ', ';']).len());
    text
}

/// Returns the pieces of a statement: a comment, a text or name in quotes, a blob, a number, a parameter or a word as a whole, each
/// other character by itself.
pub fn pieces(sql: &str) -> impl Iterator<Item = &str> {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let mut tokens = tokens(sql).peekable();
    std::iter::from_fn(move || {
        let first = tokens.next()?;
        let mut end = first.start + first.text.len();
        let next = tokens.peek().map_or("", |next| next.text);
        if matches!(first.text, "x" | "X") && next.starts_with('\'') {
            end += tokens.next()?.text.len();
        } else if is_number(first.text) || first.text == "." && is_number(next) {
            let mut before = first.text;
            while let Some(part) = tokens.next_if(|part| match part.text {
                "." => true,
                "+" | "-" => before.ends_with(['e', 'E']),
                _ => part.kind == Kind::Word,
            }) {
                before = part.text;
                end += before.len();
            }
        }
        Some(&sql[first.start..end])
    })
}

/// Returns whether a piece is a comment.
pub fn is_comment(piece: &str) -> bool {
    piece.starts_with("--") || piece.starts_with("/*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_differs_in_values_only_is_the_same() {
        let cases = [
            ("SELECT * FROM t WHERE a = 1", "SELECT * FROM t WHERE a = ?"),
            ("SELECT  *\nFROM t -- why\n WHERE a='it''s'", "SELECT * FROM t WHERE a=?"),
            ("SELECT a1, \"b 2\", [c 3], `d` FROM t", "SELECT a1, \"b 2\", [c 3], `d` FROM t"),
            ("SELECT :a, @b, $c, ?12, x'00ff', 1.5e-3, .5, 0xff;", "SELECT ?"),
            ("a IN (1,2 ,3)", "a IN (?)"),
            ("INSERT INTO t(a, b) VALUES (1, 'x'), (2, 'y');", "INSERT INTO t(a, b) VALUES (?)"),
            ("/* note */ SELECT a/**/b", "SELECT a b"),
            ("SELECT 'open", "SELECT ?"),
            ("SELECT 'a' AS 'b' FROM 'c d' WHERE e='f'", "SELECT ? AS 'b' FROM 'c d' WHERE e=?"),
            ("INSERT INTO main.'t' VALUES ('v')", "INSERT INTO main.'t' VALUES (?)"),
            ("VACUUM INTO 'copy.db'", "VACUUM INTO ?"),
            (
                "SELECT a IS NOT DISTINCT FROM 'b', 'c' LIKE 'd'",
                "SELECT a IS NOT DISTINCT FROM ? LIKE ?",
            ),
            ("ATTACH 'file' AS x", "ATTACH ? AS x"),
            ("SELECT a$b, 0xe-- why\n", "SELECT a$b, ?"),
        ];
        for (sql, expected) in cases {
            assert_eq!(normalised(sql), expected, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_stable_form(sql in "[a-z0-9 '\"?:,()./*\\-\\[\\]`\u{e4}]{0,60}") {
            let once = normalised(&sql);
            prop_assert!(!once.starts_with(' ') || once.trim().is_empty());
        }
    }

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
            assert_eq!(pieces(sql).next().unwrap().len(), length, "{sql}");
        }
        let all: Vec<&str> = pieces("ax'00'+.5-1.5e-3*?1,:a").collect();
        assert_eq!(all, ["ax", "'00'", "+", ".5", "-", "1.5e-3", "*", "?1", ",", ":a"]);
    }
}
