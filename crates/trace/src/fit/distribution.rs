//! Which distribution values have: pure functions over counts.

use std::collections::HashMap;
use std::hash::Hash;

/// How often values came, in two halves by turns: one chooses the order of the values, the other judges.
#[derive(Clone, Debug)]
pub struct Counts<T> {
    counts: HashMap<T, [u64; 2]>,
    total: u64,
}

impl<T> Default for Counts<T> {
    fn default() -> Counts<T> {
        Counts { counts: HashMap::new(), total: 0 }
    }
}

impl<T: Eq + Hash> Counts<T> {
    /// Counts a value.
    pub fn add(&mut self, value: T) {
        let half = (self.total % 2) as usize;
        self.counts.entry(value).or_default()[half] += 1;
        self.total += 1;
    }

    /// Returns how many values there were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns how many different ones.
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// Returns the values with how often each came.
    pub fn iter(&self) -> impl Iterator<Item = (&T, u64)> {
        self.counts.iter().map(|(value, [a, b])| (value, a + b))
    }

    /// Returns the parameter of Zipf's law by which one of `domain` values is chosen, where that explains the values
    /// better than that all are equally likely; between 1.001 and 4, as scripts can have it.
    pub fn zipf(&self, domain: u64) -> Option<f64> {
        let mut ranked: Vec<[u64; 2]> = self.counts.values().copied().collect();
        ranked.sort_unstable_by_key(|[a, _]| std::cmp::Reverse(*a));
        let known = ranked.iter().take_while(|[a, _]| *a > 0).count();
        let judged: u64 = ranked.iter().map(|[_, b]| b).sum();
        if domain < 2 || judged < FEWEST {
            return None;
        }
        let uniform = -(judged as f64) * (domain as f64).ln();
        let parameters = (0..=STEPS).map(|step| 1.001 + 3.0 * step as f64 / STEPS as f64);
        let best = parameters
            .map(|exponent| (exponent, likelihood(&ranked, known, domain, exponent)))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        (best.1 > uniform + MARGIN).then_some((best.0 * 1000.0).round() / 1000.0)
    }
}

/// The fewest values by which a law is judged.
const FEWEST: u64 = 20;
/// How many parameters are tried.
const STEPS: u32 = 60;
/// By how much a law must be more likely, as a logarithm.
const MARGIN: f64 = 3.0;
/// Terms of a sum that are added one by one.
const EXACT: u64 = 1_000;

/// Returns the logarithm of the likelihood of the second half under Zipf's law over the ranks of the first. Values that
/// the first half lacks share what is left.
fn likelihood(ranked: &[[u64; 2]], known: usize, domain: u64, parameter: f64) -> f64 {
    let all = harmonic(domain, parameter);
    let mut sum = 0.0;
    for (rank, [_, b]) in (1_u64..).zip(&ranked[..known]) {
        sum += *b as f64 * (-parameter * (rank as f64).ln() - all.ln());
    }
    let others: u64 = ranked[known..].iter().map(|[_, b]| b).sum();
    if others == 0 {
        return sum;
    }
    let rest = domain.saturating_sub(known as u64).max(1) as f64;
    let tail = (all - harmonic(known as u64, parameter)).max(f64::MIN_POSITIVE);
    sum + others as f64 * ((tail / all).ln() - rest.ln())
}

/// Returns the sum of r to the power of -s for r from 1 to n; an integral from the thousandth term on.
fn harmonic(n: u64, s: f64) -> f64 {
    let exact: f64 = (1..=n.min(EXACT)).map(|rank| (rank as f64).powf(-s)).sum();
    if n <= EXACT {
        return exact;
    }
    let power = 1.0 - s;
    let middle = |rank: u64| (rank as f64 + 0.5).powf(power);
    exact + (middle(n) - middle(EXACT)) / power
}

#[cfg(test)]
mod tests {
    use super::*;
    use script::Prng;

    fn fitted(domain: i64, count: usize, mut draw: impl FnMut(&mut Prng) -> i64) -> Option<f64> {
        let (mut prng, mut counts) = (Prng::new(7), Counts::default());
        (0..count).for_each(|_| counts.add(draw(&mut prng)));
        counts.zipf(domain as u64)
    }

    #[test]
    fn the_parameter_of_zipfian_values_is_recovered() {
        for parameter in [1.05, 1.5, 2.5] {
            let fit = fitted(10_000, 20_000, |it| it.zipfian(1, 10_000, parameter).unwrap());
            let fit = fit.unwrap();
            assert!((fit - parameter).abs() < 0.1, "{parameter}: {fit}");
        }
    }

    #[test]
    fn uniform_values_have_no_such_law() {
        for (domain, count) in [(10, 1_000), (1_000, 20_000), (1_000_000, 500)] {
            let fit = fitted(domain, count, |it| 1 + it.up_to(domain as u64 - 1) as i64);
            assert_eq!(fit, None, "{count} of {domain}");
        }
    }

    #[test]
    fn the_sum_is_that_of_its_terms() {
        let exact: f64 = (1..=100_000).map(|rank| f64::from(rank).powf(-1.2)).sum();
        assert!((harmonic(100_000, 1.2) / exact - 1.0).abs() < 1e-6);
    }
}
