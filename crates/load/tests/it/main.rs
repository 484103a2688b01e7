//! Tests of the loader as a whole. They are one program, because each program links everything anew.

mod accidents;
mod crash;
mod faults;
mod fuzz;
mod inputs;
mod round_trip;
mod strategies;
mod unload;

use std::sync::Arc;

use engine::{Library, Source};

/// The built-in library, loaded once by each thread.
fn library() -> Arc<Library> {
    thread_local! {
        static LIBRARY: Arc<Library> = Arc::new(Library::load(&Source::Embedded).unwrap());
    }
    LIBRARY.with(Arc::clone)
}
