//! The plan of a generated run: experiment files, read as those of users are, and planned.

use lab::catalogue::{Accepts, Catalogue, Parameter, Scope, WorkloadInfo};
use lab::experiment::{Experiment, Scale, parse};
use lab::level::Level;
use lab::plan::{Request, plan as planned};
use lab::record::RunPlan;
use lab::seed::Seed;
use lab::trial::NATIVE;

use crate::agreement::recipe::{Design, ExperimentRecipe, RunRecipe, Tiers};

/// The metric that experiments name and no trial reports.
pub const NEVER_REPORTED: &str = "results";

/// Variants of a factorial design at most.
const MOST_VARIANTS: usize = 30;

/// The factors with their levels, those of the baseline first.
pub const FACTORS: [(&str, [&str; 3]); 5] = [
    ("rows", ["100", "10000", "1000000"]),
    ("columns", ["1", "2", "8"]),
    ("journal_mode", ["\"delete\"", "\"wal\"", "\"off\""]),
    ("synchronous", ["\"full\"", "\"normal\"", "\"off\""]),
    ("target", ["\"sqlite\"", "\"postgres\"", "\"files\""]),
];

/// PRAGMAs among the factors.
pub const PRAGMAS: [&str; 2] = ["journal_mode", "synchronous"];

/// The plan of a run.
pub fn plan(recipe: &RunRecipe) -> RunPlan {
    let experiments = recipe.experiments.iter().enumerate();
    let experiments = experiments.map(|(number, it)| experiment(number, it));
    let directories = ["/srv/one", "/mnt/two"];
    let request = Request {
        id: "generated".to_owned(),
        created: String::new(),
        pragmark: "0.1.0".to_owned(),
        seed: Seed(recipe.seed),
        scale: Scale::Default,
        engine: "default".to_owned(),
        quick: false,
        trial_limit_s: 60.0,
        budget_s: None,
        tiers: recipe.tiers != Tiers::Off,
        postgres_given: false,
        experiments: experiments.collect(),
        directories: directories[..recipe.directories].iter().map(Into::into).collect(),
    };
    planned(request, &catalogue())
}

