//! All generated mutants, or a random part of them, one after another: a run can be ended at any time and continued.

use crate::STOP;
use crate::trial::Trial;
use lab::seed::Seed;
use pragmark_proofs::{Amalgamation, COVERAGE, Generated, Verdict, unnoticed};
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A run: its mutants, its trials and its folder.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// The folder of engines, controls and results.
    pub folder: PathBuf,
    /// Crash images of each cell.
    pub images: usize,
    /// Schedules of each scenario.
    pub schedules: u64,
    /// Seed of the order and of all other random choices.
    pub seed: u64,
    /// The number of mutants to take from the front of the random order.
    pub sample: Option<usize>,
    /// The mutants of these names only.
    pub names: Vec<String>,
    /// Mutants that are judged at the same time.
    pub threads: usize,
}

/// The time on a processor that a trial may take: this and ten times as long as with the sound engine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The time that it may take beside other work, of the same.
const BESIDE_OTHERS: u32 = 8;

/// The sound engine in a trial.
struct Control {
    trial: Trial,
    output: String,
    took: Duration,
    /// A byte for each number of a mutant: whether its place was run.
    seen: Vec<u8>,
}

/// How a trial ended.
struct Ended {
    /// The line that it wrote, or how it failed.
    output: Result<String, String>,
    took: Duration,
}

