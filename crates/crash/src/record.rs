//! Recording a workload: its trace, and the contents of the databases after every commit.

use crate::checks::{
    check_kept, check_readable, check_sound, check_undamaged, damaged_after, failed, not_plain,
    of_workload, read_content, unlike_recorded,
};
use crate::content::Content;
use crate::disk::Disk;
use crate::error::{CrashError, Result};
use crate::harness::Harness;
use crate::in_force::{Now, SettingsInForce, Span, Watch, databases, journal_modes, read_all};
use crate::initial::{COPY, InitialDatabases, MAIN, MOST_WRITTEN};
use crate::model::Model;
use crate::pages;
use crate::rare::{MarkedAction, RareEvent, shrinking};
use crate::script::{Action, Script};
use crate::settings::CrashSettings;
use crate::trace::Trace;
use engine::{BlobAt, Connection, pragma};
use lab::seed::Seed;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path};

/// The contents of the databases from one commit on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The steps taken when the commit had been acknowledged.
    pub cut: usize,
    /// By database, in the order of [`Recording::databases`].
    pub contents: Vec<Content>,
}

/// A recorded workload.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The steps on storage.
    pub trace: Trace,
    /// Every commit that changed a content, in order; the first is the beginning.
    pub commits: Vec<Commit>,
    /// The names of the databases.
    pub databases: Vec<String>,
    /// The actions at which something happened that many applications never do.
    pub marked: Vec<MarkedAction>,
    /// The largest that the databases were together, in bytes.
    pub largest: usize,
    /// Whether contents are told by pages.
    pub by_pages: bool,
    /// How much of the script it is.
    pub performed: Performed,
    /// The settings that were in force at the commits of a script of the user's.
    pub in_force: Vec<SettingsInForce>,
    /// The settings in force, action by action; empty for the built-in workload, which keeps the settings of
    /// the variant.
    pub spans: Vec<Span>,
    /// Where the transaction began that the script never ended, if there is one.
    pub left_open: Option<String>,
}

/// How much of a script was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Performed {
    /// The transactions that changed something.
    pub transactions: usize,
    /// The statements.
    pub statements: usize,
    /// The statements of the script.
    pub of: usize,
    /// Recorded statements that failed or changed rows otherwise than when they were recorded.
    pub differing: usize,
}

impl Recording {
    /// Runs `script` under these settings and records it, on top of the initial databases.
    ///
    /// # Errors
    /// Fails if a statement of the user's script fails, if the script commits nothing, if the engine
    /// reports an error or refuses the settings.
    pub fn make(
        harness: &mut Harness,
        settings: &CrashSettings,
        script: &Script,
        initial: Option<&InitialDatabases>,
        seed: Seed,
    ) -> Result<Recording> {
        harness.reset(seed.0)?;
        harness.load(initial.map(InitialDatabases::files).unwrap_or_default());
        harness.memory.set_powersafe_overwrite(settings.powersafe_overwrite);
        let making = Making { harness, settings, script, initial };
        let mut connection = making.open(MAIN)?;
        let mut others = BTreeMap::new();
        let mut recorder = Recorder::default();
        recorder.note(making, &connection, None)?;
        recorder.read_settings(making, &connection, None)?;
        recorder.begin_action(making, &connection)?;
        for action in &script.actions {
            if recorder.is_enough(making, connection.in_transaction())? {
                break;
            }
            match action {
                Action::Reopen | Action::Kill => {
                    match action {
                        Action::Kill => harness
                            .kill(std::mem::take(&mut others).into_values().chain([connection]))?,
                        _ => connection.close()?,
                    }
                    connection = making.open(MAIN)?;
                }
                Action::Other { who, sql } => making.act(&mut others, *who, sql.as_deref())?,
                Action::Backup => making.back_up(&connection)?,
                action => recorder.differing += usize::from(!making.perform(action, &connection)?),
            }
            recorder.take_action(making, &connection, action)?;
        }
        match &script.path {
            None => check_undamaged(&connection)?,
            // Each image is to be read within the limit.
            Some(path) if initial.is_none() => check_readable(&connection, path)?,
            Some(_) => {}
        }
        for (_, other) in others {
            other.close()?;
        }
        connection.close()?;
        let recording = recorder.finish(making)?;
        if let (Some(path), None) = (&script.path, initial) {
            check_sound(harness, &recording.databases, path)?;
        }
        Ok(recording)
    }

