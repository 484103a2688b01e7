//! Whether variants answer the user's own statements as the baseline does: a setting that changes an answer fails.

use std::collections::BTreeSet;

use super::gathered::{Answered, GatheredVariant, WRITTEN};
use crate::comparison::{AnswerChange, DifferingRows};
use crate::trial::StatementRecord;

/// Compares the answers of each variant with the baseline's, the first. One whose answers differ has
/// failed: its figures are left out.
pub(super) fn compare(variants: &mut [GatheredVariant]) {
    let Some((baseline, others)) = variants.split_first_mut() else { return };
    let version = |variant: &GatheredVariant| {
        variant.analysis.engine.as_ref().map_or(String::new(), |engine| engine.version.clone())
    };
    let base_version = version(baseline);
    for variant in others {
        let own_version = version(variant);
        let mut problem = None;
        for answered in &variant.answers {
            let right = baseline.answers.iter().filter(|right| right.asked == answered.asked);
            let right: Vec<&Answered> = right.collect();
            if right.is_empty() {
                continue;
            }
            variant.analysis.answers_compared += 1;
            problem = problem.or(written_by_one(&right, answered));
            for found in &answered.statements {
                match change(&right, found, [&base_version, &own_version]) {
                    AnswerChange::Open { what } => {
                        let words = format!("{}: {what}", in_backticks(&found.name));
                        variant.analysis.open_answers.insert(words);
                    }
                    other => {
                        let Some(words) = other.difference() else { continue };
                        problem = problem.or(Some(in_words(&found.name, &words)));
                        let rows = |base: &StatementRecord| {
                            DifferingRows::between(&base.rows, &found.rows)
                        };
                        if let Some(rows) = named(&right, found).find_map(rows) {
                            variant.analysis.differing_rows.insert(found.name.clone(), rows);
                        }
                    }
                }
            }
        }
        if let Some(difference) = problem {
            fail(variant, &difference);
        }
    }
}

/// Returns the difference if one side alone wrote a table.
fn written_by_one(right: &[&Answered], found: &Answered) -> Option<String> {
    let tables = |side: &[&Answered]| -> BTreeSet<String> {
        let names = side.iter().flat_map(|answered| &answered.statements).map(|one| &one.name);
        names.filter(|name| name.starts_with(WRITTEN)).cloned().collect()
    };
    let (base, own) = (tables(right), tables(&[found]));
    let name = base.symmetric_difference(&own).next()?;
    let writer = if base.contains(name) { "the baseline" } else { "this variant" };
    Some(format!("{name} was written by {writer} only"))
}

fn change(right: &[&Answered], found: &StatementRecord, versions: [&str; 2]) -> AnswerChange {
    // Trials execute scripts as often as there is time for.
    let as_often = |right: &&StatementRecord| {
        let mut counts = right.answers().map(|answer| answer.executions);
        counts.any(|count| found.answers().any(|answer| answer.executions == count))
    };
    let base: Vec<&StatementRecord> = named(right, found).filter(as_often).collect();
    AnswerChange::between(&base, &[found], versions)
}

/// Returns the answers of the baseline to a statement.
fn named<'a>(
    right: &[&'a Answered],
    found: &StatementRecord,
) -> impl Iterator<Item = &'a StatementRecord> {
    right.iter().flat_map(|right| &right.statements).filter(|right| right.name == found.name)
}

fn in_backticks(name: &str) -> String {
    if name.starts_with(WRITTEN) { name.to_owned() } else { format!("`{name}`") }
}

fn in_words(name: &str, difference: &str) -> String {
    match name {
        "" => "the result differs from the baseline's".to_owned(),
        name if name.starts_with(WRITTEN) => {
            format!("{name} differs from the baseline's after the work: {difference}")
        }
        _ => format!("the answer to `{name}` differs from the baseline's: {difference}"),
    }
}

fn fail(variant: &mut GatheredVariant, difference: &str) {
    let analysis = &mut variant.analysis;
    analysis.problem = Some(format!("failed: {difference}"));
    analysis.answers_differ = true;
    analysis.trials.failed += analysis.trials.measured;
    analysis.trials.measured = 0;
    variant.figures.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Answer;

    fn answered(asked: &str, answers: &[(&str, u64, &str)]) -> Answered {
        let statement = |(name, rows, checksum): &(&str, u64, &str)| StatementRecord {
            name: (*name).to_owned(),
            sql: "SELECT 1".to_owned(),
            answer: Some(Answer {
                executions: 20,
                rows: *rows,
                checksum: Some((*checksum).to_owned()),
                ..Answer::default()
            }),
            earlier_answers: vec![Answer {
                executions: 1,
                rows: 1,
                checksum: Some(format!("first {rows}")),
                ..Answer::default()
            }],
            ..StatementRecord::default()
        };
        Answered { asked: asked.to_owned(), statements: answers.iter().map(statement).collect() }
    }

    fn whole(asked: &str, checksum: &str) -> Answered {
        let answer = Answer { checksum: Some(checksum.to_owned()), ..Answer::default() };
        let record = StatementRecord { answer: Some(answer), ..StatementRecord::default() };
        Answered { asked: asked.to_owned(), statements: vec![record] }
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
                "failed: the answer to `a` differs from the baseline's: 3 rows of 20 executions as before, with other content"
            )
        );
    }

    #[test]
    fn a_table_that_one_side_alone_wrote_is_a_difference() {
        let table: &[(&str, u64, &str)] = &[("a", 3, "f0"), ("the table t", 3, "0")];
        for (base, own, writer) in
            [(table, &table[..1], "the baseline"), (&table[..1], table, "this variant")]
        {
            let mut variants = [base, own].map(|answers| variant(vec![answered("x", answers)]));
            compare(&mut variants);
            let problem = variants[1].analysis.problem.clone().unwrap();
            assert_eq!(problem, format!("failed: the table t was written by {writer} only"));
        }
    }

    #[test]
    fn a_variant_with_another_result_of_the_whole_work_fails() {
        let mut variants = ["1f", "1f", "2e"].map(|checksum| variant(vec![whole("x", checksum)]));
        compare(&mut variants);
        assert_eq!(variants[1].analysis.problem, None);
        assert_eq!(
            variants[2].analysis.problem.as_deref(),
            Some("failed: the result differs from the baseline's")
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
        assert!(problem.contains("1 row as before"), "{problem}");
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
