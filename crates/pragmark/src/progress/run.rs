//! Progress of a run.

use lab::record::{Purpose, TrialRecord};
use lab::text::one_line;
use lab::tier::Safety;
use lab::trial::Outcome;
use runner::{Event, Observer};

use super::{Task, humanly};

/// Displays the events of a run.
pub struct Progress {
    task: Task,
    experiment: String,
    /// The experiment and round of the last line with the time to go.
    timed: Option<(String, u32)>,
}

impl Progress {
    /// A bar where `bar` is true, plain lines otherwise.
    pub fn new(bar: bool) -> Progress {
        Progress {
            task: Task::new(bar),
            experiment: String::new(),
            timed: None,
        }
    }

    fn trial_begins(&mut self, round: u32, variant: &str, left_s: Option<f64>) {
        let message = format!("{}, round {}: {variant}", self.experiment, round + 1);
        self.task.update(message, left_s);
        if let Some(left_s) = left_s
            && !self.task.has_bar()
            && self.is_first_of_round(round)
        {
            self.task.line(&format!("{} to go", humanly(left_s)));
        }
    }

    /// Whether the time to go was not printed in this round yet; now it is.
    fn is_first_of_round(&mut self, round: u32) -> bool {
        let begins = Some((self.experiment.clone(), round));
        let first = self.timed != begins;
        self.timed = begins;
        first
    }

    fn trial_ended(&mut self, record: &TrialRecord) {
        let is_safety = matches!(
            &record.outcome,
            Outcome::Measured(it) if !it.safety.is_empty() || it.schedules.is_some()
        );
        if record.purpose == Purpose::Tier || is_safety {
            return self.tier_ended(record);
        }
        let (round, variant) = (record.round + 1, &record.variant);
        let came_of_it = match record.outcome.problem() {
            Some(problem) => format!(": {problem}"),
            None if self.task.has_bar() => return,
            None => format!("{}: {:.2} s", role(record), record.wall_s),
        };
        self.task.line(&format!(
            "  {} round {round} {variant}{came_of_it}",
            record.experiment
        ));
    }

    fn tier_ended(&mut self, record: &TrialRecord) {
        if !self.task.has_bar() || record.outcome.problem().is_some() {
            let safety = Safety::of_outcome(&record.outcome);
            self.task.line(&format!("  {}: {safety}", record.variant));
        }
    }
}

fn role(record: &TrialRecord) -> &'static str {
    match (record.role, &record.outcome) {
        (lab::design::Role::AaCheck, Outcome::Measured(_)) => " (A/A check)",
        (lab::design::Role::Baseline, Outcome::Measured(_)) => " (baseline)",
        _ => "",
    }
}

impl Observer for Progress {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::ExperimentBegins {
                planned,
                number,
                of,
                purpose,
            } => {
                self.experiment = planned.key.clone();
                let question = match purpose {
                    Purpose::Confirmation => "the best variants, measured again (confirmation run)",
                    _ => &planned.experiment.question,
                };
                let question = one_line(question);
                self.task
                    .line(&format!("[{number}/{of}] {}: {question}", self.experiment));
            }
            Event::TrialBegins {
                round,
                variant,
                left_s,
                ..
            } => self.trial_begins(round, variant, left_s),
            Event::Phase(_) => {}
            Event::TrialEnded(record) => self.trial_ended(record),
            Event::ExperimentEnds { planned, reason } => {
                self.task
                    .line(&format!("  {} ended: {reason}", planned.key));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_go_is_printed_once_a_round_and_as_soon_as_it_is_known() {
        let mut progress = Progress::new(false);
        let mut printed = |round: u32, left_s: Option<f64>| {
            let before = progress.timed.clone();
            progress.trial_begins(round, "variant", left_s);
            progress.timed != before
        };
        assert!(!printed(0, None));
        assert!(printed(0, Some(9.0)));
        assert!(!printed(0, Some(8.0)));
        assert!(printed(1, Some(7.0)));
    }
}
