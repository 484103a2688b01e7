//! The stage on which schedules are played: a folder, an engine, and a shim through which the first
//! client works and inside whose calls the second acts.

use super::client::{CheckError, Client, Open, Outcome, Seen, TransactionLog, changes, schema};
use super::plan::Schedule;
use super::scenario::{Action, Files, Scenario, Who, scenario};
use crate::error::{CrashError, Result};
use crate::kill::remove_files;
use engine::vfs::{Event, FileKind, ObservedVfs, Observer, Operation};
use engine::{Connection, Library, OpenFlags, locked};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// The name of the database.
const DATABASE: &str = "staged.db";

/// The result of one schedule.
#[derive(Debug, Clone, Default)]
pub struct ScheduleResult {
    /// How many calls the first connection made, without those that happened in the end.
    pub calls: usize,
    /// The violations, in words; empty if there were none.
    pub wrong: Vec<String>,
    /// Whether SQLite did not understand an action.
    pub not_understood: bool,
    /// The calls and acts in order, if requested.
    pub trace: Vec<String>,
}

/// Plays schedules, one at a time.
pub struct ScheduleRunner {
    library: Arc<Library>,
    folder: TempDir,
    first_vfs: ObservedVfs<Interleaver>,
    second_vfs: ObservedVfs<NoSleep>,
    files: Option<Prepared>,
}

/// A scenario and a journal mode, and the files that every schedule of them begins with.
type Prepared = ((&'static str, &'static str), Vec<(String, Vec<u8>)>);

/// Passes calls on but refuses to sleep: a lock that is held by the connection whose call is under
/// way does not come free by waiting. Nor does it sync, because no power is lost here.
struct NoSleep;

impl Observer for NoSleep {
    fn observe(&self, _: &Event<'_>) {}

    fn sleeps(&self) -> bool {
        false
    }

    fn syncs(&self) -> bool {
        false
    }
}

/// Counts the calls of the first client and lets the second act at the scheduled ones.
#[derive(Default)]
struct Interleaver(Mutex<Option<RunState>>);

struct RunState {
    at_calls: Vec<usize>,
    actions: &'static [Action],
    /// How many of the actions have been done.
    done: usize,
    second: Client,
    log: Arc<TransactionLog>,
    played: ScheduleResult,
    /// The first action that SQLite refused for a reason unrelated to the database.
    unable: Option<String>,
    traced: bool,
}

impl Observer for Interleaver {
    fn observe(&self, event: &Event<'_>) {
        if matches!(event.operation, Operation::FileControl { .. }) {
            return; // Hints and queries: what the other connection does is the same before and after.
        }
        if let Some(state) = locked(&self.0).as_mut() {
            state.called(|| words(event));
        }
    }

    fn about_to_lock(&self) {
        if let Some(state) = locked(&self.0).as_mut() {
            state.called(|| "is about to take a lock".to_owned());
        }
    }

    fn sleeps(&self) -> bool {
        false
    }

    fn syncs(&self) -> bool {
        false
    }
}

impl RunState {
    fn called(&mut self, what: impl FnOnce() -> String) {
        self.played.calls += 1;
        if self.traced {
            let line = format!("{:4}  {}", self.played.calls, what());
            self.played.trace.push(line);
        }
        self.act_up_to(self.played.calls);
    }

    /// Lets the second connection perform the actions placed up to a call.
    fn act_up_to(&mut self, call: usize) {
        while self.done < self.actions.len() && self.at_calls[self.done] <= call {
            let action = self.actions[self.done];
            self.done += 1;
            let outcome = self.second.action(action, &self.log);
            self.note(self.second.who, &format!("{action:?}"), outcome);
        }
    }

