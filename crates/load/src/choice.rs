//! Which types the columns get: those that the first rows suggest, as long as every row goes with them, and
//! otherwise those that all rows suggest, for which the load begins again.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use engine::Library;

use crate::error::LoadError;
use crate::feed::{LOOK, Observer, Phase, Progress};
use crate::loader::load_once;
use crate::request::{Mode, Request, Summary};
use crate::source::{Again, Source, Typing};
use crate::table::{Column, same};

/// Loads every row of a source into a table.
///
/// Whatever happens, the database is afterwards either as it was or complete: a new one takes its place
/// when it is finished and synced, an existing one is changed in one transaction.
///
/// # Errors
/// See [`LoadError`]; the database is as it was.
pub fn load(
    library: &Arc<Library>,
    source: &mut dyn Source,
    request: &Request,
    observer: &mut Observer<'_>,
) -> Result<Summary, LoadError> {
    let begin = Instant::now();
    let request = &request.resolved()?;
    let again = source.again();
    let before = again.clone();
    let as_before = before.map(|again| move |_: &mut Observer<'_>| again.open_as_before());
    let mut summary = match skipping(library, source, request, observer, as_before) {
        Err(error) if error.is_of_type() => {
            let Some(again) = again else {
                return Err(error);
            };
            let mut source = reopen(again.clone(), observer)?;
            let from_all = |observer: &mut Observer<'_>| reopen(again, observer);
            Summary {
                why_reread: Some(error.to_string()),
                ..skipping(library, &mut *source, request, observer, Some(from_all))?
            }
        }
        loaded => loaded?,
    };
    summary.time = begin.elapsed();
    Ok(summary)
}

/// Loads every row unless one does not go with the types. Rows that are to be skipped because of their keys are few
/// or none, as a rule; so the load begins as if there were none, and again where there is one.
fn skipping(
    library: &Arc<Library>,
    source: &mut dyn Source,
    request: &Request,
    observer: &mut Observer<'_>,
    again: Option<impl FnOnce(&mut Observer<'_>) -> Result<Box<dyn Source>, LoadError>>,
) -> Result<Summary, LoadError> {
    let hopeful = request.expecting_unique(again.is_some());
    let loaded = attempt(library, source, &hopeful, observer);
    match (loaded, again) {
        (Err(error), Some(again)) if hopeful.expects_unique && error.is_of_uniqueness() => {
            let mut source = again(observer)?;
            attempt(library, &mut *source, request, observer)
        }
        (loaded, _) => loaded,
    }
}

fn attempt(
    library: &Arc<Library>,
    source: &mut dyn Source,
    request: &Request,
    observer: &mut Observer<'_>,
) -> Result<Summary, LoadError> {
    let typing = typing(&*source, request);
    source.set_typing(&typing);
    load_once(library, source, request, observer)
}

/// Chooses types from all rows; the observer may end that.
fn reopen(again: Again, observer: &mut Observer<'_>) -> Result<Box<dyn Source>, LoadError> {
    let stop = Arc::new(AtomicBool::new(false));
    let progress = Progress::new(Phase::Types);
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| again.open(&stop));
        loop {
            if !observer(&progress) {
                stop.store(true, Ordering::Relaxed);
            }
            if opening.is_finished() {
                return opening.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
            std::thread::park_timeout(LOOK);
        }
    })
}

/// Where the type of each column comes from.
fn typing(source: &dyn Source, request: &Request) -> Vec<Typing> {
    let is_reopenable = source.again().is_some();
    let columns = source.columns().iter().zip(&source.info().typed);
    let of = |(column, is_typed): (&Column, &bool)| {
        let types = &request.table.types;
        let is_declared = types.iter().any(|known| same(&known.name, &column.name));
        match request.mode {
            Mode::Append => Typing::Declared,
            _ if is_declared => Typing::Declared,
            _ if *is_typed => Typing::Sampled,
            _ if is_reopenable => Typing::Unseen,
            _ => Typing::Declared,
        }
    };
    columns.map(of).collect()
}
