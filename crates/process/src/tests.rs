use std::process::Stdio;

use super::*;

const LONG: Duration = Duration::from_secs(60);

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command
}

fn ran(script: &str, limits: &Limits<'_>) -> Finished {
    run(&mut shell(script), Group::Own, limits).unwrap()
}

fn talking(script: &str) -> Process {
    let mut command = shell(script);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Process::start(&mut command, Group::Own).unwrap()
}

#[test]
fn no_program_gets_the_secrets_of_the_environment() {
    let mut command = shell("echo ${NATS_PASSWORD-none} ${OTHER-none}");
    command.env("NATS_PASSWORD", "hush").env("OTHER", "x");
    let finished = run(&mut command, Group::Own, &Limits::default()).unwrap();
    assert_eq!(finished.output, b"none x\n");
}

/// A killed process may stay for a moment until its new parent has collected it.
fn is_gone(pid: &str) -> bool {
    (0..100).any(|_| {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let gone = state.is_empty() || state.contains(") Z ");
        if !gone {
            thread::sleep(POLL);
        }
        gone
    })
}

/// Starts what the function starts, with the path of a file for the number of a grandchild, and checks
/// that the grandchild does not live on.
fn leaves_no_grandchild(start: impl FnOnce(&str)) {
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let begin = Instant::now();
    start(&format!("sleep 600 & echo $! > {}; ", pid.display()));
    assert!(begin.elapsed() < LONG, "it was waited for");
    let grandchild = std::fs::read_to_string(pid).unwrap();
    assert!(is_gone(grandchild.trim()), "{grandchild} lives");
}

#[test]
fn what_a_program_wrote_and_how_it_ended_is_kept() {
    let good = ran("echo out; echo err >&2", &Limits::time(LONG));
    assert!(good.end.is_success() && good.took < LONG);
    assert_eq!((good.text().as_str(), good.errors.as_str()), ("out\n", "err"));
    let bad = ran("echo one; echo two >&2; exit 4", &Limits::default());
    assert_eq!(bad.end.to_string(), "ended with exit code 4");
    assert_eq!(bad.messages(), "one\ntwo");
    let killed = ran("kill -SEGV $$", &Limits::default());
    assert_eq!(killed.end.to_string(), "ended with signal 11");
}

#[test]
fn much_output_blocks_nothing_and_of_messages_the_end_is_kept() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo word-$i; echo word-$i >&2; i=$((i+1)); done";
    let much = ran(script, &Limits::time(LONG));
    assert!(much.end.is_success());
    assert!(much.output.len() > 150_000);
    assert!(much.errors.ends_with("word-19999") && much.errors.len() <= 2_000);
    assert!(much.messages().len() <= 4_001);
}

#[test]
fn a_program_that_hangs_is_killed_in_time_with_all_it_started() {
    leaves_no_grandchild(|start| {
        let limit = Duration::from_millis(300);
        let hung = ran(&format!("{start} wait"), &Limits::time(limit));
        assert_eq!(hung.end, End::TimedOut(limit));
        assert_eq!(hung.end.to_string(), "was not done after 0.3 s");
    });
}

#[test]
fn cancelling_kills_a_program_with_all_it_started() {
    leaves_no_grandchild(|start| {
        let cancelled = AtomicBool::new(false);
        let script = format!("{start} wait");
        let stopped = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(200));
                cancelled.store(true, Ordering::Relaxed);
            });
            ran(&script, &Limits::cancelled(&cancelled))
        });
        assert_eq!(stopped.end.to_string(), "was stopped");
    });
}

#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    leaves_no_grandchild(|start| {
        assert!(ran(start, &Limits::time(LONG)).end.is_success());
    });
    leaves_no_grandchild(|start| {
        let mut process = talking(&format!("{start} echo ready; wait"));
        assert_eq!(process.lines().recv().unwrap(), "ready\n");
    });
}

#[test]
fn what_leaves_the_process_group_and_keeps_the_pipe_open_delays_nothing() {
    // Other systems have no program `setsid`.
    if !cfg!(target_os = "linux") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let script = format!(
        "setsid sh -c 'echo $$ > {pid}; exec sleep 100' > /dev/null &
        while [ ! -s {pid} ]; do sleep 0.01; done
        echo 'no such table' >&2; exit 3",
        pid = pid.display()
    );
    let begin = Instant::now();
    let mut process = talking(&script);
    let status = process.end(LONG).unwrap();
    let errors = process.errors();
    let elapsed = begin.elapsed();
    let left = std::fs::read_to_string(&pid).unwrap();
    // It is no child of this process and ends by itself where it cannot be killed.
    if let Some(left) = left.trim().parse().ok().and_then(Pid::from_raw) {
        let _ = kill_process(left, Signal::KILL);
    }
    assert_eq!((described(status), errors.as_str()), ("exit code 3".to_owned(), "no such table"));
    assert!(elapsed < Duration::from_secs(30), "{elapsed:?}");
}

#[test]
fn of_a_long_complaint_the_end_is_kept() {
    let mut process = talking("i=0; while [ $i -lt 1000 ]; do echo word-$i >&2; i=$((i+1)); done");
    process.end(LONG);
    let errors = process.errors();
    assert!(errors.ends_with("word-999") && errors.len() <= 2_000, "{errors}");
}

#[test]
fn input_goes_in_and_lines_come_out_as_they_are_written() {
    let mut process = talking("read name; echo hello $name; printf unfinished; read rest");
    let lines = process.lines();
    process.send("you\n");
    assert_eq!(lines.recv().unwrap(), "hello you\n");
    assert_eq!(lines.recv().unwrap(), "unfinished");
    assert!(lines.recv().is_err());
    assert_eq!(process.finish(&Limits::time(LONG)).unwrap().to_string(), "ended with exit code 1");
}

#[test]
fn a_process_that_does_not_end_when_it_should_is_killed() {
    let mut process = talking("echo ready; sleep 600 & wait");
    assert_eq!(process.lines().recv().unwrap(), "ready\n");
    assert!(process.try_wait().unwrap().is_none());
    let status = process.end(Duration::from_millis(20)).unwrap();
    assert_eq!(described(status), "signal 9");
    assert_eq!(process.kill(), Some(status));
}

#[test]
fn a_process_can_be_asked_to_end() {
    let mut sleep = Command::new("sleep");
    let mut process = Process::start(sleep.arg("600"), Group::Shared).unwrap();
    let now = AtomicBool::new(true);
    assert_eq!(process.wait_within(&Limits::cancelled(&now)).unwrap(), None);
    process.signal(Signal::TERM.as_raw());
    assert_eq!(described(process.wait().unwrap()), "signal 15");
}

#[test]
fn a_program_that_does_not_exist_is_named() {
    for group in [Group::Own, Group::Shared] {
        let error = run(&mut Command::new("/no/such/cc"), group, &Limits::default()).unwrap_err();
        assert!(error.is_missing_program());
        assert!(error.to_string().starts_with("cannot start /no/such/cc: "), "{error}");
    }
}

#[test]
fn a_command_line_can_be_typed() {
    let mut command = Command::new("cc");
    command.args(["-DX=1", "my file.c", "it's"]);
    assert_eq!(command_line(&command), r"cc -DX=1 'my file.c' 'it'\''s'");
}
