//! Recordings that are read while they are written.

use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};

use pragmark_recorder::read::{Growing, Record, Seen};
use pragmark_recorder::{Options, Values};

use crate::workspace::Workspace;

/// Executes as many statements as a line of its input says, then says that it has.
const PROGRAM: &str = r#"
import sqlite3, sys
c = sqlite3.connect("a.db", isolation_level=None)
c.execute("CREATE TABLE t(a)")
for line in sys.stdin:
    for i in range(int(line)): c.execute("SELECT ?, 'secret'", (i,)).fetchall()
    print(flush=True)
"#;

/// Returns a recording without values and its reader; nothing where there is no Python with `sqlite3`.
fn begun() -> Option<(Workspace, Growing)> {
    if !testing::has_python() {
        return None;
    }
    let workspace = Workspace::new(&Options { values: Values::LeftOut, ..Options::default() });
    let growing = Growing::open(&workspace.folder.raw()).unwrap();
    Some((workspace, growing))
}

fn started(workspace: &Workspace) -> Child {
    Command::new("python3")
        .args(["-c", PROGRAM])
        .env("LD_PRELOAD", workspace.folder.preload(None))
        .current_dir(workspace.temp.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn execute(program: &mut Child, statements: u32) {
    use std::io::{Read, Write};
    writeln!(program.stdin.as_mut().unwrap(), "{statements}").unwrap();
    program.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
}

/// Returns the statements that have ended since the last call, and the processes that are gone.
fn polled(growing: &mut Growing) -> (u32, u32) {
    let (mut ended, mut gone) = (0, 0);
    let read = growing.poll(|seen| {
        match seen {
            Seen::Record(_, Record::End { .. }) => ended += 1,
            Seen::Record(_, Record::Begin { values, .. }) => assert!(values.is_empty()),
            Seen::Gone(_) => gone += 1,
            _ => {}
        }
        true
    });
    read.unwrap();
    (ended, gone)
}

#[test]
fn statements_are_read_while_the_program_runs_and_their_disk_space_is_given_back() {
    let Some((workspace, mut growing)) = begun() else {
        return;
    };
    let mut program = started(&workspace);
    execute(&mut program, 0);
    assert_eq!(polled(&mut growing), (1, 0));
    for _ in 0..4 {
        execute(&mut program, 50_000);
        assert_eq!(polled(&mut growing), (50_000, 0));
    }
    let raw = std::fs::metadata(workspace.folder.raw()).unwrap();
    assert!(raw.len() > 2 << 20, "{} bytes", raw.len());
    if growing.releases() {
        assert!(raw.blocks() * 512 < 512 << 10, "{} bytes on disk", raw.blocks() * 512);
    }
    assert!(!workspace.raw_contains("secret"));
    program.kill().unwrap();
    program.wait().unwrap();
    // A process counts as gone after it was missing for a while.
    while polled(&mut growing).1 == 0 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn a_record_that_cannot_be_used_yet_is_passed_again() {
    let Some((workspace, mut growing)) = begun() else {
        return;
    };
    let mut program = started(&workspace);
    execute(&mut program, 3);
    let mut seen = 0;
    let refuse = |seen: Seen<'_>| !matches!(seen, Seen::Record(_, Record::Begin { .. }));
    for _ in 0..2 {
        growing.poll(refuse).unwrap();
    }
    growing
        .poll(|part| {
            seen += u32::from(matches!(part, Seen::Record(_, Record::End { .. })));
            true
        })
        .unwrap();
    assert_eq!(seen, 4);
    drop(program.stdin.take());
    program.wait().unwrap();
}

#[test]
fn nothing_is_recorded_any_more_where_nobody_reads() {
    let Some((workspace, mut growing)) = begun() else {
        return;
    };
    growing.poll(|_| true).unwrap();
    // As if 4,096 chunks had been allotted since.
    let at_next_chunk = 64;
    let file = std::fs::OpenOptions::new().write(true).open(workspace.folder.raw()).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &5_000_u64.to_ne_bytes(), at_next_chunk)
        .unwrap();
    let mut program = started(&workspace);
    execute(&mut program, 10);
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
    assert!(growing.now().unwrap().lost().unread);
}
