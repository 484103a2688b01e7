//! The commands of the documents, executed: each in a copy of a folder that holds what they name.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::laboratory::{Laboratory, answer_of};

/// What is done with a command of the documents.
#[derive(Clone, Copy)]
enum Way {
    /// It is executed as it is written.
    AsWritten,
    /// It is executed with further options, to end in seconds.
    With(&'static str),
    /// It takes minutes, so only its options are read (`--help` comes after them), and its experiment is shown.
    Shown,
    /// It is not executed, for this reason.
    Not(&'static str),
}

use Way::{AsWritten, Not, Shown, With};

const SHORT: Way = With("--rounds 2 --seconds 20ms --no-tiers");
const FEW: Way = With("--images 50");

/// The ways by a part of the command; the first that matches counts, and the last matches all.
const WAYS: &[(&str, Way)] = &[
    ("/ssd", Not("it needs two disks")),
    ("--fleet ", Not("it needs a server: tests/fleet")),
    ("pragmark fleet agent ", Not("it needs a server: tests/fleet")),
    ("pragmark guard ", Not("it needs a repository with two states: stories/guarding")),
    (" guarded", Not("it needs runs of guard: stories/guarding")),
    ("--notes", Not("it needs notes of git: stories/comparing")),
    ("--engine 3.", Not("it compiles SQLite, which takes half a minute: stories/engines")),
    ("pragmark engine build", Not("it compiles SQLite: stories/engines")),
    ("pragmark engine add", Not("it needs a library at that path: stories/engines")),
    ("pragmark engine remove", Not("it needs an engine that was built: stories/engines")),
    (
        "pragmark crash --every-version",
        Not("it compiles every version of SQLite, which takes minutes"),
    ),
    ("libsqlite3.so", Not("it needs a library at that path: stories/crashes")),
    ("/tmp/wal-header-sync.so", Not("it needs an engine of the proofs: its own tests")),
    ("pragmark driver install", Not("it loads packages: stories/bindings")),
    ("--through python-sqlite3", Not("it needs a driver that is installed: stories/examination")),
    ("bundle exec", Not("it needs an application in Ruby")),
    ("gunicorn", Not("it needs an application in Django")),
    ("polls.trace", Not("it needs the trace of that application")),
    ("--drivers shop", Not("it needs the driver of the line above: stories/own_driver")),
    (".parquet", Not("it needs a file of another library: stories/loading")),
    ("pragmark compare runs.db", Not("it needs an export of two runs: stories/comparing")),
    ("scale_factor=10", Not("it fills a database of a million rows")),
    (
        "tune my-question.toml",
        Not("it needs more than seconds to learn what can be lost: stories/tuning"),
    ),
    ("--text mails.csv", Not("it takes minutes: stories/full_text")),
    ("--text items.jsonl", Not("it takes minutes: stories/full_text")),
    ("--text app.sqlite", Not("it takes minutes: stories/full_text")),
    ("pragmark report --open", Not("it opens a browser: stories/first_steps")),
    ("--kill ", Not("it takes minutes: stories/accidents")),
    ("--schedules", Not("it takes minutes: stories/kills_and_schedules")),
    ("--schedule ", AsWritten),
    ("--continue ", Not("it continues a search: stories/tuning")),
    ("pragmark tune tpcb-like --time-limit 10m", Not("it takes ten minutes")),
    ("pragmark tune queries.sql --db shop.db --time-limit 1m", Not("it takes a minute")),
    ("pragmark tune app.trace", With("--time-limit 3s")),
    ("pragmark tune ", With("--time-limit 3s --seconds 20ms")),
    ("pragmark measure --trace", With("--rounds 2 --no-tiers")),
    ("pragmark measure ", SHORT),
    ("pragmark crash ", FEW),
    ("pragmark run my-question.toml", With("--no-tiers --probe 0")),
    ("pragmark run --resume", AsWritten),
    ("pragmark run ", Shown),
    ("pragmark ", AsWritten),
];

fn way_of(command: &str) -> Way {
    WAYS.iter().find(|(part, _)| command.contains(part)).unwrap().1
}

/// The lines of the documents that start pragmark, each once, without comments. `start.md` has a test of its own.
fn commands() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut documents = vec![root.join("README.md")];
    let entries = std::fs::read_dir(root.join("docs")).unwrap();
    documents.extend(entries.map(|entry| entry.unwrap().path()));
    documents.retain(|path| {
        path.extension().is_some_and(|it| it == "md") && !path.ends_with("start.md")
    });
    let texts = documents.iter().map(|path| std::fs::read_to_string(path).unwrap());
    let mut commands: Vec<String> = texts.flat_map(|text| commands_of(&text)).collect();
    commands.sort();
    commands.dedup();
    commands
}

fn commands_of(text: &str) -> Vec<String> {
    let mut language = None;
    let mut commands = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("```") {
            language = language.is_none().then_some(name);
            continue;
        }
        let line = match language {
            Some("sh") => Some(line),
            Some("console") => line.strip_prefix("$ "),
            _ => None,
        };
        let line = line.map(|line| line.split(" #").next().unwrap().trim());
        commands.extend(line.filter(|it| starts_pragmark(it)).map(str::to_owned));
    }
    commands
}