    fn note(&mut self, who: &str, what: &str, outcome: Outcome) {
        if self.traced {
            let line = match &outcome {
                Outcome::Done => format!("      {who}: {what}"),
                Outcome::Busy => format!("      {who}: {what}: busy"),
                Outcome::Wrong(why) | Outcome::NotUnderstood(why) => {
                    format!("      {who}: {what}: WRONG: {why}")
                }
                Outcome::Unable(why) => format!("      {who}: {what}: not possible: {why}"),
            };
            self.played.trace.push(line);
        }
        match outcome {
            Outcome::Wrong(why) => self.played.wrong.push(format!("{who}, {what}: {why}")),
            Outcome::NotUnderstood(why) => {
                self.played.not_understood = true;
                self.played.wrong.push(format!("{who}, {what}: {why}"));
            }
            Outcome::Unable(why) => {
                let unable = format!("{who}, {what}: {why}");
                self.unable.get_or_insert(unable);
            }
            Outcome::Done | Outcome::Busy => {}
        }
    }
}

impl ScheduleRunner {
    /// Returns a stage for an engine, in a new folder below `parent`, which is removed with the stage.
    ///
    /// # Errors
    /// The folder cannot be made; the engine refuses a shim.
    pub fn new(library: &Arc<Library>, parent: &Path) -> Result<ScheduleRunner> {
        let folder = tempfile::Builder::new()
            .prefix("pragmark-schedule-")
            .tempdir_in(parent)
            .map_err(CrashError::io("create a folder in", parent))?;
        let during = || CrashError::engine("registering a VFS");
        let interleaver = Arc::new(Interleaver::default());
        Ok(ScheduleRunner {
            library: Arc::clone(library),
            first_vfs: ObservedVfs::register(library, None, "pragmark-first", interleaver)
                .map_err(during())?,
            second_vfs: ObservedVfs::register(library, None, "pragmark-second", Arc::new(NoSleep))
                .map_err(during())?,
            folder,
            files: None,
        })
    }

    /// Runs the schedule in which the second connection acts last, so that neither meets the other; returns
    /// the number of calls of the first.
    ///
    /// # Errors
    /// As [`run`](Self::run), or SQLite does not understand an action, which no schedule can cause.
    pub(super) fn run_undisturbed(&mut self, schedule: &Schedule) -> Result<usize> {
        let played = self.run(schedule, false)?;
        match played.wrong.first().filter(|_| played.not_understood) {
            Some(wrong) => Err(CrashError::control(format_args!(
                "{}/{}: {wrong}",
                schedule.scenario, schedule.journal_mode
            ))),
            None => Ok(played.calls),
        }
    }

    /// Runs a schedule and checks the database. With `traced`, the calls and actions are recorded in order.
    ///
    /// # Errors
    /// The files cannot be prepared, or SQLite refuses an action for a reason unrelated to the database.
    /// Damage to the database is a finding instead.
    pub fn run(&mut self, schedule: &Schedule, traced: bool) -> Result<ScheduleResult> {
        let scenario =
            scenario(schedule.scenario).ok_or_else(|| CrashError::scenario(schedule.scenario))?;
        self.set(scenario, schedule.journal_mode)?;
        let log = Arc::new(TransactionLog::default());
        let client = |who, vfs: &str| Client {
            who,
            library: Arc::clone(&self.library),
            vfs: vfs.to_owned(),
            database: self.database(),
            journal_mode: schedule.journal_mode,
            connection: None,
            next: 1,
            open: Open::Nothing,
        };
        let mut first = client("first", self.first_vfs.name());
        let mut state = RunState {
            at_calls: schedule.places.clone(),
            actions: scenario.second,
            done: 0,
            second: client("second", self.second_vfs.name()),
            log: Arc::clone(&log),
            played: ScheduleResult::default(),
            unable: None,
            traced,
        };
        state.act_before(&mut first, scenario);
        *locked(self.interleaver()) = Some(state);
        self.run_first(scenario, &mut first, &log);
        let state = locked(self.interleaver()).take();
        match state {
            Some(state) => self.finish(first, state),
            None => Ok(ScheduleResult::default()),
        }
    }

