//! Costs of a call through a binding: nanoseconds for a row beyond the native binding's.
//!
//! A ratio would hide it: the same cost of a call is much for a read from memory and nothing for a
//! write that waits for the disk. So these are differences, paired within blocks as all comparisons are.
//!
//! Where other factors are crossed with the driver, such as the build of SQLite, a binding is set against
//! the native variant with the same levels of these. What those levels change by themselves is another figure,
//! which the native variants tell.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::analysis::VariantAnalysis;
use crate::level::{Settings, label};
use crate::samples::{Comparison, Samples};
use crate::stats::{Interval, MIN_BLOCKS_FOR_ESTIMATE};
use crate::trial::{BindingMark, DRIVER, NATIVE};

/// Half the width of an interval, as a multiple of the median, beyond which the rounds are too few for
/// their noise.
const WIDEST: f64 = 10.0;

/// The metric whose parts are compared.
const METRIC: &str = "ns_per_row";

/// The bindings that an experiment compares.
#[derive(Clone, Debug, Serialize)]
pub struct Bindings {
    /// The parts of the work, by name.
    pub parts: Vec<String>,
    /// The baseline first, which is native, then the others in the order of the plan.
    pub rows: Vec<BindingCosts>,
    /// Names of PRAGMAs for which a fresh connection has another value in one binding than in another,
    /// with the value in each row; `None` if the binding does not say.
    pub defaults: Vec<(String, Vec<Option<String>>)>,
}

/// One binding, at one level of every other factor.
#[derive(Clone, Debug, Serialize)]
pub struct BindingCosts {
    /// Its variant.
    pub variant: usize,
    /// Its own name, with the levels of other factors where there are some.
    pub name: String,
    /// Its own name.
    pub binding: String,
    /// The levels of the factors other than the driver.
    pub levels: Settings,
    /// The native variant with these levels: its own where it is native, `None` if no variant is like that.
    pub native: Option<usize>,
    /// Version of the SQLite that did the work.
    pub sqlite: String,
    /// By part of the work; `None` if it was not measured.
    pub costs: Vec<Option<Cost>>,
}

/// Cost of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Median time for a row in nanoseconds.
    pub median: f64,
    /// How much more that is than natively at the same levels of other factors, in nanoseconds: what the
    /// calls cost. None for the native binding itself, where no native variant has these levels, and where too
    /// few rounds have both.
    pub over: Option<Over>,
    /// How much more that is than at the levels of the baseline, in nanoseconds, natively both: what the
    /// levels change without any binding. None for the baseline and for other bindings.
    pub by_levels: Option<Over>,
}

/// A difference in nanoseconds for a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Over {
    /// The estimate.
    pub centre: f64,
    /// Its interval at the error rate of the analysis.
    pub interval: Interval,
}

impl Over {
    /// Returns whether the difference differs from none.
    pub fn is_found(&self) -> bool {
        !self.interval.contains(0.0)
    }
}

/// Returns whether the metric is the time for a row in one part of the work.
pub(super) fn is_part(metric: &str) -> bool {
    metric.split_once('.').is_some_and(|(name, _)| name == METRIC)
}

impl Bindings {
    /// Compares the bindings of an experiment; `None` unless it compares drivers, with the native one as the
    /// baseline.
    pub(super) fn of(
        variants: &[VariantAnalysis],
        samples: &BTreeMap<String, Samples>,
        alpha: f64,
    ) -> Option<Bindings> {
        let drivers: BTreeSet<&str> = variants.iter().filter_map(driver).collect();
        if drivers.len() < 2 || !is_native(variants.first()?) || samples.is_empty() {
            return None;
        }
        let rows: Vec<BindingCosts> = (0..variants.len())
            .filter_map(|index| costs(index, variants, samples, alpha))
            .collect();
        let of_rows: Vec<&VariantAnalysis> =
            rows.iter().map(|row| &variants[row.variant]).collect();
        Some(Bindings {
            parts: samples.keys().map(|name| part(name).to_owned()).collect(),
            defaults: differing_defaults(&of_rows),
            rows,
        })
    }
}

fn part(metric: &str) -> &str {
    metric.split_once('.').map_or(metric, |(_, part)| part)
}

fn driver(variant: &VariantAnalysis) -> Option<&str> {
    variant.levels.get(DRIVER)?.as_text()
}

fn is_native(variant: &VariantAnalysis) -> bool {
    driver(variant) == Some(NATIVE)
}

/// Returns the levels of all factors but the driver.
fn other_levels(variant: &VariantAnalysis) -> Settings {
    let mut levels = variant.levels.clone();
    levels.remove(DRIVER);
    levels
}

