//! The PRAGMAs as SQLite answered them, arranged so that differences come first.
//!
//! Most values are the same on every connection of a run. They are shown once for the whole run;
//! an experiment shows what differs between its variants, and what all of its connections share but
//! other experiments do not.

use std::collections::BTreeMap;

use lab::analysis::{Analysis, ExperimentAnalysis, VariantAnalysis};
use lab::trial::ReadBack;

use crate::names::Names;
use crate::words::by_rank;

/// Values by PRAGMA; none where connections differ or one did not answer.
type Shared<'a> = BTreeMap<&'a str, Option<&'a str>>;

/// The values that every connection of the run shares.
pub(super) struct RunWide<'a>(Shared<'a>);

impl<'a> RunWide<'a> {
    /// Looks at every connection of the run.
    pub(super) fn of(analysis: &'a Analysis) -> RunWide<'a> {
        RunWide(shared(analysis.experiments.iter().flat_map(connections)))
    }

    /// The shared values by name.
    pub(super) fn values(&self) -> Vec<(String, String)> {
        let same = self
            .0
            .iter()
            .filter_map(|(name, value)| Some((*name, (*value)?)));
        same.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(Option::is_some)
    }
}

/// The PRAGMAs of one experiment.
pub(super) struct Pragmas {
    /// PRAGMAs that differ between its connections.
    pub(super) differing: Vec<String>,
    /// Name of the variant, its connections, and its values of `differing`.
    pub(super) rows: Vec<(String, String, Vec<String>)>,
    /// PRAGMAs that are the same here, but not in the whole run.
    pub(super) same_here: Vec<(String, String)>,
}

impl Pragmas {
    /// The PRAGMAs of an experiment; none where no connection was read back.
    pub(super) fn of(experiment: &ExperimentAnalysis, run_wide: &RunWide<'_>) -> Option<Pragmas> {
        let shared = shared(connections(experiment));
        let (differing, same): (Vec<_>, Vec<_>) =
            shared.into_iter().partition(|(_, value)| value.is_none());
        let differing: Vec<String> = differing
            .into_iter()
            .map(|(name, _)| name.to_owned())
            .collect();
        let names = Names::of(experiment);
        let rows: Vec<_> = by_rank(experiment)
            .into_iter()
            .flat_map(|variant| {
                rows(
                    &experiment.variants[variant],
                    names.get(variant),
                    &differing,
                )
            })
            .collect();
        let same_here = same
            .into_iter()
            .filter(|(name, _)| !run_wide.has(name))
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        (!rows.is_empty()).then_some(Pragmas {
            differing,
            rows,
            same_here,
        })
    }
}

fn connections(experiment: &ExperimentAnalysis) -> impl Iterator<Item = &ReadBack> {
    experiment
        .variants
        .iter()
        .flat_map(|variant| &variant.connections)
}

fn shared<'a>(connections: impl Iterator<Item = &'a ReadBack>) -> Shared<'a> {
    let mut seen: BTreeMap<&str, (usize, Option<&str>)> = BTreeMap::new();
    let mut all = 0;
    for connection in connections {
        all += 1;
        for (name, value) in &connection.pragmas {
            let entry = seen.entry(name).or_insert((0, Some(value)));
            entry.0 += 1;
            entry.1 = entry.1.filter(|known| known == value);
        }
    }
    // A PRAGMA that some connection does not know differs there.
    seen.into_iter()
        .map(|(name, (count, value))| (name, value.filter(|_| count == all)))
        .collect()
}

/// One row for all connections of a variant that agree in what differs.
fn rows(
    variant: &VariantAnalysis,
    name: &str,
    differing: &[String],
) -> Vec<(String, String, Vec<String>)> {
    let mut rows: Vec<(String, String, Vec<String>)> = Vec::new();
    for connection in &variant.connections {
        let value = |name: &String| {
            connection
                .pragmas
                .get(name)
                .map_or("–", String::as_str)
                .to_owned()
        };
        let values: Vec<String> = differing.iter().map(value).collect();
        match rows.iter_mut().find(|row| row.2 == values) {
            Some(row) => row.1.push_str(&format!(", {}", connection.connection)),
            None => rows.push((name.to_owned(), connection.connection.clone(), values)),
        }
    }
    rows
}