fn experiment(number: usize, recipe: &ExperimentRecipe) -> Experiment {
    let text = file(number, recipe);
    parse("generated.toml", &text, &catalogue()).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// The factors that the experiment varies, with the number of their levels.
fn factors(recipe: &ExperimentRecipe) -> Vec<(usize, usize)> {
    let all = recipe.levels.iter().copied().enumerate();
    let mut several: Vec<(usize, usize)> = all.filter(|(_, levels)| *levels > 1).collect();
    if several.is_empty() {
        several.push((1, 2));
    }
    let is_factorial = recipe.design == Design::Factorial;
    while is_factorial && combinations(&several) > MOST_VARIANTS {
        several.pop();
    }
    several
}

fn combinations(factors: &[(usize, usize)]) -> usize {
    factors.iter().map(|(_, levels)| levels).product()
}

/// An experiment file.
fn file(number: usize, recipe: &ExperimentRecipe) -> String {
    let factors = factors(recipe);
    let baseline: Vec<usize> = vec![0; FACTORS.len()];
    let baseline = assignment(&factors, &baseline);
    let mut text = format!(
        "id = \"e{number}\"\nquestion = \"What is best in {number}?\"\nworkload = \"work\"\nmetric = \"{}\"\n",
        recipe.metric
    );
    if recipe.has_secondary {
        text += &format!("secondary_metrics = [\"cpu_user_s\", \"syncs\", \"{NEVER_REPORTED}\"]\n");
    }
    if recipe.has_condition && factors.iter().any(|(factor, _)| *factor == 0) {
        text += "conditions = [\"rows\"]\n";
    }
    text += &format!("[design]\nbaseline = {{ {baseline} }}\n{}", design(recipe, &factors));
    if recipe.design != Design::List {
        text += "[factors]\n";
        for (factor, levels) in &factors {
            let (name, all) = FACTORS[*factor];
            text += &format!("{name} = [{}]\n", all[..*levels].join(", "));
        }
    }
    text + &words(recipe, &factors, &baseline) + &others(recipe, &baseline)
}

fn design(recipe: &ExperimentRecipe, factors: &[(usize, usize)]) -> String {
    let kind = match recipe.design {
        Design::OneAtATime => "one-at-a-time",
        Design::Factorial => "factorial",
        Design::List => "list",
    };
    let variants = match recipe.design {
        Design::List => {
            let variants = recipe.list.iter();
            let variants =
                variants.map(|variant| format!("{{ {} }}", assignment(factors, variant)));
            format!("variants = [{}]\n", variants.collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    };
    format!(
        "kind = \"{kind}\"\n{variants}stopping = {{ rounds = 2, max_rounds = {} }}\n",
        recipe.rounds.max(2)
    )
}

/// Levels of the factors, as settings of a file.
fn assignment(factors: &[(usize, usize)], levels: &[usize]) -> String {
    let factors = factors.iter().map(|(factor, count)| {
        let (name, all) = FACTORS[*factor];
        format!("{name} = {}", all[levels[*factor] % count])
    });
    factors.collect::<Vec<_>>().join(", ")
}

/// Words for levels, and an answer for one variant.
fn words(recipe: &ExperimentRecipe, factors: &[(usize, usize)], baseline: &str) -> String {
    let target = factors.iter().find(|(it, _)| FACTORS[*it].0 == "target");
    let Some((_, targets)) = target.filter(|_| recipe.has_words && recipe.design != Design::List)
    else {
        return String::new();
    };
    let labels = "[labels.target]\nsqlite = \"SQLite\"\npostgres = \"PostgreSQL\"\n";
    let labels = match targets {
        2 => labels.to_owned(),
        _ => format!("{labels}files = \"plain files\"\n"),
    };
    format!("{labels}[[variants]]\nlevels = {{ {baseline} }}\nlabel = \"as it is\"\n")
}

/// A claim on the baseline, and an upper bound.
fn others(recipe: &ExperimentRecipe, baseline: &str) -> String {
    let claim = format!(
        "[[claims]]\nid = \"c\"\nsays = \"it is large\"\nvalue = {{ of = {{ {baseline} }} }}\nat_least = 3.0\n"
    );
    let bound = recipe.bound.map_or("", |_| {
        "[[upper_bounds]]\nname = \"plain file\"\nsays = \"the same bytes\"\nworkload = \"work\"\n"
    });
    claim + bound
}

/// One workload, its parameters and two PRAGMAs that decide what a crash can destroy.
fn catalogue() -> Catalogue {
    let int = Accepts::Int { min: 1, max: 1_000_000 };
    let text = |names: &[&str]| Accepts::choice(names);
    let parameter = |name: &str, accepts: Accepts, default: Option<Level>, scope| Parameter {
        name: name.to_owned(),
        accepts,
        default,
        unit: None,
        about: String::new(),
        scope,
        crash_relevant: PRAGMAS.contains(&name),
    };
    let journal = text(&["delete", "wal", "off"]);
    let synchronous = text(&["full", "normal", "off"]);
    let targets = text(&["sqlite", "postgres", "files"]);
    Catalogue {
        workloads: vec![WorkloadInfo {
            name: "work".to_owned(),
            about: String::new(),
            parameters: vec![
                parameter("rows", int.clone(), Some(100.into()), Scope::Workload),
                parameter("columns", int, Some(1.into()), Scope::Workload),
                parameter("target", targets, Some("sqlite".into()), Scope::Workload),
            ],
            counts: true,
            ..WorkloadInfo::default()
        }],
        shared: vec![
            parameter("journal_mode", journal, None, Scope::Pragma),
            parameter("synchronous", synchronous, None, Scope::Pragma),
            parameter("driver", text(&[NATIVE]), None, Scope::Connection),
        ],
        drivers: Vec::new(),
        why_impossible: None,
    }
}
