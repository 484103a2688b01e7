//! `pragmark guard`: the gate for continuous integration.

use app::Result;
use app::guard::{GuardRequest, guard};
use clap::ValueEnum;
use lab::guard::Status;
use report::render;

use crate::exit::Exit;
use crate::output::{terminal_style, write_text};
use crate::terminal::Terminal;

/// The verdict on an undecided budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Undecided {
    /// No failure: exit code 0.
    Ok,
    /// A failure: exit code 4.
    Fail,
}

/// Measures both sides and judges. Prints the result, and writes it in all forms into the folder of the record.
pub fn execute(request: &GuardRequest, undecided: Option<Undecided>) -> Result<Exit> {
    let guarded = guard(request, &Terminal::lines())?;
    let document = guarded.document();
    if let Some(folder) = &request.out {
        for (name, text) in [
            ("summary.md", render::markdown(&document)),
            ("report.html", app::report::html(&document)?),
            ("guard.json", guarded.json()?),
            ("junit.xml", report::junit(&guarded.gate)),
        ] {
            write_text(Some(&folder.join(name)), &text)?;
        }
    }
    write_text(None, &render::terminal(&document, terminal_style()))?;
    Ok(exit(guarded.gate.status(), undecided))
}

fn exit(status: Status, undecided: Option<Undecided>) -> Exit {
    match (status, undecided) {
        (Status::Passed, _) | (Status::Undecided, Some(Undecided::Ok)) => Exit::Success,
        (Status::Failed, _) | (Status::Undecided, Some(Undecided::Fail)) => Exit::BeyondBudget,
        (Status::Undecided, None) => Exit::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_undecided_is_what_the_user_says() {
        let undecided = |what| exit(Status::Undecided, what);
        assert_eq!(undecided(None), Exit::Undecided);
        assert_eq!(undecided(Some(Undecided::Ok)), Exit::Success);
        assert_eq!(undecided(Some(Undecided::Fail)), Exit::BeyondBudget);
        assert_eq!(exit(Status::Failed, Some(Undecided::Ok)), Exit::BeyondBudget);
        assert_eq!(exit(Status::Passed, Some(Undecided::Fail)), Exit::Success);
    }
}
