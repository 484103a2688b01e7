//! Tiers without their counts, and how they compare: accident by accident.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Accident, Loss};

/// What each accident takes in ordinary commits. The default is one of which nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Class {
    /// When the process dies; none where it was not measured.
    pub process: Option<Loss>,
    /// When power is lost; none where it was not measured.
    pub power: Option<Loss>,
    /// Whether no accident is needed: two connections that meet at the wrong moment corrupt the database.
    pub uncrashed: bool,
}

impl Class {
    /// What this accident takes; none where it was not measured.
    pub fn loss(self, accident: Accident) -> Option<Loss> {
        match accident {
            Accident::Process => self.process,
            Accident::Power => self.power,
        }
    }

    /// Whether both accidents were measured.
    pub fn is_measured(self) -> bool {
        self.process.is_some() && self.power.is_some()
    }

    /// Whether it is at least as safe as another: neither accident takes more. None where that is not
    /// known; what was not measured is neither worse nor safer.
    pub fn is_at_least_as_safe_as(self, other: Class) -> Option<bool> {
        if self.uncrashed != other.uncrashed {
            let known = self.uncrashed || self.is_measured();
            return known.then_some(other.uncrashed);
        }
        let pairs = Accident::ALL.map(|accident| self.loss(accident).zip(other.loss(accident)));
        let is_worse = pairs.iter().flatten().any(|(own, other)| own > other);
        match is_worse {
            true => Some(false),
            false => pairs.iter().all(Option::is_some).then_some(true),
        }
    }

    /// Whether neither accident takes anything that was acknowledged.
    pub fn loses_nothing(self) -> bool {
        let nothing = Some(Loss::Nothing);
        (self.process, self.power, self.uncrashed) == (nothing, nothing, false)
    }

    /// Whether a dying process takes nothing, and a power cut at most recent transactions.
    pub fn loses_recent_at_most(self) -> bool {
        let is_recent = |loss| loss <= Loss::RecentTransactions;
        self.process == Some(Loss::Nothing) && self.power.is_some_and(is_recent) && !self.uncrashed
    }

    /// An order of all classes, the safest first: by power cuts, then by dying processes; what was not
    /// measured comes last.
    pub fn order(self) -> impl Ord {
        let last = |loss: Option<Loss>| (loss.is_none(), loss);
        (self.uncrashed, last(self.power), last(self.process))
    }
}
