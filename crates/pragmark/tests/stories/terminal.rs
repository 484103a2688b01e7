//! What terminals, logs and shells get to see.

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::laboratory::Laboratory;

#[test]
fn a_slip_of_two_letters_suggests_the_command() {
    Laboratory::new().pragmark(&["rnu"]).exits(2).complains(&["rnu", "'run'"]);
}

#[test]
fn a_folder_that_is_taken_is_refused_before_the_machine_is_probed() {
    let laboratory = Laboratory::new();
    let begin = Instant::now();
    let answer = laboratory
        .pragmark(&["run", "small.toml", "--out", ".", "--probe", "600"])
        .exits(3)
        .complains(&["not empty"]);
    assert!(!answer.stderr().contains("noise"), "{}", answer.stderr());
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn ctrl_c_ends_the_noise_probe() {
    let laboratory = Laboratory::new();
    let mut run = laboratory.start(&["run", "small.toml", "--out", "run", "--probe", "600"]);
    let mut errors = run.stderr.take().unwrap();
    let mut printed = String::new();
    let mut byte = [0];
    while !printed.contains("noise of the machine") && errors.read(&mut byte).unwrap() > 0 {
        printed.push(char::from(byte[0]));
    }
    sleep(Duration::from_millis(300));
    let signalled = Instant::now();
    let process = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(signalled.elapsed() < Duration::from_secs(30));
    assert!(!laboratory.path().join("run").exists());
    assert!(laboratory.left_over().is_empty());
}

#[test]
fn a_log_gets_a_line_of_progress_every_ten_seconds_at_most() {
    let laboratory = Laboratory::new();
    let begin = Instant::now();
    let answer = laboratory.pragmark(&["run", "small.toml", "--out", "run"]).exits(0);
    let most = 1 + begin.elapsed().as_secs() / 10;
    let errors = answer.stderr();
    let is_progress =
        |line: &&str| line.contains("small:") || line.contains("round") || line.contains("ended");
    let progress: Vec<&str> = errors.lines().filter(is_progress).collect();
    assert!((1..=most as usize).contains(&progress.len()), "{progress:#?}");
}

#[test]
fn a_problem_of_every_round_is_printed_once() {
    let laboratory = Laboratory::new();
    let impossible = laboratory
        .read("small.toml")
        .replace("rows_per_statement = [1, 5, 10]", "rows_per_statement = [1, 5, 10, 32767]");
    laboratory.write("impossible.toml", &impossible);
    let answer = laboratory.pragmark(&["run", "impossible.toml", "--out", "run"]);
    let errors = answer.stderr();
    let problem = errors.matches("rows_per_statement=32767: ").count();
    assert_eq!(problem, 1, "{errors}");
}

#[test]
fn colours_follow_the_conventions() {
    let laboratory = Laboratory::new();
    laboratory.pragmark(&["run", "small.toml", "--out", "run"]).exits(0);
    for (variables, coloured) in [
        (&[][..], false),
        (&[("CLICOLOR_FORCE", "1")], true),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "")], true),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
    ] {
        let answer = laboratory.pragmark_with_variables(variables, &["report", "run"]);
        assert_eq!(answer.stdout().contains('\u{1b}'), coloured, "{variables:?}");
    }
    let on_terminal = |variables: &str| {
        let command = format!("{variables} '{}' report run", env!("CARGO_BIN_EXE_pragmark"));
        let output = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .current_dir(laboratory.path())
            .env_remove("CI")
            .stdin(Stdio::null())
            .output();
        output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for (variables, coloured) in [
        ("NO_COLOR= TERM=xterm", true),
        ("NO_COLOR=1 TERM=xterm", false),
        ("CLICOLOR=0 TERM=xterm", false),
        ("TERM=dumb", false),
    ] {
        let Some(text) = on_terminal(variables) else {
            return testing::skip("this test needs script(1)");
        };
        assert!(text.contains("small-1"), "{text}");
        assert_eq!(text.contains('\u{1b}'), coloured, "{variables}: {text}");
    }
}

#[test]
fn bash_completes_experiments_bindings_engines_and_runs() {
    let laboratory = Laboratory::new();
    laboratory.pragmark(&["run", "small.toml", "--out", "pragmark-runs/first"]).exits(0);
    let program = env!("CARGO_BIN_EXE_pragmark");
    let bin = program.trim_end_matches("pragmark");
    let script = format!(
        r#"export PATH="{bin}:$PATH"
source <(pragmark --generate bash)
for line in "$@"; do
  COMP_WORDS=($line); [[ $line == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); COMP_TYPE=9; COMPREPLY=()
  _clap_complete_pragmark pragmark "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
  echo "$line -> ${{COMPREPLY[*]}}"
done"#
    );
    let lines = [
        "pragmark sett",
        "pragmark run index-t",
        "pragmark show smal",
        "pragmark settings x --for dj",
        "pragmark run x --engine 3.46.0+recom",
        "pragmark report pragmark-r",
    ];
    let output = Command::new("bash")
        .args(["-c", &script, "bash"])
        .args(lines)
        .current_dir(laboratory.path())
        .output();
    let Ok(output) = output else {
        return testing::skip("this test needs bash");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    for (line, word) in lines.iter().zip([
        "settings", "index-timing", "small.toml", "django", "3.46.0+recommended",
        "pragmark-runs/first",
    ]) {
        let expected = format!("{line} -> {word}");
        assert!(text.contains(&expected), "{expected}: {output:?}");
    }
}
