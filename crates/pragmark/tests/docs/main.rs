//! Documents name existing files, commands and options, their TOML is valid, and they stay short.

mod lists;

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All documents with their text.
fn documents() -> Vec<(PathBuf, String)> {
    let mut paths =
        vec![root().join("README.md"), root().join("CONTRIBUTING.md"), root().join("CHANGELOG.md")];
    let others = [
        "SECURITY.md",
        "benchmarks/RESULTS.md",
        "drivers/browser/README.md",
        "fuzz/README.md",
        "packaging/README.md",
    ];
    paths.extend(others.map(|name| root().join(name)));
    for folder in ["docs", "docs/lists", "docs/decisions"] {
        let docs = std::fs::read_dir(root().join(folder)).unwrap();
        paths.extend(
            docs.map(|entry| entry.unwrap().path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "md")),
        );
    }
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// The parts of a text between `open` and `close`.
fn between<'a>(text: &'a str, open: &str, close: char) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| rest.split(close).next()).collect()
}

/// Whether a document has a heading with this anchor.
fn has_heading(document: &Path, name: &str) -> bool {
    let text = std::fs::read_to_string(document).unwrap();
    text.lines().filter(|line| line.starts_with('#')).any(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>() == name
    })
}

#[test]
fn every_file_that_a_document_names_exists() {
    for (document, text) in documents() {
        let folder = document.parent().unwrap();
        for link in between(&text, "](", ')')
            .into_iter()
            .filter(|link| !link.contains("://") && !link.starts_with('#'))
        {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = folder.join(file);
            assert!(file.exists(), "{}: {link}", document.display());
            assert!(
                heading.is_empty() || has_heading(&file, heading),
                "{}: no heading {link}",
                document.display()
            );
        }
        for path in between(&text, "`", '`') {
            let in_repository = ["crates/", "docs/", "experiments/", "benchmarks/", "drivers/"]
                .iter()
                .any(|start| path.starts_with(start));
            if in_repository && !path.contains(['*', ' ']) {
                assert!(root().join(path).exists(), "{}: {path}", document.display());
            }
        }
    }
}

/// The Rust sources below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn every_document_that_the_program_names_exists() {
    for source in sources(&root().join("crates")) {
        let text = std::fs::read_to_string(&source).unwrap();
        for part in text.split("docs/").skip(1) {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-/".contains(c);
            let name: String = part.chars().take_while(|c| is_name(*c)).collect();
            if !name.is_empty() && part[name.len()..].starts_with(".md") {
                let document = root().join("docs").join(format!("{name}.md"));
                assert!(document.exists(), "{}: {name}.md", source.display());
            }
        }
    }
}

#[test]
fn every_command_line_in_the_readme_and_of_experiments_is_one_that_the_program_takes() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let text = read("README.md") + &read("docs/experiments.md");
    let lines = text.lines().filter_map(|line| line.strip_prefix("pragmark "));
    for line in lines {
        let command = line.split('#').next().unwrap();
        let words: Vec<&str> = command.split_whitespace().collect();
        // The help of the inner command: `new driver`.
        let names = words.iter().take_while(|word| !word.starts_with('-'));
        let help = Command::new(env!("CARGO_BIN_EXE_pragmark"))
            .args(names)
            .arg("--help")
            .output()
            .unwrap();
        assert!(help.status.success(), "{line}");
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(option), "{line}: {option}");
        }
    }
}

/// The blocks of a language in a document.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == format!("```{language}") {
            let block = lines.by_ref().take_while(|line| line.trim() != "```");
            blocks.push(block.map(|line| line.to_owned() + "\n").collect());
        }
    }
    blocks
}

#[test]
fn every_toml_in_a_document_is_valid_and_every_whole_experiment_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    for script in ["read.sql", "write.sql"] {
        std::fs::write(folder.path().join(script), "SELECT 1;").unwrap();
    }
    let (mut experiments, mut guards) = (0, 0);
    for (document, text) in documents() {
        let name = document.display();
        for block in blocks(&text, "toml") {
            let table: toml::Table =
                toml::from_str(&block).unwrap_or_else(|error| panic!("{name}: {error}\n{block}"));
            if table.contains_key("design") && table.contains_key("id") {
                check_experiment(folder.path(), &block);
                experiments += 1;
            }
            if table.contains_key("budgets") {
                let guard = lab::guard::Guard::parse(&block);
                guard.unwrap_or_else(|error| panic!("{name}: {error}\n{block}"));
                guards += 1;
            }
        }
    }
    assert!(experiments >= 4 && guards >= 1, "{experiments} {guards}");
}