impl Sweep {
    /// Judges the mutants that the folder has no result of, and prints a summary of all results.
    ///
    /// # Errors
    /// The sound engine fails; files cannot be written.
    pub fn run(&self) -> Result<bool, Box<dyn Error>> {
        fs::create_dir_all(&self.folder)?;
        let source = fs::read_to_string(env!("PRAGMARK_AMALGAMATION_FILE"))?;
        let all = Amalgamation::of(&source, &self.folder)?;
        let library = fs::read(self.library(&all, false)?)?;
        let coverage = self.library(&all, true)?;
        let controls: Vec<Control> = Trial::all()
            .into_iter()
            .map(|trial| self.control(trial, &coverage))
            .collect::<Result<_, _>>()?;
        let results = self.folder.join("results.tsv");
        let done = fs::read_to_string(&results).unwrap_or_default();
        let done: HashSet<&str> = done.lines().filter_map(|line| line.split('\t').next()).collect();
        let mut chosen = self.chosen(&all.mutants);
        chosen.retain(|(_, mutant)| !done.contains(mutant.name.as_str()));
        let waiting = Mutex::new(chosen.into_iter());
        let work = |thread| {
            let engine = self.folder.join(format!("mutant-{thread}.so"));
            while let Some((number, mutant)) = next(&waiting) {
                let begin = Instant::now();
                fs::write(&engine, pragmark_proofs::selected(&library, number)?)?;
                let (verdict, how) = self.judge(number, &engine, &controls)?;
                let seconds = begin.elapsed().as_secs_f64();
                let line = format!("{}\t{verdict}\t{seconds:.1}\t{how}\n", mutant.name);
                print!("{line}");
                let mut file = fs::OpenOptions::new().create(true).append(true).open(&results)?;
                file.write_all(line.as_bytes())?;
            }
            Ok::<(), Box<dyn Error>>(())
        };
        std::thread::scope(|scope| {
            let text = |thread| work(thread).map_err(|error| error.to_string());
            let threads: Vec<_> =
                (0..self.threads).map(|thread| scope.spawn(move || text(thread))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        summarise(&fs::read_to_string(&results)?)?;
        Ok(true)
    }

    fn library(&self, all: &Amalgamation, with_coverage: bool) -> Result<PathBuf, Box<dyn Error>> {
        let name = if with_coverage { "coverage" } else { "generated" };
        let library = self.folder.join(format!("{name}.so"));
        if fs::read_to_string(self.folder.join(format!("{name}.c"))).ok().as_deref()
            == Some(all.text())
            && library.exists()
        {
            return Ok(library);
        }
        Ok(all.compile(&self.folder, "-O1", with_coverage)?)
    }

    /// Returns the mutants with their numbers in a random order, so that any prefix is a fair sample.
    fn chosen<'m>(&self, all: &'m [Generated]) -> Vec<(usize, &'m Generated)> {
        let is_wanted =
            |mutant: &Generated| self.names.is_empty() || self.names.contains(&mutant.name);
        let numbered = (1..).zip(all).filter(|(_, mutant)| is_wanted(mutant));
        let mut chosen: Vec<_> = numbered.collect();
        chosen.sort_by_key(|(_, mutant)| Seed(self.seed).child(&mutant.name).0);
        chosen.truncate(self.sample.unwrap_or(usize::MAX));
        chosen
    }

    /// The sound engine in a trial, from the folder if it was measured already.
    fn control(&self, trial: Trial, engine: &Path) -> Result<Control, Box<dyn Error>> {
        let folder = self.folder.join("sound");
        fs::create_dir_all(&folder)?;
        let (text, seen) =
            (folder.join(format!("{trial}.txt")), folder.join(format!("{trial}.seen")));
        if !text.exists() {
            let ended = self.trial(&trial, engine, Duration::from_secs(600), Some(&seen))?;
            let output =
                ended.output.map_err(|error| format!("the sound engine, {trial}: {error}"))?;
            fs::write(&text, format!("{} {output}", ended.took.as_millis()))?;
        }
        let known = fs::read_to_string(&text)?;
        let (took, output) = known.split_once(' ').ok_or("a control without a time")?;
        Ok(Control {
            trial,
            output: output.to_owned(),
            took: Duration::from_millis(took.parse()?),
            seen: fs::read(&seen)?,
        })
    }

    /// The verdict on a mutant in a word, and what shows it.
    fn judge(
        &self,
        number: usize,
        engine: &Path,
        controls: &[Control],
    ) -> Result<(&'static str, String), Box<dyn Error>> {
        let mut is_run = false;
        for control in controls.iter().filter(|control| control.seen.get(number) == Some(&1)) {
            is_run = true;
            let patience = PATIENCE + 10 * control.took;
            let ended = self.trial(&control.trial, engine, patience, None)?;
            let difference = match ended.output {
                Ok(output) => control.trial.difference(&control.output, &output),
                Err(failure) => Some(failure),
            };
            if let Some(difference) = difference {
                let is_trivial = control.trial == Trial::Open;
                let verdict = if is_trivial { "broken at once" } else { "detected" };
                return Ok((verdict, format!("{}: {difference}", control.trial)));
            }
        }
        Ok((if is_run { "missed" } else { "not run" }, String::new()))
    }

    /// Tries an engine in another process, which may neither last, nor take memory or disk, without limit. The limit is one of
    /// processor time, so that a busy machine makes no mutant a hanging one.
    fn trial(
        &self,
        trial: &Trial,
        engine: &Path,
        patience: Duration,
        coverage: Option<&Path>,
    ) -> Result<Ended, Box<dyn Error>> {
        let scratch = tempfile::tempdir_in(crate::memory())?;
        let mut command = Command::new("sh");
        // One limit a call: other shells than bash refuse several.
        let limits = "ulimit -v 4000000 && ulimit -f 400000 && ulimit -c 0 && ulimit -t";
        let seconds = patience.as_secs();
        command.args(["-c", &format!("{limits} {seconds} && exec \"$0\" \"$@\"")]);
        command.arg(std::env::current_exe()?).args(["try", &trial.to_string()]);
        command.arg(fs::canonicalize(engine)?).env("TMPDIR", scratch.path());
        command.args(["--images", &self.images.to_string()]);
        command.args([
            "--schedules",
            &self.schedules.to_string(),
            "--seed",
            &self.seed.to_string(),
        ]);
        if let Some(coverage) = coverage {
            command.env(COVERAGE, std::path::absolute(coverage)?);
        }
        let output = scratch.path().join("output");
        let begin = Instant::now();
        let mut child = command.stdout(fs::File::create(&output)?).stderr(Stdio::null()).spawn()?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            let is_stopped = STOP.load(Ordering::Relaxed);
            if is_stopped || begin.elapsed() > patience * BESIDE_OTHERS {
                child.kill()?;
                child.wait()?;
                if is_stopped {
                    return Err("stopped; the same command continues".into());
                }
                break None;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let text = fs::read_to_string(&output)?;
        let line = text.lines().last().unwrap_or_default().to_owned();
        let output = match status {
            Some(status) if status.success() => Ok(line),
            Some(status) if line.starts_with("fails: ") => Err(format!("{line} ({status})")),
            Some(status) => Err(format!("the process ends: {status}")),
            None => Err(format!("no end within {} s", (patience * BESIDE_OTHERS).as_secs())),
        };
        Ok(Ended { output, took: begin.elapsed() })
    }
}

fn next<T>(waiting: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    waiting.lock().expect("no panic").next()
}

/// Prints how many mutants there are of each verdict, the reasons for unnoticed ones included, and the share that is detected
/// of those that can be.
fn summarise(results: &str) -> Result<(), String> {
    let reasons = unnoticed()?;
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for line in results.lines() {
        let mut fields = line.split('\t');
        let (name, found) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let reason =
            reasons.iter().find(|reason| reason.mutants.iter().any(|mutant| mutant == name));
        let verdict = match (found, reason.map(|reason| reason.verdict)) {
            ("missed" | "not run", None) => "unnoticed, not yet explained",
            ("missed" | "not run", Some(Verdict::Equivalent)) => "equivalent",
            ("missed" | "not run", Some(Verdict::OutOfReach)) => "out of reach",
            ("missed" | "not run", Some(Verdict::Missed)) => "missed",
            (noticed, _) => noticed,
        };
        *counts.entry(verdict).or_default() += 1;
    }
    for (verdict, count) in &counts {
        println!("{count:6} {verdict}");
    }
    let of = |verdicts: &[&str]| verdicts.iter().filter_map(|verdict| counts.get(verdict)).sum();
    let detected = of(&["detected", "broken at once"]);
    let all: u64 = counts.values().sum();
    let possible = all - of(&["equivalent"]);
    for (what, detected, all) in [
        ("all but the equivalent ones", detected, possible),
        ("those within reach", detected, possible - of(&["out of reach"])),
        (
            "the same without those broken at once",
            of(&["detected"]),
            possible - of(&["out of reach", "broken at once"]),
        ),
    ] {
        let [low, high] = wilson(detected, all).map(|share| 100.0 * share);
        let share = 100.0 * detected as f64 / all as f64;
        println!("{detected} of {all} {what}: {share:.1} % [{low:.1}, {high:.1}]");
    }
    Ok(())
}

/// Wilson's interval of a share, with 95 %.
fn wilson(hits: u64, all: u64) -> [f64; 2] {
    const Z: f64 = 1.959_964;
    let (all, share) = (all as f64, hits as f64 / all as f64);
    let centre = share + Z * Z / (2.0 * all);
    let half = Z * (share * (1.0 - share) / all + Z * Z / (4.0 * all * all)).sqrt();
    [-half, half].map(|half| (centre + half) / (1.0 + Z * Z / all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_wilsons_interval() {
        let [low, high] = wilson(81, 263);
        assert!((low - 0.255_3).abs() < 1e-4 && (high - 0.366_2).abs() < 1e-4, "{low} {high}");
    }
}
