//! Whether the settings of the new side lose more in a crash than those of the base.

use super::{Check, MayLose, Status};
use crate::tier::Class;

/// The check of two classes; none where anything may be lost. `same_settings` says that no setting differs that decides
/// what a crash can destroy, so that nothing needs to be known of either.
pub fn safety(may_lose: MayLose, base: Class, new: Class, same_settings: bool) -> Option<Check> {
    let (allowed, is_fine) = match may_lose {
        MayLose::Anything => return None,
        MayLose::Nothing => (
            "lose nothing that the base keeps",
            new.is_at_least_as_safe_as(base),
        ),
        MayLose::Recent => (
            "lose recent transactions at most",
            match new.is_measured() {
                true if new.loses_recent_at_most() => Some(true),
                true => new.is_at_least_as_safe_as(base),
                false => None,
            },
        ),
    };
    let (status, words) = match (same_settings, is_fine) {
        (true, _) => (Status::Passed, "the settings that decide it are the same"),
        (_, Some(true)) => (
            Status::Passed,
            "as safe as the base, as crash images showed",
        ),
        (_, Some(false)) => (
            Status::Failed,
            "the new settings lose more than those of the base",
        ),
        (_, None) => (
            Status::Undecided,
            "the safety tier of these settings is not known",
        ),
    };
    Some(Check::of("safety", allowed, status, words.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::Loss;

    fn class(power: Loss) -> Class {
        Class {
            process: Some(Loss::Nothing),
            power: Some(power),
            uncrashed: false,
        }
    }

    fn status(may_lose: MayLose, base: Class, new: Class) -> Option<Status> {
        safety(may_lose, base, new, false).map(|check| check.status)
    }

    #[test]
    fn a_worse_tier_fails_unless_it_may_be_lost() {
        let (safe, recent) = (class(Loss::Nothing), class(Loss::RecentTransactions));
        let unknown = Class::default();
        assert_eq!(status(MayLose::Nothing, safe, recent), Some(Status::Failed));
        assert_eq!(status(MayLose::Nothing, recent, safe), Some(Status::Passed));
        assert_eq!(status(MayLose::Recent, safe, recent), Some(Status::Passed));
        let corrupt = class(Loss::Corruption);
        assert_eq!(status(MayLose::Recent, safe, corrupt), Some(Status::Failed));
        assert_eq!(
            status(MayLose::Recent, corrupt, corrupt),
            Some(Status::Passed)
        );
        assert_eq!(status(MayLose::Anything, safe, corrupt), None);
        assert_eq!(
            status(MayLose::Nothing, safe, unknown),
            Some(Status::Undecided)
        );
        let same = safety(MayLose::Nothing, unknown, unknown, true).unwrap();
        assert_eq!(same.status, Status::Passed);
    }
}
