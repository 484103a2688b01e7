//! The nearest valid name to a misspelt one.

/// The candidate most like `name`, when one is like enough to be what was meant.
///
/// Likeness is Jaro–Winkler, which favours a common beginning; below 0.7 a suggestion would
/// puzzle more than help.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LIKE_ENOUGH: f64 = 0.7;
    let wanted = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&wanted, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(likeness, _)| *likeness >= LIKE_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant_and_stays_silent_otherwise() {
        let names = ["journal_mode", "synchronous", "cache_size"];
        assert_eq!(nearest("jurnal_mode", names), Some("journal_mode"));
        assert_eq!(nearest("SYNCHRONUS", names), Some("synchronous"));
        assert_eq!(nearest("xyzzy", names), None);
    }
}
