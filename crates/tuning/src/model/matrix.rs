//! The little linear algebra of the model: Cholesky's factorisation of a few hundred rows.
//!
//! Three loops over rows are shorter than the use of a library for them, and fast enough: 400 rows take 10 ms.

/// The lower triangle L with L·Lᵀ = A, by rows.
pub(super) struct Cholesky {
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// Factors a symmetric matrix, given as its lower triangle by rows; `None` if it is not positive
    /// definite.
    pub(super) fn new(mut rows: Vec<Vec<f64>>) -> Option<Cholesky> {
        for i in 0..rows.len() {
            let (above, rest) = rows.split_at_mut(i);
            let row = &mut rest[0];
            for j in 0..i {
                row[j] = (row[j] - dot(&row[..j], &above[j][..j])) / above[j][j];
            }
            let square = row[i] - dot(&row[..i], &row[..i]);
            if square.is_nan() || square <= 0.0 {
                return None;
            }
            row[i] = square.sqrt();
        }
        Some(Cholesky { rows })
    }

    /// Returns the solution of A·x = b.
    pub(super) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        for (i, row) in self.rows.iter().enumerate() {
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
        for (i, row) in self.rows.iter().enumerate().rev() {
            let value = x[i] / row[i];
            x[i] = value;
            for (below, factor) in x[..i].iter_mut().zip(row) {
                *below -= factor * value;
            }
        }
        x
    }

    /// Returns the logarithm of the determinant of A.
    pub(super) fn log_determinant(&self) -> f64 {
        let diagonal = self.rows.iter().enumerate().map(|(i, row)| row[i].ln());
        2.0 * diagonal.sum::<f64>()
    }

    /// Returns the lower triangle of the inverse of A, by rows.
    pub(super) fn inverse(&self) -> Vec<Vec<f64>> {
        let size = self.rows.len();
        // Row j of the transposed inverse of L: zero before j.
        let columns: Vec<Vec<f64>> = (0..size).map(|j| self.column_of_inverse(j)).collect();
        let entry = |i: usize, j: usize| dot(&columns[i][i..], &columns[j][i..]);
        (0..size).map(|i| (0..=i).map(|j| entry(i, j)).collect()).collect()
    }

    /// Returns an entry on the diagonal of the inverse of A.
    pub(super) fn diagonal_of_inverse(&self, j: usize) -> f64 {
        let column = self.column_of_inverse(j);
        dot(&column[j..], &column[j..])
    }

    fn column_of_inverse(&self, j: usize) -> Vec<f64> {
        let mut column = vec![0.0; self.rows.len()];
        column[j] = 1.0 / self.rows[j][j];
        for i in j + 1..self.rows.len() {
            let row = &self.rows[i];
            column[i] = -dot(&row[j..i], &column[j..i]) / row[i];
        }
        column
    }
}

/// Returns the sum of products, in four sums so that the processor can add them at the same time.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (fours, others) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = fours.remainder().iter().zip(others.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in fours.zip(others) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_and_the_solution_undo_the_matrix() {
        let full = [
            [4.0, 1.0, 0.5, 0.2, 0.1],
            [1.0, 3.0, 0.3, 0.4, 0.2],
            [0.5, 0.3, 5.0, 0.6, 0.7],
            [0.2, 0.4, 0.6, 2.0, 0.8],
            [0.1, 0.2, 0.7, 0.8, 6.0],
        ];
        let lower = full.iter().enumerate().map(|(i, row)| row[..=i].to_vec()).collect();
        let factored = Cholesky::new(lower).unwrap();
        let b = [1.0, -2.0, 3.0, 0.5, 4.0];
        let x = factored.solve(&b);
        let inverse = factored.inverse();
        for i in 0..5 {
            let product: f64 = (0..5).map(|j| full[i][j] * x[j]).sum();
            assert!((product - b[i]).abs() < 1e-12);
            let entry = |i: usize, j: usize| inverse[i.max(j)][i.min(j)];
            assert!((factored.diagonal_of_inverse(i) - inverse[i][i]).abs() < 1e-12);
            for j in 0..5 {
                let product: f64 = (0..5).map(|k| full[i][k] * entry(k, j)).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_none() {
        assert!(Cholesky::new(vec![vec![1.0], vec![2.0, 1.0]]).is_none());
        assert!(Cholesky::new(vec![vec![f64::NAN]]).is_none());
    }
}
