//! Scripts as people write them.

use super::*;
use crate::random::Prng;
use crate::variables::Variables;
use proptest::prelude::*;

fn read(text: &str, form: Form) -> (Vec<Script>, Names) {
    let mut names = Names::default();
    let scripts = parse("a.sql", "a", text, form, &mut names);
    (scripts.unwrap(), names)
}

fn problem(text: &str) -> String {
    let mut names = Names::default();
    let scripts = parse("a.sql", "a", text, Form::Transaction, &mut names);
    scripts.unwrap_err().to_string()
}

/// Returns the statements that a script executes, by number, and the variables afterwards.
fn executed(script: &Script, names: &Names) -> (Vec<usize>, Variables) {
    let (mut variables, mut prng) = (Variables::new(names), Prng::new(1));
    let (mut ran, mut at) = (Vec::new(), 0);
    while let Some(operation) = script.operations.get(at) {
        at += 1;
        match operation {
            Op::Run(number) => ran.push(*number),
            Op::Set(slot, value) => {
                let value = value.evaluate(&variables, &mut prng).unwrap();
                variables.set(*slot, value);
            }
            Op::Unless(condition, to) if !condition.is_true(&variables, &mut prng).unwrap() => {
                at = *to;
            }
            Op::Go(to) => at = *to,
            Op::Unless(..) | Op::Sleep(..) => {}
        }
    }
    (ran, variables)
}

/// The published text of pgbench's `tpcb-like`.
const TPCB: &str = "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

#[test]
fn a_script_of_pgbench_is_one_transaction() {
    let (scripts, _) = read(TPCB, Form::Statements);
    let [script] = scripts.as_slice() else {
        panic!("one script");
    };
    assert_eq!(script.statements.len(), 7);
    assert_eq!(script.needs, []);
    let insert = &script.statements[5];
    let parameters: Vec<&str> = insert.parameters.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(parameters, [":tid", ":bid", ":aid", ":delta"]);
    assert_eq!((insert.name.as_str(), insert.volatile), ("a:10", true));
    assert_eq!(script.statements[6].sql, "END");
}

#[test]
fn named_queries_are_a_script_each() {
    let text = "-- name: find_user^\nSELECT * FROM users WHERE id = :id;\n\n-- name: rename!\n\\set id 7\nUPDATE users SET name = :name WHERE id = :id;";
    let (scripts, names) = read(text, Form::Transaction);
    let titles: Vec<&str> = scripts.iter().map(|script| script.name.as_str()).collect();
    assert_eq!(titles, ["find_user", "rename"]);
    assert_eq!(scripts[0].statements[0].name, "find_user");
    let need = &scripts[0].needs[0];
    assert_eq!((names.name(need.slot), need.line), ("id", 2));
    assert_eq!(need.hint.as_ref().unwrap().column, "id");
    let needs: Vec<&str> = scripts[1].needs.iter().map(|need| need.name.as_str()).collect();
    assert_eq!(needs, [":name"]);
    // The name of a further statement does not change with its line.
    let (scripts, _) = read("-- name: both\nSELECT 1;\n\nSELECT 2;", Form::Statements);
    let names = scripts[0].statements.iter().map(|statement| statement.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["both", "both.2"]);
}

#[test]
fn a_plain_list_is_divided_where_that_is_wanted() {
    let text = "SELECT 1;\n-- two\nSELECT ? + ?2\n  + ?;\n";
    let (scripts, _) = read(text, Form::Statements);
    let titles: Vec<&str> = scripts.iter().map(|script| script.name.as_str()).collect();
    assert_eq!(titles, ["a:1", "a:3"]);
    let parameters = scripts[1].statements[0].parameters.iter();
    let parameters: Vec<&str> = parameters.map(|(name, _)| name.as_str()).collect();
    assert_eq!(parameters, ["?1", "?2", "?3"]);
    assert_eq!(scripts[1].needs.len(), 3);
    assert_eq!(scripts[1].needs[2].line, 4);
    assert_eq!(read(text, Form::Transaction).0.len(), 1);
    assert_eq!(read("SELECT 1", Form::Statements).0[0].name, "a");
}

