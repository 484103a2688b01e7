//! `pragmark list`: experiments, and the names that experiment files accept.

use std::fmt::Write;

use app::Result;
use app::library::{self, Entry, TOUR};
use clap::ValueEnum;
use lab::catalogue::{Catalogue, Parameter};
use lab::metric::METRICS;
use lab::text::one_line;

use crate::exit::Exit;
use crate::output;

/// The things to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum List {
    /// Experiments with their questions.
    Experiments,
    /// Workloads and their parameters.
    Workloads,
    /// PRAGMAs and connection settings with their valid values.
    Pragmas,
    /// Metrics with their units and meanings.
    Metrics,
}

/// Prints a list.
pub fn execute(list: List) -> Result<Exit> {
    let catalogue = drivers::catalogue(None)?;
    output::display(&match list {
        List::Experiments => library::entries()?.iter().map(line_of).collect(),
        List::Workloads => workloads(&catalogue),
        List::Pragmas => parameters(catalogue.shared.iter()),
        List::Metrics => metrics(&catalogue),
    })
}

/// Returns an experiment in two lines.
fn line_of(entry: &Entry) -> String {
    let tour = if TOUR.contains(&entry.id.as_str()) { "  (in the tour)" } else { "" };
    let claims = match entry.claims() {
        0 => String::new(),
        1 => "  1 claim".to_owned(),
        many => format!("  {many} claims"),
    };
    let source = entry.source.as_ref();
    let source = source.map_or_else(String::new, |source| format!("  source {source}"));
    format!("{}{source}{claims}{tour}\n    {}\n", entry.id, entry.question)
}

fn workloads(catalogue: &Catalogue) -> String {
    let mut text = String::new();
    for workload in &catalogue.workloads {
        let _ = writeln!(text, "{}\n    {}", workload.name, one_line(&workload.about));
        for line in parameters(workload.parameters.iter()).lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

fn parameters<'a>(all: impl Iterator<Item = &'a Parameter>) -> String {
    let mut text = String::new();
    for parameter in all {
        let default = match &parameter.default {
            Some(level) => format!("; default {level}"),
            None => String::new(),
        };
        let unit = parameter.unit.as_ref().map_or_else(String::new, |unit| format!(" ({unit})"));
        let _ = writeln!(
            text,
            "{}: {}{unit}{default}\n    {}",
            parameter.name,
            parameter.accepts,
            one_line(&parameter.about)
        );
    }
    text
}

/// Returns the metrics of pragmark, then those of the user's drivers.
fn metrics(catalogue: &Catalogue) -> String {
    let built_in = METRICS.iter().map(|metric| (metric.name, metric.about));
    let own = catalogue.workloads.iter().flat_map(|workload| &workload.metrics);
    let own = own.map(|metric| (metric.name.as_str(), metric.about.as_str()));
    let lines = built_in.chain(own).map(|(name, about)| {
        let (name, about) = (one_line(name), one_line(about));
        format!("{name}\n    {about}\n")
    });
    lines.collect()
}
