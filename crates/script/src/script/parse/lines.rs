//! In which line of a text a position lies.

/// Where the lines of a text end.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Lines {
        let ends = text.match_indices('\n').map(|(position, _)| position);
        Lines(ends.collect())
    }

    /// The line of a position, from 1.
    pub(super) fn at(&self, position: usize) -> usize {
        1 + self.0.partition_point(|end| *end < position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_begins_after_the_end_of_the_one_before() {
        let lines = Lines::of("a\n\nb");
        assert_eq!([0, 1, 2, 3, 4].map(|it| lines.at(it)), [1, 1, 2, 3, 3]);
        assert_eq!(Lines::of("").at(0), 1);
    }
}