#[test]
fn conditions_choose_what_is_executed() {
    let text = |first: i64, second: i64| {
        format!(
            "\\if {first}\nSELECT 0;\n\\if {second}\nSELECT 1;\n\\endif\n\\elif {second}\nSELECT 2;\n\\else\nSELECT 3;\n\\endif\nSELECT 4;"
        )
    };
    for (first, second, wanted) in
        [(1, 1, &[0, 1, 4][..]), (1, 0, &[0, 4]), (0, 1, &[2, 4]), (0, 0, &[3, 4])]
    {
        let (scripts, names) = read(&text(first, second), Form::Transaction);
        assert_eq!(executed(&scripts[0], &names).0, wanted, "{first} {second}");
    }
}

#[test]
fn commands_may_go_on_in_the_next_line() {
    let (scripts, mut names) = read("\\set x 1 + \\\n  2\nSELECT :x;", Form::Transaction);
    let slot = names.slot("x");
    assert_eq!(executed(&scripts[0], &names).1.get(slot), Value::Int(3));
    assert_eq!(scripts[0].statements[0].line, 3);
}

#[test]
fn gset_ends_a_statement_and_its_names_are_needed_from_it() {
    let (scripts, _) = read("SELECT 1 AS one \\gset p_\nSELECT :p_one;", Form::Transaction);
    let script = &scripts[0];
    assert_eq!(script.statements[0].gset.as_deref(), Some("p_"));
    assert_eq!(script.statements[0].sql, "SELECT 1 AS one");
    assert_eq!(script.needs[0].name, ":p_one");
}

#[test]
fn draws_name_a_column() {
    let text = "\\draw id users.id zipfian 1.2\nSELECT :id;";
    let (scripts, _) = read(text, Form::Transaction);
    let draw = &scripts[0].draws[0];
    assert_eq!((draw.table.as_str(), draw.column.as_str()), ("users", "id"));
    assert_eq!(draw.popularity, Some(super::super::Popularity::Zipfian(1.2)));
    assert_eq!(scripts[0].needs, []);
}

#[test]
fn triggers_and_quotes_keep_their_semicolons() {
    let text = "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END;\nSELECT ';';";
    assert_eq!(read(text, Form::Statements).0.len(), 2);
}

#[test]
fn times_to_sleep_have_units() {
    for (text, wanted) in [("5ms", 1_000), ("5 us", 1), ("5", 1_000_000), ("5 s", 1_000_000)] {
        let (scripts, _) = read(&format!("\\sleep {text}\nSELECT 1;"), Form::Transaction);
        assert!(matches!(scripts[0].operations[0], Op::Sleep(_, micros) if micros == wanted));
    }
}