    /// Returns the latest commit with the same contents as commit `number`, among the commits that a crash
    /// can have reached after `acknowledged` ones: these and the one under way. Contents may recur, and a
    /// later commit with the same content does not prove that nothing is lost.
    pub fn held(&self, number: usize, acknowledged: usize) -> usize {
        let reached = self.commits.len().min(acknowledged + 2);
        let same = |commit: &Commit| commit.contents == self.commits[number].contents;
        self.commits[..reached].iter().rposition(same).unwrap_or(number)
    }

    /// How many commits had been acknowledged when the first `cut` steps had been taken.
    pub fn acknowledged(&self, cut: usize) -> usize {
        self.commits.partition_point(|commit| commit.cut <= cut).saturating_sub(1)
    }
}

/// Returns whether a file name contains no path. Witnesses are written under these names, into a folder of
/// their own and nowhere else.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_normal = |part| matches!(part, Component::Normal(_));
    parts.next().is_none_or(is_normal) && parts.next().is_none()
}

/// The parts of a recording, and its place.
#[derive(Clone, Copy)]
struct Making<'b> {
    harness: &'b Harness,
    settings: &'b CrashSettings,
    script: &'b Script,
    initial: Option<&'b InitialDatabases>,
}

impl Making<'_> {
    /// Carries out an action of the connection that is recorded; says whether it did the same as when it was recorded.
    fn perform(self, action: &Action, connection: &Connection) -> Result<bool> {
        let script = self.script;
        match action {
            Action::Reopen | Action::Kill | Action::Other { .. } | Action::Backup => Ok(true),
            Action::Sql { sql, line } => {
                let executed = connection.execute(sql);
                executed.map_err(|error| failed(script, *line, sql, error))?;
                Ok(true)
            }
            Action::Blob { table, column, row, offset, bytes } => {
                let at = BlobAt { table, column, row: *row };
                let written = connection.write_blob(at, *offset, bytes);
                written.map_err(|error| failed(script, 0, &action.location(), error))?;
                Ok(true)
            }
            Action::Execution(execution) => match execution.carry_out(connection) {
                Err(error) if !execution.fails => Err(unlike_recorded(script, execution, &error)),
                Err(_) => Ok(true),
                Ok(same) => Ok(same && !execution.fails),
            },
        }
    }

    /// Executes statements on another connection, which is opened where it is not open, or closes it.
    fn act(self, others: &mut BTreeMap<u8, Connection>, who: u8, sql: Option<&str>) -> Result<()> {
        let Some(sql) = sql else {
            return others.remove(&who).map_or(Ok(()), |other| Ok(other.close()?));
        };
        let other = match others.remove(&who) {
            Some(other) => other,
            None => self.open(MAIN).map_err(accepted)?,
        };
        other
            .execute(sql)
            .map_err(|error| of_workload(&format!("connection {who}: {sql}"), error))?;
        others.insert(who, other);
        Ok(())
    }

    /// Copies the database over another one, which is opened with the same settings.
    fn back_up(self, connection: &Connection) -> Result<()> {
        let copy = self.open(COPY).map_err(accepted)?;
        connection.copy_by_pages(&copy).map_err(|error| of_workload("a backup", error))?;
        Ok(copy.close()?)
    }

    /// Opens a database under these settings.
    ///
    /// # Errors
    /// [`CrashError::NotMeasured`] with the setting that the engine refuses.
    fn open(self, name: &str) -> Result<Connection> {
        let Making { harness, settings, .. } = self;
        let is_new = harness.size(name) == 0;
        let connection = harness.open(name)?;
        // Exclusive locking comes before the journal mode: a write-ahead log then needs no shared memory.
        let wanted = [
            ("page_size", settings.page_size.to_string()),
            ("locking_mode", settings.locking_mode.to_string()),
            ("synchronous", settings.synchronous.to_string()),
            ("journal_mode", settings.journal_mode.to_string()),
        ];
        // The page size of a database that is there stays as it is.
        let wanted = &wanted[usize::from(!is_new)..];
        for (name, value) in wanted {
            connection.execute(&format!("PRAGMA {name} = {value}"))?;
        }
        for (name, value) in wanted {
            let actual = pragma::read(&connection, name)?;
            if actual != *value {
                let reason = format!("the engine reports {actual} after PRAGMA {name} = {value}");
                return Err(CrashError::NotMeasured(reason));
            }
        }
        Ok(connection)
    }
}