    fn interleaver(&self) -> &Mutex<Option<RunState>> {
        &self.first_vfs.observer().0
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join(DATABASE)
    }

    /// Lets the first connection act; the director is locked only while the second acts inside.
    fn run_first(&self, scenario: &Scenario, first: &mut Client, log: &TransactionLog) {
        if let Some(state) = locked(self.interleaver()).as_mut() {
            state.act_up_to(0);
        }
        for action in scenario.first {
            let outcome = first.action(*action, log);
            if let Some(state) = locked(self.interleaver()).as_mut() {
                state.note(first.who, &format!("{action:?}"), outcome);
            }
        }
    }

    /// Ends the open transactions of both, verifies that neither blocks the other for ever, and checks the
    /// final state.
    fn finish(&self, mut first: Client, mut state: RunState) -> Result<ScheduleResult> {
        let log = Arc::clone(&state.log);
        state.act_up_to(usize::MAX);
        // Whoever is in the way goes first; two rounds are enough for two.
        for _ in 0..2 {
            let ended = [first.end(&log), state.second.end(&log)];
            for outcome in ended.into_iter().filter(|outcome| matches!(outcome, Outcome::Unable(_)))
            {
                state.note("in the end", "end", outcome);
            }
        }
        for action in [Action::Write, Action::Read] {
            let what = format!("{action:?} in the end");
            let outcome = first.action(action, &log);
            state.note_alone(first.who, &what, outcome);
            let outcome = state.second.action(action, &log);
            state.note_alone(state.second.who, &what, outcome);
        }
        let closed = first.close();
        state.note(first.who, "close", closed);
        let closed = state.second.close();
        state.note(state.second.who, "close", closed);
        let checked = self.check(&log).map_or_else(Outcome::failed, |()| Outcome::Done);
        state.note("in the end", "check", checked);
        match state.unable {
            Some(unable) => Err(CrashError::Failed(format!(
                "SQLite refused what has nothing to do with damage: {unable}"
            ))),
            None => Ok(state.played),
        }
    }

    /// Checks the database with a connection of its own, without any shim.
    fn check(&self, log: &TransactionLog) -> Result<(), CheckError> {
        let connection =
            Connection::open(&self.library, &self.database(), OpenFlags::default(), None)?;
        let verdict = connection.query_text("PRAGMA integrity_check")?;
        if verdict != "ok" {
            return Err(CheckError::Seen(format!("integrity_check: {verdict}")));
        }
        let seen = Seen::read(&connection)?;
        seen.transactions().map_err(CheckError::Seen)?;
        let mut logged = Vec::new();
        connection.for_each_row("SELECT who, n FROM log ORDER BY who, n", |row| {
            logged.push((row.column_text(0)?.to_owned(), row.column_i64(1)));
            Ok(())
        })?;
        let wanted: Vec<(String, i64)> = log
            .acknowledged()
            .into_iter()
            .map(|transaction| (transaction.who.to_owned(), transaction.number.into()))
            .collect();
        if logged != wanted {
            return Err(CheckError::Seen(format!(
                "{} transactions were acknowledged, but these {} are logged: {logged:?}",
                wanted.len(),
                logged.len()
            )));
        }
        Ok(connection.close()?)
    }

    /// Puts the files of a scenario into the folder, and nothing else.
    fn set(&mut self, scenario: &Scenario, journal_mode: &'static str) -> Result<()> {
        let key = (scenario.id, journal_mode);
        if self.files.as_ref().is_none_or(|(ready, _)| *ready != key) {
            self.clear()?;
            self.files = Some((key, self.prepare(scenario.files, journal_mode)?));
        }
        self.clear()?;
        for (name, bytes) in self.files.iter().flat_map(|(_, files)| files) {
            let path = self.folder.path().join(name);
            std::fs::write(&path, bytes).map_err(CrashError::io("write", &path))?;
        }
        Ok(())
    }

