//! How to repeat a run.

use tuning::Analysis;

use crate::document::{Block, Code, Kind, Section, Sentence};

/// The command, and what makes its answers the same.
///
/// It takes the plan from the folder of the run: an experiment of the command line, of a search or of the user's own file
/// has no name by which another command could plan it.
pub(super) fn sections(analysis: &Analysis) -> Vec<Section> {
    let plan = &analysis.plan;
    let planned = Sentence::from("RUN is the folder of this run, by default ")
        .and_code(format!("pragmark-runs/{}", plan.id))
        .words(format!(
            ", planned {} by pragmark {}. The same seed gives the same data and the same order of trials; the plan \
             with its claims and bounds was written to ",
            plan.created, plan.pragmark
        ))
        .and_code("run.json")
        .words(" before the first trial.");
    // The plan does not keep the address of a server, because it may hold a password.
    let postgres = if plan.postgres_given { " --postgres URI" } else { "" };
    let text = format!("pragmark run --repeat RUN{postgres}");
    vec![Section::new(
        "repeat",
        Kind::Background,
        "To repeat this run",
        vec![Block::Code(Code { language: "sh", text }), Block::small(planned)],
    )]
}
