//! The published queries by class.
//!
//! The first classes are those that the article runs on a hundred thousand rows, word for word. Of its
//! queries on all rows, most texts are lost, but not how many rows each returned: the other classes stand
//! for them, except the last two, which show how tokenizers differ on what is not English.

use super::How::{self, Pattern};
use super::Operator::{Glob, Like, Regexp};
use super::Shape::{Limit, Ranked, Snippets};
use super::{PATTERN_COLUMN, Query, Shape};
use crate::workload::fts::truth::Meaning::{self, Column, Intended, Near, Other, Prefix};

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

fn pattern(operator: super::Operator) -> How {
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
