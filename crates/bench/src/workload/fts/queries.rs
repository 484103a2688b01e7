//! The queries: the published ones by class, and how each reads as SQL.
//!
//! The first classes are those that the article asks of a hundred thousand rows, word for word. The
//! texts of its queries on all rows are lost, but not how many rows each found: the other classes
//! stand for them, but for the last two, which are there to tell tokenizers apart by what is not
//! English.

use lab::catalogue::Accepts;
use lab::level::Level;

use super::table::{Kind, TABLE, TableOptions, identifier};
use super::truth::Meaning;
use crate::parameters::Bounds;
use Meaning::{Column, Near, Other, Phrase, Prefix, StartsWith, Unaccented, Words};
use Shape::{Limit, Ranked, Rows, Snippets};

/// Rows after which a limited query ends.
const LIMIT: usize = 50;

/// The column that patterns are matched against.
pub(super) const PATTERN_COLUMN: &str = "text";

/// What a query gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Every row with all its columns.
    Rows,
    /// The first rows that are found.
    Limit,
    /// The best rows by bm25.
    Ranked,
    /// The first rows with the place that was found.
    Snippets,
}

impl Shape {
    /// How many of `found` rows the query gives.
    pub(super) fn of(self, found: usize) -> usize {
        match self {
            Shape::Rows => found,
            Shape::Limit | Shape::Ranked | Shape::Snippets => found.min(LIMIT),
        }
    }
}

/// An operator that compares a column with a pattern, row by row or through a trigram index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Like,
    Glob,
    Regexp,
}

/// How rows are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// An expression of the full-text index, and what it means.
    Match(Meaning, Shape),
    /// A pattern.
    Pattern(Operator),
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// Its class.
    pub(super) class: &'static str,
    /// The full-text expression or the pattern.
    pub(super) text: String,
    pub(super) how: How,
}

/// A query in SQL.
pub(super) struct Sql {
    /// What is timed.
    pub(super) statement: String,
    /// The rowids of all matching rows, in ascending order.
    pub(super) rowids: String,
    /// What is bound to every parameter of both.
    pub(super) bound: String,
}

/// The class of a query of the user's.
pub(super) const OWN: &str = "own";

type Line = (&'static str, &'static str, How);

