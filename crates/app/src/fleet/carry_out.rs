//! Carrying a run out over a fleet: each group its own run, all at the same time, while agents come and go.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use fleet::{
    MachineReport, PresentAgent, Remote, Roster, RunCard, RunPart, SAY, Server, finish,
    machine_reports, part_of_run, present, publish, publish_part, publish_progress, queue,
    rerun_of, withdraw_progress,
};
use lab::fleet::{CLASS, Group, Kind, Labels, Progress, Reruns};
use lab::record::{Purpose, TrialRecord};
use runner::{End, Event, Execution, Executor, Observer, RunFolder, block_of};

use super::choice::{usable, why_not};
use super::folder::{Chosen, FleetFolder};
use crate::error::{Error, Result};
use crate::files::write_in_run;
use crate::interface::{Interface, Task};
use crate::run::tiers;

/// The file with what the machines of a group said of themselves.
pub(super) const MACHINES: &str = "machines.json";

/// The file with the trials of blocks that a second agent has carried out as well.
pub(super) const RERUNS: &str = "reruns.json";

/// How often to look who is present.
const LOOK: Duration = Duration::from_secs(1);

/// How long an agent that has refused a run may take to be seen after it was started again.
const RESTARTED: Duration = Duration::from_secs(3);

/// How long a group may be without agents before that is said.
const ALONE: Duration = Duration::from_secs(20);

/// A run that is being carried out.
struct Work<'a> {
    server: &'a Server,
    folder: &'a FleetFolder,
    /// The groups as they are at the moment, by name.
    rosters: HashMap<String, Arc<Roster>>,
    board: Mutex<Board>,
    interrupted: Arc<AtomicBool>,
    ui: &'a dyn Interface,
}

/// Carries out what remains of a run.
pub(super) fn carry_out(
    server: &Server,
    folder: &mut FleetFolder,
    ui: &dyn Interface,
) -> Result<End> {
    let card = &folder.chosen.card;
    let roster = |group: &Group| Arc::new(Roster::new(card.members_of(&group.name)));
    let work = Work {
        server,
        folder,
        rosters: card.groups.iter().map(|group| (group.name.clone(), roster(group))).collect(),
        board: Mutex::new(Board::new(ui, card.groups.len())),
        interrupted: ui.interrupted()?,
        ui,
    };
    let (ends, card) = thread::scope(|scope| {
        let work = &work;
        let begin = |group| scope.spawn(move || work.of_group(group));
        let threads: Vec<_> = card.groups.iter().map(begin).collect();
        let card = work.watch(&threads);
        (threads.into_iter().map(joined).collect(), card)
    });
    drop(work);
    folder.chosen.card = card;
    let mut end = concluded(folder, ends, ui);
    let is_whole = matches!(end, Ok(End::Finished)) && folder.chosen.failed.is_empty();
    let written = folder.write();
    let card = &folder.chosen.card;
    let finished = if is_whole { finish(server, card) } else { Ok(()) };
    let withdrawn = withdraw_progress(server, &card.run);
    let tidied = [finished, withdrawn].map(|done| done.map_err(Error::from));
    for failure in [written].into_iter().chain(tidied).filter_map(Result::err) {
        // A run that was stopped, or that no group could measure, ended so all the same.
        match end {
            Ok(End::Finished) => end = Err(failure),
            _ => tell!(ui, "warning: {}", failure.words()),
        }
    }
    end
}

fn joined(thread: ScopedJoinHandle<'_, Result<End>>) -> Result<End> {
    thread
        .join()
        .unwrap_or_else(|_| Err(Error::unusable("the thread of a group has ended by a fault")))
}

