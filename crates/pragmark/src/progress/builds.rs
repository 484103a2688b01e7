//! Progress of building engines.

use std::time::Instant;

use app::words::humanly;
use engine::build::BuildEvent;

use super::task::Task;

/// Displays which engines are built; those that exist already are not mentioned.
pub struct Builds {
    task: Task,
    /// Seconds that each build still takes; zero for those that are there.
    left_s: Vec<f64>,
    began: Vec<Option<Instant>>,
    jobs: usize,
    missing: usize,
    done: usize,
    /// Seconds that the finished builds should have taken, and did.
    should_and_did_s: (f64, f64),
}

impl Builds {
    /// Makes a display of builds, `jobs` at a time. Each will probably take as many seconds as `expected_s` has for it, 0 for
    /// those that exist.
    pub fn new(expected_s: Vec<f64>, jobs: usize, bar: bool) -> Builds {
        let missing = expected_s.iter().filter(|seconds| **seconds > 0.0).count();
        let progress = Builds {
            task: Task::new(bar && missing > 0),
            began: vec![None; expected_s.len()],
            left_s: expected_s,
            jobs: jobs.clamp(1, missing.max(1)),
            missing,
            done: 0,
            should_and_did_s: (0.0, 0.0),
        };
        if missing > 0 {
            progress.task.line(&format!(
                "building {missing} SQLite {}: {}",
                if missing == 1 { "library" } else { "libraries" },
                humanly(progress.to_go_s())
            ));
        }
        progress
    }

    /// Takes an event.
    pub fn event(&mut self, event: &BuildEvent<'_>) {
        match event {
            BuildEvent::Begins(index, name) => {
                if self.left_s[*index] > 0.0 {
                    self.began[*index] = Some(Instant::now());
                    self.show(format!("compiling {name}"));
                }
            }
            BuildEvent::Done(index, name, built) => {
                if built.is_new {
                    let took = built.kept.provenance.compiled.as_ref();
                    let took = took.map_or(0.0, |compiled| compiled.seconds);
                    self.ended(*index, &format!("{name}: built in {took:.1} s"));
                } else if self.left_s[*index] > 0.0 {
                    self.ended(*index, &format!("{name}: built by another process"));
                }
            }
            BuildEvent::Failed(index, name, error) => {
                let words = error.to_string();
                let first = words.lines().next().unwrap_or_default();
                self.task.line(&format!("  {name}: failed: {first}"));
                self.ended(*index, &format!("{name}: failed"));
            }
        }
    }

    fn ended(&mut self, index: usize, what: &str) {
        if let Some(began) = self.began[index].take() {
            self.should_and_did_s.0 += self.left_s[index];
            self.should_and_did_s.1 += began.elapsed().as_secs_f64();
        }
        self.left_s[index] = 0.0;
        self.done += 1;
        let to_go = match self.missing.saturating_sub(self.done) {
            0 => String::new(),
            _ => format!(", {} to go", humanly(self.to_go_s())),
        };
        let (done, missing) = (self.done, self.missing);
        self.task.step_line(&format!("  [{done}/{missing}] {what}{to_go}"));
        self.show(String::new());
    }

    /// Returns the seconds until the last build ends, if the processors are shared evenly and the machine stays as
    /// fast as the finished builds have shown it to be.
    fn to_go_s(&self) -> f64 {
        let pace = match self.should_and_did_s {
            (should, did) if should > 0.0 => did / should,
            _ => 1.0,
        };
        let left = self.left_s.iter().zip(&self.began).map(|(left, began)| {
            let gone = began.map_or(0.0, |began| began.elapsed().as_secs_f64());
            (left * pace - gone).max(0.0)
        });
        left.sum::<f64>() / self.jobs as f64
    }

    fn show(&self, what: String) {
        self.task.update(what, Some(self.to_go_s()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_time_to_go_is_shared_by_the_jobs_and_leaves_out_what_is_there() {
        let progress = Builds::new(vec![20.0, 0.0, 40.0], 2, false);
        assert_eq!(progress.missing, 2);
        assert!((progress.to_go_s() - 30.0).abs() < 1.0);
        let alone = Builds::new(vec![0.0, 40.0], 8, false);
        assert!((alone.to_go_s() - 40.0).abs() < 1.0);
    }

    #[test]
    fn a_machine_that_is_slower_than_expected_is_taken_into_account() {
        let mut progress = Builds::new(vec![20.0, 20.0], 1, false);
        progress.began[0] = Instant::now().checked_sub(Duration::from_secs(60));
        progress.ended(0, "one");
        assert!((progress.to_go_s() - 60.0).abs() < 1.0);
    }
}
