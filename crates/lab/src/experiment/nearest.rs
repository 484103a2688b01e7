//! The nearest valid name to a misspelt one.

/// The candidate most like `name`, when one is like enough to be what was meant.
///
/// Likeness is Jaro–Winkler, which favours a common beginning; below 0.7 a suggestion would
/// puzzle more than help. One letter wrong, missing or in the wrong place is always like enough.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LIKE_ENOUGH: f64 = 0.7;
    // One letter wrong, missing or exchanged is more likely than another word that is as alike.
    const SLIP: f64 = 0.9;
    let wanted = name.to_lowercase();
    let likeness = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let is_slip = candidate.len() > 2 && strsim::osa_distance(&wanted, &candidate) == 1;
        let likeness = strsim::jaro_winkler(&wanted, &candidate);
        if is_slip { likeness.max(SLIP) } else { likeness }
    };
    candidates
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
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
        assert_eq!(nearest("rnu", ["list", "run", "show"]), Some("run"));
        assert_eq!(nearest("on", ["off", "no"]), None);
    }
}