    fn clear(&self) -> Result<()> {
        remove_files(self.folder.path())
    }

    /// Makes the files of a scenario. The files of a dead process are copied from under a living one, in the
    /// middle of its work.
    fn prepare(&self, files: Files, journal_mode: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let during = || CrashError::engine("preparing the database of a scenario");
        let connection =
            Connection::open(&self.library, &self.database(), OpenFlags::default(), None)
                .map_err(during())?;
        connection.execute(&schema(journal_mode)).map_err(during())?;
        let (connection, suffixes): (_, &[&str]) = match files {
            Files::Sound => {
                connection.close().map_err(during())?;
                (None, &[""])
            }
            Files::HotJournal => {
                // With a cache this small the transaction is spilled into the database.
                let half = format!("PRAGMA cache_size = 1; BEGIN; {}", changes("dead", 1));
                connection.execute(&half).map_err(during())?;
                (Some(connection), &["", "-journal"])
            }
            Files::LogOnly => {
                // Transactions that are not counted: they leave the data as it was.
                let sql = "UPDATE data SET v = v + 1; UPDATE data SET v = v - 1";
                connection.execute(sql).map_err(during())?;
                (Some(connection), &["", "-wal"])
            }
        };
        let copied = suffixes
            .iter()
            .map(|suffix| {
                let name = format!("{DATABASE}{suffix}");
                let path = self.folder.path().join(&name);
                let bytes = std::fs::read(&path).map_err(CrashError::io("read", &path))?;
                Ok((name, bytes))
            })
            .collect();
        drop(connection);
        copied
    }
}

impl RunState {
    /// Lets both do what comes before the schedule.
    fn act_before(&mut self, first: &mut Client, scenario: &Scenario) {
        for (who, action) in scenario.before {
            let client = match who {
                Who::First => &mut *first,
                Who::Second => &mut self.second,
            };
            let outcome = client.action(*action, &self.log);
            let who = client.who;
            if outcome != Outcome::Done {
                self.note_alone(who, &format!("{action:?} beforehand"), outcome);
            }
        }
    }

    /// Notes an action while nobody else holds a lock, so that being busy is wrong too.
    fn note_alone(&mut self, who: &str, what: &str, outcome: Outcome) {
        let outcome = match outcome {
            Outcome::Busy => Outcome::Wrong(
                "busy, although the other connection is in the middle of nothing".to_owned(),
            ),
            outcome => outcome,
        };
        self.note(who, what, outcome);
    }
}

/// Returns a call in words.
fn words(event: &Event<'_>) -> String {
    let file = kind_in_words(event.kind);
    match event.operation {
        Operation::Open { .. } => format!("opens the {file}"),
        Operation::Close => format!("closes the {file}"),
        Operation::Read { offset, length } => {
            format!("reads {length} bytes of the {file} at {offset}")
        }
        Operation::Write { offset, bytes } => {
            format!("writes {} bytes of the {file} at {offset}", bytes.len())
        }
        Operation::Truncate { size } => format!("truncates the {file} to {size} bytes"),
        Operation::Sync { .. } => format!("syncs the {file}"),
        Operation::Delete { .. } => format!("deletes the {file}"),
        Operation::SharedMemoryLock { offset, count, flags } => {
            format!("locks or unlocks shared memory: {count} from {offset}, flags {flags}")
        }
        Operation::SharedMemoryBarrier => "passes a memory barrier".to_owned(),
        Operation::Query(query) => format!("queries {query:?}"),
        other => {
            // The name of the variant is enough for the rest.
            let text = format!("{other:?}");
            text.split([' ', '{']).next().unwrap_or_default().to_owned()
        }
    }
}

fn kind_in_words(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Database => "database",
        FileKind::Journal => "journal",
        FileKind::Wal => "log",
        FileKind::SuperJournal => "super-journal",
        FileKind::Temporary => "temporary file",
    }
}
