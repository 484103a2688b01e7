//! The names on the server. An agent publishes below subjects that end with its own name, so that a server can be
//! configured to let it publish nothing else.

/// The stream of the blocks that wait for an agent.
pub(crate) const WORK: &str = "PRAGMARK_WORK";
/// The stream of the runs.
pub(crate) const RUNS: &str = "PRAGMARK_RUNS";
/// The key-value bucket of the agents that are present and the runs that are recorded.
pub(crate) const AGENTS: &str = "PRAGMARK_AGENTS";

/// Text as one token of a subject: letters, digits, `-`, `_` and `@`.
pub(crate) fn token(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_@".contains(c);
    text.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}

/// Returns the stream of the outcomes of a run.
pub(crate) fn results_stream(run: &str) -> String {
    format!("PRAGMARK_RESULTS_{}", token(run))
}

/// Returns every subject of the outcomes of a run.
pub(crate) fn all_results(run: &str) -> String {
    format!("pragmark.results.{}.>", token(run))
}

/// Returns the subjects of the outcomes of a group.
pub(crate) fn group_results(run: &str, group: &str) -> String {
    format!("pragmark.results.{}.{}.>", token(run), token(group))
}

/// Returns the subjects of a block's outcomes, whichever trials it had and whichever agent executed it.
pub(crate) fn block_results(run: &str, group: &str, block: &str) -> String {
    let [run, group, block] = [run, group, block].map(token);
    format!("pragmark.results.{run}.{group}.block.{block}.>")
}

/// Returns the subject of a block's outcomes by one agent, with the ticket of the work that it took.
pub(crate) fn result(run: &str, group: &str, block: &str, ticket: &str, agent: &str) -> String {
    let [run, group, block] = [run, group, block].map(token);
    format!("pragmark.results.{run}.{group}.block.{block}.{ticket}.{agent}")
}

/// Returns the ticket in the subject of a block's outcomes.
pub(crate) fn ticket_of(subject: &str) -> &str {
    subject.rsplit('.').nth(1).unwrap_or_default()
}

/// Returns the subject of an agent's machine report for a run, one each time that the agent is started; `*` for any
/// agent.
pub(crate) fn machine(run: &str, group: &str, instance: &str, agent: &str) -> String {
    let [run, group] = [run, group].map(token);
    format!("pragmark.results.{run}.{group}.machine.{instance}.{agent}")
}

/// Returns the subject of a group's plan.
pub(crate) fn part(run: &str, group: &str) -> String {
    let [run, group] = [run, group].map(token);
    format!("pragmark.results.{run}.{group}.part")
}

/// Returns the subjects of a group's work.
pub(crate) fn group_work(run: &str, group: &str) -> String {
    format!("pragmark.work.{}.{}.>", token(run), token(group))
}

/// Returns the subjects of a run's work.
pub(crate) fn run_work(run: &str) -> String {
    format!("pragmark.work.{}.>", token(run))
}

/// Returns the subject of a waiting block. The ticket distinguishes the work from other work on the same block, and does not
/// say why it is done again.
pub(crate) fn work(run: &str, group: &str, block: &str, ticket: &str) -> String {
    let [run, group, block] = [run, group, block].map(token);
    format!("pragmark.work.{run}.{group}.{block}.{ticket}")
}

/// Returns the consumer from which the agents of a group take their work.
pub(crate) fn consumer(run: &str, group: &str) -> String {
    format!("{}-{}", token(run), token(group))
}

/// Returns a run.
pub(crate) fn run(run: &str) -> String {
    format!("pragmark.runs.{}", token(run))
}

/// The beginning of the keys of agents in their bucket.
pub(crate) const AGENT: &str = "agents.";

/// Returns the key of an agent that is present.
pub(crate) fn agent(name: &str) -> String {
    format!("{AGENT}{}", token(name))
}

/// Returns the key under which the bucket has the progress of a run.
pub(crate) fn progress(run: &str) -> String {
    format!("progress.{}", token(run))
}

/// Returns where an agent is asked to end after its block.
pub(crate) fn drain(agent: &str) -> String {
    format!("pragmark.drain.{}", token(agent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_can_leave_its_part_of_a_subject() {
        let subject = result("2026.1", "a b", "rounds-x.y>-0-0", "abc", "me");
        assert_eq!(subject, "pragmark.results.2026_1.a_b.block.rounds-x_y_-0-0.abc.me");
        assert_eq!(work("r", "*", "b", "h"), "pragmark.work.r._.b.h");
        assert_eq!(results_stream("20261122-1.2"), "PRAGMARK_RESULTS_20261122-1_2");
    }
}
