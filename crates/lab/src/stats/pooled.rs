//! The difference of two variants that were chosen out of two large groups, with the noise that all
//! variants of their groups show.
//!
//! Two variants alone have as many differences as there are rounds. Corrected for hundreds of variants that
//! could have been chosen instead, an interval from seven differences reaches further than any
//! effect: Student's quantile with six degrees of freedom at an error rate of 0.05/288 is 9, with
//! many it is below 4. The other variants of a group went through the same rounds, and their scatter
//! tells the same noise with hundreds of degrees of freedom. That is the residual of a two-way
//! analysis of variance, variants by rounds (Scheffé, "The Analysis of Variance", 1959, chapter 4); it
//! assumes that the variants of one group are about equally noisy, and lets the two groups differ.

use super::descriptive::{mean, standard_deviation};
use super::interval::Interval;
use super::student::student_reach;

/// A group of variants: a row of figures for each, one for each round, `None` if it was not measured.
pub type Rows = [Vec<Option<f64>>];

/// The difference of the means of two rows, with its variance in independent parts.
#[derive(Clone, Debug)]
pub struct PooledDifference {
    /// The difference itself.
    pub centre: f64,
    parts: [Part; 3],
}

/// A part of the variance of a difference, and the degrees of freedom it is known with.
#[derive(Clone, Copy, Debug)]
struct Part {
    variance: f64,
    freedom: f64,
}

impl PooledDifference {
    /// Returns the difference of one row of a group from one row of another group.
    ///
    /// `None` if one of the two rows has no figure, or where the figures leave no degree of freedom
    /// to know the noise by.
    pub fn new(of: (&Rows, usize), to: (&Rows, usize)) -> Option<PooledDifference> {
        let [of_group, to_group] = [of, to].map(|(rows, _)| Group::new(rows));
        let [of_row, to_row] = [of, to].map(|(rows, chosen)| measured(rows.get(chosen)?));
        let (of_row, to_row) = (of_row?, to_row?);
        let apart: Vec<f64> = of_group
            .course
            .iter()
            .zip(&to_group.course)
            .filter_map(|(of, to)| Some((*of)? - (*to)?))
            .collect();
        Some(PooledDifference {
            centre: mean(&of_row)? - mean(&to_row)?,
            parts: [
                of_group.noise()?.of_mean(of_row.len()),
                to_group.noise()?.of_mean(to_row.len()),
                course_noise(&apart)?.of_mean(apart.len()),
            ],
        })
    }

    /// Returns the interval with error rate `alpha`, both sides together.
    pub fn interval(&self, alpha: f64) -> Interval {
        let variance: f64 = self.parts.iter().map(|part| part.variance).sum();
        let reach = if variance == 0.0 {
            0.0
        } else {
            student_reach(alpha, self.freedom(variance)) * variance.sqrt()
        };
        Interval { low: self.centre - reach, high: self.centre + reach }
    }

    /// Returns the degrees of freedom of a sum of variances (Satterthwaite, "An approximate distribution of
    /// estimates of variance components", Biometrics Bulletin 2, 1946).
    fn freedom(&self, variance: f64) -> f64 {
        let parts = self.parts.iter();
        variance.powi(2) / parts.map(|part| part.variance.powi(2) / part.freedom).sum::<f64>()
    }
}

impl Part {
    /// Returns the variance of a mean of `n` figures.
    fn of_mean(self, figures: usize) -> Part {
        Part { variance: self.variance / figures as f64, ..self }
    }
}

/// The rows of a group taken apart: what all have in common in each round, and what is left.
struct Group {
    course: Vec<Option<f64>>,
    squares: f64,
    freedom: f64,
}

impl Group {
    fn new(rows: &Rows) -> Group {
        let rounds = rows.iter().map(Vec::len).max().unwrap_or(0);
        let centred: Vec<Vec<Option<f64>>> = rows.iter().filter_map(|row| centred(row)).collect();
        let figures = |round: usize| -> Vec<f64> {
            centred.iter().filter_map(|row| *row.get(round)?).collect()
        };
        let course: Vec<Option<f64>> = (0..rounds).map(|round| mean(&figures(round))).collect();
        let left = course.iter().enumerate().flat_map(|(round, level)| {
            let level = level.unwrap_or(0.0);
            figures(round).into_iter().map(move |figure| figure - level)
        });
        let (mut squares, mut count) = (0.0, 0_usize);
        for rest in left {
            squares += rest * rest;
            count += 1;
        }
        let known = course.iter().flatten().count();
        Group { freedom: count as f64 - centred.len() as f64 - known as f64 + 1.0, course, squares }
    }

    fn noise(&self) -> Option<Part> {
        (self.freedom >= 1.0)
            .then(|| Part { variance: self.squares / self.freedom, freedom: self.freedom })
    }
}

