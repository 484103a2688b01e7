//! `pragmark crash`: what crashes do to databases, by settings and by what storage may lose.

use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ::crash::present::{self, Heading};
use ::crash::{
    Arm, CrashError, JournalMode, LockingMode, Matrix, Model, Plan, Progress, Script, Synchronous,
    measure, write_witnesses,
};
use engine::{Library, Origin, Source};
use indicatif::{ProgressBar, ProgressStyle};
use lab::record::engine_to_load as engine_to_load_of;
use lab::seed::Seed;
use serde_json::json;
use tempfile::TempDir;

use super::engine::{named, prepare, problem};
use super::run::native_driver;
use super::{accidents, output};
use crate::cli::{CrashArgs, CrashFormat};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::progress::humanly;

/// Images for each cell.
const IMAGES: usize = 9000;
const QUICK_IMAGES: usize = 600;

/// Measures, prints, and writes where asked to.
pub fn execute(args: &CrashArgs) -> Result<Exit, Failure> {
    let source = engine_to_load(&args.engine)?;
    if args.accidents.any() {
        return accidents::execute(&args.accidents, &staged(args, source));
    }
    let library = Library::load(&source).map_err(Failure::unusable)?;
    let script = read_script(args, &library)?;
    let plan = plan(args, loadable_again(source, &library), script);
    // An existing folder is a mistake to be told before minutes are spent.
    let unfinished = args.out.as_deref().map(unfinished_folder).transpose()?;
    let matrix = measured(args, &plan)?;
    let heading = heading(args, &plan, &library);
    if let (Some(out), Some(unfinished)) = (&args.out, unfinished) {
        write_folder(&heading, &matrix, out, &unfinished)?;
    }
    let text = match args.format {
        CrashFormat::Terminal => present::terminal(&heading, &matrix),
        CrashFormat::Markdown => present::markdown(&heading, &matrix),
        CrashFormat::Json => as_json(&heading, &matrix),
    };
    output::write_text(None, &text)?;
    Ok(match matrix.stopped {
        true => Exit::Interrupted,
        false => Exit::Success,
    })
}

/// The library that the name means, built where it has to be.
fn engine_to_load(name: &str) -> Result<Source, Failure> {
    named(name)?;
    let bar = std::io::stderr().is_terminal();
    let interrupted = interrupt::flag()?;
    let engines = prepare(&[name.to_owned()], &native_driver()?, &interrupted, bar)?;
    match engines.iter().find_map(problem) {
        Some(failure) => Err(failure),
        None => {
            let to_load = engine_to_load_of(&engines, name).map_err(Failure::unusable)?;
            to_load.parse().map_err(Failure::usage)
        }
    }
}

/// What accidents that are made to happen need to know.
fn staged(args: &CrashArgs, engine: Source) -> accidents::Common<'_> {
    fn names<T: ToString>(values: &[T]) -> Vec<String> {
        values.iter().map(T::to_string).collect()
    }
    accidents::Common {
        engine,
        seed: args.seed,
        out: args.out.as_deref(),
        settings: [
            names(&args.journal_mode),
            names(&args.synchronous),
            names(&args.locking_mode),
        ],
    }
}

/// The engine in a form that every thread can load a copy of. Asked for by its name a second time, the
/// dynamic loader gives the copy that is loaded already, which has no file.
fn loadable_again(source: Source, library: &Library) -> Source {
    match &library.identity().origin {
        Origin::System(path) if path.is_absolute() => Source::Path(path.clone()),
        _ => source,
    }
}

fn read_script(args: &CrashArgs, library: &Library) -> Result<Option<Script>, Failure> {
    let Some(path) = &args.script else {
        return Ok(None);
    };
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    Script::parse(library, path, &text)
        .map(Some)
        .map_err(failure)
}

fn failure(error: CrashError) -> Failure {
    match &error {
        CrashError::Script { .. } | CrashError::Unfinished { .. } => Failure::usage(&error)
            .hint("each statement must run on an empty database; nothing was written"),
        CrashError::NothingCommitted { .. } => Failure::usage(&error),
        _ => Failure::unusable(&error),
    }
}

fn plan(args: &CrashArgs, engine: Source, script: Option<Script>) -> Plan {
    fn or_all<T: Copy>(given: &[T], all: &[T]) -> Vec<T> {
        if given.is_empty() { all } else { given }.to_vec()
    }
    let locking_modes = match args.quick {
        true => &[LockingMode::Normal],
        false => LockingMode::ALL,
    };
    let images = if args.quick { QUICK_IMAGES } else { IMAGES };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Plan {
        arms: Arm::matrix(
            &or_all(&args.journal_mode, JournalMode::ALL),
            &or_all(&args.synchronous, Synchronous::ALL),
            &or_all(&args.locking_mode, locking_modes),
            &args.page_size,
        ),
        models: or_all(&args.model, &Model::ALL),
        images: args.images.map_or(images, |images| images as usize),
        second_crash_every: args.second_crash_every.into(),
        seed: Seed(args.seed),
        engine,
        script,
        threads: args.threads.map_or(processors, usize::from),
    }
}

