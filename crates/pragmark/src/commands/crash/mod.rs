//! `pragmark crash`: what crashes do to databases, by settings and by what storage may lose.

mod asked;
mod engines;
mod folder;
mod shown;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::crash::present::{self, Heading};
use ::crash::{CrashError, Matrix, Model, Plan, Progress, Script, differences, measure};
use engine::{Library, Source};
use lab::seed::Seed;
use serde_json::json;

use self::asked::Asked;
use self::shown::Shown;
use super::{accidents, output};
use crate::cli::{CrashArgs, CrashFormat};
use crate::failure::{Exit, Failure};
use crate::interrupt;

/// Images for each cell.
const IMAGES: usize = 9000;
const QUICK_IMAGES: usize = 600;

/// What was measured with one engine.
struct Measured {
    heading: Heading,
    matrix: Matrix,
}

/// Measures, prints, and writes where asked to.
pub fn execute(args: &CrashArgs) -> Result<Exit, Failure> {
    if args.accidents.any() {
        return accidents::execute(&args.accidents, &staged(args)?);
    }
    // Whatever can be wrong is found before minutes are spent, and before anything is written.
    let asked = asked::of(args)?;
    let plans = plans(args, asked)?;
    let unfinished = args.out.as_deref().map(folder::unfinished).transpose()?;
    let all = measured(args, plans)?;
    if let (Some(out), Some(unfinished)) = (&args.out, unfinished) {
        folder::write(&all, out, &unfinished)?;
    }
    let text = match args.format {
        CrashFormat::Terminal => terminal(&all),
        CrashFormat::Markdown => markdown(&all),
        CrashFormat::Json => as_json(&all),
    };
    output::write_text(None, &text)?;
    Ok(match all.iter().any(|measured| measured.matrix.stopped) {
        true => Exit::Interrupted,
        false => Exit::Success,
    })
}

/// What accidents that are made to happen need to know.
fn staged(args: &CrashArgs) -> Result<accidents::Common<'_>, Failure> {
    fn names<T: ToString>(values: &[T]) -> Vec<String> {
        values.iter().map(T::to_string).collect()
    }
    let [engine] = args.engine.as_slice() else {
        return Err(
            Failure::usage("accidents are made to happen with one engine at a time")
                .hint("name one --engine"),
        );
    };
    Ok(accidents::Common {
        engine: engines::source(engine)?,
        seed: args.seed,
        out: args.out.as_deref(),
        format: args.format,
        settings: [
            names(&args.journal_mode),
            names(&args.synchronous),
            names(&args.locking_mode),
        ],
    })
}

/// What is measured with which engine, and how its table is headed.
fn plans(args: &CrashArgs, asked: Vec<Asked>) -> Result<Vec<(Plan, Heading)>, Failure> {
    let mut plans = Vec::new();
    for Asked { engine, variants } in asked {
        let source = engines::source(&engine)?;
        let library = Library::load(&source).map_err(Failure::unusable)?;
        let script = read_script(args, &library)?;
        let plan = plan(args, source, variants, script);
        let heading = Heading {
            sqlite: library.identity().version.clone(),
            source_id: library.identity().source_id.clone(),
            engine,
            workload: match &args.script {
                Some(path) => path.display().to_string(),
                None => "built-in workload".to_owned(),
            },
            seed: args.seed,
            images: plan.images,
        };
        plans.push((plan, heading));
    }
    Ok(plans)
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

fn plan(
    args: &CrashArgs,
    engine: Source,
    variants: Vec<::crash::CrashSettings>,
    script: Option<Script>,
) -> Plan {
    let images = if args.quick { QUICK_IMAGES } else { IMAGES };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Plan {
        variants,
        models: match args.model.as_slice() {
            [] => Model::ALL.to_vec(),
            models => models.to_vec(),
        },
        images: args.images.map_or(images, |images| images as usize),
        second_crash_every: args.second_crash_every.into(),
        seed: Seed(args.seed),
        engine,
        script,
        threads: args.threads.map_or(processors, usize::from),
    }
}

/// One engine after another, until it is interrupted.
fn measured(args: &CrashArgs, plans: Vec<(Plan, Heading)>) -> Result<Vec<Measured>, Failure> {
    let interrupted = interrupt::flag()?;
    let mut all = Vec::new();
    for (plan, heading) in plans {
        let matrix = measured_with(args, &plan, &interrupted)?;
        if let Some(refused) = matrix.refused() {
            return Err(nothing_tried(&heading, &refused));
        }
        let stopped = matrix.stopped;
        all.push(Measured { heading, matrix });
        if stopped {
            break;
        }
    }
    Ok(all)
}

/// The engine takes none of the settings.
fn nothing_tried(heading: &Heading, refused: &[(::crash::CrashSettings, &str)]) -> Failure {
    let reasons: Vec<String> = refused
        .iter()
        .map(|(variant, reason)| format!("\n  {variant}: {reason}"))
        .collect();
    Failure::unusable(format!(
        "the engine {} (SQLite {}) takes none of these settings, so that nothing was measured:{}",
        heading.engine,
        heading.sqlite,
        reasons.concat()
    ))
    .hint("nothing was written; `pragmark doctor` shows what engines are compiled with")
}

/// Measures in a thread of its own while this one shows how far it is.
fn measured_with(
    args: &CrashArgs,
    plan: &Plan,
    interrupted: &AtomicBool,
) -> Result<Matrix, Failure> {
    let progress = Progress::default();
    let mut shown = Shown::new(args.plain, plan.variants.len() * plan.models.len());
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
            tell!(
                "{} distinct images in {seconds:.1} s: {:.0} a second",
                matrix.images,
                matrix.images as f64 / seconds
            );
            Ok(matrix)
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn terminal(all: &[Measured]) -> String {
    let tables = all
        .iter()
        .map(|measured| present::terminal(&measured.heading, &measured.matrix));
    let mut text = tables.collect::<Vec<_>>().join("\n");
    if all.len() > 1 {
        text.push_str(&present::for_terminal(&told_differences(all)));
    }
    text
}

fn markdown(all: &[Measured]) -> String {
    let tables = all
        .iter()
        .map(|measured| present::markdown(&measured.heading, &measured.matrix));
    let mut text = tables.collect::<Vec<_>>().join("\n");
    if all.len() > 1 {
        text.push_str(&told_differences(all));
    }
    text
}

fn told_differences(all: &[Measured]) -> String {
    let headings: Vec<&Heading> = all.iter().map(|measured| &measured.heading).collect();
    present::differences(&headings, &differences(&matrices(all)))
}

fn matrices(all: &[Measured]) -> Vec<&Matrix> {
    all.iter().map(|measured| &measured.matrix).collect()
}

/// One engine by itself, several as a list with what differs between them.
fn as_json(all: &[Measured]) -> String {
    let one =
        |measured: &Measured| json!({ "measured": measured.heading, "matrix": measured.matrix });
    let document = match all {
        [alone] => one(alone),
        several => json!({
            "engines": several.iter().map(one).collect::<Vec<_>>(),
            "differences": differences(&matrices(several)),
        }),
    };
    format!("{document:#}\n")
}
