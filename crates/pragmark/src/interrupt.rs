//! Ctrl-C and termination signals: asked for once, they stop the run after cleaning up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// A flag that becomes true at Ctrl-C, SIGTERM or SIGHUP.
pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    ctrlc::set_handler(move || raised.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::unusable(format!("cannot watch for Ctrl-C: {error}")))?;
    Ok(flag)
}
