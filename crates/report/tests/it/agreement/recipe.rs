//! What a generated run is made of: numbers from which its plan and its trials follow.

use proptest::collection::vec;
use proptest::prelude::*;

/// A run.
#[derive(Clone, Debug)]
pub struct RunRecipe {
    pub seed: u64,
    pub experiments: Vec<ExperimentRecipe>,
    /// What is known of safety tiers.
    pub tiers: Tiers,
    /// What the rounds show in which chosen variants are measured again.
    pub confirms: Confirms,
    pub directories: usize,
}

/// What is known of safety tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiers {
    /// The run measured none.
    Off,
    /// Those of some settings.
    Some,
    /// Those of all settings.
    All,
}

/// What the rounds show in which chosen variants are measured again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirms {
    /// There were none.
    Nothing,
    /// What the others showed.
    TheSame,
    /// No difference.
    NoDifference,
    /// The opposite.
    TheOpposite,
}

/// How variants follow from factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    OneAtATime,
    Factorial,
    List,
}

/// An experiment.
#[derive(Clone, Debug)]
pub struct ExperimentRecipe {
    pub design: Design,
    /// Levels of each factor of [`super::plan::FACTORS`]; one level is no factor.
    pub levels: Vec<usize>,
    /// Variants of a list, by the level of each factor.
    pub list: Vec<Vec<usize>>,
    /// Whether the number of rows is a condition.
    pub has_condition: bool,
    /// Whether levels have words, and variants answers.
    pub has_words: bool,
    pub metric: &'static str,
    pub rounds: u32,
    /// Standard deviation of a trial, of levels, and of pairs of levels, as logarithms.
    pub noise: f64,
    pub spread: f64,
    pub interaction: f64,
    /// How far the A/A check is off, as a logarithm.
    pub aa_bias: f64,
    /// The typical figure: small ones of a count are often 0.
    pub size: f64,
    /// Trials of a hundred that end without a figure.
    pub trouble: u64,
    /// How an upper bound compares with the baseline, as a logarithm.
    pub bound: Option<f64>,
    pub has_secondary: bool,
    /// Whether targets say what survives.
    pub says_durability: bool,
    /// Whether the last round was cut short.
    pub interrupted: bool,
}

/// Any run.
pub fn runs() -> impl Strategy<Value = RunRecipe> {
    let tiers = prop_oneof![Just(Tiers::Off), Just(Tiers::Some), Just(Tiers::All)];
    let confirms = prop_oneof![
        Just(Confirms::Nothing),
        Just(Confirms::TheSame),
        Just(Confirms::NoDifference),
        Just(Confirms::TheOpposite),
    ];
    let directories = prop_oneof![4 => Just(1_usize), 1 => Just(2)];
    (any::<u64>(), vec(experiments(), 1..=3), tiers, confirms, directories).prop_map(
        |(seed, experiments, tiers, confirms, directories)| RunRecipe {
            seed,
            experiments,
            tiers,
            confirms,
            directories,
        },
    )
}

fn experiments() -> impl Strategy<Value = ExperimentRecipe> {
    let design = prop_oneof![Just(Design::OneAtATime), Just(Design::Factorial), Just(Design::List)];
    let metrics = prop::sample::select(vec![
        "rows_per_s", "seconds", "db_bytes", "p99_us", "busy_errors", "ops_per_s",
    ]);
    let rounds = prop_oneof![1 => 1..=3_u32, 2 => 3..=12_u32];
    let noise = prop_oneof![Just(0.0), 0.001..0.05, 0.05..0.5, 0.5..8.0_f64];
    let spread = prop_oneof![Just(0.0), 0.01..0.3, 0.3..2.0_f64];
    let interaction = prop_oneof![Just(0.0), 0.1..1.0_f64];
    let aa_bias = prop_oneof![3 => Just(0.0), 1 => -0.3..0.3_f64];
    let figures = (metrics, noise, spread, interaction, aa_bias);
    let size = prop_oneof![2 => Just(1e5), 1 => Just(3.0)];
    let trouble = prop_oneof![2 => Just(0_u64), 1 => 1..60_u64];
    let bound = prop::option::of(-1.0..3.0_f64);
    let rest = (size, trouble, bound, any::<[bool; 5]>());
    let variants = (vec(1..=3_usize, 5), vec(vec(0..3_usize, 5), 1..30));
    (design, variants, rounds, figures, rest).prop_map(
        |(design, (levels, list), rounds, figures, (size, trouble, bound, flags))| {
            let (metric, noise, spread, interaction, aa_bias) = figures;
            let [has_condition, has_words, has_secondary, says_durability, interrupted] = flags;
            ExperimentRecipe {
                design,
                levels,
                list,
                has_condition,
                has_words,
                metric,
                rounds,
                noise,
                spread,
                interaction,
                aa_bias,
                size,
                trouble,
                bound,
                has_secondary,
                says_durability,
                interrupted,
            }
        },
    )
}
