//! Exports for services and tools that follow figures over time, checked by the rules of their readers.

use crate::made_up;
use lab::metric::higher_is_better;
use pragmark_report as report;
use report::export::{Benchstat, Direction, bencher, github_benchmark};
use serde_json::{Value, json};

/// The rules of <https://bencher.dev/bmf.json>: benchmark → measure → value, which may have a lower and an upper value.
fn bencher_metric_format() -> Value {
    let number = json!({"type": "number"});
    let metric = json!({
        "type": "object",
        "properties": {"value": number, "lower_value": number, "upper_value": number},
        "required": ["value"],
        // Stricter than the schema: a field that Bencher does not know would be a mistake.
        "additionalProperties": false,
    });
    let measures =
        json!({"type": "object", "patternProperties": {".+": metric}, "minProperties": 1});
    json!({"type": "object", "patternProperties": {".+": measures}, "minProperties": 1})
}

#[test]
fn bencher_gets_its_metric_format() {
    let analysis = made_up::analysis();
    let all: Value = serde_json::from_str(&bencher(analysis).unwrap()).unwrap();
    jsonschema::validate(&bencher_metric_format(), &all).unwrap();
    let measured = analysis.experiments.iter().flat_map(|experiment| {
        let metric = &experiment.metric;
        let variants = experiment.variants.iter();
        variants.filter(move |variant| variant.summaries.contains_key(metric))
    });
    let benchmarks = all.as_object().unwrap();
    assert!(benchmarks.len() >= measured.count());
    for (name, measures) in benchmarks {
        // The longest names that Bencher takes.
        assert!(name.chars().count() <= 1024, "{name}");
        for (measure, figures) in measures.as_object().unwrap() {
            assert!(measure.chars().count() <= 64, "{measure}");
            let of = |name: &str| figures[name].as_f64().unwrap();
            assert!(of("lower_value") <= of("value") && of("value") <= of("upper_value"));
        }
    }
}

/// The entries that github-action-benchmark reads: `name`, `unit` and `value`, and as texts `range` and `extra`.
fn github_entries(direction: Direction) -> Vec<Value> {
    let text = json!({"type": "string"});
    let schema = json!({
        "type": "array",
        // It ends with an error where there is none.
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": {"name": text, "unit": text, "value": {"type": "number"}, "range": text, "extra": text},
            "required": ["name", "unit", "value"],
            "additionalProperties": false,
        },
    });
    let list = github_benchmark(made_up::analysis(), direction).unwrap();
    let list: Value = serde_json::from_str(&list).unwrap();
    jsonschema::validate(&schema, &list).unwrap();
    list.as_array().unwrap().clone()
}

#[test]
fn github_action_benchmark_gets_each_figure_once_in_the_list_of_its_direction() {
    let mut names = std::collections::BTreeSet::new();
    for (direction, higher) in [(Direction::Bigger, true), (Direction::Smaller, false)] {
        for entry in github_entries(direction) {
            let name = entry["name"].as_str().unwrap().to_owned();
            let metric = name.rsplit(", ").next().unwrap();
            assert_eq!(higher_is_better(metric), higher, "{name}");
            assert!(names.insert(name), "{entry} comes twice");
        }
    }
}

/// A unit with its direction.
type GoUnit = (String, String);
/// The name of a benchmark with a figure and its unit.
type GoResult = (String, f64, String);

/// The units and the lines of benchmarks in Go's format, by the rules of
/// <https://go.dev/design/14313-benchmark-format> and of units in golang.org/x/perf/benchfmt.
fn parsed(text: &str) -> (Vec<GoUnit>, Vec<GoResult>) {
    let (mut units, mut results) = (Vec::new(), Vec::new());
    for line in text.lines() {
        assert_eq!(line, line.trim(), "no space around a line");
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            ["Unit", unit, meta] => {
                let better = meta.strip_prefix("better=").unwrap();
                units.push((unit.to_owned(), better.to_owned()));
            }
            [name, iterations, value, unit] => {
                let name = name.strip_prefix("Benchmark").unwrap();
                let first = name.chars().next().unwrap();
                assert!(!first.is_lowercase(), "{name}");
                assert!(iterations.parse::<u32>().unwrap() > 0);
                results.push((name.to_owned(), value.parse().unwrap(), unit.to_owned()));
            }
            _ => panic!("{line} is no line of the format"),
        }
    }
    (units, results)
}

#[test]
fn benchstat_gets_a_line_for_each_timed_trial_and_the_direction_of_each_unit() {
    let (plan, _, trials) = made_up::run();
    let mut text = Benchstat::new(&plan);
    trials.iter().for_each(|trial| text.add(trial));
    let (units, results) = parsed(&text.finish());
    assert!(results.len() > 20);
    for (unit, better) in &units {
        let expected = if higher_is_better(unit) { "higher" } else { "lower" };
        assert_eq!(better, expected, "{unit}");
    }
    for (name, value, unit) in &results {
        assert!(units.iter().any(|(known, _)| known == unit), "{name}: {unit}");
        assert!(value.is_finite());
    }
}
