//! Every command line in a document is one that the program takes.

use std::path::{Path, PathBuf};

use clap::Parser;

use super::Cli;

/// Words that stand before the program in documents, with the variables that a line may begin with.
const BEFORE: [&str; 4] = ["sudo", "time", "/usr/bin/time", "-v"];

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["", "docs", "docs/lists", "examples/fleet", "examples/guard", "packaging"]
        .map(|folder| root.join(folder));
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The lines of blocks of a shell, with continued lines joined, without prompts.
fn shell_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut language, mut continued) = (None, false);
    for line in text.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("```") {
            language = match language {
                Some(_) => None,
                None => Some(name.to_owned()),
            };
            continue;
        }
        let line = match language.as_deref() {
            Some("sh") => Some(line),
            Some("console") if continued => Some(line),
            Some("console") => line.strip_prefix("$ "),
            _ => None,
        };
        let Some(line) = line else { continue };
        let part = line.trim_end_matches('\\');
        match (continued, lines.last_mut()) {
            (true, Some(last)) => last.push_str(part),
            _ => lines.push(part.to_owned()),
        }
        continued = part.len() < line.len();
    }
    lines
}

/// A line with a word for what the shell puts in, such as `$(git rev-parse HEAD)`.
fn substituted(line: &str) -> String {
    let mut parts = line.split("$(");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once(')').map_or("", |(_, rest)| rest));
    rest.fold(first, |line, rest| line + "SUBSTITUTED" + rest)
}

/// The words of a command as a shell has them: quotes taken off, up to a comment, a pipe or another command.
fn words(line: &str) -> Vec<String> {
    let line = substituted(line);
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | ';' | '>' | '&') => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The arguments where a line starts pragmark.
fn command_of(line: &str) -> Option<Vec<String>> {
    let words = words(line).into_iter();
    let is_before = |word: &String| {
        let name = word.split('=').next().unwrap_or_default();
        let is_variable =
            word.contains('=') && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        is_variable || BEFORE.contains(&word.as_str())
    };
    let command: Vec<String> = words.skip_while(is_before).collect();
    let program = command.first()?.trim_start_matches("target/release/");
    (program == "pragmark").then_some(command)
}

#[test]
fn every_command_line_in_a_document_is_one_that_the_program_takes() {
    let mut tried = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for command in shell_lines(&text).iter().filter_map(|line| command_of(line)) {
            let parsed = Cli::try_parse_from(&command);
            let shown = document.display();
            assert!(parsed.is_ok(), "{shown}: {command:?}\n{}", parsed.unwrap_err());
            tried += 1;
        }
    }
    assert!(tried > 120, "{tried}");
}

#[test]
fn a_command_line_is_read_as_a_shell_reads_it() {
    let of = |line: &str| command_of(line).unwrap_or_default().join("|");
    assert_eq!(
        of("sudo A=1 pragmark run -c 'SELECT 1; -- x' \"two words\"  # why"),
        "pragmark|run|-c|SELECT 1; -- x|two words"
    );
    assert_eq!(
        of("target/release/pragmark --generate man | less"),
        "target/release/pragmark|--generate|man"
    );
    assert_eq!(of("pragmark run --out a/$(date +%s) b"), "pragmark|run|--out|a/SUBSTITUTED|b");
    assert_eq!(of("cargo build"), "");
}
