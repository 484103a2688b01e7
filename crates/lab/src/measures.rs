//! The subject that a workload measures, which decides how its trials are planned, judged and reported.

use crate::tier;

/// Name of the workload that replays a trace.
pub const REPLAY: &str = "replay";

/// The subject of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measures {
    /// Speed of generated work or of the user's own SQL.
    #[default]
    Speed,
    /// Speed of recorded statements, and whether they do the same as in the recording.
    Replay,
    /// Safety under storage models: databases that a simulated crash may leave.
    CrashImages,
    /// Safety of processes that are killed.
    Kills,
    /// Safety of two connections that work at the same time.
    Schedules,
}

impl Measures {
    /// Returns the subject of the workload of this name. A record of a run holds only the name; the catalogue declares
    /// the same for every workload.
    pub fn of(workload: &str) -> Measures {
        match workload {
            REPLAY => Measures::Replay,
            tier::WORKLOAD => Measures::CrashImages,
            tier::KILL => Measures::Kills,
            tier::SCHEDULES => Measures::Schedules,
            _ => Measures::Speed,
        }
    }

    /// Returns whether trials measure what accidents destroy instead of speed.
    pub fn is_safety(self) -> bool {
        matches!(self, Measures::CrashImages | Measures::Kills | Measures::Schedules)
    }

    /// Returns whether trials work on a disk. The others work in memory and tell nothing about a disk.
    pub fn uses_disk(self) -> bool {
        !matches!(self, Measures::CrashImages | Measures::Schedules)
    }
}
