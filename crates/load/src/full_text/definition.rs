//! What the definitions of full-text indexes and triggers say.

use super::tokens::{Token, tokens};
use crate::table::same;

/// The definition of a virtual table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VirtualTable {
    module: String,
    /// The table that an option `content` names.
    pub(super) content: Option<String>,
}

impl VirtualTable {
    /// Reads a definition as SQLite keeps it; `None` where it has another form than is known.
    pub(super) fn of(sql: &str) -> Option<VirtualTable> {
        let tokens = tokens(sql);
        let keywords = ["create", "virtual", "table"];
        let begins = tokens.len() > 5 && keywords.iter().zip(&tokens).all(|(word, at)| at.is(word));
        // The name of the table is the fourth.
        if !begins || !tokens[4].is("using") {
            return None;
        }
        Some(VirtualTable { module: tokens[5].name()?.to_owned(), content: content(&tokens[6..])? })
    }

    /// Whether its module is one of SQLite's for full text.
    pub(super) fn is_full_text(&self) -> bool {
        self.module.to_ascii_lowercase().starts_with("fts")
    }

    /// Whether it is an index of FTS5.
    pub(super) fn is_fts5(&self) -> bool {
        same(&self.module, "fts5")
    }
}

/// The value of the option `content` among arguments in parentheses, if there is one; `None` where they have
/// another form.
fn content(arguments: &[Token]) -> Option<Option<String>> {
    let arguments = match arguments.split_last() {
        Some((Token::Mark(';'), before)) => before,
        _ => arguments,
    };
    if arguments.is_empty() {
        return Some(None);
    }
    let arguments = arguments.strip_prefix(&[Token::Mark('(')])?;
    let arguments = arguments.strip_suffix(&[Token::Mark(')')])?;
    let mut arguments = arguments.split(|token| *token == Token::Mark(','));
    let is_content = |argument: &&[Token]| match argument {
        // FTS5 knows its options by their first letters too.
        [Token::Bare(name), Token::Mark('='), ..] => {
            "content".starts_with(&name.to_ascii_lowercase())
        }
        _ => false,
    };
    match arguments.find(is_content) {
        None => Some(None),
        Some([_, _, value]) => Some(Some(value.name()?.to_owned())),
        Some(_) => None,
    }
}

/// Whether a trigger of this definition inserts into a table when rows are inserted.
pub(super) fn inserts_into(trigger: &str, table: &str) -> bool {
    let tokens = tokens(trigger);
    let Some(on) = tokens.iter().position(|token| token.is("on")) else {
        return false;
    };
    let names_it =
        |pair: &[Token]| pair[0].is("into") && pair[1].name().is_some_and(|name| same(name, table));
    on > 0 && tokens[on - 1].is("insert") && tokens[on..].windows(2).any(names_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_that_an_index_reads_from_is_in_its_definition() {
        for (definition, table) in [
            ("f USING fts5(a, content=t)", Some("t")),
            ("f using FTS5 (a, Content = \"my \"\"t\"\"\" , b);", Some("my \"t\"")),
            ("f USING fts4(content='it''s', a)", Some("it's")),
            ("f USING fts5(a, content=[t], content_rowid=id)", Some("t")),
            ("f USING  fts5(a, content=t)", Some("t")),
            ("f USING\n\tfts5(a, content=t)", Some("t")),
            ("f USING/* , */fts5(a, -- content=u\n content=t)", Some("t")),
            ("f USING \"fts5\"(a, cont=t)", Some("t")),
            ("\"using fts5(content=u)\" USING fts5(a, content=t)", Some("t")),
            ("f USING fts5(a, content='')", Some("")),
            ("f USING fts5(a, tokenize = \"x, content=t\")", None),
            ("f USING fts5(content, t)", None),
            ("f USING fts5(a, content_rowid=t)", None),
            ("f USING fts3", None),
        ] {
            let sql = format!("CREATE VIRTUAL TABLE {definition}");
            let read = VirtualTable::of(&sql).expect(&sql);
            assert!(read.is_full_text(), "{sql}");
            assert_eq!(read.content.as_deref(), table, "{sql}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for definition in [
            "f USING fts5(a, content=my t)",
            "f USING fts5(a, content=)",
            "f USING fts5(a, content=t",
            "f fts5(a)",
        ] {
            let sql = format!("CREATE VIRTUAL TABLE {definition}");
            assert_eq!(VirtualTable::of(&sql), None, "{sql}");
        }
        let other = VirtualTable::of("CREATE VIRTUAL TABLE f USING rtree(fts, a, b)").unwrap();
        assert!(!other.is_full_text());
    }

    #[test]
    fn a_trigger_keeps_an_index_up_where_it_inserts_into_it() {
        for (trigger, expected) in [
            ("AFTER INSERT ON docs BEGIN INSERT INTO doc(rowid, a) VALUES (1, 2); END", true),
            ("AFTER insert ON docs BEGIN INSERT OR REPLACE into\n\"DOC\" VALUES (1); END", true),
            ("INSERT ON docs BEGIN DELETE FROM x; INSERT INTO/**/[doc] VALUES (1); END", true),
            ("AFTER INSERT ON docs BEGIN INSERT INTO log VALUES ('doc'); END", false),
            ("AFTER INSERT ON docs BEGIN INSERT INTO docs_log SELECT * FROM doc; END", false),
            ("AFTER UPDATE ON docs BEGIN INSERT INTO doc VALUES (1); END", false),
            ("AFTER DELETE ON docs BEGIN INSERT INTO doc VALUES (1); END", false),
            ("AFTER UPDATE OF a, \"insert\" ON docs BEGIN INSERT INTO doc VALUES (1); END", false),
        ] {
            let sql = format!("CREATE TRIGGER doc_ai {trigger}");
            assert_eq!(inserts_into(&sql, "doc"), expected, "{sql}");
        }
    }
}
