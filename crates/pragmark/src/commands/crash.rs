//! `pragmark crash`.

use crate::cli::CrashArgs;
use crate::commands::accidents::{self, Common};
use crate::failure::{Exit, Failure};

/// Carries it out.
pub fn execute(args: &CrashArgs) -> Result<Exit, Failure> {
    if args.accidents.any() {
        let common = Common {
            engine: args.engine.parse().map_err(Failure::usage)?,
            seed: args.seed,
            out: args.out.as_deref(),
            settings: [
                args.journal_mode.clone(),
                args.synchronous.clone(),
                args.locking_mode.clone(),
            ],
        };
        return accidents::execute(&args.accidents, &common);
    }
    Err(Failure::usage("name an accident: --kill or --schedules"))
}
