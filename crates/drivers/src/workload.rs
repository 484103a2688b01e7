//! Workloads that a manifest declares: parameters and metrics of the user's own, checked with their lines.

use std::collections::BTreeMap;

use lab::catalogue::{Accepts, Catalogue, Contents, Parameter, Scope, WorkloadInfo};
use lab::experiment::{Step, line_of, nearest, offset_of};
use lab::level::{Level, label, picked};
use lab::metric::DeclaredMetric;
use lab::metric::{Better, METRICS, Unit};
use lab::target;
use lab::trial::{Measured, Outcome, TrialSpec};
use serde::Deserialize;
use toml::de::DeTable;

/// A workload as it is written in a manifest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadFile {
    about: String,
    #[serde(default)]
    phases: Vec<String>,
    #[serde(default)]
    parameters: BTreeMap<String, ParameterFile>,
    #[serde(default)]
    metrics: BTreeMap<String, MetricFile>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParameterFile {
    #[serde(rename = "type")]
    kind: Kind,
    min: Option<i64>,
    max: Option<i64>,
    choices: Option<Vec<String>>,
    default: Level,
    unit: Option<String>,
    about: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Bool,
    Int,
    Choice,
    Text,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricFile {
    heading: Option<String>,
    unit: Unit,
    better: Better,
    about: String,
}

/// The text of a manifest, in which things have lines.
pub(crate) struct Document<'a> {
    text: &'a str,
    tree: toml::Spanned<DeTable<'a>>,
}

impl<'a> Document<'a> {
    /// # Errors
    /// The text is not TOML.
    pub(crate) fn parse(text: &'a str) -> Result<Document<'a>, toml::de::Error> {
        let tree = DeTable::parse(text)?;
        Ok(Document { text, tree })
    }

    /// Returns a mistake after its line, which `path` leads to.
    pub(crate) fn at(&self, path: &[Step], what: &str) -> String {
        format!("line {}: {what}", self.line(path))
    }

    /// Returns the line on which something stands, from one.
    pub(crate) fn line(&self, path: &[Step]) -> usize {
        line_of(self.text, offset_of(&self.tree, path))
    }
}

/// Returns the workloads of a manifest.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub(crate) fn declared(
    workloads: BTreeMap<String, WorkloadFile>,
    document: &Document<'_>,
    built_in: &Catalogue,
) -> Result<Vec<WorkloadInfo>, String> {
    let all = workloads.into_iter().map(|(name, workload)| {
        let path = [Step::from("workloads"), name.as_str().into()];
        check_name(&name, '-').map_err(|what| document.at(&path, &what))?;
        if built_in.workload(&name).is_some() {
            let what = format!("`{name}` is a workload of pragmark's own; choose another name");
            return Err(document.at(&path, &what));
        }
        workload.info(&name, &path, document, built_in)
    });
    all.collect()
}

impl WorkloadFile {
    fn info(
        self,
        name: &str,
        path: &[Step],
        document: &Document<'_>,
        built_in: &Catalogue,
    ) -> Result<WorkloadInfo, String> {
        let at = |part: &str, name: &str, what: String| {
            let path = [path, &[part.into(), name.into()]].concat();
            document.at(&path, &what)
        };
        let parameters = self.parameters.into_iter().map(|(name, file)| {
            file.parameter(&name, built_in).map_err(|what| at("parameters", &name, what))
        });
        let metrics = self.metrics.into_iter().map(|(name, file)| {
            let metric = file.metric(&name);
            metric.check().map(|()| metric).map_err(|what| at("metrics", &name, what))
        });
        Ok(WorkloadInfo {
            name: name.to_owned(),
            about: self.about,
            parameters: parameters.collect::<Result<_, _>>()?,
            phases: self.phases,
            counts: false,
            metrics: metrics.collect::<Result<_, _>>()?,
            by_driver: true,
            ..WorkloadInfo::default()
        })
    }
}

