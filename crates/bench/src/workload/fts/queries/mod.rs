//! The queries: the published ones by class, those drawn from the user's text, and how each reads as SQL.
//!
//! The published ones belong to the generated documents, in which their words
//! are planted, and never run on a file of the user's: queries of such a file come with the settings of the
//! trial ([`Query::list`]). [`sql`] turns a query into statements.
//!
//! The first classes are those that the article runs on a hundred thousand rows, word for word. Of its
//! queries on all rows, most texts are lost, but not how many rows each returned: the other classes stand
//! for them, except the last two, which show how tokenizers differ on what is not English.

mod sql;

use lab::catalogue::Accepts;
use serde::{Deserialize, Serialize};

use self::Operator::{Glob, Like, Regexp};
use super::source::Source;
use super::truth::Meaning;
use crate::parameters::{Bounds, SqlText};
use crate::workload::prelude::*;

pub(super) use sql::Sql;

/// Rows after which a limited query ends.
const LIMIT: usize = 50;

/// The column of generated documents that patterns are matched against.
const PATTERN_COLUMN: &str = "text";

/// Result of a query.
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

/// One question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// Its class.
    pub(super) class: String,
    /// The full-text expression or the pattern.
    pub(super) text: String,
    /// The word that is meant by a text that spells it otherwise: without its accents, or with a typing error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) intended: Option<String>,
    /// The operator of a pattern, and the column that is compared with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pattern: Option<(Operator, String)>,
}

/// The class of a query of the user's.
pub(super) const OWN: &str = "own";

/// Classes of queries that are drawn from the user's text only.
const DRAWN_ONLY: [&str; 3] = ["middling-term", "rare-term", "misspelling"];

/// Names of sets of published queries.
const SETS: [&str; 4] = ["all", "published", "sayable", "large"];

/// Returns the published queries of a set.
fn published_set(set: &str) -> Vec<Query> {
    let listed = |list: &[(&str, &str)]| -> Vec<Query> {
        list.iter().map(|(class, text)| Query::new(class, *text)).collect()
    };
    let (sayable, unsayable) = (listed(&SAYABLE), listed(&UNSAYABLE));
    match set {
        "published" => [sayable, unsayable].concat(),
        "sayable" => sayable,
        "large" => [listed(&LARGE), beyond_words()].concat(),
        _ => [sayable, unsayable, listed(&LARGE), beyond_words()].concat(),
    }
}

/// Returns the queries on all rows by patterns, with accents, and in a script without spaces.
fn beyond_words() -> Vec<Query> {
    let pattern = |class: &str, text: &str, operator| Query {
        pattern: Some((operator, PATTERN_COLUMN.to_owned())),
        ..Query::new(class, text)
    };
    vec![
        pattern("like-rare", "%xylogr%", Like),
        pattern("glob-medium", "*PostgreSQL*", Glob),
        pattern("regexp", r"[a-z](ing|ed) the\b", Regexp),
        // A letter with one diacritic, and one with two, which `remove_diacritics 1` leaves as it is.
        Query::intending("accented", "muller", "müller"),
        Query::intending("accented", "nguyen", "nguyễn"),
        // The engine in 検索エンジン, a search engine: scripts without spaces make one word of both.
        Query::new("cjk", "エンジン"),
    ]
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
            _ if choice == OWN && !own.is_empty() => vec![Query::new(OWN, own)],
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
    pub(super) fn new(class: &str, text: impl Into<String>) -> Query {
        Query { class: class.to_owned(), text: text.into(), ..Query::default() }
    }

    /// Returns a query that means a word which its text spells otherwise.
    pub(super) fn intending(class: &str, text: impl Into<String>, word: &str) -> Query {
        Query { intended: Some(word.to_owned()), ..Query::new(class, text) }
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

    /// Returns its result, which its class decides.
    pub(super) fn shape(&self) -> Shape {
        match self.class.as_str() {
            "common-limit" => Shape::Limit,
            "common-ranked" => Shape::Ranked,
            "common-snippets" => Shape::Snippets,
            _ => Shape::Rows,
        }
    }

    /// Returns its meaning for a scan of the documents.
    pub(super) fn meaning(&self) -> Meaning {
        match (&self.pattern, &self.intended) {
            (Some((operator, column)), _) => pattern_meaning(*operator, column, &self.text),
            (None, Some(word)) => Meaning::Intended(word.clone()),
            (None, None) => Meaning::of(&self.text),
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

/// The queries that the article runs on a hundred thousand rows, as far as LIKE can express something like them.
const SAYABLE: [(&str, &str); 16] = [
    ("simple-and", "easy simple"),
    ("simple-and", "database performance optimization"),
    ("simple-and", "for some reason really long and"),
    ("phrase", "\"machine learning\""),
    ("phrase", "ai + shit"),
    ("phrase", "\"data science\""),
    ("prefix", "python*"),
    ("prefix", "data*"),
    ("prefix", "web*"),
    ("initial-token", "^python"),
    ("initial-token", "^data"),
    ("initial-token", "^web"),
    ("column-filter", "title: python"),
    ("column-filter", "text: database"),
    ("column-filter", "by: dawg"),
    ("prefix-and-initial", "^python*"),
];

/// The rest of them.
const UNSAYABLE: [(&str, &str); 5] = [
    ("near", "NEAR(rust sqlite, 5)"),
    ("near", "NEAR(react htmx, 3)"),
    ("near", "NEAR(ml shit, 2)"),
    ("complex", "NEAR(rust python, 5) performance*"),
    ("complex", "^performance NEAR(rust python, 3)"),
];

/// Queries like those that the article runs on all rows.
const LARGE: [(&str, &str); 10] = [
    ("common-term", "test"),
    ("common-limit", "test"),
    ("common-ranked", "test"),
    ("common-snippets", "test"),
    ("stem-term", "connection"),
    // Every three letters of the last word are common; the word does not exist.
    ("no-hit", "interesting wherefores"),
    ("rare-phrase", "\"crypto scam\""),
    ("initial-phrase", "^crypto + scam"),
    ("rare-terms", "airbnb ruins everything"),
    ("medium-complex", "\"machine learning\" OR NEAR(rust performance, 5)"),
];

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
        let query = |class: &str| Query::new(class, "x");
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
        for wrong in ["what", "[{\"class\":\"none\",\"text\":\"\",\"pattern\":[\"like\",\"a\"]}]"] {
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