fn check_experiment(folder: &Path, text: &str) {
    std::fs::write(folder.join("experiment.toml"), text).unwrap();
    let shown = Command::new(env!("CARGO_BIN_EXE_pragmark"))
        .args(["show", "experiment.toml"])
        .current_dir(folder)
        .output()
        .unwrap();
    let problems = String::from_utf8_lossy(&shown.stderr);
    assert!(shown.status.success(), "{problems}\n{text}");
}

#[test]
fn the_documented_exit_codes_are_those_of_the_manual_page() {
    let experiments = std::fs::read_to_string(root().join("docs/experiments.md")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pragmark"));
    let manual = command.args(["--generate", "man"]).output().unwrap();
    // In roff, a backslash stands before each hyphen.
    let manual = String::from_utf8_lossy(&manual.stdout).replace('\\', "");
    let help: String = manual.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows = experiments
        .lines()
        .skip_while(|line| !line.starts_with("| code"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut codes = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert!(help.contains(&format!("{} {}", cells[1], cells[2])), "{row}");
        codes += 1;
    }
    assert_eq!(codes, 7);
}

#[test]
fn the_glossary_defines_each_word_once_in_one_sentence() {
    let text = std::fs::read_to_string(root().join("docs/lists/glossary.md")).unwrap();
    let mut words = Vec::new();
    for row in text.lines().filter(|line| line.starts_with("| **")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let meaning = cells[2];
        assert!(meaning.ends_with('.') && !meaning.contains(". "), "one sentence: {row}");
        words.push(cells[1]);
    }
    let count = words.len();
    words.sort_unstable();
    words.dedup();
    assert!(words.len() == count && count > 60, "{words:?}");
}

#[test]
fn the_charts_of_the_articles_are_those_of_the_tables() {
    if !testing::has_python() {
        return;
    }
    let draw = root().join("docs/charts/draw");
    let drawn = Command::new("python3").arg(draw).arg("--check").output().unwrap();
    let problems = String::from_utf8_lossy(&drawn.stderr);
    assert!(drawn.status.success(), "{problems}");
}

#[test]
fn the_picture_of_the_crates_has_their_dependencies() {
    if !testing::has_python() {
        return;
    }
    let draw = root().join("docs/pictures/house.py");
    let drawn = Command::new("python3").arg(draw).arg("--check").output().unwrap();
    let problems = String::from_utf8_lossy(&drawn.stderr);
    assert!(drawn.status.success(), "{problems}");
}

#[test]
fn the_documentation_site_has_every_document_and_nothing_else() {
    let summary = std::fs::read_to_string(root().join("docs/book/SUMMARY.md")).unwrap();
    let pages: Vec<PathBuf> =
        between(&summary, "](", ')').into_iter().map(|page| root().join(page)).collect();
    for page in &pages {
        assert!(page.is_file(), "{} does not exist", page.display());
    }
    for (document, _) in documents() {
        assert!(pages.contains(&document), "{}", document.display());
    }
}

/// The documents that readers look for answers in: all but lists, which are looked up.
fn guides() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("docs")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let documents =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.chain(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name))).collect()
}

#[test]
fn the_documents_stay_few_and_short() {
    let guides = guides();
    let words = |path: &PathBuf| std::fs::read_to_string(path).unwrap().split_whitespace().count();
    let longest = [("README.md", 600), ("CONTRIBUTING.md", 1_500)];
    for (name, most) in longest {
        let count = words(&root().join(name));
        assert!(count <= most, "{name}: {count} words");
    }
    let count: usize = guides.iter().map(words).sum();
    assert!(guides.len() <= 20 && count <= 30_000, "{} documents, {count} words", guides.len());
}