/// The first connection has the same settings: it is not because of them that they are refused.
fn accepted(error: CrashError) -> CrashError {
    match error {
        CrashError::NotMeasured(why) => CrashError::Workload(why),
        other => other,
    }
}

/// State of the databases while they are recorded.
#[derive(Default)]
struct Recorder {
    /// The bytes that were written by the first calls, and their number.
    written: u64,
    counted: usize,
    differing: usize,
    /// Where the transaction began that is open.
    open_since: Option<String>,
    watch: Watch,
    contents: HashMap<String, Content>,
    /// The calls recorded so far, and the contents, at every commit.
    commits: Vec<(usize, HashMap<String, Content>)>,
    /// The actions, and the closing of the connection after them.
    actions: Vec<ActionRecord>,
    /// The settings in force now.
    now: Now,
    /// The files that were attached so far.
    attached: BTreeSet<String>,
}

/// An action, in calls recorded, and the journal modes around it.
#[derive(Default)]
struct ActionRecord {
    begin: usize,
    end: usize,
    /// The journal modes of databases that had content, by file.
    modes_before: BTreeMap<String, String>,
    changes_mode: bool,
    /// The settings in force around it.
    before: Now,
    after: Now,
}

impl Recorder {
    /// Returns whether enough is recorded, or no more can be kept in memory.
    fn is_enough(&mut self, making: Making<'_>, in_transaction: bool) -> Result<bool> {
        let Making { harness, script, initial, .. } = making;
        let (Some(initial), Some(path)) = (initial, &script.path) else { return Ok(false) };
        self.written += harness.recording.written_since(self.counted);
        self.counted = harness.recording.position();
        let too_much = self.written > MOST_WRITTEN;
        match (too_much, self.commits.len() - 1) {
            (true, 0) => Err(CrashError::Untestable(format!(
                "the first transaction of {} writes more than {} MB, all of which crash tests would keep in memory",
                path.display(),
                MOST_WRITTEN >> 20
            ))),
            (true, _) => Ok(true),
            (false, transactions) => Ok(!in_transaction && transactions >= initial.transactions),
        }
    }

    /// Reads the contents of the attached databases, and notes a commit if they are new. The position is
    /// taken before reading, which may itself open and close files. `done` is the action and its settings, or
    /// `None` at the beginning. Returns whether the contents are new.
    fn note(
        &mut self,
        making: Making<'_>,
        connection: &Connection,
        done: Option<&Action>,
    ) -> Result<bool> {
        let harness = making.harness;
        let position = harness.recording.position();
        for (schema, file) in databases(connection)? {
            let content = match making.initial {
                Some(_) => pages::content(&pages::with_log(
                    &harness.file(&file),
                    &harness.file(&format!("{file}-wal")),
                )),
                None => read_content(connection, &schema)?,
            };
            let before = self.contents.insert(file.clone(), content);
            // The built-in workload is known to keep its settings.
            let own = done.filter(|action| !action.is_built_in());
            if let (Some(action), true) = (own, before.unwrap_or(Content::empty()) != content) {
                let database = (schema.as_str(), file.as_str());
                self.watch.see(connection, database, making.settings, action)?;
            }
        }
        let changed = self.commits.last().is_none_or(|(_, before)| !same(before, &self.contents));
        if changed {
            self.commits.push((position, self.contents.clone()));
        }
        Ok(changed)
    }

