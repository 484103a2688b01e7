//! Planted terms: what the published queries look for, at declared rates.
//!
//! A row has at most one. Rates are in a million comments or stories, chosen so that a hundred
//! thousand rows answer each query with a few to a few hundred rows, and rare ones stay rare.

use lab::seed::SplitMix64;

/// Where a term is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plant {
    /// At the beginning of the text of a comment, or of the title of a story.
    Start(&'static str),
    /// After the first sentence of a comment, or at the end of a title.
    Within(&'static str),
    /// As the user.
    User(&'static str),
}

use Plant::{Start, User, Within};

/// Plants and how many of a million rows have each.
pub(super) struct Plants(&'static [(u64, Plant)]);

/// Plants of comments.
pub(super) const COMMENTS: Plants = Plants(&[
    (300, Within("machine learning")),
    (200, Within("data science")),
    (60, Within("ai shit")),
    (90, Within("database performance optimization")),
    (60, Within("an easy and simple answer")),
    (50, Within("for some reason really long and slow")),
    (80, Within("rust bindings of sqlite")),
    (60, Within("react with htmx")),
    (40, Within("ml is shit")),
    (60, Within("rust or python performance")),
    (40, Start("Performance of rust beside python")),
    (150, Start("Python")),
    (150, Start("Data")),
    (150, Start("Web")),
    (120, User("dawg")),
    (50, Within("reverse proxy")),
    (60, Within("crypto scam")),
    (40, Within("airbnb ruins everything")),
    (900, Within("connected")),
    (900, Within("connecting")),
    (120, Within("connection")),
    (400, Within("connections")),
    (80, Within("paleoxylography")),
    (250, Within("PostgreSQL")),
    (80, Start("Crypto scam")),
]);

/// Plants of stories.
pub(super) const STORIES: Plants = Plants(&[
    (400, Within("Machine Learning")),
    (200, Within("Data Science")),
    (300, Start("Python")),
    (300, Start("Data")),
    (300, Start("Web")),
    (300, Within("in Python")),
    (100, Within("Database Performance Optimization")),
    (120, User("dawg")),
    (250, Within("PostgreSQL")),
    (200, Within("Reverse Proxy")),
]);

impl Plants {
    /// Returns the plant of a row; most rows have none.
    #[inline]
    pub(super) fn draw(&self, generator: &mut SplitMix64) -> Option<Plant> {
        let mut ticket = generator.below(1_000_000);
        if ticket >= 100_000 {
            return None;
        }
        self.0.iter().find_map(|(rate, plant)| {
            let drawn = ticket < *rate;
            ticket = ticket.wrapping_sub(*rate);
            drawn.then_some(*plant)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::seed::Seed;

    #[test]
    fn terms_are_planted_at_their_rates() {
        for plants in [COMMENTS, STORIES] {
            assert!(plants.0.iter().map(|(rate, _)| rate).sum::<u64>() < 100_000);
            let draws = 1_000_000;
            let mut generator = Seed(1).generator();
            let drawn: Vec<Plant> =
                (0..draws).filter_map(|_| plants.draw(&mut generator)).collect();
            for (rate, plant) in plants.0 {
                let found = drawn.iter().filter(|found| *found == plant).count() as f64;
                let wanted = *rate as f64;
                assert!((found - wanted).abs() < 5.0 * wanted.sqrt() + 3.0, "{plant:?}: {found}");
            }
        }
    }
}