#[test]
fn mistakes_name_file_line_and_the_nearest_name() {
    for (text, wanted) in [
        ("SELECT 1;\n\\sett x 1", "a.sql:2: unknown meta command \\sett; did you mean `set`?"),
        ("\\aset", "a.sql:1: \\aset is not possible"),
        ("\n\\setshell x ls", "a.sql:2: \\setshell is not possible: scripts run no programs"),
        ("\\startpipeline", "pipelines"),
        ("\\set 1x 2", "`1x` is no name"),
        ("\\set x", "the expression ends too early"),
        ("\\set x randm(1, 2)", "did you mean `random`?"),
        ("SELECT 'a\n;\n", "a.sql:1: a quoted text"),
        (
            "SELECT 1\n\\set x 2",
            "a.sql:2: the statement ahead of this meta command has no semicolon",
        ),
        ("\\gset", "no statement ahead"),
        ("\\if 1\nSELECT 1;", "a.sql:1: this \\if has no \\endif"),
        ("\\else", "\\else without \\if"),
        ("\\if 1\n\\else\n\\else\n\\endif", "a.sql:3: \\else after \\else"),
        ("\\if 1\n\\else\n\\elif 1\n\\endif", "a.sql:3: \\elif after \\else"),
        ("\\endif 1", "unexpected `1` after \\endif"),
        ("\\sleep 3 days", "unknown unit `days`"),
        ("\\draw x", "expected \\draw NAME"),
        ("\\draw x t.c zipfian 1", "from 1.001 to 1000"),
        ("-- name: a\n-- name: b\nSELECT 1", "a.sql:1: the query `a` has no statement"),
        ("-- name: a\nSELECT 1;\n-- name: a\nSELECT 1", "a.sql:3: the name `a` is used twice"),
        ("-- nothing", "no SQL statement"),
    ] {
        let said = problem(text);
        assert!(said.contains(wanted), "{text:?}: {said}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        parts in prop::collection::vec(prop_oneof![
            "\\PC{0,12}",
            Just("\\if ".to_owned()), Just("\\else\n".to_owned()), Just("\\endif\n".to_owned()),
            Just("\\elif 1\n".to_owned()), Just("\\set x ".to_owned()), Just("\\gset\n".to_owned()),
            Just("SELECT :a, ?;\n".to_owned()), Just("-- name: q\n".to_owned()),
            Just("'".to_owned()), Just("[".to_owned()), Just("/*".to_owned()), Just(";".to_owned()),
            Just("\\\n".to_owned()), Just("INSERT INTO t(a) VALUES (".to_owned()), Just(")".to_owned()),
            Just("FROM t a JOIN ".to_owned()), Just("BETWEEN ? AND ?".to_owned()), Just("IN (?,".to_owned()),
        ], 0..20),
        statements: bool,
    ) {
        let form = if statements { Form::Statements } else { Form::Transaction };
        let _ = parse("a", "a", &parts.concat(), form, &mut Names::default());
    }
}

#[test]
fn a_line_begins_after_the_end_of_the_one_before() {
    let lines = Lines::of("a\n\nb");
    assert_eq!([0, 1, 2, 3, 4].map(|it| lines.at(it)), [1, 1, 2, 3, 3]);
    assert_eq!(Lines::of("").at(0), 1);
}

#[test]
fn the_three_spellings_name_queries() {
    for (comment, wanted) in [
        ("-- name: FindUser :one", Some("FindUser")),
        ("--name: find_user^", Some("find_user")),
        ("-- name: add_users*!", Some("add_users")),
        ("-- name: find(id)^", Some("find")),
        ("-- :name find-user :? :1", Some("find-user")),
        ("-- names: x", None),
        ("-- name:", None),
        ("/* name: x */", None),
    ] {
        assert_eq!(name(comment), wanted, "{comment}");
    }
}

#[test]
fn statements_of_one_line_have_names_of_their_own() {
    let text = "SELECT 1; SELECT 2;\nSELECT 3; SELECT 4";
    for form in [Form::Statements, Form::Transaction] {
        let scripts = parse("a.sql", "a", text, form, &mut Names::default()).unwrap();
        let names: Vec<&str> = scripts
            .iter()
            .flat_map(|script| &script.statements)
            .map(|it| it.name.as_str())
            .collect();
        assert_eq!(names, ["a:1", "a:1.2", "a:2", "a:2.2"]);
    }
}

#[test]
fn a_query_has_the_weight_below_its_name() {
    let read = |text: &str| {
        let scripts = parse("a.sql", "a", text, Form::Statements, &mut Names::default());
        scripts.map(|all| all.iter().map(|it| (it.name.clone(), it.weight)).collect::<Vec<_>>())
    };
    let text = "-- name: a\n-- weight: 20\nSELECT 1;\n-- name: b\nSELECT 2;";
    assert_eq!(read(text).unwrap(), [("a".to_owned(), 20), ("b".to_owned(), 1)]);
    let note = "CREATE TABLE t(\n  -- weight: in grams\n  weight)";
    assert!(read(note).is_ok() && read(&format!("-- weight: in grams\n{note}")).is_ok());
    for (text, why) in [
        ("-- weight: 20\nSELECT 1", "between the name of a query"),
        ("-- name: a\nSELECT 1;\n-- weight: 2\nSELECT 2", "between the name of a query"),
        ("-- name: a\n-- weight: often\nSELECT 1", "`often` must be a whole number"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
