//! The display of one task: a bar with time to go on a terminal, elsewhere a line every ten seconds at most, so that the log of a
//! run of hours stays readable.

use std::cell::Cell;
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use app::words::humanly;
use indicatif::{ProgressBar, ProgressStyle};
use lab::text::one_line;

/// How often the elapsed time is redrawn.
const TICK: Duration = Duration::from_millis(250);

/// The bar of a task whose number of steps is unknown, and of one where it is known.
const TEMPLATES: [&str; 2] = [
    "{spinner} {elapsed} elapsed{prefix:.bold}  {wide_msg}",
    "{elapsed} elapsed{prefix:.bold}  {bar:20}  {wide_msg}",
];

/// The shortest time between two lines of progress.
const PAUSE: Duration = Duration::from_secs(10);

/// Returns whether standard error can display a bar. A dumb terminal cannot move its cursor.
pub fn is_bar_wanted() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_dumb && stderr().is_terminal()
}

/// The display of one task, removed when dropped.
pub struct Task {
    bar: Option<ProgressBar>,
    begin: Instant,
    /// When the last line of progress was printed.
    last_line: Cell<Option<Instant>>,
}

impl Task {
    /// Makes a display with a bar, or with lines only.
    pub fn new(with_bar: bool) -> Task {
        let bar = with_bar.then(ProgressBar::new_spinner);
        if let Some(bar) = &bar {
            set_template(bar, TEMPLATES[0]);
            bar.enable_steady_tick(TICK);
        }
        Task { bar, begin: Instant::now(), last_line: Cell::new(None) }
    }

    /// Prints how far the task is, unless a bar shows it or the last such line was printed just before.
    pub fn now_and_then(&self, text: &str) {
        let now = Instant::now();
        if self.bar.is_none() && is_due(self.last_line.get(), now) {
            self.last_line.set(Some(now));
            self.line(text);
        }
    }

    /// Prints that a step begins or has ended: always above a bar, elsewhere now and then.
    pub fn step_line(&self, text: &str) {
        match self.bar {
            Some(_) => self.line(text),
            None => self.now_and_then(text),
        }
    }

    /// Prints a line, such as a result or a warning, above the bar.
    pub fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(lab::text::lines(text)),
            None => tell!("{text}"),
        }
    }

    /// Sets the bar's message, and the time to go where it is known.
    pub fn update(&self, message: String, to_go_s: Option<f64>) {
        if let Some(bar) = &self.bar {
            let to_go = to_go_s.map(|seconds| format!(", {} to go", humanly(seconds)));
            bar.set_prefix(to_go.unwrap_or_default());
            bar.set_message(one_line(&message).into_owned());
        }
    }

    /// Sets the bar's message and its share of steps, from whose pace the time to go follows.
    pub fn step(&self, done: u64, steps: u64, message: String) {
        let Some(bar) = &self.bar else { return };
        if bar.length().is_none() {
            set_template(bar, TEMPLATES[1]);
        }
        bar.set_length(steps);
        bar.set_position(done);
        self.update(message, to_go_s(self.begin.elapsed(), done, steps));
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl app::Task for Task {
    fn now_and_then(&self, line: &str) {
        self.now_and_then(line);
    }

    fn step(&self, line: &str) {
        self.step_line(line);
    }

    fn line(&self, line: &str) {
        self.line(line);
    }

    fn update(&self, message: String) {
        self.update(message, None);
    }
}

fn set_template(bar: &ProgressBar, template: &str) {
    // The templates are fixed; the tests check that they are valid.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// Returns whether a line of progress may follow the last one.
fn is_due(last: Option<Instant>, now: Instant) -> bool {
    last.is_none_or(|last| now.duration_since(last) >= PAUSE)
}

/// Returns the seconds that the remaining steps take at the pace of those that are done.
fn to_go_s(elapsed: Duration, done: u64, steps: u64) -> Option<f64> {
    let left = steps.checked_sub(done)? as f64;
    (done > 0).then(|| elapsed.as_secs_f64() / done as f64 * left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_progress_keep_their_distance() {
        let now = Instant::now();
        assert!(is_due(None, now));
        assert!(!is_due(Some(now), now + Duration::from_secs(9)));
        assert!(is_due(Some(now), now + PAUSE));
    }

    #[test]
    fn the_templates_are_valid() {
        for template in TEMPLATES {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn the_time_to_go_follows_from_the_pace() {
        let elapsed = Duration::from_secs(10);
        assert_eq!(to_go_s(elapsed, 0, 4), None);
        assert_eq!(to_go_s(elapsed, 1, 4), Some(30.0));
        assert_eq!(to_go_s(elapsed, 4, 4), Some(0.0));
        assert_eq!(to_go_s(elapsed, 5, 4), None);
    }
}