/// Returns how much the courses of the two groups drift apart from round to round.
fn course_noise(apart: &[f64]) -> Option<Part> {
    let deviation = standard_deviation(apart)?;
    Some(Part { variance: deviation.powi(2), freedom: apart.len() as f64 - 1.0 })
}

fn measured(row: &[Option<f64>]) -> Option<Vec<f64>> {
    let figures: Vec<f64> = row.iter().flatten().copied().collect();
    (!figures.is_empty()).then_some(figures)
}

/// Returns a row less its mean; without measurements there is no mean.
fn centred(row: &[Option<f64>]) -> Option<Vec<Option<f64>>> {
    let level = mean(&measured(row)?)?;
    Some(row.iter().map(|figure| Some((*figure)? - level)).collect())
}

#[cfg(test)]
mod tests {
    use super::super::simulation::Noise;
    use super::*;

    /// Groups of `variants` rows whose rounds share a drift, each row with its own level.
    fn rows(
        noise: &mut Noise,
        drift: &[f64],
        variants: usize,
        levels: f64,
        sd: f64,
    ) -> Vec<Vec<Option<f64>>> {
        (0..variants)
            .map(|_| {
                let level = levels * noise.normal();
                let figure = |drift: &f64| Some(level + drift + sd * noise.normal());
                drift.iter().map(figure).collect()
            })
            .collect()
    }

    #[test]
    fn the_interval_covers_the_difference_as_often_as_it_promises() {
        let mut noise = Noise::new(7);
        let mut missed = 0;
        for _ in 0..2_000 {
            let [of_drift, to_drift] =
                [(); 2].map(|()| (0..7).map(|_| 0.01 * noise.normal()).collect::<Vec<f64>>());
            let of = rows(&mut noise, &of_drift, 12, 0.0, 0.02);
            let to = rows(&mut noise, &to_drift, 24, 0.0, 0.05);
            let interval = PooledDifference::new((&of, 3), (&to, 5)).unwrap().interval(0.05);
            missed += usize::from(interval.low > 0.0 || interval.high < 0.0);
        }
        // 5 % of 2 000, five standard deviations of a binomial either way.
        assert!((51..=149).contains(&missed), "{missed} of 2000");
    }

    #[test]
    fn chosen_extremes_are_told_apart_by_chance_as_rarely_as_the_corrected_rate_says() {
        let mut noise = Noise::new(11);
        let mut told = 0;
        for _ in 0..300 {
            let drift: Vec<f64> = (0..7).map(|_| 0.01 * noise.normal()).collect();
            let of = rows(&mut noise, &drift, 48, 0.0, 0.03);
            let to = rows(&mut noise, &drift, 96, 0.0, 0.03);
            let by_mean = |rows: &Rows, sign: f64| {
                let merit = |row: usize| sign * rows[row].iter().flatten().sum::<f64>();
                (0..rows.len()).max_by(|a, b| merit(*a).total_cmp(&merit(*b))).unwrap()
            };
            // The worst of one group against the best of the other.
            let pooled = PooledDifference::new((&of, by_mean(&of, -1.0)), (&to, by_mean(&to, 1.0)));
            told += usize::from(pooled.unwrap().interval(0.05 / (48.0 * 96.0)).high < 0.0);
        }
        assert!(told <= 26, "{told} of 300");
    }

    #[test]
    fn rounds_that_a_row_lacks_are_done_without() {
        let of = vec![vec![Some(1.0), None, Some(1.2)], vec![Some(3.0), Some(3.1), Some(3.2)]];
        let to = vec![vec![Some(0.0), Some(0.1), None], vec![Some(0.5), Some(0.6), Some(0.7)]];
        let pooled = PooledDifference::new((&of, 0), (&to, 0)).unwrap();
        assert!((pooled.centre - 1.05).abs() < 1e-12);
        assert!(pooled.interval(0.05).low <= 1.05);
    }

    #[test]
    fn figures_without_noise_are_a_point() {
        let row = vec![Some(2.0); 3];
        let pooled =
            PooledDifference::new((&[row.clone(), row.clone()], 0), (&[row.clone(), row], 1))
                .unwrap();
        let interval = pooled.interval(0.05);
        assert_eq!((interval.low, interval.high), (0.0, 0.0));
    }

    #[test]
    fn what_was_not_measured_has_no_difference() {
        let none = vec![vec![None, None], vec![Some(1.0), Some(2.0)]];
        let some = vec![vec![Some(1.0), Some(2.0)], vec![Some(1.5), Some(2.5)]];
        assert!(PooledDifference::new((&none, 0), (&some, 0)).is_none());
        assert!(PooledDifference::new((&some, 9), (&some, 0)).is_none());
        let single = vec![vec![Some(1.0)]];
        assert!(PooledDifference::new((&single, 0), (&single, 0)).is_none());
    }
}
