//! Ctrl-C and termination signals: asked for once, they stop the run after cleaning up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::failure::Failure;

/// The flag, once it is watched for: a process can have one handler only.
static FLAG: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// A flag that becomes true at Ctrl-C, SIGTERM or SIGHUP; the same however often it is asked for.
pub fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let mut known = FLAG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(flag) = known.as_ref() {
        return Ok(Arc::clone(flag));
    }
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    ctrlc::set_handler(move || raised.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::unusable(format!("cannot watch for Ctrl-C: {error}")))?;
    *known = Some(Arc::clone(&flag));
    Ok(flag)
}