/// Lists of queries: `class: text => meaning, shape;` for a full-text expression, `class: text => operator;`
/// for a pattern.
macro_rules! queries {
    ($($(#[$about:meta])* $list:ident {$($class:literal: $text:literal => $($how:expr),+;)*})*) => {$(
        $(#[$about])*
        const $list: &[Line] = &[$(($class, $text, queries!(@how $($how),+))),*];
    )*};
    (@how $meaning:expr, $shape:expr) => { How::Match($meaning, $shape) };
    (@how $operator:expr) => { How::Pattern($operator) };
}

queries! {
    /// The queries that the article asks of a hundred thousand rows, as far as LIKE can say something
    /// like them.
    SAYABLE {
        "simple-and": "easy simple" => Words(&["easy", "simple"]), Rows;
        "simple-and": "database performance optimization" => Words(&["database", "performance", "optimization"]), Rows;
        "simple-and": "for some reason really long and" => Words(&["for", "some", "reason", "really", "long", "and"]), Rows;
        "phrase": "\"machine learning\"" => Phrase(&["machine", "learning"]), Rows;
        "phrase": "ai + shit" => Phrase(&["ai", "shit"]), Rows;
        "phrase": "\"data science\"" => Phrase(&["data", "science"]), Rows;
        "prefix": "python*" => Prefix("python"), Rows;
        "prefix": "data*" => Prefix("data"), Rows;
        "prefix": "web*" => Prefix("web"), Rows;
        "initial-token": "^python" => StartsWith("python", false), Rows;
        "initial-token": "^data" => StartsWith("data", false), Rows;
        "initial-token": "^web" => StartsWith("web", false), Rows;
        "column-filter": "title: python" => Column("title", "python"), Rows;
        "column-filter": "text: database" => Column("text", "database"), Rows;
        "column-filter": "by: dawg" => Column("by", "dawg"), Rows;
        "prefix-and-initial": "^python*" => StartsWith("python", true), Rows;
    }

    /// The rest of them.
    UNSAYABLE {
        "near": "NEAR(rust sqlite, 5)" => Near("rust", "sqlite", 5), Rows;
        "near": "NEAR(react htmx, 3)" => Near("react", "htmx", 3), Rows;
        "near": "NEAR(ml shit, 2)" => Near("ml", "shit", 2), Rows;
        "complex": "NEAR(rust python, 5) performance*" => Other, Rows;
        "complex": "^performance NEAR(rust python, 3)" => Other, Rows;
    }

    /// Queries like those that the article asks of all rows.
    LARGE {
        "common-term": "test" => Words(&["test"]), Rows;
        "common-limit": "test" => Words(&["test"]), Limit;
        "common-ranked": "test" => Words(&["test"]), Ranked;
        "common-snippets": "test" => Words(&["test"]), Snippets;
        "stem-term": "connection" => Words(&["connection"]), Rows;
        // Every three letters of the last word are common; the word does not exist.
        "no-hit": "interesting wherefores" => Words(&["interesting", "wherefores"]), Rows;
        "rare-phrase": "\"crypto scam\"" => Phrase(&["crypto", "scam"]), Rows;
        "rare-terms": "airbnb ruins everything" => Words(&["airbnb", "ruins", "everything"]), Rows;
        "medium-complex": "\"machine learning\" OR NEAR(rust performance, 5)" => Other, Rows;
        "like-rare": "%xylogr%" => Operator::Like;
        "glob-medium": "*PostgreSQL*" => Operator::Glob;
        "regexp": r"[a-z](ing|ed) the\b" => Operator::Regexp;
        // A letter with one diacritic, and one with two, which `remove_diacritics 1` leaves as it is.
        "accented": "muller" => Unaccented("müller"), Rows;
        "accented": "nguyen" => Unaccented("nguyễn"), Rows;
        // The engine in 検索エンジン, a search engine: scripts without spaces make one word of both.
        "cjk": "エンジン" => Words(&["エンジン"]), Rows;
    }
}

/// Every query.
const ALL: &[&[Line]] = &[SAYABLE, UNSAYABLE, LARGE];

/// Names of sets of classes.
const SETS: &[(&str, &[&[Line]])] = &[
    ("all", ALL),
    ("published", &[SAYABLE, UNSAYABLE]),
    ("sayable", &[SAYABLE]),
    ("large", &[LARGE]),
];

/// Every class, each once.
pub(super) fn classes() -> Vec<&'static str> {
    let mut classes: Vec<&str> = Vec::new();
    for (class, ..) in ALL.iter().copied().flatten() {
        if !classes.contains(class) {
            classes.push(class);
        }
    }
    classes.push(OWN);
    classes
}

/// The parameter that chooses queries: a set of classes, or one.
pub(crate) enum QueryChoice {}

impl crate::parameters::Kind for QueryChoice {
    type Value = String;
    type Default = &'static str;

    fn accepts(_: Bounds) -> Accepts {
        let sets = SETS.iter().map(|(name, _)| *name);
        Accepts::choice(&sets.chain(classes()).collect::<Vec<_>>())
    }

    fn level(default: &'static str) -> Option<Level> {
        Some(default.into())
    }

    fn value(level: Option<&Level>) -> Option<String> {
        Some(level?.as_text()?.to_owned())
    }
}

/// The queries of a set or class; `own` is the user's expression.
pub(super) fn chosen(choice: &str, own: &str) -> Vec<Query> {
    if choice == OWN {
        return vec![Query {
            class: OWN,
            text: own.to_owned(),
            how: How::Match(Other, Shape::Rows),
        }];
    }
    let set = SETS.iter().find(|(name, _)| *name == choice);
    let lines = set.map_or(ALL, |(_, lines)| *lines);
    lines
        .iter()
        .flat_map(|lines| lines.iter())
        .filter(|(class, ..)| set.is_some() || *class == choice)
        .map(|(class, text, how)| Query {
            class,
            text: (*text).to_owned(),
            how: how.clone(),
        })
        .collect()
}

impl Query {
    /// How many rows it gives where so many are found.
    pub(super) fn rows_given(&self, found: usize) -> usize {
        match &self.how {
            How::Match(_, shape) => shape.of(found),
            How::Pattern(_) => found,
        }
    }

    /// Whether it gives every row that is found.
    pub(super) fn gives_all(&self) -> bool {
        !matches!(self.how, How::Match(_, shape) if shape != Shape::Rows)
    }

    /// The query in SQL, or why this table cannot answer it.
    pub(super) fn sql(&self, options: &TableOptions, columns: &[String]) -> Result<Sql, String> {
        match (&self.how, options.kind) {
            (How::Pattern(operator), _) => self.pattern_sql(*operator, options, columns),
            (How::Match(_, shape), Kind::Fts5) => Ok(self.match_sql(*shape, options)),
            (How::Match(meaning, shape), Kind::Plain | Kind::Indexed) => {
                like_sql(meaning, *shape, columns)
            }
        }
    }

    fn match_sql(&self, shape: Shape, options: &TableOptions) -> Sql {
        let columns = if options.keeps_texts() { "*" } else { "rowid" };
        let (columns, tail) = match shape {
            Shape::Rows => (columns.to_owned(), String::new()),
            Shape::Limit => (columns.to_owned(), format!(" LIMIT {LIMIT}")),
            Shape::Ranked => (columns.to_owned(), format!(" ORDER BY rank LIMIT {LIMIT}")),
            Shape::Snippets => (
                format!("rowid, snippet({TABLE}, -1, '<b>', '</b>', '…', 16)"),
                format!(" LIMIT {LIMIT}"),
            ),
        };
        let rows = format!("FROM {TABLE} WHERE {TABLE} MATCH ?1");
        Sql {
            statement: format!("SELECT {columns} {rows}{tail}"),
            rowids: format!("SELECT rowid {rows} ORDER BY rowid"),
            bound: self.text.clone(),
        }
    }

    fn pattern_sql(
        &self,
        operator: Operator,
        options: &TableOptions,
        columns: &[String],
    ) -> Result<Sql, String> {
        if !options.keeps_texts() {
            return Err("patterns require the texts, which this table does not keep".to_owned());
        }
        if !columns.iter().any(|column| column == PATTERN_COLUMN) {
            return Err(format!("there is no column `{PATTERN_COLUMN}`"));
        }
        let operator = match operator {
            Operator::Like => "LIKE",
            Operator::Glob => "GLOB",
            Operator::Regexp => "REGEXP",
        };
        // The full-text table of external content is asked too: its index may know the pattern.
        let column = identifier(PATTERN_COLUMN);
        let rows = format!("FROM {TABLE} WHERE {column} {operator} ?1");
        Ok(Sql {
            statement: format!("SELECT * {rows}"),
            rowids: format!("SELECT rowid {rows} ORDER BY rowid"),
            bound: self.text.clone(),
        })
    }
}

/// The nearest that LIKE can say, where it can say anything like it.
fn like_sql(meaning: &Meaning, shape: Shape, columns: &[String]) -> Result<Sql, String> {
    let anywhere = |pattern: String| -> String {
        let each: Vec<String> = columns
            .iter()
            .map(|column| format!("{} LIKE '{pattern}'", identifier(column)))
            .collect();
        format!("({})", each.join(" OR "))
    };
    let condition = match meaning {
        Words(terms) => {
            let each: Vec<String> = terms
                .iter()
                .map(|term| anywhere(format!("%{term}%")))
                .collect();
            each.join(" AND ")
        }
        Phrase(terms) => anywhere(format!("%{}%", terms.join(" "))),
        Prefix(term) => anywhere(format!("%{term}%")),
        StartsWith(term, _) => anywhere(format!("{term}%")),
        // SQLite would take the name of a column that is none for a text.
        Column(column, _) if !columns.iter().any(|known| known == column) => {
            return Err(format!("there is no column `{column}`"));
        }
        Column(column, term) => format!("{} LIKE '%{term}%'", identifier(column)),
        _ => return Err("LIKE cannot express this".to_owned()),
    };
    let tail = match shape {
        Shape::Rows => String::new(),
        Shape::Limit => format!(" LIMIT {LIMIT}"),
        Shape::Ranked => return Err("a plain table has no rank".to_owned()),
        Shape::Snippets => return Err("a plain table has no snippets".to_owned()),
    };
    let rows = format!("FROM {TABLE} WHERE {condition}");
    Ok(Sql {
        statement: format!("SELECT * {rows}{tail}"),
        rowids: format!("SELECT rowid {rows} ORDER BY rowid"),
        bound: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Kind as _;

    #[test]
    fn every_choice_has_queries_and_every_query_a_class() {
        let Accepts::Choice(choices) = QueryChoice::accepts(Bounds::of(..)) else {
            panic!("a choice");
        };
        for choice in choices {
            let queries = chosen(&choice, "mine");
            assert!(!queries.is_empty(), "{choice}");
            assert!(queries.iter().all(|query| classes().contains(&query.class)));
        }
        assert_eq!(chosen("all", "").len(), 36);
        assert_eq!(chosen("published", "").len(), 21);
        assert_eq!(chosen("near", "").len(), 3);
        assert_eq!(chosen("sayable", "").len(), 16);
        assert_eq!(chosen("own", "a b")[0].text, "a b");
    }

    #[test]
    fn like_is_not_asked_what_it_cannot_say() {
        let columns = ["text".to_owned()];
        let sql = |meaning: Meaning| like_sql(&meaning, Shape::Rows, &columns);
        let known = sql(Column("text", "database")).map(|sql| sql.rowids);
        assert_eq!(
            known.unwrap(),
            "SELECT rowid FROM docs WHERE \"text\" LIKE '%database%' ORDER BY rowid"
        );
        let why = sql(Column("title", "python")).err().unwrap();
        assert!(why.contains("no column `title`"), "{why}");
        // Its letters are those with the accents or those without, never both.
        assert!(sql(Unaccented("müller")).is_err());
    }

    #[test]
    fn a_limit_bounds_what_is_given_and_not_what_is_found() {
        assert_eq!(Shape::Rows.of(70), 70);
        assert_eq!(Shape::Ranked.of(70), LIMIT);
        assert_eq!(Shape::Limit.of(7), 7);
    }
}
