//! Tables of trials read again, to compare them.

use crate::made_up;
use lab::comparison::{Change, Doubt, RunComparison, RunDigest};
use pragmark_report as report;
use report::export::{Columns, TrialsCsv, run_of_trials_csv};

/// The made-up run as a table.
fn table(columns: Columns) -> String {
    let (plan, _, trials) = made_up::run();
    let mut table = TrialsCsv::new(Vec::new(), &plan, columns);
    for trial in &trials {
        table.write(trial).unwrap();
    }
    String::from_utf8(table.finish().unwrap()).unwrap()
}

#[test]
fn a_table_of_trials_has_the_ratios_and_figures_of_its_run() {
    let analysis = made_up::analysis();
    let read = run_of_trials_csv("table.csv", &table(Columns::Wide)).unwrap();
    assert!(read.trials_alone);
    let whole = RunDigest::from(analysis.clone());
    let mut compared = 0;
    for (one, other) in analysis.experiments.iter().zip(&whole.experiments) {
        let own = read.experiments.iter().find(|experiment| experiment.key == one.key).unwrap();
        // A table does not say which blocks were disturbed.
        if one.dropped_blocks > 0 {
            continue;
        }
        for variant in &other.variants {
            let mut variants = own.variants.iter();
            // A variant without a single trial is in no table.
            let Some(twin) = variants.find(|it| it.label == variant.label) else {
                assert!(variant.unmeasured(), "{}", variant.label);
                continue;
            };
            assert_eq!(twin.baseline, variant.baseline);
            let sorted = |logs: &[f64]| {
                let mut logs = logs.to_vec();
                logs.sort_by(f64::total_cmp);
                logs
            };
            assert_eq!(sorted(&twin.log_ratios), sorted(&variant.log_ratios));
            let summaries = [twin, variant].map(|it| serde_json::to_value(&it.summaries).unwrap());
            assert_eq!(summaries[0], summaries[1], "{}", variant.label);
            compared += twin.log_ratios.len();
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn a_table_compared_with_its_run_shows_no_change_and_says_what_is_not_known() {
    let read = run_of_trials_csv("table.csv", &table(Columns::Wide)).unwrap();
    let whole = RunDigest::from(made_up::analysis().clone());
    for (base, new) in [(&whole, &read), (&read, &whole)] {
        let comparison = RunComparison::of(base, new);
        assert!(comparison.differences.is_empty());
        assert!(comparison.experiments.iter().all(|experiment| experiment.settings.is_empty()));
        assert!(comparison.experiments.len() > 3);
        let variants = comparison.experiments.iter().flat_map(|experiment| &experiment.variants);
        let changes: Vec<_> = variants.filter_map(|variant| variant.change).collect();
        assert!(changes.len() > 10);
        let is_none = |verdict| verdict == Change::NotDetectable;
        assert!(changes.iter().all(|change| is_none(change.verdict)));
        let alone = Doubt::TrialsAlone { run: "table.csv".to_owned() };
        assert!(comparison.doubts.contains(&alone));
        let document = report::runs(&[comparison], &[], &[]);
        let text = report::render::markdown(&document);
        assert!(text.contains("which blocks were disturbed, are not known"), "{text}");
        assert!(!text.contains("scale and seed are the same"), "{text}");
    }
}

#[test]
fn what_is_no_table_of_trials_is_refused_with_the_reason() {
    let wrong = |text: &str| run_of_trials_csv("t.csv", text).unwrap_err();
    let narrow = table(Columns::Narrow);
    let (plan, _, _) = made_up::run();
    let has_blocks = plan.experiments.iter().any(|experiment| experiment.variants.len() > 7);
    assert!(has_blocks && wrong(&narrow).contains("--wide"));
    let analysis = made_up::analysis();
    let variants = report::export::variants_csv(analysis, Columns::Wide).unwrap();
    assert!(wrong(&variants).contains("no column `round`"));
    let head = "experiment,purpose,round,variant,role,outcome,problem,metric,figure\n";
    let of = |row: &str| run_of_trials_csv("t.csv", &format!("{head}{row}\n"));
    assert!(of("e,rounds,0,v,baseline,measured,,rows_per_s,5").is_ok());
    for (row, why) in [
        ("e,rounds,x,v,baseline,measured,,rows_per_s,5", "`x`"),
        ("e,rounds,0,v,king,measured,,rows_per_s,5", "`king`"),
        ("e,dance,0,v,baseline,measured,,rows_per_s,5", "`dance`"),
        ("e,rounds,0,v,baseline,measured,,rows_per_s,NaN", "`NaN`"),
        ("e,rounds,0,v,baseline,lost,,rows_per_s,5", "`lost`"),
        ("e,rounds,0,v,baseline,timed_out,slow,rows_per_s,", "`slow`"),
        ("e,rounds,0,v,variant,measured,,rows_per_s,5", "no trial of its baseline"),
        ("e,rounds,0,v,baseline,measured,,unheard_of,5", "unheard_of"),
        ("e,rounds,0", "found record with 3 fields"),
    ] {
        let said = of(row).unwrap_err();
        assert!(said.contains(why), "{row}: {said}");
    }
}

#[test]
fn a_trial_that_was_stopped_at_its_limit_is_read_back_as_such() {
    let head = "experiment,purpose,round,variant,role,outcome,problem,metric,figure\n";
    let rows = "e,rounds,0,v,baseline,measured,,rows_per_s,5\ne,rounds,0,w,variant,timed_out,time limit of 2.5 s,rows_per_s,\n";
    let run = run_of_trials_csv("t.csv", &format!("{head}{rows}")).unwrap();
    let trials = &run.experiments[0].variants[1].trials;
    assert_eq!((trials.timed_out, trials.failed), (1, 0));
}