/// Whether a line starts pragmark, perhaps with variables of the environment before it.
fn starts_pragmark(line: &str) -> bool {
    let mut words = line.split(' ').skip_while(|word| word.contains('='));
    matches!(words.next(), Some("pragmark" | "zcat"))
}

/// The command as it is executed; nothing if it is not.
fn shortened(command: &str) -> Option<String> {
    match way_of(command) {
        AsWritten => Some(command.to_owned()),
        With(options) => Some(format!("{command} {options}")),
        Shown => {
            let options = format!("{command} --help >/dev/null");
            match command.split(' ').next_back()? {
                // The tour, and the experiments of a source, have no name on the line.
                last if last == "run" || last.bytes().all(|byte| byte.is_ascii_digit()) => {
                    Some(options)
                }
                name => Some(format!("{options} && pragmark show {name}")),
            }
        }
        Not(reason) => {
            println!("not executed, because {reason}: {command}");
            None
        }
    }
}

/// A shell in a folder, with the program on its path.
fn shell(script: &str, folder: &Path) -> Command {
    let programs = Path::new(env!("CARGO_BIN_EXE_pragmark")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-ec", script]).current_dir(folder);
    shell.env("PATH", path).env("PRAGMARK_CACHE", folder.join("cache"));
    shell.env("XDG_DATA_HOME", folder.join("data"));
    shell
}

/// What a command writes must not be there.
const WITHOUT_ITS_OUTPUT: &str = r#"
case "$1" in
  *" --append"*) ;;
  *"pragmark load "*) rm -f people.db ;;
  *"to-script "*) rm -f work.* ;;
  *"pragmark unload "*) set -- $1; rm -f "$4" ;;
  *"pragmark new "*) rm -f my-question.toml ;;
  *" --out "*) out=${1##* --out }; rm -rf "${out%% *}" ;;
esac
"#;

/// Executes a command in a copy of the folder; why it failed.
fn failure(command: &str, folder: &Path) -> Option<String> {
    let copy = tempfile::tempdir().unwrap();
    let mut prepare = Command::new("sh");
    let script = format!("cp -r \"$0\"/. . \n{WITHOUT_ITS_OUTPUT}");
    prepare.args(["-ec", &script]).arg(folder).arg(command).current_dir(copy.path());
    answer_of(&mut prepare).exits(0);
    let answer = answer_of(&mut shell(command, copy.path()));
    (answer.code() != 0)
        .then(|| format!("{command}: {}\n{}\n{}", answer.code(), answer.stdout(), answer.stderr()))
}

#[test]
fn every_command_of_the_documents_that_takes_seconds_succeeds() {
    if !testing::has_python() {
        return;
    }
    let laboratory = Laboratory::new();
    laboratory.write("folder.py", include_str!("folder.py"));
    let script = format!("python3 folder.py\n{}", include_str!("folder.sh"));
    answer_of(&mut shell(&script, laboratory.path())).exits(0);

    let all = commands();
    for (part, _) in WAYS {
        assert!(all.iter().any(|it| it.contains(part)), "no command has {part:?}");
    }
    let executed: Vec<String> = all.iter().filter_map(|it| shortened(it)).collect();
    let waiting = Mutex::new(executed.iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(command) = waiting.lock().unwrap().next() else {
                        break;
                    };
                    let failure = failure(command, laboratory.path());
                    failures.lock().unwrap().extend(failure);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(executed.len() > 75, "{} of {}", executed.len(), all.len());
}
