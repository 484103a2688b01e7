//! Whether variants answer the user's own statements as the baseline does: a setting that changes an answer fails.

use std::collections::BTreeMap;

use super::gathered::{Answered, GatheredVariant};
use crate::trial::Answer;

/// The baseline's answers by question, and by statement and number of executions; `None` if its own trials disagree, as they do
/// over an answer that cannot be repeated.
type Right = BTreeMap<String, BTreeMap<(String, u64), Option<Answer>>>;

/// Compares the answers of each variant with the baseline's, the first. One whose answers differ has
/// failed: its figures are left out.
pub(super) fn compare(variants: &mut [GatheredVariant]) {
    let Some((baseline, others)) = variants.split_first_mut() else { return };
    let right = right(&baseline.answers);
    for variant in others {
        let compared = variant.answers.iter();
        let compared = compared.filter(|answered| right.contains_key(&answered.asked));
        variant.analysis.answers_compared = compared.count();
        let difference = variant.answers.iter().find_map(|answered| {
            let right = right.get(&answered.asked)?;
            difference(right, answered)
        });
        if let Some(difference) = difference {
            fail(variant, &difference);
        }
    }
}

fn right(baseline: &[Answered]) -> Right {
    let mut right = Right::new();
    for answered in baseline {
        let known = right.entry(answered.asked.clone()).or_default();
        for (name, answer) in answered.answers() {
            let asked = (name.to_owned(), answer.executions);
            let first = known.entry(asked).or_insert_with(|| Some(answer.clone()));
            if first.as_ref() != Some(&answer) {
                *first = None;
            }
        }
    }
    right
}

/// Returns the first answer that is another, in words. Only answers over the same number of executions are compared.
fn difference(
    right: &BTreeMap<(String, u64), Option<Answer>>,
    answered: &Answered,
) -> Option<String> {
    answered.answers().find_map(|(name, found)| {
        let wanted = right.get(&(name.to_owned(), found.executions))?.as_ref()?;
        (found != *wanted).then(|| in_words(name, wanted, &found))
    })
}

fn in_words(name: &str, wanted: &Answer, found: &Answer) -> String {
    let checksum = |answer: &Answer| answer.checksum.clone().unwrap_or_default();
    match name {
        "" => format!(
            "the result differs from the baseline's: checksum {} instead of {}",
            checksum(found),
            checksum(wanted)
        ),
        _ => format!(
            "the answer to `{name}` differs from the baseline's: {} instead of {} in {} executions",
            words(found),
            words(wanted),
            wanted.executions
        ),
    }
}

fn words(answer: &Answer) -> String {
    let rows = match answer.rows {
        1 => "1 row".to_owned(),
        rows => format!("{rows} rows"),
    };
    match &answer.checksum {
        Some(checksum) => format!("{rows} with the checksum {checksum}"),
        None => rows,
    }
}

fn fail(variant: &mut GatheredVariant, difference: &str) {
    let analysis = &mut variant.analysis;
    analysis.problem = Some(format!("failed: {difference}"));
    analysis.trials.failed += analysis.trials.measured;
    analysis.trials.measured = 0;
    variant.figures.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::StatementRecord;

    fn answered(asked: &str, answers: &[(&str, u64, &str)]) -> Answered {
        let statement = |(name, rows, checksum): &(&str, u64, &str)| StatementRecord {
            name: (*name).to_owned(),
            answer: Some(Answer {
                executions: 20,
                rows: *rows,
                checksum: Some((*checksum).to_owned()),
            }),
            earlier_answers: vec![Answer {
                executions: 1,
                rows: 1,
                checksum: Some(format!("first {rows}")),
            }],
            ..StatementRecord::default()
        };
        Answered {
            asked: asked.to_owned(),
            statements: answers.iter().map(statement).collect(),
            checksum: None,
        }
    }

    fn whole(asked: &str, checksum: &str) -> Answered {
        Answered { checksum: Some(checksum.to_owned()), ..answered(asked, &[]) }
    }

    fn variant(answers: Vec<Answered>) -> GatheredVariant {
        let mut variant = GatheredVariant { answers, ..GatheredVariant::default() };
        variant.analysis.trials.measured = variant.answers.len();
        variant
    }

    #[test]
    fn a_variant_with_another_answer_fails_and_says_to_which_statement() {
        let mut variants = [
            variant(vec![answered("x", &[("a", 3, "f0"), ("b", 1, "0")])]),
            variant(vec![answered("x", &[("a", 3, "f0"), ("b", 1, "0")])]),
            variant(vec![answered("x", &[("a", 3, "f1"), ("b", 1, "0")])]),
        ];
        compare(&mut variants);
        assert_eq!(variants[1].analysis.answers_compared, 1);
        assert_eq!(variants[1].analysis.problem, None);
        let failed = &variants[2].analysis;
        assert_eq!((failed.trials.failed, failed.trials.measured), (1, 0));
        assert_eq!(
            failed.problem.as_deref(),
            Some(
                "failed: the answer to `a` differs from the baseline's: 3 rows with the checksum f1 instead of 3 rows with the checksum f0 in 20 executions"
            )
        );
    }

    #[test]
    fn a_variant_with_another_result_of_the_whole_work_fails() {
        let mut variants = ["1f", "1f", "2e"].map(|checksum| variant(vec![whole("x", checksum)]));
        compare(&mut variants);
        assert_eq!(variants[1].analysis.problem, None);
        assert_eq!(
            variants[2].analysis.problem.as_deref(),
            Some("failed: the result differs from the baseline's: checksum 2e instead of 1f")
        );
    }

    #[test]
    fn trials_with_fewer_executions_are_compared_as_far_as_they_went() {
        let fewer = |mut answered: Answered| {
            let statement = &mut answered.statements[0];
            statement.answer = None;
            answered
        };
        let mut variants = [
            variant(vec![answered("x", &[("a", 3, "f0")])]),
            variant(vec![fewer(answered("x", &[("a", 3, "")]))]),
            variant(vec![fewer(answered("x", &[("a", 4, "")]))]),
        ];
        compare(&mut variants);
        assert_eq!(variants[1].analysis.problem, None);
        let problem = variants[2].analysis.problem.as_ref().unwrap();
        assert!(problem.contains("in 1 executions"), "{problem}");
    }

    #[test]
    fn answers_to_other_questions_are_not_compared() {
        let mut variants = [
            variant(vec![answered("x", &[("a", 3, "f0")])]),
            variant(vec![answered("y", &[("a", 4, "f1")])]),
        ];
        compare(&mut variants);
        assert_eq!(variants[1].analysis.answers_compared, 0);
        assert_eq!(variants[1].analysis.trials.measured, 1);
    }

    #[test]
    fn an_answer_that_the_baseline_does_not_repeat_proves_nothing() {
        let mut variants = [
            variant(vec![
                answered("x", &[("a", 3, "f0"), ("b", 1, "0")]),
                answered("x", &[("a", 3, "f1"), ("b", 1, "0")]),
            ]),
            variant(vec![answered("x", &[("a", 3, "f2"), ("b", 1, "0")])]),
            variant(vec![answered("x", &[("a", 3, "f0"), ("b", 2, "0")])]),
        ];
        compare(&mut variants);
        assert_eq!(variants[1].analysis.problem, None);
        assert!(variants[2].analysis.problem.as_ref().unwrap().contains("`b`"));
    }
}
