//! Names, levels and defaults that experiment files rely on stay as they are.

use lab::catalogue::Parameter;

/// Every parameter as `workload name | accepted levels | default`, in the order of the catalogue.
const PUBLISHED: &str = include_str!("catalogue.txt");

fn line(workload: &str, parameter: &Parameter) -> String {
    let default = parameter.default.as_ref();
    let default = default.map_or_else(|| "none".to_owned(), |level| format!("{level:?}"));
    format!("{workload} {} | {} | {default}", parameter.name, parameter.accepts)
}

/// What the catalogue says of every workload, with its phases.
fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for workload in &pragmark_bench::catalogue().workloads {
        let (phases, counts) = (workload.phases.join(" "), workload.counts);
        lines.push(format!("{} phases: {phases} | counts: {counts}", workload.name));
        let parameters = workload.parameters.iter();
        lines.extend(parameters.map(|parameter| line(&workload.name, parameter)));
    }
    lines
}

#[test]
fn published_parameters_keep_their_names_levels_and_defaults() {
    let lines = lines();
    if std::env::var_os("PRAGMARK_WRITE_DOCS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/catalogue.txt");
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
        return;
    }
    let missing: Vec<&str> =
        PUBLISHED.lines().filter(|published| !lines.iter().any(|line| line == published)).collect();
    assert!(missing.is_empty(), "changed or gone: {missing:#?}");
}
