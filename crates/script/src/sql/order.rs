//! The order of a statement's rows, and what SQL leaves open, by the text.

use super::token::{Kind, Token, significant, tokens};

/// A token of the outermost level: not in parentheses.
fn outer(sql: &str) -> Vec<Token<'_>> {
    let mut depth = 0;
    let counted = tokens(sql).filter(Token::counts).filter(|token| {
        depth += usize::from(token.text == "(");
        let is_outer = depth == 0;
        depth -= usize::from(token.text == ")").min(depth);
        is_outer
    });
    counted.collect()
}

/// Returns where the terms of the outermost ORDER BY begin, by the number of the token.
fn terms_at(outer: &[Token<'_>]) -> Option<usize> {
    let at = outer.windows(2).rposition(|pair| pair[0].is("order") && pair[1].is("by"))?;
    Some(at + 2)
}

/// Returns whether a statement orders the rows that it returns.
pub fn orders_rows(sql: &str) -> bool {
    terms_at(&outer(sql)).is_some()
}

/// Returns whether SQL may leave a part of the answer, or of the rows written, open: by a limit, ties, a bare column, the order
/// in which an aggregate meets its rows, or the first row of a subquery.
pub fn may_be_open(sql: &str) -> bool {
    const WORDS: [&str; 18] = [
        "limit", "order", "group", "over", "distinct", "group_concat", "string_agg", "sum",
        "total", "avg", "min", "max", "json_group_array", "json_group_object", "jsonb_group_array",
        "jsonb_group_object", "union", "returning",
    ];
    let all = significant(sql);
    let inserts_rows = all.first().is_some_and(|first| !first.is("select"));
    all.iter().enumerate().any(|(index, token)| {
        let is_subquery =
            token.is("select") && index > 0 && (inserts_rows || all[index - 1].text == "(");
        // Beside other columns, these are bare ones.
        let is_count = token.is("count") && sql.contains(',');
        is_subquery || is_count || WORDS.iter().any(|word| token.is(word))
    })
}

/// Returns a query with the values of its outermost ORDER BY as further columns, which show ties. `None` where they would change
/// its rows (DISTINCT, a compound), and if its columns show them all.
pub fn with_keys(sql: &str) -> Option<String> {
    let outer = outer(sql);
    let is = |word: &'static str| move |token: &Token<'_>| token.is(word);
    let mut selects = outer.iter().enumerate().filter(|(_, token)| token.is("select"));
    let (select, _) = selects.next()?;
    let is_plain = selects.next().is_none() && !outer.get(select + 1)?.is("distinct");
    let from = (select + 1..outer.len())
        .find(|at| outer[*at].is("from") && !outer[at - 1].is("distinct"))?;
    let begin = terms_at(&outer)?;
    let rest = &outer[begin..];
    let end = rest.iter().position(|token| {
        is("limit")(token) || is("offset")(token) || token.kind == Kind::Semicolon
    });
    let end = begin + end.unwrap_or(rest.len());
    let names: Vec<&str> = outer[select..from]
        .windows(2)
        .filter(|pair| pair[0].is("as"))
        .map(|pair| pair[1].text)
        .collect();
    let mut keys = String::new();
    for term in outer[begin..end].split(|token| token.text == ",") {
        let words = ["asc", "desc", "nulls", "first", "last"];
        let ending = term.iter().rposition(|token| !words.iter().any(|word| token.is(word)))?;
        // The outermost tokens leave parentheses out, but their place in the text is known.
        let next = outer.iter().find(|token| token.start > term[ending].start);
        let text = sql[term[0].start..next.map_or(sql.len(), |next| next.start)].trim();
        let text = text.trim_end_matches([',', ';']);
        let is_shown = text.bytes().all(|byte| byte.is_ascii_digit())
            || names.iter().any(|name| name.eq_ignore_ascii_case(text));
        if !is_shown {
            keys += &format!(", ({text})");
        }
    }
    let (before, after) = sql.split_at(outer[from].start);
    (is_plain && !keys.is_empty()).then(|| format!("{}{keys} {after}", before.trim_end()))
}

/// Returns the query of a statement, or of the rows that it inserts, without its limit; `None` if it has none.
pub fn without_limit(sql: &str) -> Option<String> {
    let outer = outer(sql);
    let first = outer.first()?;
    let is_query = |token: &&Token<'_>| token.is("select") || token.is("with");
    let limit = outer.iter().rfind(|token| token.is("limit"))?;
    let query = if first.is("insert") || first.is("replace") {
        outer.iter().find(is_query)?
    } else {
        Some(first).filter(is_query)?
    };
    Some(sql[query.start..limit.start].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_order_by_orders_the_rows() {
        for (sql, ordered) in [
            ("SELECT a FROM t ORDER BY a", true),
            ("WITH c AS (SELECT 1) SELECT * FROM c ORDER BY 1 LIMIT 2", true),
            ("SELECT * FROM (SELECT a FROM t ORDER BY a)", false),
            ("SELECT row_number() OVER (ORDER BY a) FROM t", false),
            ("SELECT a FROM t -- ORDER BY a", false),
        ] {
            assert_eq!(orders_rows(sql), ordered, "{sql}");
        }
    }

    #[test]
    fn the_values_of_order_by_become_columns() {
        for (sql, keys) in [
            ("SELECT id FROM e ORDER BY d", Some("SELECT id, (d) FROM e ORDER BY d")),
            (
                "SELECT id FROM e WHERE k IN (1, 2) ORDER BY lower(d) DESC NULLS LAST, n COLLATE nocase LIMIT 5",
                Some(
                    "SELECT id, (lower(d)), (n COLLATE nocase) FROM e WHERE k IN (1, 2) ORDER BY lower(d) DESC NULLS LAST, n COLLATE nocase LIMIT 5",
                ),
            ),
            ("SELECT id AS x FROM e ORDER BY 1, x", None),
            ("SELECT DISTINCT id FROM e ORDER BY d", None),
            ("SELECT id FROM e UNION SELECT id FROM f ORDER BY id", None),
            ("SELECT id FROM e", None),
        ] {
            assert_eq!(with_keys(sql).as_deref(), keys, "{sql}");
        }
    }

    #[test]
    fn the_query_without_its_limit_has_all_rows() {
        for (sql, query) in [
            (
                "SELECT a FROM (SELECT 1 LIMIT 2) LIMIT 3 OFFSET ?",
                Some("SELECT a FROM (SELECT 1 LIMIT 2) "),
            ),
            ("INSERT INTO t(a) SELECT b FROM u LIMIT 3 RETURNING a", Some("SELECT b FROM u ")),
            ("DELETE FROM t LIMIT 3", None),
            ("SELECT a FROM (SELECT 1 LIMIT 2)", None),
        ] {
            assert_eq!(without_limit(sql).as_deref(), query, "{sql}");
        }
    }

    #[test]
    fn lookups_and_plain_writes_leave_nothing_open() {
        for (sql, open) in [
            ("SELECT * FROM t WHERE a = ?", false),
            ("INSERT INTO t VALUES (1)", false),
            ("UPDATE t SET a = 1 WHERE b = 2", false),
            ("INSERT INTO t SELECT * FROM u", true),
            ("SELECT max(a), b FROM t", true),
            ("SELECT (SELECT a FROM t)", true),
            ("SELECT a FROM t LIMIT 5", true),
        ] {
            assert_eq!(may_be_open(sql), open, "{sql}");
        }
    }
}
