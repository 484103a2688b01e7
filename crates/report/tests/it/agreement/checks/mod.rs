//! What must hold of a report, whatever was measured.

mod answers;
mod effects;
mod figures;
mod variants;

use crate::agreement::reading::{Chapter, Reading};

/// What a report says that its figures do not; empty where all agrees.
pub fn faults(reading: &Reading<'_>) -> Vec<String> {
    let mut faults = figures::faults(reading);
    faults.extend(answers::faults(reading));
    let of_chapter =
        [variants::faults as fn(&Chapter<'_>) -> Vec<String>, effects::faults, answers::of_chapter];
    for chapter in reading.chapters() {
        let found = of_chapter.iter().flat_map(|check| check(&chapter));
        faults.extend(found.map(|it| format!("{}: {it}", chapter.experiment.key)));
    }
    faults
}
