//! Progress of a run.

use std::collections::HashSet;

use app::words::humanly;
use lab::record::{Purpose, TrialRecord};
use lab::text::one_line;
use report::sql::shortened;
use runner::{Event, Observer};
use tuning::Forecast;

use super::task::Task;

/// A gain that rounds should find, as a fraction.
const LARGE: f64 = 0.1;

/// Displays the events of a run.
pub struct Trials {
    task: Task,
    experiment: String,
    /// Whether the run has no other experiment.
    is_alone: bool,
    /// The problems that were displayed: what is wrong with the work is so with every variant, in every round.
    problems: HashSet<String>,
}

impl Trials {
    /// Makes a display with a bar, or with a line now and then.
    pub fn new(bar: bool) -> Trials {
        let (experiment, problems) = (String::new(), HashSet::new());
        Trials { task: Task::new(bar), experiment, is_alone: false, problems }
    }

    fn trial_ended(&mut self, record: &TrialRecord) {
        let Some(problem) = record.outcome.problem() else { return };
        // The command itself ends with the mistake that keeps everything from being measured.
        if self.is_alone && record.outcome.is_mistake() {
            return;
        }
        let (experiment, variant) = (&record.experiment, &record.variant);
        if self.is_new(format!("{experiment}: {problem}")) {
            let round = record.round + 1;
            // The only variant has no name.
            let variant = match variant.as_str() {
                "" => String::new(),
                name => format!(" with {name}"),
            };
            let line = format!("{experiment}, round {round}{variant}: {problem}");
            self.task.line(&format!("  {}", one_line(&line)));
        }
    }

    /// Returns whether a problem is displayed for the first time.
    fn is_new(&mut self, problem: String) -> bool {
        self.problems.insert(problem)
    }
}

/// Returns what is being measured. The only variant has no name.
fn beginning(experiment: &str, round: u32, variant: &str) -> String {
    let round = round + 1;
    match &*shortened(&one_line(variant), 80) {
        "" => format!("{experiment}, round {round}"),
        name => format!("{experiment}, round {round}: {name}"),
    }
}

impl Observer for Trials {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::ExperimentBegins { planned, number, of, purpose } => {
                self.experiment = planned.key.clone();
                self.is_alone = of == 1;
                let question = match purpose {
                    Purpose::Search => "the search for the fastest settings",
                    Purpose::Ablation => "what each setting contributes (ablation)",
                    Purpose::Advice => "gains from application changes",
                    Purpose::Confirmation => "the best variants, measured again (confirmation run)",
                    _ => &planned.experiment.question,
                };
                let question = one_line(question);
                let line = format!("[{number}/{of}] {}: {question}", self.experiment);
                self.task.step_line(&line);
            }
            Event::TrialBegins { round, variant, left_s, .. } => {
                let message = beginning(&self.experiment, round, variant);
                let to_go = left_s.map(|left_s| format!(", {} to go", humanly(left_s)));
                self.task.now_and_then(&format!("  {message}{}", to_go.unwrap_or_default()));
                self.task.update(message, left_s);
            }
            Event::Phase(_) => {}
            Event::Forecast(forecast) => self.task.line(&forecast_line(&forecast)),
            Event::TrialEnded(record) => self.trial_ended(record),
            Event::ExperimentEnds { planned, reason } => {
                self.task.step_line(&format!("  {} ended: {reason}", planned.key));
            }
        }
    }
}

/// Returns which gains the rounds after a search can find, given the noise of trials.
fn forecast_line(forecast: &Forecast) -> String {
    let noise = forecast.noise * 100.0;
    let found = forecast.detectable * 100.0;
    if !found.is_finite() {
        return format!(
            "  warning: trials differ by {noise:.1} %, and the time limit leaves too few rounds to measure a gain afterwards"
        );
    }
    let line = format!(
        "trials differ by {noise:.1} %: the {} rounds after the search will find gains of {found:.1} %",
        forecast.rounds
    );
    if forecast.detectable <= LARGE {
        return format!("  {line}");
    }
    format!("  warning: {line}, and miss smaller ones; longer trials or more time find those")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_that_is_too_large_for_the_time_is_a_warning() {
        let line =
            |rounds, detectable| forecast_line(&Forecast { noise: 0.04, rounds, detectable });
        assert_eq!(
            line(7, 0.08),
            "  trials differ by 4.0 %: the 7 rounds after the search will find gains of 8.0 %"
        );
        assert!(line(7, 0.3).contains("warning: trials differ by 4.0 %"));
        assert!(line(1, f64::INFINITY).contains("too few rounds"));
    }

    #[test]
    fn a_variant_without_a_name_leaves_no_colon() {
        assert_eq!(beginning("measure", 0, ""), "measure, round 1");
        assert_eq!(beginning("measure", 1, "a=1"), "measure, round 2: a=1");
        assert!(beginning("tune", 1, &"CREATE INDEX i ON t(a); ".repeat(20)).len() < 110);
    }

    #[test]
    fn a_problem_is_displayed_once_and_not_in_every_round() {
        let mut progress = Trials::new(false);
        assert!(progress.is_new("x a: failed".to_owned()));
        assert!(!progress.is_new("x a: failed".to_owned()));
        assert!(progress.is_new("x b: failed".to_owned()));
    }
}
