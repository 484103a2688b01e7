//! The queries: the published ones by class, those drawn from the user's text, and how each reads as SQL.
//!
//! The published ones belong to the generated documents, in which their words
//! are planted, and never run on a file of the user's: queries of such a file come with the settings of the
//! trial ([`Query::list`]). [`sql`] turns a query into statements.
//!
//! The published queries by class.
//!
//! The first classes are those that the article runs on a hundred thousand rows, word for word. Of its
//! queries on all rows, most texts are lost, but not how many rows each returned: the other classes stand
//! for them, except the last two, which show how tokenizers differ on what is not English.

mod sql;

use lab::catalogue::Accepts;
use lab::level::Level;
use serde::{Deserialize, Serialize};

use self::How::Pattern;
use self::Operator::{Glob, Like, Regexp};
use self::Shape::{Limit, Ranked, Snippets};
use super::source::Source;
use super::truth::Meaning;
use crate::error::{Result, TrialError};
use crate::parameters::{Bounds, SqlText};
use crate::workload::fts::truth::Meaning::{Column, Intended, Near, Other, Prefix};

pub(super) use sql::Sql;

/// Rows after which a limited query ends.
const LIMIT: usize = 50;

/// The column of generated documents that patterns are matched against.
const PATTERN_COLUMN: &str = "text";

/// Result of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// Returns how many of `found` rows the query gives.
    pub(super) fn of(self, found: usize) -> usize {
        match self {
            Shape::Rows => found,
            Shape::Limit | Shape::Ranked | Shape::Snippets => found.min(LIMIT),
        }
    }
}

choice! {
    /// An operator that compares a column with a pattern, row by row or through a trigram index.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Operator {
        /// `%` and `_`.
        Like = "LIKE",
        /// `*`, `?` and `[…]`.
        Glob = "GLOB",
        /// Regular expressions.
        Regexp = "REGEXP",
    }
}

/// How rows are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    /// An expression of the full-text index, and what it means.
    Match(Meaning, Shape),
    /// A pattern, and the column that it is matched against.
    Pattern(Operator, String),
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Query {
    /// Its class.
    pub(super) class: String,
    /// The full-text expression or the pattern.
    pub(super) text: String,
    pub(super) how: How,
}

/// The class of a query of the user's.
pub(super) const OWN: &str = "own";

/// Classes of queries that are drawn from the user's text only.
const DRAWN_ONLY: [&str; 3] = ["middling-term", "rare-term", "misspelling"];

/// Names of sets of published queries.
const SETS: [&str; 4] = ["all", "published", "sayable", "large"];

/// Returns the published queries of a set.
fn published_set(set: &str) -> Vec<Query> {
    let lists = match set {
        "published" => vec![sayable(), unsayable()],
        "sayable" => vec![sayable()],
        "large" => vec![large()],
        _ => vec![sayable(), unsayable(), large()],
    };
    lists.concat()
}

/// Returns every class, each once.
pub(super) fn classes() -> Vec<String> {
    let mut classes: Vec<String> = Vec::new();
    for query in published_set("all") {
        if !classes.contains(&query.class) {
            classes.push(query.class);
        }
    }
    classes.extend(DRAWN_ONLY.map(str::to_owned));
    classes.push(OWN.to_owned());
    classes
}

/// The parameter that chooses queries: a set of classes, or one.
pub(crate) enum QueryChoice {}

impl crate::parameters::Kind for QueryChoice {
    type Value = String;
    type Default = &'static str;

    fn accepts(_: Bounds) -> Accepts {
        Accepts::Choice(SETS.map(str::to_owned).into_iter().chain(classes()).collect())
    }

    fn level(default: &'static str) -> Option<Level> {
        Some(default.into())
    }

    fn value(level: Option<&Level>) -> Option<String> {
        Some(level?.as_text()?.to_owned())
    }
}

parameters! {
    /// Queries on a file of the user's.
    struct TextQueries {
        /// Queries on the documents of `text_file`, as `pragmark run` draws them from the file or reads them
        /// with --queries; the published queries do not run on such a file.
        text_queries: Option<SqlText> = None;
    }
}