/// Returns the native variant that differs from this one in the driver alone; this one itself where it is native.
fn native_variant(variant: &VariantAnalysis, variants: &[VariantAnalysis]) -> Option<usize> {
    let levels = other_levels(variant);
    variants.iter().position(|other| is_native(other) && other_levels(other) == levels)
}

fn costs(
    index: usize,
    variants: &[VariantAnalysis],
    samples: &BTreeMap<String, Samples>,
    alpha: f64,
) -> Option<BindingCosts> {
    let variant = &variants[index];
    let mark = variant.binding.as_ref()?;
    let levels = other_levels(variant);
    let native = native_variant(variant, variants);
    let cost = |(metric, samples): (&String, &Samples)| {
        // Nothing differs from itself, so that no call is charged to a native variant.
        let calls = native.map(|native| samples.differences(index, native));
        let by_levels = is_native(variant).then(|| samples.differences(index, 0));
        let median = variant.median(metric)?;
        Some(Cost {
            median,
            over: calls.and_then(|differences| over(differences, median, alpha)),
            by_levels: by_levels.and_then(|differences| over(differences, median, alpha)),
        })
    };
    Some(BindingCosts {
        variant: index,
        name: named(&mark.name, &levels),
        binding: mark.name.clone(),
        levels,
        native,
        sqlite: variant.engine.as_ref()?.version.clone(),
        costs: samples.iter().map(cost).collect(),
    })
}

/// Returns the cost that the differences of the rounds show; `None` if there are too few for their noise.
fn over(differences: Vec<f64>, median: f64, alpha: f64) -> Option<Over> {
    let compared = Comparison::new(differences)
        .filter(|compared| compared.rounds() >= MIN_BLOCKS_FOR_ESTIMATE)?;
    let over = Over { centre: compared.centre(), interval: compared.plain_interval(alpha) };
    (over.interval.half_width() <= WIDEST * median).then_some(over)
}

/// Returns the binding, with the levels of other factors where there are some.
fn named(binding: &str, levels: &Settings) -> String {
    if levels.is_empty() {
        return binding.to_owned();
    }
    format!("{binding}, {}", label(levels))
}

