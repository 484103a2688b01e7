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
    let command = match plan.postgres_given {
        // Its address may hold a password, so that the plan does not keep it.
        true => "pragmark run --repeat RUN --postgres URI",
        false => "pragmark run --repeat RUN",
    };
    vec![Section::new(
        "repeat",
        Kind::Background,
        "To repeat this run",
        vec![Block::Code(Code { language: "sh", text: command.to_owned() }), Block::small(planned)],
    )]
}
