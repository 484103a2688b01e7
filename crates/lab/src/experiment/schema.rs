//! The JSON schema of experiment files: published for editors, and the source of the check for
//! unknown keys.

use std::sync::OnceLock;

use serde_json::Value;

use super::Experiment;

/// Returns the JSON schema (draft 2020-12) of an experiment file.
pub fn experiment_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let mut schema = schemars::schema_for!(Experiment).to_value();
        schema["title"] = Value::from("pragmark experiment");
        schema
    })
}

/// One place in the schema, with baselines followed.
#[derive(Clone)]
pub(super) struct Form {
    node: &'static Value,
}

impl Form {
    pub(super) fn of_experiment() -> Form {
        Form { node: experiment_schema() }
    }

    /// Returns the keys this table may have; `None` where any name is allowed.
    pub(super) fn keys(&self) -> Option<Vec<String>> {
        Some(self.node.get("properties")?.as_object()?.keys().cloned().collect())
    }

    /// Returns the form of what stands under `key`.
    pub(super) fn child(&self, key: &str) -> Option<Form> {
        let node = self.node.get("properties")?.get(key)?;
        Some(Form { node: resolve(node) })
    }

    /// Returns the form of the elements of this array.
    pub(super) fn items(&self) -> Option<Form> {
        Some(Form { node: resolve(self.node.get("items")?) })
    }
}

/// Follows `$ref`, and takes the alternative that is not `null` of an optional value.
fn resolve(node: &'static Value) -> &'static Value {
    if let Some(name) =
        node.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
    {
        return resolve(&experiment_schema()["$defs"][name]);
    }
    let alternatives = node.get("anyOf").and_then(Value::as_array);
    let present = alternatives.and_then(|all| all.iter().find(|one| one["type"] != "null"));
    match present {
        Some(present) if alternatives.is_some_and(|all| all.len() == 2) => resolve(present),
        _ => node,
    }
}
