//! Exports for services and tools that follow figures over time.

mod made_up;

use pragmark_report as report;

#[test]
fn services_get_every_measured_variant_in_their_own_format() {
    use report::export::{Benchstat, Direction, bencher, github_benchmark};
    use serde_json::Value;

    let analysis = made_up::analysis();
    let parsed = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    // Bencher: benchmark → measure → value, lower_value, upper_value.
    let all = parsed(bencher(analysis).unwrap());
    let measured = analysis.experiments.iter().flat_map(|it| {
        let metric = &it.metric;
        it.variants
            .iter()
            .filter(move |variant| variant.summaries.contains_key(metric))
    });
    assert!(all.as_object().unwrap().len() >= measured.count());
    for measures in all.as_object().unwrap().values() {
        for measure in measures.as_object().unwrap().values() {
            let of = |name: &str| measure[name].as_f64().unwrap();
            assert!(of("lower_value") <= of("value") && of("value") <= of("upper_value"));
        }
    }
    // github-action-benchmark: a list of name, unit, value, range, extra.
    let count = |direction| {
        let list = parsed(github_benchmark(analysis, direction).unwrap());
        let entries = list.as_array().unwrap().clone();
        for entry in &entries {
            let has = |name: &str| entry[name].is_string();
            assert!(
                ["name", "unit", "range", "extra"].into_iter().all(has)
                    && entry["value"].is_number(),
                "{entry}"
            );
        }
        entries.len()
    };
    assert!(count(Direction::Bigger) > 0 && count(Direction::Smaller) > 0);
    // Go's format: `BenchmarkName iterations value unit`, with declared units.
    let (plan, _, trials) = made_up::run();
    let mut text = Benchstat::new(&plan);
    trials.iter().for_each(|trial| text.add(trial));
    let text = text.finish();
    let lines = text.lines().filter(|line| line.starts_with("Benchmark"));
    let lines: Vec<Vec<&str>> = lines.map(|line| line.split(' ').collect()).collect();
    assert!(lines.len() > 20);
    for line in lines {
        assert_eq!((line.len(), line[1]), (4, "1"), "{line:?}");
        assert!(line[2].parse::<f64>().is_ok());
        assert!(text.contains(&format!("Unit {} better=", line[3])));
    }
}
