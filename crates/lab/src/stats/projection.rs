//! How much of the variation of figures groups of columns explain: sums of squares by orthogonal
//! projection (modified Gram–Schmidt; Björck, "Solving linear least squares problems by
//! Gram–Schmidt orthogonalization", BIT 7, 1967).
//!
//! A design with combinations left out has columns that overlap; projecting what a column adds to
//! those before it keeps the account right without any case of its own.

/// What is left of a column must be greater than this part of it to count as new: columns that
/// earlier ones already hold add nothing but rounding.
const NEW: f64 = 1e-9;

/// An orthonormal basis that grows column by column.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    basis: Vec<Vec<f64>>,
}

impl Projection {
    /// A basis that holds the constant column of `n` rows, so that what is explained beyond it is
    /// variation about the mean.
    pub fn about_the_mean(n: usize) -> Projection {
        let mut projection = Projection::default();
        projection.add(&vec![1.0; n]);
        projection
    }

    /// Adds a column; answers whether it is not a combination of those there already.
    pub fn add(&mut self, column: &[f64]) -> bool {
        let whole = norm(column);
        let mut rest = column.to_vec();
        // Twice is enough to undo the rounding of the first pass (Kahan, in Parlett's "The
        // Symmetric Eigenvalue Problem", 1980, section 6-9).
        for _ in 0..2 {
            for direction in &self.basis {
                let along = dot(direction, &rest);
                let pairs = rest.iter_mut().zip(direction);
                pairs.for_each(|(value, part)| *value -= along * part);
            }
        }
        let length = norm(&rest);
        let new = length > NEW * whole;
        if new {
            rest.iter_mut().for_each(|value| *value /= length);
            self.basis.push(rest);
        }
        new
    }

    /// Adds columns one after another.
    pub fn add_all(&mut self, columns: &[Vec<f64>]) {
        for column in columns {
            self.add(column);
        }
    }

    /// The number of independent columns.
    pub fn rank(&self) -> usize {
        self.basis.len()
    }

    /// The sum of squares of `values` that the columns explain.
    pub fn explained(&self, values: &[f64]) -> f64 {
        let along = self.basis.iter().map(|direction| dot(direction, values));
        along.map(|along| along * along).sum()
    }

    /// What `columns` explain of `values` beyond the columns there already: their sum of squares
    /// and degrees of freedom.
    pub fn gained(&self, columns: &[Vec<f64>], values: &[f64]) -> (f64, usize) {
        let mut grown = self.clone();
        grown.add_all(columns);
        let new = &grown.basis[self.rank()..];
        let squares = new.iter().map(|direction| dot(direction, values).powi(2));
        (squares.sum(), new.len())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(column: &[f64]) -> f64 {
    dot(column, column).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orthogonal_columns_share_out_the_variation() {
        let values = [1.0, 3.0, 5.0, 11.0];
        let (a, b) = (vec![-1.0, -1.0, 1.0, 1.0], vec![-1.0, 1.0, -1.0, 1.0]);
        let ab: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
        let projection = Projection::about_the_mean(4);
        let parts =
            [&a, &b, &ab].map(|column| projection.gained(std::slice::from_ref(column), &values).0);
        // By hand: contrasts 12, 8 and 4, each squared and divided by four.
        assert!(
            parts
                .iter()
                .zip([36.0, 16.0, 4.0])
                .all(|(part, by_hand)| (part - by_hand).abs() < 1e-9)
        );
        let about_the_mean: f64 = values.iter().map(|v| (v - 5.0_f64).powi(2)).sum();
        assert!((parts.iter().sum::<f64>() - about_the_mean).abs() < 1e-9);
    }

    #[test]
    fn a_column_that_others_hold_adds_nothing() {
        let mut projection = Projection::about_the_mean(3);
        assert!(projection.add(&[1.0, 0.0, 0.0]));
        assert!(!projection.add(&[0.0, 1.0, 1.0]));
        assert_eq!(projection.gained(&[vec![2.0, 3.0, 3.0]], &[1.0, 5.0, 9.0]).1, 0);
        assert_eq!(projection.rank(), 2);
        assert!((projection.explained(&[0.0, 4.0, 4.0]) - 32.0).abs() < 1e-9);
    }
}