fn heading(args: &CrashArgs, plan: &Plan, library: &Library) -> Heading {
    Heading {
        sqlite: library.identity().version.clone(),
        source_id: library.identity().source_id.clone(),
        engine: args.engine.clone(),
        workload: match &args.script {
            Some(path) => path.display().to_string(),
            None => "built-in workload".to_owned(),
        },
        seed: args.seed,
        images: plan.images,
    }
}

/// Measures in a thread of its own while this one shows how far it is.
fn measured(args: &CrashArgs, plan: &Plan) -> Result<Matrix, Failure> {
    let interrupted = interrupt::flag()?;
    let progress = Progress::default();
    let cells = plan.arms.len() * plan.models.len();
    let bar = !args.plain && std::io::stderr().is_terminal();
    let mut shown = Shown::new(bar, cells);
    let result = std::thread::scope(|scope| {
        let measuring = scope.spawn(|| measure(plan, &progress));
        while !measuring.is_finished() {
            std::thread::sleep(Duration::from_millis(50));
            if interrupted.load(Ordering::Relaxed) {
                progress.stop.store(true, Ordering::Relaxed);
            }
            shown.update(&progress);
        }
        measuring.join()
    });
    shown.finish();
    match result {
        Ok(matrix) => {
            let matrix = matrix.map_err(failure)?;
            let seconds = matrix.took.as_secs_f64();
            eprintln!(
                "{} distinct images in {seconds:.1} s: {:.0} a second",
                matrix.images,
                matrix.images as f64 / seconds
            );
            Ok(matrix)
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// How far it is, on standard error: a bar, or a line now and then.
struct Shown {
    bar: Option<ProgressBar>,
    cells: usize,
    begin: Instant,
    last: Instant,
}

impl Shown {
    fn new(bar: bool, cells: usize) -> Shown {
        eprintln!("{cells} cells: settings × storage models");
        let now = Instant::now();
        Shown {
            bar: bar.then(|| bar_of(cells)),
            cells,
            begin: now,
            last: now,
        }
    }

    fn update(&mut self, progress: &Progress) {
        let every = match self.bar {
            Some(_) => Duration::from_millis(200),
            None => Duration::from_secs(5),
        };
        if self.last.elapsed() < every {
            return;
        }
        self.last = Instant::now();
        let done = progress.cells.load(Ordering::Relaxed);
        let images = progress.images.load(Ordering::Relaxed);
        let left = match done {
            0 => String::new(),
            done => {
                let each = self.begin.elapsed().as_secs_f64() / done as f64;
                format!(", {} to go", humanly(each * (self.cells - done) as f64))
            }
        };
        let message = format!("{done} of {} cells, {images} images{left}", self.cells);
        match &self.bar {
            Some(bar) => {
                bar.set_position(done as u64);
                bar.set_message(message);
            }
            None => eprintln!("  {message}"),
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar_of(cells: usize) -> ProgressBar {
    let bar = ProgressBar::new(cells as u64);
    // The template is fixed, so that it parses is checked by the tests.
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style);
    }
    bar
}

const TEMPLATE: &str = "{bar:20} {wide_msg}";

fn as_json(heading: &Heading, matrix: &Matrix) -> String {
    format!("{:#}\n", json!({ "measured": heading, "matrix": matrix }))
}

/// A folder beside the one asked for, which gets its name when it is whole and is removed otherwise.
fn unfinished_folder(out: &Path) -> Result<TempDir, Failure> {
    if out.exists() {
        return Err(Failure::usage(format!("{} exists already", out.display()))
            .hint("name another folder with --out"));
    }
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let made = tempfile::Builder::new()
        .prefix(".pragmark-crash-")
        .tempdir_in(parent);
    made.map_err(|error| {
        Failure::unusable(format!("cannot write to {}: {error}", parent.display()))
    })
}

fn write_folder(
    heading: &Heading,
    matrix: &Matrix,
    out: &Path,
    unfinished: &TempDir,
) -> Result<(), Failure> {
    let folder = unfinished.path().join("crash");
    let cannot = |error| Failure::unusable(format!("cannot write {}: {error}", out.display()));
    fs::create_dir(&folder).map_err(cannot)?;
    output::write_text(
        Some(&folder.join("crash.md")),
        &present::markdown(heading, matrix),
    )?;
    output::write_text(Some(&folder.join("crash.json")), &as_json(heading, matrix))?;
    let witnesses = write_witnesses(matrix, &folder.join("witnesses")).map_err(failure)?;
    fs::rename(&folder, out).map_err(cannot)?;
    eprintln!(
        "written: {} with crash.md, crash.json and {witnesses} witnesses (each with a show.sh)",
        out.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_of_the_bar_parses() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
