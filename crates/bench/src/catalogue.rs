//! What experiment files may name: this room's workloads and the engine's PRAGMAs.

use lab::catalogue::{Accepts, Catalogue, Parameter, Scope};

use crate::target::sqlite;
use crate::workload;

/// Everything that experiment files may name.
pub fn catalogue() -> Catalogue {
    let mut shared = sqlite::connection_settings();
    shared.extend(sqlite::pragma_settings());
    shared.push(Parameter {
        name: "engine".to_owned(),
        accepts: Accepts::Text,
        default: None,
        about: "the SQLite library: default, system, or the path of a shared library".to_owned(),
        scope: Scope::Connection,
        crash_relevant: false,
    });
    Catalogue {
        workloads: workload::ALL
            .iter()
            .map(|workload| workload.info())
            .collect(),
        shared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_two_things() {
        let catalogue = catalogue();
        for workload in &catalogue.workloads {
            let mut names: Vec<&str> = catalogue
                .settings_of(workload)
                .map(|parameter| parameter.name.as_str())
                .collect();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all, "{}", workload.name);
        }
    }

    #[test]
    fn every_default_is_a_level_that_its_parameter_accepts() {
        let catalogue = catalogue();
        for workload in &catalogue.workloads {
            for parameter in catalogue.settings_of(workload) {
                if let Some(default) = &parameter.default {
                    assert!(parameter.accepts.allows(default), "{}", parameter.name);
                }
            }
        }
    }
}