impl ParameterFile {
    fn parameter(self, name: &str, built_in: &Catalogue) -> Result<Parameter, String> {
        check_name(name, '_')?;
        let mut shared = built_in.shared.iter();
        if name == target::SETTING || shared.any(|setting| setting.name == name) {
            return Err(format!("`{name}` is a setting of pragmark's own; choose another name"));
        }
        let accepts = self.accepts(name, built_in)?;
        if !accepts.allows(&self.default) {
            return Err(format!(
                "the default of `{name}` cannot be {}; it takes {accepts}",
                self.default
            ));
        }
        Ok(Parameter {
            name: name.to_owned(),
            accepts,
            default: Some(self.default),
            unit: self.unit.map(Into::into),
            about: self.about,
            scope: Scope::Workload,
            crash_relevant: false,
        })
    }

    fn accepts(&self, name: &str, built_in: &Catalogue) -> Result<Accepts, String> {
        if self.kind != Kind::Int && (self.min.is_some() || self.max.is_some()) {
            return Err("only parameters of the type `int` have `min` and `max`".to_owned());
        }
        match (self.kind, &self.choices) {
            (Kind::Choice, Some(names)) if !names.is_empty() => Ok(Accepts::Choice(names.clone())),
            (Kind::Choice, _) => Err("a parameter of the type `choice` needs `choices`".to_owned()),
            (_, Some(_)) => Err("only parameters of the type `choice` have `choices`".to_owned()),
            (Kind::Bool, None) => Ok(Accepts::Bool),
            (Kind::Text, None) => Ok(Accepts::Text(contents(name, built_in))),
            (Kind::Int, None) => {
                let (min, max) = (self.min.unwrap_or(i64::MIN), self.max.unwrap_or(i64::MAX));
                if min <= max {
                    Ok(Accepts::Int { min, max })
                } else {
                    Err(format!("`min` is {min} and `max` is {max}"))
                }
            }
        }
    }
}

/// Returns the contents that the built-in workloads give to texts of this name, so that an agent confines `sql` or
/// `script` of a declared workload, too.
fn contents(name: &str, built_in: &Catalogue) -> Contents {
    let workloads = built_in.workloads.iter();
    let mut all = workloads.filter_map(|workload| built_in.contents(&workload.name, name));
    all.find(|contents| *contents != Contents::Plain).unwrap_or(Contents::Plain)
}

impl MetricFile {
    fn metric(self, name: &str) -> DeclaredMetric {
        let in_words = || name.replace('_', " ");
        DeclaredMetric {
            name: name.to_owned(),
            heading: self.heading.unwrap_or_else(in_words),
            unit: self.unit,
            better: self.better,
            about: self.about,
        }
    }
}

/// Names begin with a lower-case letter and have lower-case letters, digits and one more character.
fn check_name(name: &str, joint: char) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == joint;
    if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_plain) {
        Ok(())
    } else {
        Err(format!(
            "`{name}` cannot be a name: a name begins with a lower-case letter and has lower-case letters, digits and `{joint}`"
        ))
    }
}

/// Returns the outcome of a trial of a declared workload, which fails if its metrics differ from the declared ones.
/// Results of trials with the same seed and parameters are marked as comparable.
pub(crate) fn judge(workload: &WorkloadInfo, spec: &TrialSpec, mut measured: Measured) -> Outcome {
    if let Some(why) = why_not_as_declared(workload, &measured) {
        return Outcome::failed(why);
    }
    if measured.checksum.is_some() && measured.asked.is_none() {
        let is_own =
            |name: &String| workload.parameters.iter().any(|parameter| parameter.name == *name);
        let own = label(&picked(&spec.settings, is_own));
        measured.asked = Some(format!("{} {} {own}", workload.name, spec.seed));
    }
    Outcome::Measured(Box::new(measured))
}