    fn begin_action(&mut self, making: Making<'_>, connection: &Connection) -> Result<()> {
        self.actions.push(ActionRecord {
            modes_before: journal_modes(making.harness, connection)?,
            begin: making.harness.recording.position(),
            before: self.now.clone(),
            after: self.now.clone(),
            ..ActionRecord::default()
        });
        Ok(())
    }

    /// Ends an action, checks its results, and begins the next one.
    fn take_action(
        &mut self,
        making: Making<'_>,
        connection: &Connection,
        action: &Action,
    ) -> Result<()> {
        self.end_action(making.harness, connection)?;
        self.read_settings(making, connection, Some(action))?;
        if connection.in_transaction() {
            self.open_since.get_or_insert_with(|| action.location());
        } else {
            self.open_since = None;
            let is_new = self.note(making, connection, Some(action));
            check_kept(action, is_new.map_err(|error| damaged_after(action, error))?)?;
        }
        self.begin_action(making, connection)
    }

    fn end_action(&mut self, harness: &Harness, connection: &Connection) -> Result<()> {
        let end = harness.recording.position();
        let now = journal_modes(harness, connection)?;
        if let Some(action) = self.actions.last_mut() {
            action.end = end;
            let changed =
                |(file, mode): (&String, &String)| now.get(file).is_some_and(|other| other != mode);
            action.changes_mode = action.modes_before.iter().any(changed);
        }
        Ok(())
    }

    /// Reads the settings in force after the last action, if there is one. The built-in workload is known to keep its own.
    fn read_settings(
        &mut self,
        making: Making<'_>,
        connection: &Connection,
        last: Option<&Action>,
    ) -> Result<()> {
        if let Some(path) = &making.script.path {
            let mut with_content = databases(connection)?;
            if let (Some(database), Some(action)) = (self.unsynced(making, &with_content), last) {
                return Err(CrashError::Untestable(format!(
                    "{}: {}: {database} was made by VACUUM INTO, which does not wait until it is on the disk (https://sqlite.org/lang_vacuum.html): nothing that a crash takes of it would break a promise. Leave out this statement and those that use {database}",
                    path.display(),
                    action.location()
                )));
            }
            with_content.retain(|(_, file)| making.harness.size(file) > 0);
            self.now = read_all(connection, &with_content, making.settings)?;
            if let Some(action) = self.actions.last_mut() {
                action.after = self.now.clone();
            }
        }
        Ok(())
    }

    /// Returns a database that is attached for the first time and has content: the script has made it by
    /// VACUUM INTO.
    fn unsynced(&mut self, making: Making<'_>, databases: &[(String, String)]) -> Option<String> {
        let of_beginning = |file: &str| {
            let mut bases = making.initial.into_iter().flat_map(InitialDatabases::bases);
            bases.any(|(name, _)| name == file)
        };
        let attached = &mut self.attached;
        let mut new = databases.iter().map(|(_, file)| file);
        let made = |file: &&String| {
            attached.insert((*file).clone()) && making.harness.size(file) > 0 && !of_beginning(file)
        };
        new.find(made).cloned()
    }

    fn spans(&self, trace: &Trace) -> Vec<Span> {
        let span = |action: &ActionRecord| {
            let steps = trace.cut_after(action.begin)..trace.cut_after(action.end);
            Span::of(trace, steps, [&action.before, &action.after])
        };
        self.actions.iter().filter_map(span).collect()
    }

