//! The lists in `docs/lists`, made from the program, so that they cannot drift. `PRAGMARK_WRITE_DOCS=1` writes them again.

use std::fmt::Write;
use std::process::{Command, Stdio};

use lab::catalogue::{Catalogue, Parameter};
use lab::experiment::experiment_schema;
use lab::metric::METRICS;
use serde_json::Value;

use crate::root;

const INTRODUCTION: &str = "made from the program and checked by a test.\n";

/// Compares a list with its file, or writes the file.
fn check(name: &str, text: &str) {
    let path = root().join("docs/lists").join(name);
    if std::env::var_os("PRAGMARK_WRITE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/lists/{name} is not what the program says; write it again with PRAGMARK_WRITE_DOCS=1 cargo test -p pragmark --test docs"
    );
}

/// A cell of a table: in one line, without a character that would end it or begin markup.
fn cell(text: &str) -> String {
    let text = text.replace('\n', " ").replace('|', "\\|");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn parameters<'a>(all: impl Iterator<Item = &'a Parameter>) -> String {
    let head = row(&["name", "values", "default", "meaning"]) + "| --- | --- | --- | --- |\n";
    let lines = all.map(|it| {
        let unit = it.unit.as_ref().map_or_else(String::new, |unit| format!(" ({unit})"));
        let default = it.default.as_ref().map_or_else(String::new, ToString::to_string);
        let values = format!("{}{unit}", it.accepts);
        row(&[&format!("`{}`", it.name), &values, &default, &it.about])
    });
    head + &lines.collect::<String>()
}

fn catalogue() -> Catalogue {
    drivers::catalogue(Some(&root().join("drivers"))).unwrap()
}

#[test]
fn the_list_of_workloads_is_that_of_the_program() {
    let mut text = format!("# Workloads\n\nEvery workload with its parameters, {INTRODUCTION}");
    for workload in bench::catalogue().workloads {
        let _ = write!(text, "\n## {}\n\n{}\n", workload.name, cell(&workload.about));
        if !workload.phases.is_empty() {
            let _ =
                write!(text, "\nPhases that are timed apart: {}.\n", workload.phases.join(", "));
        }
        if !workload.parameters.is_empty() {
            let _ = write!(text, "\n{}", parameters(workload.parameters.iter()));
        }
    }
    check("workloads.md", &text);
}

#[test]
fn the_list_of_pragmas_is_that_of_the_program() {
    let shared = catalogue().shared;
    let text = format!(
        "# PRAGMAs and connection settings\n\nWhat every workload of SQLite accepts in `base` and `factors`, {INTRODUCTION}\n{}",
        parameters(shared.iter())
    );
    check("pragmas.md", &text);
}

#[test]
fn the_list_of_metrics_is_that_of_the_program() {
    let mut text = format!("# Metrics\n\nWhat variants can be compared by, {INTRODUCTION}\n");
    text += &row(&["name", "heading", "better", "source", "meaning"]);
    text += "| --- | --- | --- | --- | --- |\n";
    for metric in METRICS.iter() {
        let better = match lab::metric::higher_is_better(metric.name) {
            true => "higher",
            false => "lower",
        };
        let source = match metric.counted {
            true => "counting pass",
            false => "timed trial",
        };
        let name = format!("`{}`", metric.name);
        text += &row(&[&name, metric.heading, better, source, metric.about]);
    }
    check("metrics.md", &text);
}

/// The help of a command, as it is printed for a terminal of 100 columns.
fn help(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pragmark"))
        .args(command)
        .arg("--help")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The names in the list of commands of a help text.
fn commands_of(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| line.starts_with("  "));
    let is_name = |line: &&str| !line.starts_with("   ");
    let names = lines.filter(is_name).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The names on the first page of help, which has them in groups.
fn grouped_commands_of(help: &str) -> Vec<String> {
    let lines = help.lines().take_while(|line| *line != "Options");
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names = lines.filter(is_name).filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

#[test]
fn the_list_of_commands_is_the_help_of_the_program() {
    let mut text = format!("# Commands\n\nThe help of every command, {INTRODUCTION}");
    let all = help(&[]);
    let _ = write!(text, "\n## pragmark\n\n```text\n{}\n```\n", all.trim_end());
    let names = grouped_commands_of(&all);
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        let own = help(&[&name]);
        let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", own.trim_end());
        for inner in commands_of(&own) {
            let help = help(&[&name, &inner]);
            let _ = write!(text, "\n### {name} {inner}\n\n```text\n{}\n```\n", help.trim_end());
        }
    }
    check("commands.md", &text);
}

/// What a value of the schema is, in words.
fn kind(node: &Value) -> String {
    let referred = node["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    match (referred, type_of(node)) {
        (Some(name), _) => name.to_owned(),
        (None, Some("array")) => format!("list of {}", kind(&node["items"])),
        (None, Some(name)) => name.to_owned(),
        (None, None) => alternative(node).unwrap_or_else(|| "value".to_owned()),
    }
}

/// The type of a value that may be absent.
fn type_of(node: &Value) -> Option<&str> {
    match &node["type"] {
        Value::Array(types) => types.iter().find(|it| *it != "null")?.as_str(),
        one => one.as_str(),
    }
}

fn alternative(node: &Value) -> Option<String> {
    let alternatives = node["anyOf"].as_array()?;
    alternatives.iter().find(|it| it["type"] != "null").map(kind)
}

fn keys(node: &Value) -> String {
    let Some(properties) = node["properties"].as_object() else {
        return String::new();
    };
    let required: Vec<&Value> = node["required"].as_array().into_iter().flatten().collect();
    let lines = properties.iter().map(|(key, value)| {
        let is_required = required.iter().any(|it| *it == key);
        let about = value["description"].as_str().unwrap_or_default();
        let required = if is_required { "yes" } else { "" };
        row(&[&format!("`{key}`"), &kind(value), required, about])
    });
    row(&["key", "value", "required", "meaning"])
        + "| --- | --- | --- | --- |\n"
        + &lines.collect::<String>()
}

#[test]
fn the_list_of_keys_of_experiment_files_is_the_schema() {
    let schema = experiment_schema();
    let mut text = format!("# The experiment file\n\nEvery key, {INTRODUCTION}\n");
    text += &keys(schema);
    let parts = schema["$defs"].as_object().unwrap();
    for (name, part) in parts {
        let keys = keys(part);
        if !keys.is_empty() {
            let about = cell(part["description"].as_str().unwrap_or_default());
            let _ = write!(text, "\n## {name}\n\n{about}\n\n{keys}");
        }
    }
    check("experiment-file.md", &text);
}