fn differing_defaults(variants: &[&VariantAnalysis]) -> Vec<(String, Vec<Option<String>>)> {
    /// PRAGMAs that describe the file rather than the binding.
    const OF_THE_FILE: [&str; 4] =
        ["data_version", "freelist_count", "page_count", "schema_version"];
    let marks = variants.iter().map(|variant| variant.binding.as_ref());
    let names: BTreeSet<&String> =
        marks.clone().flatten().flat_map(|mark| mark.defaults.keys()).collect();
    let values = |name: &String| -> Vec<Option<String>> {
        let value = |mark: Option<&BindingMark>| mark?.defaults.get(name).cloned();
        marks.clone().map(value).collect()
    };
    names
        .into_iter()
        .filter(|name| !OF_THE_FILE.contains(&name.as_str()))
        .map(|name| (name.clone(), values(name)))
        .filter(|(_, values)| values.iter().any(|value| *value != values[0]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Summary;
    use crate::design::Role;
    use crate::level::Level;
    use crate::trial::EngineMark;

    const POINT_READ: &str = "ns_per_row.point-read";

    /// Nine rounds in which a native row costs 100 ns and more, and one through the binding 700 ns more.
    fn samples() -> Samples {
        let mut samples = Samples::new(2);
        for round in 0..9 {
            let drift = f64::from(round) * 50.0;
            samples.add(round, 0, 0, Role::Baseline, 100.0 + drift);
            let noise = f64::from(round % 3) - 1.0;
            samples.add(round, 0, 1, Role::Variant, 800.0 + drift + noise);
        }
        samples
    }

    /// Nine rounds of two blocks, of which the second is slower by half a microsecond. The tuned build saves
    /// 30 ns a row natively and 20 ns through the binding, whose calls cost 700 ns with the plain build.
    fn samples_of_builds() -> Samples {
        let mut samples = Samples::new(4);
        for round in 0..9 {
            let first = 100.0 + f64::from(round) * 50.0;
            let second = first + 500.0;
            let noise = f64::from(round % 3) - 1.0;
            samples.add(round, 0, 0, Role::Baseline, first);
            samples.add(round, 0, 1, Role::Variant, first - 30.0);
            samples.add(round, 0, 2, Role::Variant, first + 700.0 + noise);
            samples.add(round, 1, 0, Role::Baseline, second);
            samples.add(round, 1, 3, Role::Variant, second + 680.0 + noise);
        }
        samples
    }

    /// A measured variant; the driver comes first.
    fn variant(levels: &[(&str, &str)]) -> VariantAnalysis {
        let driver = levels[0].1;
        let levels: Settings =
            levels.iter().map(|(name, level)| ((*name).to_owned(), Level::from(*level))).collect();
        let summary = Summary::of(&[90.0, 100.0, 110.0]).unwrap();
        VariantAnalysis {
            summaries: BTreeMap::from([(POINT_READ.to_owned(), summary)]),
            engine: Some(EngineMark { version: "3.54.1".to_owned(), source_id: String::new() }),
            binding: Some(BindingMark { name: driver.to_owned(), ..BindingMark::default() }),
            ..VariantAnalysis::made_up(levels)
        }
    }

    fn built(driver: &str, build: &str) -> VariantAnalysis {
        variant(&[(DRIVER, driver), ("engine_options", build)])
    }

    fn both_builds() -> [VariantAnalysis; 4] {
        [
            built(NATIVE, "plain"),
            built(NATIVE, "tuned"),
            built("ruby", "plain"),
            built("ruby", "tuned"),
        ]
    }

    fn rows(variants: &[VariantAnalysis], samples: Samples) -> Vec<BindingCosts> {
        let samples = BTreeMap::from([(POINT_READ.to_owned(), samples)]);
        Bindings::of(variants, &samples, 0.05).unwrap().rows
    }

    fn cost(row: &BindingCosts) -> Cost {
        row.costs[0].unwrap()
    }

    fn near(found: Option<Over>, wanted: f64) {
        let found = found.unwrap();
        assert!((found.centre - wanted).abs() < 1.0, "{found:?}");
        assert!(found.interval.contains(wanted), "{found:?}");
    }

    #[test]
    fn where_only_drivers_differ_all_are_set_against_the_baseline() {
        let variants = [variant(&[(DRIVER, NATIVE)]), variant(&[(DRIVER, "ruby")])];
        let rows = rows(&variants, samples());
        let (native, ruby) = (cost(&rows[0]), cost(&rows[1]));
        assert!(native.over.is_none() && native.by_levels.is_none());
        assert_eq!(ruby.over, over(samples().differences(1, 0), 100.0, 0.05));
        assert_eq!(ruby.by_levels, None);
        assert_eq!((rows[1].name.as_str(), rows[1].native), ("ruby", Some(0)));
    }

    #[test]
    fn a_binding_is_set_against_the_native_variant_of_its_own_build() {
        let rows = rows(&both_builds(), samples_of_builds());
        let natives: Vec<Option<usize>> = rows.iter().map(|row| row.native).collect();
        assert_eq!(natives, [Some(0), Some(1), Some(0), Some(1)]);
        near(cost(&rows[2]).over, 700.0);
        near(cost(&rows[3]).over, 710.0);
        assert!(rows[2..].iter().all(|row| cost(row).by_levels.is_none()));
        assert_eq!(rows[3].name, "ruby, engine_options=tuned");
        assert_eq!(rows[3].binding, "ruby");
    }

    #[test]
    fn a_native_variant_of_another_build_tells_what_the_build_changes_and_costs_no_call() {
        let rows = rows(&both_builds(), samples_of_builds());
        assert!(rows[..2].iter().all(|row| cost(row).over.is_none()));
        assert_eq!(cost(&rows[0]).by_levels, None);
        near(cost(&rows[1]).by_levels, -30.0);
    }

    #[test]
    fn a_binding_without_a_native_variant_of_its_build_has_no_cost_of_a_call() {
        let variants = [built(NATIVE, "plain"), built("ruby", "tuned")];
        let rows = rows(&variants, samples());
        assert_eq!(rows[1].native, None);
        assert!(cost(&rows[1]).over.is_none() && cost(&rows[1]).by_levels.is_none());
    }

    #[test]
    fn the_cost_of_a_call_is_a_difference_within_rounds_whatever_the_machine_drifts() {
        let compared = Comparison::new(samples().differences(1, 0)).unwrap();
        assert!((compared.centre() - 700.0).abs() < 1.0);
        let over = Over { centre: compared.centre(), interval: compared.plain_interval(0.05) };
        assert!(over.is_found() && over.interval.contains(700.0));
        assert!(over.interval.high - over.interval.low < 4.0);
    }

    #[test]
    fn parts_are_told_from_other_metrics() {
        assert!(is_part("ns_per_row.point-read"));
        assert!(!is_part("ns_per_row") && !is_part("seconds.point-read"));
        assert_eq!(part("ns_per_row.point-read"), "point-read");
    }

    #[test]
    fn variants_that_name_no_driver_compare_no_bindings() {
        let samples = BTreeMap::from([("ns_per_row.point-read".to_owned(), samples())]);
        assert!(Bindings::of(&[], &samples, 0.05).is_none());
    }
}