/// How the whole has ended. Groups that could not be measured are noted in the folder.
///
/// # Errors
/// No group could be measured.
fn concluded(folder: &mut FleetFolder, ends: Vec<Result<End>>, ui: &dyn Interface) -> Result<End> {
    let Chosen { card, failed, .. } = &mut folder.chosen;
    failed.clear();
    let is_cancelled = ends.iter().any(|end| matches!(end, Ok(End::Cancelled)));
    let mut failures = Vec::new();
    for (group, end) in card.groups.iter().zip(ends) {
        if let Err(failure) = end {
            failed.insert(group.name.clone(), failure.words());
            failures.push(failure);
        }
    }
    let last = if failures.len() == card.groups.len() { failures.pop() } else { None };
    failures.iter().for_each(|error| ui.report(error));
    last.map_or(Ok(if is_cancelled { End::Cancelled } else { End::Finished }), Err)
}

impl Work<'_> {
    /// Carries out the run of a group.
    fn of_group(&self, group: &Group) -> Result<End> {
        let run = &self.folder.chosen.card.run;
        let path = self.folder.of_group(group);
        let Some(own) = self.opened(group, &path)? else { return Ok(End::Cancelled) };
        let roster = &self.rosters[&group.name];
        let reruns = self.reruns();
        let mut remote = Remote::new(self.server, (run, &group.name), Arc::clone(roster), reruns);
        self.board().group_begins(&group.name, recorded(&own)?);
        let mut observer = OfGroup { group: &group.name, work: self };
        let end = runner::run(&own, &mut remote, &mut observer)?;
        tiers::keep_measured(&own, self.ui);
        if end == End::Finished {
            // Nothing more comes: what was published ahead is taken back.
            remote.ahead(&[])?;
            self.keep_reruns(group, &own, &path.join(RERUNS))?;
        }
        let reports = machine_reports(self.server, run, &group.name, &roster.members())?;
        let text = serde_json::to_string_pretty(&reports).map_err(Error::unusable)?;
        write_in_run(&path.join(MACHINES), &text)?;
        self.board().group_ended();
        Ok(end)
    }

    fn reruns(&self) -> Reruns {
        Reruns { share: self.folder.chosen.card.recheck, seed: self.folder.chosen.rerun_seed }
    }

    /// Waits for the blocks that a second agent carries out as well, and keeps what it measured.
    fn keep_reruns(&self, group: &Group, own: &RunFolder, file: &Path) -> Result<()> {
        let (card, reruns) = (&self.folder.chosen.card, self.reruns());
        let mut chosen: BTreeMap<String, Vec<TrialRecord>> = BTreeMap::new();
        own.each_trial(|record| {
            let block = block_of(&record);
            if record.purpose == Purpose::Rounds && reruns.ticket(&block).is_some() {
                chosen.entry(block).or_default().push(record);
            }
        })?;
        let seconds = |trials: &Vec<TrialRecord>| trials.iter().map(|trial| trial.wall_s).sum();
        if let Some(longest_s) = chosen.values().map(seconds).reduce(f64::max) {
            self.await_reruns(&group.name, card.patience_s.max(2.0 * longest_s))?;
        }
        let members = self.rosters[&group.name].members();
        let mut again = Vec::new();
        for (block, trials) in &chosen {
            let agent = trials[0].agent.as_deref().unwrap_or_default();
            let place = (&*card.run, &*group.name, &**block);
            let mut found = rerun_of(self.server, place, &members, agent)?;
            again.extend(trials.iter().filter_map(|trial| {
                let Execution { agent, started, wall_s, covariates, outcome } =
                    found.remove(&trial.position)?;
                let trial = trial.clone();
                Some(TrialRecord { agent, started, wall_s, covariates, outcome, ..trial })
            }));
        }
        write_in_run(file, &serde_json::to_string(&again).map_err(Error::unusable)?)
    }

    /// Waits until no block of a group waits or is carried out, or nothing has changed for so long.
    fn await_reruns(&self, group: &str, patience_s: f64) -> Result<()> {
        let (began, mut changed, mut last) = (Instant::now(), Instant::now(), None);
        while !self.interrupted.load(Ordering::Relaxed) && self.rosters[group].present() > 1 {
            let queue = queue(self.server, &self.folder.chosen.card.run, group)?;
            let now = queue.map(|queue| (queue.waiting, queue.taken));
            if now != last {
                (changed, last) = (Instant::now(), now);
            }
            if now.is_none_or(|now| now == (0, 0)) || changed.elapsed().as_secs_f64() > patience_s {
                break;
            }
            if began.elapsed() > RESTARTED {
                let text = "waits for blocks that a second agent carries out as well";
                self.board().line_once(format!("{group}: {text}"));
            }
            thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// The folder of a group's run, which begins as soon as one of its agents is ready; `None` if it was stopped.
    fn opened(&self, group: &Group, path: &Path) -> Result<Option<RunFolder>> {
        let (server, card) = (self.server, &self.folder.chosen.card);
        if path.join("run.json").is_file() {
            return Ok(Some(RunFolder::open(path)?));
        }
        if part_of_run(server, &card.run, &group.name)?.is_none() {
            let Some(ready) = self.first_ready(group)? else { return Ok(None) };
            publish_part(server, &card.run, &group.name, &begun(card, group, ready))?;
        }
        let Some(part) = part_of_run(server, &card.run, &group.name)? else {
            let name = &group.name;
            return Err(Error::unusable(format!(
                "the server has lost the plan of the group {name}"
            )));
        };
        Ok(Some(RunFolder::create(path, &part.plan, &part.environment)?))
    }

    /// The first machine of a group that is ready; `None` if it was stopped.
    fn first_ready(&self, group: &Group) -> Result<Option<MachineReport>> {
        let run = &self.folder.chosen.card.run;
        let began = Instant::now();
        while !self.interrupted.load(Ordering::Relaxed) {
            let members = self.rosters[&group.name].members();
            let mut reports = machine_reports(self.server, run, &group.name, &members)?;
            let refused = reports.iter().filter(|report| report.machine.is_err()).count();
            if refused == reports.len()
                && refused >= group.agents.len()
                && began.elapsed() > RESTARTED
            {
                let present = present(self.server)?;
                reports.retain(|report| !was_started_since(report, &present));
                if reports.len() >= group.agents.len() {
                    return Err(all_refused(group, &reports));
                }
            }
            if let Some(ready) = reports.into_iter().find(|report| report.machine.is_ok()) {
                return Ok(Some(ready));
            }
            thread::sleep(Duration::from_millis(200));
        }
        Ok(None)
    }

    /// Looks who is present until all groups have ended; the run with the agents that have come.
    fn watch(&self, threads: &[ScopedJoinHandle<'_, Result<End>>]) -> RunCard {
        let mut card = self.folder.chosen.card.clone();
        let mut seen = seen_now(&card);
        let (mut looked, mut said): (Option<Instant>, Option<Instant>) = (None, None);
        let is_due = |last: Option<Instant>, pause| last.is_none_or(|last| last.elapsed() >= pause);
        while !threads.iter().all(ScopedJoinHandle::is_finished) {
            if is_due(said, SAY) {
                said = Some(Instant::now());
                let progress = self.board().progress(card.plan.fewest_trials() as u64);
                let _ = publish_progress(self.server, &card.run, &progress);
            }
            if is_due(looked, LOOK) {
                looked = Some(Instant::now());
                // Who is present matters for speed alone: the next look may succeed.
                if let Ok(true) = self.counted(&mut card, &mut seen) {
                    let _ = publish(self.server, &card);
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
        card
    }

    /// Counts the agents that are present in each group, and adds those that have come or were started again; whether any was.
    fn counted(&self, card: &mut RunCard, seen: &mut HashMap<String, Instant>) -> Result<bool> {
        let on = card.on.as_deref().and_then(|on| on.parse().ok());
        let all = present(self.server)?;
        let is_known = |name: &str| card.agents.iter().any(|known| known.agent == name);
        for agent in all.iter().filter(|agent| is_known(&agent.card.agent)) {
            if let Some(why) = why_not(agent) {
                self.board().line_once(format!("{} takes no part: {why}", agent.card.agent));
            }
        }
        let mut of_kinds: HashMap<Kind, Vec<PresentAgent>> = HashMap::new();
        for agent in usable(&all, on.as_ref()) {
            match other_machine(card, &agent) {
                Some(why) => self.board().line_once(why),
                None => {
                    let kind = Kind::of(&agent.candidate(), card.per);
                    of_kinds.entry(kind).or_default().push(agent);
                }
            }
        }
        let mut changed = false;
        for group in &mut card.groups {
            let here = of_kinds.remove(&group.kind).unwrap_or_default();
            let roster = &self.rosters[&group.name];
            roster.set_present(here.len());
            self.note_presence(&group.name, here.is_empty(), seen);
            self.note_trouble(&group.name, &here);
            let members = card.members.entry(group.name.clone()).or_default();
            for agent in here {
                let name = agent.card.agent.clone();
                changed |= members.insert(agent.card.instance.clone(), name.clone()).is_none();
                if group.agents.insert(name.clone()) {
                    self.board().line(&format!("{name} joins {}", group.name));
                    card.agents.push(agent.candidate());
                }
            }
            if changed {
                roster.set_members(members.clone());
            }
        }
        for stranger in of_kinds.into_values().flatten() {
            let agent = stranger.card.agent;
            let text =
                format!("{agent} takes no part: no group of this run has machines of its kind");
            self.board().line_once(text);
        }
        Ok(changed)
    }

    /// Says once why an agent carries nothing out at the moment, and under whose name outcomes are stored that do not count.
    fn note_trouble(&self, group: &str, here: &[PresentAgent]) {
        let mut board = self.board();
        for card in here.iter().map(|agent| &agent.card) {
            if let Some(trouble) = &card.doing.trouble {
                board.line_once(format!("{group}: {} waits: {trouble}", card.agent));
            }
        }
        for agent in self.rosters[group].take_strangers() {
            board.line_once(format!(
                "{group}: outcomes under the name {agent} do not count: no member of this group has signed them"
            ));
        }
    }

    /// Says once that a group has been without agents for long.
    fn note_presence(&self, group: &str, is_alone: bool, seen: &mut HashMap<String, Instant>) {
        if !is_alone {
            seen.insert(group.to_owned(), Instant::now());
        } else if seen.get(group).is_some_and(|seen| seen.elapsed() > ALONE) {
            seen.remove(group);
            self.board().line(&format!("{group}: no agent is present; waiting for one"));
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The trials that are recorded already.
fn recorded(own: &RunFolder) -> Result<u64> {
    let mut trials = 0;
    own.each_trial(|_| trials += 1)?;
    Ok(trials)
}

/// Whether the agent of a report was started again, so that another report of it comes.
fn was_started_since(report: &MachineReport, present: &[PresentAgent]) -> bool {
    let mut cards = present.iter().map(|agent| &agent.card);
    cards.any(|card| card.agent == report.agent && card.instance != report.instance)
}

fn all_refused(group: &Group, reports: &[MachineReport]) -> Error {
    let refusal = |report: &MachineReport| {
        let why = report.machine.as_ref().err()?;
        Some(format!("\n  {}: {why}", report.agent))
    };
    let reasons: String = reports.iter().filter_map(refusal).collect();
    Error::unusable(format!("no agent of the group {} can carry the run out:{reasons}", group.name))
        .hint(
            "start these agents again with other options; then continue with `pragmark run --resume`",
        )
}

/// The run of a group, with the machine that is ready first.
fn begun(card: &RunCard, group: &Group, ready: MachineReport) -> RunPart {
    let environment = ready.machine.expect("it is ready");
    let mut plan = card.plan.clone();
    plan.id = format!("{}@{}", card.run, group.name);
    let directory = environment.machine.volumes.first().map(|volume| volume.path.clone());
    for planned in &mut plan.experiments {
        planned.directory = directory.clone().unwrap_or_else(|| "/".into());
    }
    tiers::add_known(&mut plan, &environment.engines);
    RunPart { plan, environment }
}

/// When each group had an agent last: at the beginning, as far as is known.
fn seen_now(card: &RunCard) -> HashMap<String, Instant> {
    card.groups.iter().map(|group| group.name.clone()).map(|name| (name, Instant::now())).collect()
}

/// Returns the label by which an agent that was started again is another machine than before, in a sentence.
fn other_machine(card: &RunCard, agent: &PresentAgent) -> Option<String> {
    const DECISIVE: [&str; 4] = [CLASS, "cpu", "disk", "fs"];
    let name = &agent.card.agent;
    let before = card.agents.iter().find(|known| known.agent == *name)?;
    let value = |labels: &Labels, label: &str| labels.get(label).cloned().unwrap_or_default();
    let (was, is) = (&before.labels, &agent.card.labels);
    let label = DECISIVE.iter().find(|label| value(was, label) != value(is, label))?;
    Some(format!(
        "{name} takes no part any more: it was started again with {label} `{}` instead of `{}`",
        value(is, label),
        value(was, label)
    ))
}

/// The progress of all groups.
struct Board {
    task: Box<dyn Task>,
    groups: usize,
    ended: usize,
    trials: u64,
    of_groups: HashMap<String, Count>,
    /// Notices that are given only once.
    said: HashSet<String>,
}

/// The trials of a group.
struct Count {
    /// Recorded when this process began with it.
    before: u64,
    /// Recorded since.
    since: u64,
    began: Instant,
}

impl Count {
    fn progress(&self, group: &str, least: u64) -> Progress {
        let per_s = self.since as f64 / self.began.elapsed().as_secs_f64().max(1e-3);
        Progress {
            group: group.to_owned(),
            trials: self.before + self.since,
            least,
            per_s: (self.since > 0).then_some(per_s),
        }
    }
}

impl Board {
    fn new(ui: &dyn Interface, groups: usize) -> Board {
        Board {
            task: ui.show_task(),
            groups,
            ended: 0,
            trials: 0,
            of_groups: HashMap::new(),
            said: HashSet::new(),
        }
    }

    fn line(&self, text: &str) {
        self.task.line(&format!("  {text}"));
    }

    fn line_once(&mut self, text: String) {
        if self.said.insert(text.clone()) {
            self.line(&text);
        }
    }

    fn group_begins(&mut self, group: &str, before: u64) {
        let count = Count { before, since: 0, began: Instant::now() };
        self.of_groups.insert(group.to_owned(), count);
    }

    fn progress(&self, least: u64) -> Vec<Progress> {
        self.of_groups.iter().map(|(group, count)| count.progress(group, least)).collect()
    }

    fn group_ended(&mut self) {
        self.ended += 1;
    }

    fn trial_ended(&mut self, group: &str, problem: Option<String>) {
        self.trials += 1;
        if let Some(count) = self.of_groups.get_mut(group) {
            count.since += 1;
        }
        let (trials, ended, groups) = (self.trials, self.ended, self.groups);
        let message = format!("{trials} trials, {ended} of {groups} groups have ended");
        self.task.now_and_then(&format!("  {message}"));
        self.task.update(message);
        if let Some(problem) = problem {
            self.line_once(format!("{group}: {problem}"));
        }
    }
}

/// Passes on what happens in the run of a group.
struct OfGroup<'a> {
    group: &'a str,
    work: &'a Work<'a>,
}

impl Observer for OfGroup<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::TrialEnded(record) => {
                let (experiment, variant) = (&record.experiment, &record.variant);
                let problem = record.outcome.problem();
                let problem = problem.map(|problem| format!("{experiment} {variant}: {problem}"));
                self.work.board().trial_ended(self.group, problem);
            }
            Event::ExperimentEnds { planned, reason } => {
                let text = format!("{}: {} ended: {reason}", self.group, planned.key);
                self.work.board().task.step(&text);
            }
            _ => {}
        }
    }
}