impl TextQueries {
    /// Returns the queries of a set or class on these documents; `own` is the user's expression for the class of that
    /// name.
    pub(super) fn chosen(&self, choice: &str, own: &str, source: &Source) -> Result<Vec<Query>> {
        let queries = match &self.text_queries {
            _ if choice == OWN && !own.is_empty() => vec![Query::own(own)],
            _ if source.is_generated() => published_queries(choice),
            Some(list) => Query::of_file(list, choice)?,
            None => {
                return Err(TrialError::cannot_run(
                    "the published queries belong to generated documents: with `text_file`, use `queries = \"own\"`, or start the experiment with `pragmark run`, which draws queries from the file",
                ));
            }
        };
        if queries.is_empty() {
            Err(TrialError::CannotRun(format!(
                "these documents have no queries of the class {choice}"
            )))
        } else {
            Ok(queries)
        }
    }
}

/// Returns the published queries of a set or class.
pub(super) fn published_queries(choice: &str) -> Vec<Query> {
    let mut queries = published_set(choice);
    if !SETS.contains(&choice) {
        queries.retain(|query| query.class == choice);
    }
    queries
}

/// Returns whether a class belongs to what was chosen: drawn classes without published queries stand with those on all
/// rows, and queries of the user's belong to every set.
fn is_of(class: &str, choice: &str) -> bool {
    let is_set = SETS.contains(&choice);
    let in_set = || {
        let large = ["all", "large"].contains(&choice) && DRAWN_ONLY.contains(&class);
        class == OWN || large || published_set(choice).iter().any(|query| query.class == class)
    };
    class == choice || is_set && in_set()
}

impl Query {
    pub(super) fn new(class: &str, text: &str, how: How) -> Query {
        Query { class: class.to_owned(), text: text.to_owned(), how }
    }

    /// Returns the user's expression, whose meaning is unknown.
    fn own(text: &str) -> Query {
        Query::new(OWN, text, How::Match(Meaning::Other, Shape::Rows))
    }

    /// Returns queries as one text, for the settings of a trial.
    pub(super) fn list(queries: &[Query]) -> Result<String, serde_json::Error> {
        serde_json::to_string(queries)
    }

    /// Returns the queries of a choice from such a text.
    fn of_file(list: &str, choice: &str) -> Result<Vec<Query>> {
        let queries: Result<Vec<Query>, _> = serde_json::from_str(list);
        let mut queries = queries.map_err(|error| {
            TrialError::CannotRun(format!("`text_queries` is no list of queries: {error}"))
        })?;
        let known = classes();
        if let Some(unknown) = queries.iter().find(|query| !known.contains(&query.class)) {
            let class = &unknown.class;
            return Err(TrialError::CannotRun(format!(
                "`text_queries` has a query of the unknown class `{class}`"
            )));
        }
        queries.retain(|query| is_of(&query.class, choice));
        Ok(queries)
    }

    /// Returns how many of the rows that are found it gives.
    pub(super) fn rows_given(&self, found: usize) -> usize {
        match &self.how {
            How::Match(_, shape) => shape.of(found),
            How::Pattern(..) => found,
        }
    }

    /// Returns whether it gives every row that is found.
    pub(super) fn gives_all(&self) -> bool {
        !matches!(self.how, How::Match(_, shape) if shape != Shape::Rows)
    }

    /// Returns its meaning for a scan of the documents.
    pub(super) fn meaning(&self) -> Meaning {
        match &self.how {
            How::Match(meaning, _) => meaning.clone(),
            How::Pattern(operator, column) => pattern_meaning(*operator, column, &self.text),
        }
    }
}

