//! Truth values as people and programs write them: `true` and `false`, `Y` and `N`.

/// Words for true and false that go together.
const WORDS: [[&str; 2]; 4] = [["true", "false"], ["t", "f"], ["yes", "no"], ["y", "n"]];

/// Returns 1 for a word for true, and 0 for one for false, in any case.
pub(crate) fn truth(text: &[u8]) -> Option<i64> {
    let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    let found = WORDS.iter().find_map(|words| words.iter().position(|word| is(word)))?;
    Some(i64::from(found == 0))
}

/// Returns whether a text is a word for true or false.
pub fn is_truth_value(text: &str) -> bool {
    truth(text.as_bytes()).is_some()
}

/// Returns whether these texts are the words of one pair, and both of it.
pub(crate) fn are_truth_values<'t>(texts: impl Iterator<Item = &'t [u8]> + Clone) -> bool {
    let is = |text: &[u8], word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    WORDS.iter().any(|words| {
        let all = texts.clone().all(|text| words.iter().any(|word| is(text, word)));
        all && words.iter().all(|word| texts.clone().any(|text| is(text, word)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_truth_values_in_any_case() {
        let read = |text: &str| truth(text.as_bytes());
        assert_eq!(["true", "Yes", "Y", "T"].map(read), [Some(1); 4]);
        assert_eq!(["FALSE", "no", "n", "f"].map(read), [Some(0); 4]);
        assert_eq!(["", "1", "maybe", "tru"].map(read), [None; 4]);
    }

    #[test]
    fn a_column_has_truth_values_if_both_words_of_one_pair_are_all_it_has() {
        let are = |texts: &[&str]| are_truth_values(texts.iter().map(|text| text.as_bytes()));
        assert!(are(&["Y", "n", "y"]) && are(&["false", "true"]));
        // A column of countries may have `NO` only.
        assert!(!are(&["NO", "NO"]) && !are(&["yes", "f"]) && !are(&["y", "n", "x"]) && !are(&[]));
    }
}
