//! How long and how large a run at a great scale will be, judged by one at a small scale.
//!
//! A pilot runs each variant once at the quick scale; time and size grow with the number of rows. That
//! is a rough judgement (an index that leaves the cache grows dearer than its rows), but one made
//! on the machine itself.

use crate::design::trials_per_round;
use crate::level::{Level, Settings};
use crate::record::PlannedExperiment;
use crate::trial::Outcome;

/// The expected cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Seconds for the fewest rounds.
    pub seconds: f64,
    /// Seconds of the longest single trial.
    pub longest_s: f64,
    /// Bytes of the largest trial: its database twice, for copies, logs and journals.
    pub bytes: f64,
    /// Variants whose pilot was not measured, so that they are not in the figures.
    pub unknown: usize,
}

/// One pilot trial.
#[derive(Clone, Debug)]
pub struct Pilot {
    /// Index of the variant or limit.
    pub index: usize,
    /// How long it took in seconds, process and clean-up included.
    pub wall_s: f64,
    /// How it ended.
    pub outcome: Outcome,
}

/// Predicts the cost of the experiment as planned, after pilots of the same experiment as `piloted`.
pub fn forecast(
    planned: &PlannedExperiment,
    piloted: &PlannedExperiment,
    pilots: &[Pilot],
) -> Forecast {
    let mut forecast = Forecast::default();
    let mut round_s = 0.0;
    for pilot in pilots {
        let Outcome::Measured(measured) = &pilot.outcome else {
            forecast.unknown += 1;
            continue;
        };
        let growth = growth(settings(planned, pilot.index), settings(piloted, pilot.index));
        let trial_s = pilot.wall_s * growth;
        round_s += trial_s;
        forecast.longest_s = forecast.longest_s.max(trial_s);
        let size = |metric: &str| measured.metrics.get(metric).copied().unwrap_or_default();
        let bytes = 2.0 * growth * (size("db_bytes") + size("wal_bytes"));
        forecast.bytes = forecast.bytes.max(bytes);
    }
    // Baselines and A/A checks come on top of one trial for each variant.
    let all = planned.variants.len() + planned.upper_bounds.len();
    let repeated = trials_per_round(all) as f64 / all as f64;
    forecast.seconds = round_s * repeated * f64::from(planned.stopping.rounds);
    forecast
}

fn settings(planned: &PlannedExperiment, index: usize) -> &Settings {
    match index.checked_sub(planned.variants.len()) {
        None => &planned.variants[index].settings,
        Some(limit) => &planned.upper_bounds[limit].settings,
    }
}

/// Returns how many times the work of `small` the work of `large` is: by the time limit of trials that end
/// by the clock, else by rows; or by databases, where their number grows more.
fn growth(large: &Settings, small: &Settings) -> f64 {
    let ratio = |name: &str| {
        let of = |settings: &Settings| {
            settings.get(name).and_then(Level::as_int).filter(|value| *value > 0)
        };
        Some(of(large)? as f64 / of(small)? as f64)
    };
    let work = ratio("stop_after_ms").or_else(|| ratio("rows"));
    work.unwrap_or(1.0).max(ratio("databases").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::experiment::{Experiment, Scale};
    use crate::plan::{Request, plan};
    use crate::seed::Seed;
    use crate::trial::Measured;

    fn planned(scale: Scale) -> PlannedExperiment {
        let experiment: Experiment = toml::from_str(
            r#"
            id = "x"
            question = "?"
            workload = "w"
            scale = { quick = { rows = 1_000 }, paper = { rows = 100_000 } }
            factors = { index = ["before", "after"] }
            design = { kind = "one-at-a-time", baseline = { index = "before" } }
            "#,
        )
        .unwrap();
        let request = Request {
            id: String::new(),
            created: String::new(),
            pragmark: String::new(),
            seed: Seed(1),
            scale,
            engine: String::new(),
            quick: false,
            trial_limit_s: 1.0,
            budget_s: None,
            tiers: false,
            postgres_given: false,
            experiments: vec![experiment],
            directories: vec!["/".into()],
        };
        plan(request, &Catalogue::default()).experiments.remove(0)
    }

    #[test]
    fn time_and_size_grow_with_the_rows() {
        let measured =
            Measured { metrics: [("db_bytes".to_owned(), 10_000.0)].into(), ..Measured::default() };
        let pilot = |index, outcome| Pilot { index, wall_s: 0.5, outcome };
        let pilots = [
            pilot(0, Outcome::Measured(Box::new(measured))),
            pilot(1, Outcome::Skipped { why: "no".to_owned() }),
        ];
        let forecast = forecast(&planned(Scale::Paper), &planned(Scale::Quick), &pilots);
        // One variant of 50 s; three trials a round for two variants; seven rounds.
        assert_eq!(forecast.seconds, 50.0 * 1.5 * 7.0);
        assert_eq!(forecast.longest_s, 50.0);
        assert_eq!(forecast.bytes, 2.0 * 100.0 * 10_000.0);
        assert_eq!(forecast.unknown, 1);
    }

    #[test]
    fn work_that_ends_by_the_clock_grows_with_the_clock() {
        let settings = |rows: i64, limit: i64| {
            Settings::from([
                ("rows".to_owned(), rows.into()),
                ("stop_after_ms".to_owned(), limit.into()),
            ])
        };
        assert_eq!(growth(&settings(1_000, 500), &settings(10, 100)), 5.0);
        assert_eq!(growth(&settings(1_000, 0), &settings(10, 0)), 100.0);
        let databases = |count: i64| {
            let mut settings = settings(10, 100);
            settings.insert("databases".to_owned(), count.into());
            settings
        };
        assert_eq!(growth(&databases(700), &databases(100)), 7.0);
        assert_eq!(growth(&databases(100), &databases(100)), 1.0);
    }
}
