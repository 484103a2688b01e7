//! The most probable weights: steps of L-BFGS (Nocedal, "Updating quasi-Newton matrices with limited storage",
//! Mathematics of Computation 35, 1980) in the logarithms of the variances.

use super::agreement::Agreements;
use super::weights::Posterior;
use super::{Data, Weights};

/// Steps at most. More change the weights, but not what is recommended.
const STEPS: usize = 12;

/// How often a step is halved before none is taken.
const HALVINGS: usize = 8;

/// The longest step in the logarithm of a variance.
const LONGEST: f64 = 1.5;

/// A step and the change of the gradient along it.
type Pair = (Vec<f64>, Vec<f64>);

impl Weights {
    /// The weights that the trials make most probable. They depend on the trials alone, not on earlier fits.
    pub(crate) fn fitted(factors: usize, data: &Data) -> Weights {
        let mut at = Weights::expected(factors);
        let agreements = Agreements::of(&data.configurations);
        let Some(first) = at.posterior(data, &agreements) else {
            return at;
        };
        let (mut value, mut gradient) = (first.value, at.gradient(data, &agreements, &first));
        let mut pairs: Vec<Pair> = Vec::new();
        for _ in 0..STEPS {
            let direction = direction(&gradient, &pairs);
            let rise = dot(&gradient, &direction);
            let posterior = |next: &Weights| next.posterior(data, &agreements);
            let Some((next, reached)) = step(&at, value, rise, &direction, posterior) else {
                break;
            };
            let next_gradient = next.gradient(data, &agreements, &reached);
            let moved = minus(&next.logs, &at.logs);
            let bent = minus(&gradient, &next_gradient);
            if dot(&moved, &bent) > 1e-12 {
                pairs.push((moved, bent));
            }
            (at, value, gradient) = (next, reached.value, next_gradient);
        }
        at
    }
}

/// The first point along a direction, in which the value rises so steeply, that is enough better.
fn step(
    at: &Weights,
    value: f64,
    rise: f64,
    direction: &[f64],
    posterior: impl Fn(&Weights) -> Option<Posterior>,
) -> Option<(Weights, Posterior)> {
    (0..HALVINGS).find_map(|halving| {
        let length = 0.5_f64.powi(halving as i32);
        let next = at.moved(direction, length);
        let reached = posterior(&next)?;
        (reached.value > value + 1e-4 * length * rise).then_some((next, reached))
    })
}

/// Uphill, by the two loops of L-BFGS.
fn direction(gradient: &[f64], pairs: &[Pair]) -> Vec<f64> {
    let mut direction = gradient.to_vec();
    let mut shares = Vec::new();
    for (moved, bent) in pairs.iter().rev() {
        let share = dot(moved, &direction) / dot(moved, bent);
        add(&mut direction, bent, -share);
        shares.push(share);
    }
    if let Some((moved, bent)) = pairs.last() {
        let scale = dot(moved, bent) / dot(bent, bent);
        direction.iter_mut().for_each(|entry| *entry *= scale);
    }
    for ((moved, bent), share) in pairs.iter().zip(shares.iter().rev()) {
        let back = dot(bent, &direction) / dot(moved, bent);
        add(&mut direction, moved, share - back);
    }
    let longest = direction.iter().fold(0.0_f64, |most, it| most.max(it.abs()));
    if longest > LONGEST {
        direction.iter_mut().for_each(|entry| *entry *= LONGEST / longest);
    }
    direction
}

fn add(to: &mut [f64], what: &[f64], times: f64) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += times * what;
    }
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