    /// Returns the steps of the actions at which there was a rare event.
    fn marked(&self, trace: &Trace) -> Vec<MarkedAction> {
        let steps =
            |action: &ActionRecord| trace.cut_after(action.begin)..trace.cut_after(action.end);
        let changing = self.actions.iter().filter(|action| action.changes_mode);
        let changing = changing
            .map(|action| MarkedAction { steps: steps(action), event: RareEvent::ModeChange });
        let spans: Vec<_> = self.actions.iter().map(steps).collect();
        let shrinking = shrinking(trace, &spans)
            .into_iter()
            .map(|steps| MarkedAction { steps, event: RareEvent::Shrinking });
        changing.chain(shrinking).collect()
    }

    fn finish(mut self, Making { harness, script, initial, .. }: Making<'_>) -> Result<Recording> {
        if let Some(closing) = self.actions.last_mut() {
            closing.end = harness.recording.position();
        }
        let calls = harness.recording.take();
        let files = initial.map(InitialDatabases::files).unwrap_or_default();
        let trace = Trace::new(&files, &calls);
        if let Some(name) = trace.names.iter().find(|name| !is_plain(name)) {
            return Err(not_plain(script, name));
        }
        let databases: Vec<String> = trace
            .databases
            .iter()
            .map(|name| trace.names[name.0].clone())
            .filter(|name| self.contents.contains_key(name))
            .collect();
        let commit = |(position, contents): &(usize, HashMap<String, Content>)| Commit {
            cut: trace.cut_after(*position),
            contents: databases.iter().map(|name| content_of(contents, name)).collect(),
        };
        let mut commits: Vec<Commit> = self.commits.iter().map(commit).collect();
        // Before anything was done there was nothing, and nothing was acknowledged.
        if let Some(first) = commits.first_mut() {
            first.cut = 0;
        }
        if let (Some(path), true) = (&script.path, commits.len() < 2) {
            return Err(CrashError::Untestable(format!(
                "{} commits no change to a database, so a crash could lose nothing",
                path.display()
            )));
        }
        let marked = self.marked(&trace);
        let spans = self.spans(&trace);
        let largest = largest(&trace, &databases);
        let performed = Performed {
            transactions: commits.len() - 1,
            // The last action is the closing of the connections.
            statements: self.actions.len() - 1,
            of: script.actions.len(),
            differing: self.differing,
        };
        Ok(Recording {
            trace,
            commits,
            databases,
            marked,
            largest,
            by_pages: initial.is_some(),
            performed,
            in_force: self.watch.0,
            spans,
            left_open: self.open_since,
        })
    }
}

/// Returns the content of a database; one that is not known is empty.
fn content_of(contents: &HashMap<String, Content>, name: &String) -> Content {
    contents.get(name).copied().unwrap_or(Content::empty())
}

/// Returns whether two contents are the same.
fn same(one: &HashMap<String, Content>, other: &HashMap<String, Content>) -> bool {
    one.keys().chain(other.keys()).all(|name| content_of(one, name) == content_of(other, name))
}

/// Returns the largest size of all databases together, sampled every 16 steps, or 256 times where there are more.
fn largest(trace: &Trace, databases: &[String]) -> usize {
    let every = (trace.steps.len() / 256).max(16);
    let mut disk = Disk::new(trace, Model::Kill);
    let mut largest = 0;
    while disk.taken < trace.steps.len() {
        disk.step();
        if disk.taken.is_multiple_of(every) || disk.taken == trace.steps.len() {
            disk.write_back(disk.taken);
            let files = disk.durable_files().into_iter();
            let databases = files.filter(|(name, _)| databases.contains(name));
            largest = largest.max(databases.map(|(_, bytes)| bytes.len()).sum());
        }
    }
    largest
}