fn why_not_as_declared(workload: &WorkloadInfo, measured: &Measured) -> Option<String> {
    let name = &workload.name;
    let own = || workload.metrics.iter().map(|metric| metric.name.as_str());
    let missing = own().find(|metric| !measured.metrics.contains_key(*metric));
    if let Some(missing) = missing {
        return Some(format!(
            "the driver did not report `{missing}`, a metric of the workload `{name}`"
        ));
    }
    let built_in = METRICS.iter().map(|metric| metric.name);
    let known: Vec<&str> = own().chain(built_in).collect();
    let base = |metric: &str| metric.split_once('.').map_or(metric, |(base, _)| base).to_owned();
    let unknown = measured.metrics.keys().map(|metric| base(metric));
    let unknown = unknown.into_iter().find(|metric| !known.contains(&metric.as_str()))?;
    Some(match nearest(&unknown, known) {
        Some(near) => {
            format!("the driver reported the unknown metric `{unknown}`; did you mean `{near}`?")
        }
        None => format!(
            "the driver reported the unknown metric `{unknown}`; declare it in [workloads.{name}.metrics.{unknown}]"
        ),
    })
}

/// Returns why a driver cannot have a workload of this name; `None` if the workload is built in or declared.
pub(crate) fn why_unknown(
    name: &str,
    built_in: &Catalogue,
    declared: &[WorkloadInfo],
) -> Option<String> {
    let all = built_in.workloads.iter().chain(declared);
    let names: Vec<&str> = all.map(|workload| workload.name.as_str()).collect();
    (!names.contains(&name)).then(|| match nearest(name, names) {
        Some(near) => format!("there is no workload `{name}`; did you mean `{near}`?"),
        None => format!("there is no workload `{name}`; declare it in [workloads.{name}]"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::metric;

    /// A workload with one of each, from its third line on.
    const SHOP: &str = r#"
[workloads.shop]
about  = "orders, each in one transaction"
phases = ["pay"]
[workloads.shop.parameters.orders]
type    = "int"
min     = 1
max     = 100
default = 10
unit    = "orders"
about   = "number of orders"
[workloads.shop.parameters.mapper]
type    = "choice"
choices = ["none", "orm"]
default = "none"
about   = "what makes the statements"
[workloads.shop.metrics.shop_orders_per_s]
heading = "Orders per second"
unit    = "ops_per_second"
better  = "higher"
about   = "orders stored per second"
[workloads.shop.metrics.shop_queue]
unit    = "count"
better  = "lower"
about   = "orders that wait"
"#;

    #[derive(Deserialize)]
    struct File {
        workloads: BTreeMap<String, WorkloadFile>,
    }

    fn read(text: &str) -> Result<Vec<WorkloadInfo>, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let document = Document::parse(text).map_err(|error| error.to_string())?;
        declared(file.workloads, &document, &bench::catalogue())
    }

    fn shop() -> WorkloadInfo {
        read(SHOP).unwrap().remove(0)
    }

    #[test]
    fn a_declared_workload_has_its_parameters_and_metrics() {
        let shop = shop();
        assert!(shop.by_driver && !shop.counts);
        assert_eq!(shop.phases, ["pay"]);
        let orders = &shop.parameters[1];
        assert_eq!(orders.accepts, Accepts::Int { min: 1, max: 100 });
        assert_eq!((&orders.default, orders.unit.as_deref()), (&Some(10.into()), Some("orders")));
        assert_eq!(shop.parameters[0].accepts, Accepts::choice(&["none", "orm"]));
        let headings: Vec<&str> = shop.metrics.iter().map(|it| it.heading.as_str()).collect();
        assert_eq!(headings, ["Orders per second", "shop queue"]);
    }

    /// What is replaced in the manifest and by what, the line that is wrong then, and what is said of it.
    const MISTAKES: &[(&str, &str, usize, &str)] = &[
        (
            "default = 10",
            "default = 1000",
            5,
            "the default of `orders` cannot be 1000; it takes a whole number from 1 to 100",
        ),
        ("min     = 1", "min     = 101", 5, "`min` is 101 and `max` is 100"),
        ("choices = [\"none\", \"orm\"]", "", 12, "needs `choices`"),
        (
            "parameters.orders",
            "parameters.cache_size",
            5,
            "`cache_size` is a setting of pragmark's own",
        ),
        ("parameters.orders", "parameters.target", 5, "`target` is a setting of pragmark's own"),
        ("parameters.orders", "parameters.Orders", 5, "`Orders` cannot be a name"),
        ("metrics.shop_queue", "metrics.seconds", 22, "`seconds` is a metric of pragmark's own"),
        ("[workloads.shop]", "[workloads.sql]", 2, "`sql` is a workload of pragmark's own"),
        ("better  = \"lower\"", "better  = \"smaller\"", 24, "unknown variant `smaller`"),
        ("unit    = \"count\"", "units   = \"count\"", 23, "unknown field `units`"),
    ];

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (old, new, line, what) in MISTAKES.iter().copied() {
            assert!(SHOP.contains(old), "{old}");
            let text = match old {
                "[workloads.shop]" => SHOP.replace("workloads.shop", "workloads.sql"),
                _ => SHOP.replace(old, new),
            };
            let error = read(&text).unwrap_err();
            assert!(error.contains(&format!("line {line}")), "{old}: {error}");
            assert!(error.contains(what), "{old}: {error}");
        }
    }

    #[test]
    fn a_declared_text_holds_what_a_built_in_text_of_that_name_holds() {
        for (name, expected) in [
            ("sql", Contents::Sql),
            ("trace", Contents::File),
            ("scripts", Contents::WeightedFiles),
            ("models", Contents::Plain),
            ("colour", Contents::Plain),
        ] {
            assert_eq!(contents(name, &bench::catalogue()), expected, "{name}");
        }
    }

    #[test]
    fn a_driver_has_built_in_and_declared_workloads_only() {
        let built_in = bench::catalogue();
        let why = |name: &str| why_unknown(name, &built_in, &[shop()]);
        assert_eq!((why("shop"), why("sql")), (None, None));
        assert!(why("shpo").unwrap().ends_with("did you mean `shop`?"));
        assert!(why("invoices").unwrap().ends_with("declare it in [workloads.invoices]"));
    }

    fn judged(metrics: &[&str]) -> Outcome {
        let spec = TrialSpec {
            seed: 7,
            settings: [("orders", 10.into()), ("cache_size", (-2000).into())]
                .map(|(name, level): (&str, Level)| (name.to_owned(), level))
                .into(),
            ..TrialSpec::default()
        };
        let measured = Measured {
            metrics: metrics.iter().map(|name| ((*name).to_owned(), 1.0)).collect(),
            checksum: Some("1f".to_owned()),
            ..Measured::default()
        };
        judge(&shop(), &spec, measured)
    }

    #[test]
    fn a_trial_reports_every_declared_metric_and_no_unknown_one() {
        let why = |metrics: &[&str]| judged(metrics).problem().unwrap();
        assert!(metric::find("seconds").is_some());
        let all = ["shop_orders_per_s", "shop_queue", "seconds.pay"];
        assert_eq!(judged(&all).problem(), None);
        assert!(why(&all[1..]).contains("did not report `shop_orders_per_s`"));
        let misspelt = why(&[&all[..], &["second"]].concat());
        assert!(
            misspelt.contains("unknown metric `second`; did you mean `seconds`?"),
            "{misspelt}"
        );
    }

    #[test]
    fn results_are_compared_where_seed_and_parameters_are_the_same_whatever_the_pragmas() {
        let Outcome::Measured(measured) = judged(&["shop_orders_per_s", "shop_queue"]) else {
            panic!("measured");
        };
        assert_eq!(measured.asked.as_deref(), Some("shop 7 orders=10"));
    }
}
