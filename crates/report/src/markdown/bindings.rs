//! What each binding costs, in Markdown.

use lab::analysis::{Bindings, ExperimentAnalysis};

use super::marks::{code, dressed, escaped};
use crate::bindings::{DEFAULTS, HOW, cell, sentences, shown};

/// Adds what there is, with an empty line before each piece.
pub(super) fn add(text: &mut String, experiment: &ExperimentAnalysis) {
    let Some(bindings) = shown(experiment) else {
        return;
    };
    text.push_str("\n**What a call through each binding costs.**\n\n");
    for sentence in sentences(bindings) {
        text.push_str(&format!("- {}\n", dressed(&sentence)));
    }
    text.push_str(&format!("\n{HOW}\n\n{}", costs(bindings)));
    if !bindings.defaults.is_empty() {
        text.push_str(&format!("\n{DEFAULTS}\n\n{}", defaults(bindings)));
    }
}

fn costs(bindings: &Bindings) -> String {
    let parts: Vec<String> = bindings.parts.iter().map(|part| code(part)).collect();
    let mut lines = vec![
        format!("| binding | SQLite | {} |", parts.join(" | ")),
        format!("|---|---|{}", "--:|".repeat(parts.len())),
    ];
    lines.extend(bindings.rows.iter().map(|row| {
        let cells = row.costs.iter().map(|cost| {
            let cell = cell(*cost);
            let over = cell.over.map(|over| format!(" {over}"));
            escaped(&format!("{}{}", cell.time, over.unwrap_or_default()))
        });
        format!(
            "| {} | {} | {} |",
            escaped(&row.name),
            escaped(&row.sqlite),
            cells.collect::<Vec<_>>().join(" | ")
        )
    }));
    lines.join("\n") + "\n"
}

fn defaults(bindings: &Bindings) -> String {
    let names: Vec<String> = bindings.rows.iter().map(|row| escaped(&row.name)).collect();
    let mut lines = vec![
        format!("| PRAGMA | {} |", names.join(" | ")),
        format!("|---|{}", "---|".repeat(names.len())),
    ];
    lines.extend(bindings.defaults.iter().map(|(name, values)| {
        let cells = values
            .iter()
            .map(|value| value.as_deref().map_or("–".to_owned(), escaped));
        format!(
            "| {} | {} |",
            code(name),
            cells.collect::<Vec<_>>().join(" | ")
        )
    }));
    lines.join("\n") + "\n"
}
