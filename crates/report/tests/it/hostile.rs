//! Text of a colleague's file that tries to be more than text, through every output.

use std::sync::OnceLock;

use crate::made_up;
use lab::text::is_active;
use pragmark_report as report;
use report::export::{Columns, claims_csv, json, variants_csv};
use report::settings::Binding;
use tuning::Analysis;

/// What would be acted on somewhere: by terminals, browsers, Markdown, spreadsheets, templates, compilers.
const HOSTILE: &str = "\r\nimport os\n=1+1\n# heading\n| a | b |\n```\n\u{1b}]0;title\u{7}\u{1b}[31m\u{9b}2J\
    \u{202e}\u{2066}\0</script></title><img src=x onerror=alert(1)>]]>--><%= `id` %>{{7*7}}\u{2028}evil()\
    \\u000aevil();*/[a](javascript:alert(1))`|\u{85}coding: utf_7\\";

fn analysis() -> &'static Analysis {
    static ANALYSIS: OnceLock<Analysis> = OnceLock::new();
    ANALYSIS.get_or_init(|| made_up::with_text_everywhere(HOSTILE))
}

fn terminal(colour: bool) -> String {
    report::terminal(analysis(), report::Style { width: 100, colour })
}

/// The text without line feeds and tabs holds nothing that acts.
#[track_caller]
fn assert_inactive(text: &str) {
    let found = text.chars().find(|c| is_active(*c) && !"\n\t".contains(*c));
    assert_eq!(found, None);
}

#[test]
fn the_text_is_in_the_analysis() {
    let experiment = &analysis().experiments[0];
    assert!(experiment.question.ends_with(HOSTILE));
    assert!(experiment.claims[0].claim.says.ends_with(HOSTILE));
    assert!(experiment.variants[0].label.ends_with(HOSTILE));
    assert!(experiment.variants.iter().any(|variant| variant.trials.measured > 0));
}

#[test]
fn a_terminal_gets_its_own_colours_and_no_other_control() {
    assert_inactive(&terminal(false));
    let codes = ["0m", "1m", "2m", "31m", "32m", "33m"];
    let coloured = terminal(true);
    let mut parts = coloured.split("\u{1b}[");
    assert_inactive(parts.next().unwrap());
    for part in parts {
        assert!(codes.iter().any(|code| part.starts_with(code)), "{part:?}");
        assert_inactive(part);
    }
}

#[test]
fn no_line_of_markdown_is_one_of_the_text() {
    let markdown = report::markdown(analysis());
    assert_inactive(&markdown);
    for start in ["import os", "=1+1", "# heading", "| a | b |", "evil()"] {
        let mut lines = markdown.lines();
        let line = lines.find(|line| line.trim_start().starts_with(start));
        assert_eq!(line, None, "{start}");
    }
}

#[test]
fn markdown_has_no_markup_of_the_text() {
    let text = report::markdown(analysis());
    // What stands between fences or backticks is no markup.
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let bare = without_code(line);
            for markup in ["<img", "</script", "[a](", " # heading", "<%"] {
                let unescaped = bare.match_indices(markup);
                let unescaped = unescaped.filter(|(at, _)| !bare[..*at].ends_with('\\'));
                assert_eq!(unescaped.count(), 0, "{markup}: {line}");
            }
        }
    }
    assert!(!fenced);
}

/// A line without its code spans.
fn without_code(line: &str) -> String {
    let mut bare = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let (before, from) = rest.split_at(start);
        bare.push_str(before);
        if before.ends_with('\\') {
            rest = &from[1..];
            continue;
        }
        let fence = from.len() - from.trim_start_matches('`').len();
        let mut ends = from[fence..].match_indices(&from[..fence]);
        let is_end = |(at, _): &(usize, &str)| {
            let after = from[fence + at + fence..].starts_with('`');
            !after && !from[..fence + at].ends_with('`')
        };
        let end = ends.find(is_end).map_or(0, |(at, _)| at + fence);
        rest = &from[fence + end..];
    }
    bare + rest
}

#[test]
fn the_page_has_no_element_and_no_control_of_the_text() {
    let page = report::html(analysis()).unwrap();
    assert_inactive(&page);
    assert!(!page.contains("<img") && !page.contains("javascript:alert(1)\""));
    assert_eq!(page.matches("</script>").count(), 1);
    let plain = report::html(&made_up::with_text_everywhere(" x")).unwrap();
    let titles = |page: &str| page.matches("</title>").count();
    assert_eq!(titles(&page), titles(&plain));
}

#[test]
fn cells_of_text_are_no_formulas_and_one_line_each() {
    let analysis = made_up::with_text_everywhere("");
    let rows = claims_csv(&analysis, Columns::Wide).unwrap().lines().count();
    for csv in [
        claims_csv(self::analysis(), Columns::Wide).unwrap(),
        variants_csv(self::analysis(), Columns::Wide).unwrap(),
    ] {
        assert_inactive(&csv);
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        for cell in reader.records().flat_map(|row| {
            let row = row.unwrap();
            row.iter().map(str::to_owned).collect::<Vec<_>>()
        }) {
            let is_formula = cell.starts_with(['=', '+', '-', '@']);
            assert!(!is_formula || cell.parse::<f64>().is_ok(), "{cell}");
        }
    }
    let hostile = claims_csv(self::analysis(), Columns::Wide).unwrap();
    assert_eq!(hostile.lines().count(), rows);
}

#[test]
fn json_holds_the_text_as_it_is_but_escaped() {
    let text = json(analysis()).unwrap();
    assert_inactive(&text);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let question = value["experiments"][0]["question"].as_str().unwrap();
    assert!(question.ends_with(HOSTILE));
}

#[test]
fn settings_to_paste_are_the_same_program_whatever_the_text_says() {
    let plain = made_up::with_text_everywhere(" x");
    let printed = |analysis: &Analysis, binding: Binding| {
        let query = report::SettingsQuery {
            binding: Some(binding),
            may_lose: lab::tier::MayLose::Anything,
            experiment: None,
        };
        report::settings_to_use(analysis, &query)
    };
    for binding in Binding::ALL {
        let mark = binding.comment_mark();
        let program = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with(mark));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let text = printed(analysis(), *binding);
        assert!(text.contains("import os"), "{text}");
        assert_eq!(program(&text), program(&printed(&plain, *binding)), "{}", binding.name());
        for comment in text.lines().filter(|line| line.starts_with(mark)) {
            assert_inactive(comment);
            let acted_on = ["\\", "<%", "coding:", "coding="];
            assert!(!acted_on.iter().any(|on| comment.contains(on)), "{comment}");
        }
    }
}
