//! Tests of drawing queries from texts of several shapes.

use std::path::{Path, PathBuf};

use super::*;
use crate::import::TextOptions;
use crate::workload::common::tests::run;

/// A folder with a file of documents.
struct Text {
    _folder: tempfile::TempDir,
    path: PathBuf,
    columns: Vec<String>,
    rows: u64,
}

impl Text {
    fn new(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Text {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.csv");
        let mut writer = csv::Writer::from_path(&path).unwrap();
        writer.write_record(columns).unwrap();
        let mut count = 0;
        for row in rows {
            writer.write_record(row).unwrap();
            count += 1;
        }
        writer.flush().unwrap();
        Text {
            _folder: folder,
            path,
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: count,
        }
    }

    /// One column with these texts.
    fn of(texts: &[&str]) -> Text {
        Text::new(&["body"], texts.iter().map(|text| vec![(*text).to_owned()]))
    }

    fn file(&self) -> TextFile {
        TextFile::new(&self.path, TextOptions::default()).unwrap()
    }

    fn drawn(&self) -> DocumentQueries {
        draw_queries(&self.file(), &self.columns, self.rows).unwrap()
    }

    /// What each class finds in a table of this tokenizer: rows by the index and recall as words and letters.
    fn measured(&self, drawn: &DocumentQueries, tokenizer: &str) -> lab::trial::Measured {
        let settings = [
            ("text_file", self.path.to_str().unwrap().into()),
            ("text_queries", drawn.setting.as_str().into()),
            ("tokenizer", tokenizer.into()),
            ("synchronous", "off".into()),
            ("repeat", 1.into()),
        ];
        run("fts-query", &settings).unwrap()
    }
}

fn classes_of(drawn: &DocumentQueries) -> Vec<&str> {
    drawn.classes.iter().map(|(class, _)| &**class).collect()
}

/// Sentences of words from a list, in which the first words are more frequent.
fn prose(words: &[&str], rows: usize) -> Vec<Vec<String>> {
    let row = |row: usize| {
        let word = |place: usize| {
            let number = (row * 31 + place * 17 + row * place) % 1_000;
            words[number * number / 1_000 * words.len() / 1_000]
        };
        let sentence: Vec<&str> = (0..12).map(word).collect();
        vec![format!("{} item{} nr{row}.", sentence.join(" "), row / 3)]
    };
    (0..rows).map(row).collect()
}

const ENGLISH: [&str; 12] = [
    "the", "invoice", "payment", "connect", "connected", "customer", "library", "overdue",
    "letters", "receipt", "warehouse", "zebra",
];

const GERMAN: [&str; 12] = [
    "der", "Rechnung", "Müller", "für", "Straße", "Bücher", "Kündigung", "Lieferung", "größer",
    "Bestellung", "Übersicht", "Vertrag",
];

#[test]
fn english_prose_has_every_class_that_its_letters_allow_and_each_query_finds_rows() {
    let text = Text::new(&["body"], prose(&ENGLISH, 400));
    let drawn = text.drawn();
    let missing: Vec<&str> = drawn.missing.iter().map(|(class, _)| &**class).collect();
    assert_eq!(missing, ["accented", "cjk"]);
    let measured = text.measured(&drawn, "unicode61");
    let queries = measured.tables[0].rows.len() as f64;
    assert_eq!(measured.metrics["answered"], queries);
    for (class, _) in &drawn.classes {
        let found = measured.metrics[&format!("results.{class}")];
        assert_eq!(found > 0.0, class != "misspelling", "{class}: {found}");
    }
    // What an index of words finds as words is all that a scan finds.
    for class in ["common-term", "middling-term", "rare-term", "phrase", "near", "initial-phrase"] {
        assert_eq!(measured.metrics[&format!("recall_word.{class}")], 1.0, "{class}");
    }
    assert_eq!(measured.metrics["recall_word.misspelling"], 0.0);
}

#[test]
fn words_with_diacritics_are_queried_without_them() {
    let text = Text::new(&["body"], prose(&GERMAN, 300));
    let drawn = text.drawn();
    assert!(classes_of(&drawn).contains(&"accented"));
    let recall = |tokenizer: &str| {
        let measured = text.measured(&drawn, tokenizer);
        measured.metrics["recall_word.accented"]
    };
    assert_eq!(recall("unicode61"), 1.0);
    assert_eq!(recall("unicode61 remove_diacritics 0"), 0.0);
}

#[test]
fn scripts_without_spaces_are_queried_in_pieces() {
    for sentences in [
        ["我爱数据库，数据很大。", "数据库很快。", "我们使用数据。", "大象很大，不是数据。"],
        [
            "検索エンジンは速い。",
            "データベースの検索。",
            "エンジンとデータ。",
            "速い検索エンジン。",
        ],
    ] {
        let text = Text::of(&sentences);
        let drawn = text.drawn();
        assert!(classes_of(&drawn).contains(&"cjk"), "{:?}", drawn.missing);
        let letters = text.measured(&drawn, "trigram").metrics["recall_substring.like-rare"];
        assert_eq!(letters, 1.0);
    }
}

#[test]
fn source_code_and_log_lines_have_words_too() {
    let code = (0..50).map(|n| {
        format!("fn handle_{n}(x: &mut Vec<u8>) -> Result<(), Error{n}> {{ todo!(\"x % {n}\") }}")
    });
    let log = (0..50).map(|n| {
        format!("2026-11-22T14:{n:02}:07Z [warn] 10.0.0.{n} GET /api/v1/items/{n}?q=a%20b HTTP/1.1 503 0x7f3a{n:04x}")
    });
    for lines in [code.collect::<Vec<_>>(), log.collect()] {
        let text = Text::new(&["line"], lines.into_iter().map(|line| vec![line]));
        let drawn = text.drawn();
        assert!(drawn.classes.len() > 12, "{:?}", drawn.missing);
        for tokenizer in ["unicode61", "trigram", "porter"] {
            let measured = text.measured(&drawn, tokenizer);
            let queries = measured.tables[0].rows.len() as f64;
            assert_eq!(measured.metrics["answered"], queries, "{tokenizer}");
        }
    }
}

#[test]
fn patterns_and_filters_are_on_the_columns_that_their_letters_are_from() {
    let columns = ["Betreff", "my \"col", "empty"];
    let row = |n: usize| {
        vec![
            format!("Rechnung {n}x Bestellung"),
            format!("overdue payment{n} of invoice"),
            String::new(),
        ]
    };
    let text = Text::new(&columns, (0..200).map(row));
    let drawn = text.drawn();
    assert!(!drawn.setting.contains("empty"));
    let measured = text.measured(&drawn, "unicode61");
    for class in ["like-rare", "glob-medium", "regexp", "column-filter"] {
        assert!(measured.metrics[&format!("results.{class}")] > 0.0, "{class}");
        assert_eq!(measured.metrics[&format!("recall_substring.{class}")], 1.0, "{class}");
    }
}

#[test]
fn few_documents_give_fewer_classes_with_a_reason_and_never_a_panic() {
    for texts in [
        &["one single document"][..],
        &["a", "b", "longer"],
        &["İstanbul'da İİİ ﬁn ß", "ΣΊΣΥΦΟΣ", "हिन्दी भाषा", "ภาษาไทยไม่มีช่องว่าง"],
        &["x", "\u{0}nul\u{0}byte", "🦀🦀🦀 crab", "e\u{301}te\u{301} combined"],
    ] {
        let text = Text::of(texts);
        let drawn = text.drawn();
        assert!(!drawn.classes.is_empty(), "{texts:?}");
        assert!(
            drawn.missing.iter().any(|(class, why)| class == "middling-term" && !why.is_empty())
        );
        for tokenizer in ["unicode61", "trigram", "porter ascii"] {
            text.measured(&drawn, tokenizer);
        }
    }
}

#[test]
fn a_text_without_words_is_refused_by_name() {
    let text = Text::of(&["a b", "—", "12"]);
    let error = draw_queries(&text.file(), &text.columns, 10).unwrap_err().to_string();
    assert!(error.contains("own.csv") && error.contains("no query"), "{error}");
}

#[test]
fn the_same_documents_give_the_same_queries_and_others_are_not_looked_at() {
    let rows = || prose(&ENGLISH, 300);
    let one = Text::new(&["body"], rows()).drawn().setting;
    let again = Text::new(&["body"], rows()).drawn().setting;
    assert_eq!(one, again);
    let more = Text::new(&["body"], rows().into_iter().chain([vec!["xylophone".to_owned()]]));
    let first = draw_queries(&more.file(), &more.columns, 300).unwrap();
    assert_eq!(first.setting, one);
}

#[test]
fn published_queries_never_run_on_a_file() {
    let text = Text::of(&["a test of python"]);
    let settings = [("text_file", text.path.to_str().unwrap().into())];
    for workload in ["fts-query", "fts-overlap"] {
        let why = run(workload, &settings).unwrap_err().to_string();
        assert!(why.contains("pragmark run"), "{why}");
    }
}

#[test]
fn queries_of_the_users_are_read_from_a_file() {
    let text = Text::of(&["invoice overdue", "invoice paid"]);
    let write = |content: &str| {
        let path = text.path.with_file_name("queries.txt");
        std::fs::write(&path, content).unwrap();
        path
    };
    let read = |path: &Path| read_queries(path, &text.file(), &text.columns);
    let drawn = read(&write("# mine\ninvoice\nbody LIKE %paid%\n")).unwrap();
    assert_eq!(drawn.classes, [("own".to_owned(), 2)]);
    assert_eq!(text.measured(&drawn, "trigram").metrics["results.own"], 3.0);
    for (content, why) in [("# nothing\n", "no query"), ("title GLOB *x*", "line 1")] {
        let error = read(&write(content)).unwrap_err().to_string();
        assert!(error.contains("queries.txt") && error.contains(why), "{error}");
    }
}

#[test]
fn a_line_is_an_expression_or_a_pattern_on_a_column() {
    let columns = ["body".to_owned(), "my \"title".to_owned()];
    let text =
        "# mine\n\ninvoice overdue\nbody LIKE %50 %\n\"my \"\"title\" GLOB *A*\na OR b LIKE x\n";
    let read = own_queries(text, &columns).unwrap();
    let words = Meaning::Words(vec!["invoice".to_owned(), "overdue".to_owned()]);
    assert_eq!(read[0].meaning(), words);
    assert_eq!(read[1].pattern, Some((Operator::Like, "body".to_owned())));
    assert_eq!(read[2].pattern, Some((Operator::Glob, "my \"title".to_owned())));
    assert_eq!((&read[3].pattern, read[3].meaning()), (&None, Meaning::Other));
    assert_eq!(read[1].text, "%50 %");
    assert!(read.iter().all(|query| query.class == OWN));
    let why = own_queries("a\n\nother LIKE x", &columns).unwrap_err();
    assert!(why.contains("line 3: there is no column `other`"), "{why}");
}
