//! The random functions have the distributions that pgbench documents: tested with chi-square on fixed seeds.

use pragmark_script::{Form, Names, Op, Prng, Value, Variables, parse};
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

const DRAWS: usize = 100_000;

/// How often each number from 1 to `numbers` comes.
fn drawn(function: &str, numbers: usize) -> Vec<f64> {
    let mut names = Names::default();
    let text = format!("\\set x {function}\nSELECT :x;");
    let scripts = parse("a", "a", &text, Form::Transaction, &mut names).unwrap();
    let Op::Set(_, expression) = &scripts[0].operations[0] else {
        panic!("a \\set");
    };
    let (variables, mut prng) = (Variables::new(&names), Prng::new(20_261_122));
    let mut counts = vec![0.0; numbers];
    for _ in 0..DRAWS {
        match expression.evaluate(&variables, &mut prng) {
            Ok(Value::Int(number)) => counts[number as usize - 1] += 1.0,
            other => panic!("{other:?}"),
        }
    }
    counts
}

/// The probability of counts that differ from the expected ones at least as much.
fn p_value(counts: &[f64], shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    let terms = counts.iter().zip(shares).map(|(count, share)| {
        let expected = share * DRAWS as f64;
        assert!(expected > 5.0, "too few for the test");
        (count - expected).powi(2) / expected
    });
    let statistic: f64 = terms.sum();
    1.0 - ChiSquared::new(counts.len() as f64 - 1.0).unwrap().cdf(statistic)
}

fn has_shares(function: &str, shares: &[f64]) {
    let p = p_value(&drawn(function, shares.len()), shares);
    assert!(p > 0.001, "{function}: p = {p}");
}

#[test]
fn random_gives_all_numbers_equally_often() {
    has_shares("random(1, 7)", &[1.0 / 7.0; 7]);
    has_shares("random(1, 64)", &[1.0 / 64.0; 64]);
}

#[test]
fn random_exponential_falls_by_the_same_factor_from_number_to_number() {
    for parameter in [0.5, 3.0] {
        let cut = f64::exp(-parameter);
        let upto = |number: f64| (1.0 - (-parameter * number / 10.0).exp()) / (1.0 - cut);
        let shares: Vec<f64> =
            (0..10).map(|it| upto(f64::from(it) + 1.0) - upto(f64::from(it))).collect();
        has_shares(&format!("random_exponential(1, 10, {parameter:?})"), &shares);
    }
}

#[test]
fn random_gaussian_is_a_normal_distribution_cut_off_at_the_parameter() {
    for parameter in [2.0, 2.5] {
        let normal = Normal::new(0.0, 1.0).unwrap();
        let at = |number: i32| normal.cdf(parameter * (f64::from(number) / 10.0 - 1.0));
        let all = at(20) - at(0);
        let shares: Vec<f64> = (0..20).map(|it| (at(it + 1) - at(it)) / all).collect();
        has_shares(&format!("random_gaussian(1, 20, {parameter:?})"), &shares);
    }
}

#[test]
fn random_zipfian_follows_zipfs_law() {
    for parameter in [1.001_f64, 1.5, 2.5] {
        let weights: Vec<f64> = (1..=20).map(|rank| f64::from(rank).powf(-parameter)).collect();
        let sum: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        has_shares(&format!("random_zipfian(1, 20, {parameter:?})"), &shares);
    }
}

#[test]
fn the_test_tells_distributions_apart() {
    let zipf = drawn("random_zipfian(1, 10, 1.1)", 10);
    assert!(p_value(&zipf, &[0.1; 10]) < 1e-9);
}
