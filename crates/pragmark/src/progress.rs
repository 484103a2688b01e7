//! Progress of a run: a bar with time to go on a terminal, plain lines elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lab::record::{TierRecord, TrialRecord};
use lab::tier::{Safety, TierSet};
use lab::trial::Outcome;
use runner::{Event, Observer};

/// Shows what happens during a run on standard error.
pub struct Progress {
    display: Display,
    experiment: String,
    question: String,
    /// The experiment and round of which plain lines have said the time to go.
    told: Option<(String, u32)>,
    told_of_tiers: bool,
}

enum Display {
    Bar(ProgressBar),
    Lines,
}

impl Progress {
    /// A bar where `bar` is true, plain lines otherwise.
    pub fn new(bar: bool) -> Progress {
        let display = if bar {
            Display::Bar(spinner())
        } else {
            Display::Lines
        };
        Progress {
            display,
            experiment: String::new(),
            question: String::new(),
            told: None,
            told_of_tiers: false,
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        match &self.display {
            Display::Bar(bar) => bar.println(text),
            Display::Lines => tell!("{text}"),
        }
    }

    fn trial_begins(&mut self, round: u32, variant: &str, left_s: Option<f64>) {
        let to_go = left_s.map(|seconds| format!("{} to go", humanly(seconds)));
        if let Display::Bar(bar) = &self.display {
            bar.set_prefix(to_go.unwrap_or_default());
            bar.set_message(format!(
                "{}, round {}: {variant}",
                self.experiment,
                round + 1
            ));
        } else if let Some(to_go) = to_go
            && self.is_first_to_tell(round)
        {
            self.line(&to_go);
        }
    }

    /// Whether nothing has been told of this round yet; now it is.
    fn is_first_to_tell(&mut self, round: u32) -> bool {
        let begins = Some((self.experiment.clone(), round));
        let first = self.told != begins;
        self.told = begins;
        first
    }

    fn trial_ended(&mut self, record: &TrialRecord) {
        let problem = record.outcome.problem();
        match (&self.display, problem) {
            (_, Some(problem)) => {
                self.line(&format!(
                    "  {} round {} {}: {problem}",
                    record.experiment,
                    record.round + 1,
                    record.variant
                ));
            }
            (Display::Lines, None) => self.line(&format!(
                "  {} round {} {}{}: {:.2} s",
                record.experiment,
                record.round + 1,
                record.variant,
                role(record),
                record.wall_s
            )),
            (Display::Bar(_), None) => {}
        }
    }
}

impl Progress {
    fn tier_begins(&mut self, set: &TierSet, number: usize, of: usize, left_s: f64) {
        if !std::mem::replace(&mut self.told_of_tiers, true) {
            self.line("safety tiers: what crashes can destroy with each set of settings");
        }
        if let Display::Bar(bar) = &self.display {
            bar.set_prefix(format!("{} to go", humanly(left_s)));
            bar.set_message(format!("safety tier {number} of {of}: {set}"));
        }
    }

    fn tier_ended(&mut self, record: &TierRecord) {
        let tier = Safety::of_outcome(&record.outcome).tier;
        let lines = matches!(self.display, Display::Lines);
        if lines || record.outcome.problem().is_some() {
            self.line(&format!("  {}: {tier}", record.set));
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

/// What the bar shows.
const TEMPLATE: &str = "{spinner} {elapsed} gone  {prefix:.bold}  {wide_msg}";

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    // The template is fixed, so that it parses is checked by the tests.
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// A time to go as a person would say it.
pub fn humanly(seconds: f64) -> String {
    match seconds {
        below if below < 1.0 => "less than a second".to_owned(),
        below if below < 90.0 => format!("about {below:.0} s"),
        below if below < 5_400.0 => format!("about {:.0} min", below / 60.0),
        more => format!("about {:.1} h", more / 3_600.0),
    }
}

impl Observer for Progress {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::ExperimentBegins {
                planned,
                number,
                of,
                again,
            } => {
                self.experiment = planned.key.clone();
                self.question = match again {
                    true => "the best of many variants, measured again".to_owned(),
                    false => planned.experiment.question.clone(),
                };
                self.line(&format!(
                    "[{number}/{of}] {}: {}",
                    self.experiment, self.question
                ));
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
                self.line(&format!("  {} ended: {reason}", planned.key));
            }
            Event::TierBegins {
                set,
                number,
                of,
                left_s,
            } => self.tier_begins(set, number, of, left_s),
            Event::TierEnded(record) => self.tier_ended(record),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_go_are_rounded_to_what_a_person_would_say() {
        assert_eq!(humanly(0.2), "less than a second");
        assert_eq!(humanly(42.4), "about 42 s");
        assert_eq!(humanly(600.0), "about 10 min");
        assert_eq!(humanly(9_000.0), "about 2.5 h");
    }

    #[test]
    fn the_template_of_the_bar_parses() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }

    #[test]
    fn the_time_to_go_is_told_once_a_round_and_as_soon_as_it_is_known() {
        let mut progress = Progress::new(false);
        let mut told = |round: u32, left_s: Option<f64>| {
            let before = progress.told.clone();
            progress.trial_begins(round, "variant", left_s);
            progress.told != before
        };
        assert!(!told(0, None));
        assert!(told(0, Some(9.0)));
        assert!(!told(0, Some(8.0)));
        assert!(told(1, Some(7.0)));
    }
}