/// Returns the meaning of a pattern for a scan, which knows a piece of text between wildcards and regular expressions.
fn pattern_meaning(operator: Operator, column: &str, pattern: &str) -> Meaning {
    let piece = |wildcard: char, others: &[char], case: bool| {
        let inner =
            pattern.strip_prefix(wildcard).and_then(|rest| rest.strip_suffix(wildcard)).filter(
                |inner| !inner.is_empty() && !inner.contains(wildcard) && !inner.contains(others),
            );
        inner.map_or(Meaning::Other, |inner| {
            Meaning::Contains(column.to_owned(), inner.to_owned(), case)
        })
    };
    match operator {
        Operator::Like => piece('%', &['_'], false),
        Operator::Glob => piece('*', &['?', '['], true),
        Operator::Regexp => Meaning::Matches(column.to_owned(), pattern.to_owned()),
    }
}

/// Lists of queries: `class: text => how;`.
macro_rules! queries {
    ($($(#[$about:meta])* $list:ident {$($class:literal: $text:literal => $how:expr;)*})*) => {$(
        $(#[$about])*
        pub(super) fn $list() -> Vec<Query> {
            vec![$(Query::new($class, $text, $how)),*]
        }
    )*};
}

queries! {
    /// The queries that the article runs on a hundred thousand rows, as far as LIKE can express
    /// something like them.
    sayable {
        "simple-and": "easy simple" => rows(words(&["easy", "simple"]));
        "simple-and": "database performance optimization" => rows(words(&["database", "performance", "optimization"]));
        "simple-and": "for some reason really long and" => rows(words(&["for", "some", "reason", "really", "long", "and"]));
        "phrase": "\"machine learning\"" => rows(phrase(&["machine", "learning"]));
        "phrase": "ai + shit" => rows(phrase(&["ai", "shit"]));
        "phrase": "\"data science\"" => rows(phrase(&["data", "science"]));
        "prefix": "python*" => rows(Prefix("python".to_owned()));
        "prefix": "data*" => rows(Prefix("data".to_owned()));
        "prefix": "web*" => rows(Prefix("web".to_owned()));
        "initial-token": "^python" => rows(starts(&["python"], false));
        "initial-token": "^data" => rows(starts(&["data"], false));
        "initial-token": "^web" => rows(starts(&["web"], false));
        "column-filter": "title: python" => rows(column("title", "python"));
        "column-filter": "text: database" => rows(column("text", "database"));
        "column-filter": "by: dawg" => rows(column("by", "dawg"));
        "prefix-and-initial": "^python*" => rows(starts(&["python"], true));
    }

    /// The rest of them.
    unsayable {
        "near": "NEAR(rust sqlite, 5)" => rows(near("rust", "sqlite", 5));
        "near": "NEAR(react htmx, 3)" => rows(near("react", "htmx", 3));
        "near": "NEAR(ml shit, 2)" => rows(near("ml", "shit", 2));
        "complex": "NEAR(rust python, 5) performance*" => rows(Other);
        "complex": "^performance NEAR(rust python, 3)" => rows(Other);
    }

    /// Queries like those that the article runs on all rows.
    large {
        "common-term": "test" => rows(words(&["test"]));
        "common-limit": "test" => How::Match(words(&["test"]), Limit);
        "common-ranked": "test" => How::Match(words(&["test"]), Ranked);
        "common-snippets": "test" => How::Match(words(&["test"]), Snippets);
        "stem-term": "connection" => rows(words(&["connection"]));
        // Every three letters of the last word are common; the word does not exist.
        "no-hit": "interesting wherefores" => rows(words(&["interesting", "wherefores"]));
        "rare-phrase": "\"crypto scam\"" => rows(phrase(&["crypto", "scam"]));
        "initial-phrase": "^crypto + scam" => rows(starts(&["crypto", "scam"], false));
        "rare-terms": "airbnb ruins everything" => rows(words(&["airbnb", "ruins", "everything"]));
        "medium-complex": "\"machine learning\" OR NEAR(rust performance, 5)" => rows(Other);
        "like-rare": "%xylogr%" => pattern(Like);
        "glob-medium": "*PostgreSQL*" => pattern(Glob);
        "regexp": r"[a-z](ing|ed) the\b" => pattern(Regexp);
        // A letter with one diacritic, and one with two, which `remove_diacritics 1` leaves as it is.
        "accented": "muller" => rows(Intended("müller".to_owned()));
        "accented": "nguyen" => rows(Intended("nguyễn".to_owned()));
        // The engine in 検索エンジン, a search engine: scripts without spaces make one word of both.
        "cjk": "エンジン" => rows(words(&["エンジン"]));
    }
}

fn owned(terms: &[&str]) -> Vec<String> {
    terms.iter().map(|term| (*term).to_owned()).collect()
}

fn rows(meaning: Meaning) -> How {
    How::Match(meaning, Shape::Rows)
}

fn pattern(operator: Operator) -> How {
    Pattern(operator, PATTERN_COLUMN.to_owned())
}

fn words(terms: &[&str]) -> Meaning {
    Meaning::Words(owned(terms))
}

fn phrase(terms: &[&str]) -> Meaning {
    Meaning::Phrase(owned(terms))
}

fn starts(terms: &[&str], prefix: bool) -> Meaning {
    Meaning::StartsWith(owned(terms), prefix)
}

fn column(name: &str, term: &str) -> Meaning {
    Column(name.to_owned(), term.to_owned())
}

fn near(first: &str, second: &str, between: usize) -> Meaning {
    Near(first.to_owned(), second.to_owned(), between)
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
            let queries = published_queries(&choice);
            let is_published = !DRAWN_ONLY.contains(&&*choice) && choice != OWN;
            assert_eq!(queries.is_empty(), !is_published, "{choice}");
            assert!(queries.iter().all(|query| classes().contains(&query.class)));
        }
        assert_eq!(published_queries("all").len(), 37);
        assert_eq!(published_queries("published").len(), 21);
        assert_eq!(published_queries("near").len(), 3);
        assert_eq!(published_queries("sayable").len(), 16);
    }

    #[test]
    fn queries_of_a_file_are_chosen_by_set_and_class() {
        let query = |class: &str| Query::new(class, "x", Query::own("x").how);
        let all = ["phrase", "rare-term", "common-limit", OWN].map(query);
        let list = Query::list(&all).unwrap();
        let chosen = |choice: &str| -> Vec<String> {
            let queries = Query::of_file(&list, choice).unwrap();
            queries.into_iter().map(|query| query.class).collect()
        };
        assert_eq!(chosen("all"), ["phrase", "rare-term", "common-limit", OWN]);
        assert_eq!(chosen("published"), ["phrase", OWN]);
        assert_eq!(chosen("large"), ["rare-term", "common-limit", OWN]);
        assert_eq!(chosen("rare-term"), ["rare-term"]);
        assert!(chosen("near").is_empty());
        for wrong in
            ["what", "[{\"class\":\"none\",\"text\":\"\",\"how\":{\"pattern\":[\"like\",\"a\"]}}]"]
        {
            let error = Query::of_file(wrong, "all").unwrap_err().to_string();
            assert!(error.contains("`text_queries`"), "{error}");
        }
    }

    #[test]
    fn a_pattern_means_its_letters_only_where_it_has_no_other_wildcard() {
        let meaning = |operator, pattern| pattern_meaning(operator, "body", pattern);
        let contains =
            |piece: &str, case| Meaning::Contains("body".to_owned(), piece.to_owned(), case);
        assert_eq!(meaning(Operator::Like, "%Ab%"), contains("Ab", false));
        assert_eq!(meaning(Operator::Glob, "*Ab*"), contains("Ab", true));
        for other in ["a%", "%a%b%", "%a_b%", "%%", "%"] {
            assert_eq!(meaning(Operator::Like, other), Meaning::Other, "{other}");
        }
        assert_eq!(meaning(Operator::Glob, "*a[b]*"), Meaning::Other);
        let regexp = Meaning::Matches("body".to_owned(), "a.b".to_owned());
        assert_eq!(meaning(Operator::Regexp, "a.b"), regexp);
    }

    #[test]
    fn a_limit_bounds_what_is_given_and_not_what_is_found() {
        assert_eq!(Shape::Rows.of(70), 70);
        assert_eq!(Shape::Ranked.of(70), LIMIT);
        assert_eq!(Shape::Limit.of(7), 7);
    }
}
