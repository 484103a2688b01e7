//! The text views of a made-up run, kept as snapshots that a reader can judge, and what exports
//! promise to other programs.

use crate::made_up;
use lab::analysis::{Finding, SteadinessCounts, Summary, findings};
use lab::environment::{FsyncProbe, VolumeKind};
use lab::record::TrialRecord;
use lab::tier::MayLose;
use pragmark_report as report;
use report::export::{Columns, TrialsCsv, claims_csv, json, metrics_csv, variants_csv};
use tuning::Analysis;

fn plain(width: usize) -> String {
    report::terminal(made_up::analysis(), report::Style { width, colour: false })
}

fn trials_csv(trials: &[TrialRecord], columns: Columns) -> String {
    let (plan, ..) = made_up::run();
    let mut export = TrialsCsv::new(Vec::new(), &plan, columns);
    trials.iter().for_each(|trial| export.write(trial).unwrap());
    String::from_utf8(export.finish().unwrap()).unwrap()
}

#[test]
fn the_terminal_view_reads_well_in_sixty_columns() {
    let text = plain(60);
    assert!(text.lines().all(|line| line.chars().count() <= 60), "a line is too long:\n{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_terminal_view_reads_well_in_a_hundred_columns() {
    let text = plain(100);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "a line is too long:\n{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn an_experiment_on_several_directories_is_shown_side_by_side() {
    let analysis = made_up::on_two_directories();
    let heading = "The directories side by side";
    for width in [60, 100] {
        let style = report::Style { width, colour: false };
        let text = report::terminal(&analysis, style);
        let (_, table) = text.split_once(heading).expect("a table of the directories");
        assert!(table.lines().all(|line| line.chars().count() <= width), "{text}");
        assert!(table.contains("/mnt/second"), "{table}");
    }
    assert!(report::html(&analysis).unwrap().contains(heading));
    let markdown = report::markdown(&analysis);
    let (_, table) = markdown.split_once(heading).expect("a table of the directories");
    let (table, _) = table.split_once("## To repeat").unwrap();
    insta::assert_snapshot!(table);
}

#[test]
fn one_directory_is_compared_with_nothing() {
    assert!(!plain(100).contains("side by side"));
}

#[test]
fn the_terminal_names_unsteady_variants_only_when_most_of_their_trials_were() {
    let mut analysis = made_up::analysis().clone();
    let experiment = analysis
        .experiments
        .iter_mut()
        .find(|experiment| experiment.key == "checkpoint-size")
        .unwrap();
    let steadiness =
        |warming, steady, drifting| Some(SteadinessCounts { warming, steady, drifting });
    experiment.variants[0].steadiness = steadiness(4, 5, 0);
    experiment.variants[1].steadiness = steadiness(0, 4, 5);
    experiment.variants[2].steadiness = steadiness(6, 3, 0);
    let style = report::Style { width: 110, colour: false };
    let text = report::terminal(&analysis, style);
    assert!(text.contains(
        "· throughput drifted in most trials of: wal_autocheckpoint=4000; was still warming up in \
         most trials of:\n  wal_autocheckpoint=0\n"
    ));
    let page = report::html(&analysis).unwrap();
    assert_eq!(page.matches("throughput drifted in most trials of: ").count(), 1);
}

#[test]
fn colour_adds_codes_and_no_words() {
    let style = report::Style { width: 80, colour: true };
    let coloured = report::terminal(made_up::analysis(), style);
    assert!(coloured.contains("\u{1b}[32m✓\u{1b}[0m confirmed"));
    let mut pieces = coloured.split("\u{1b}[");
    let mut bare = pieces.next().unwrap().to_owned();
    pieces.for_each(|piece| bare.push_str(piece.split_once('m').unwrap().1));
    assert_eq!(bare, plain(80));
    assert!(!plain(80).contains('\u{1b}'));
}

#[test]
fn figures_to_be_read_beside_the_own_one_stand_in_every_form() {
    let mut analysis = made_up::analysis().clone();
    let metric = "cpu_user_s".to_owned();
    for (number, variant) in analysis.experiments[0].variants.iter_mut().enumerate() {
        let own = variant.summaries.values().next().copied().unwrap();
        let median = 10.0 + number as f64;
        variant.summaries.insert(metric.clone(), Summary { median, ..own });
    }
    let plan = &mut analysis.plan.experiments[0].experiment;
    plan.secondary_metrics = vec![metric, "not_measured".to_owned()];
    let wide = report::Style { width: 100, colour: false };
    let forms = [
        report::terminal(&analysis, wide),
        report::markdown(&analysis),
        report::html(&analysis).unwrap(),
    ];
    for form in forms.map(|form| form.to_lowercase()) {
        let (_, beside) = form.split_once("secondary metrics").unwrap();
        assert!(beside.contains("cpu time, user"), "{beside}");
        assert!(beside.contains("10.0 s") && beside.contains("11.0 s"), "{beside}");
        let missing = "no trial has this metric";
        assert!(beside.contains(missing), "{beside}");
    }
}

#[test]
fn a_variant_that_exceeds_an_upper_bound_is_named() {
    let mut analysis = made_up::analysis().clone();
    let said = "better median than the upper bound plain file: ";
    assert!(!report::markdown(&analysis).contains(said));
    let bounds = &mut analysis.experiments[0].upper_bounds;
    let plain_file = bounds.iter_mut().find(|bound| bound.name == "plain file").unwrap();
    plain_file.exceeded_by = vec![1];
    assert!(report::markdown(&analysis).contains(said));
}

#[test]
fn a_variant_that_is_found_better_is_named_though_a_noisier_one_stands_above_it() {
    let mut analysis = made_up::analysis().clone();
    let experiment = &mut analysis.experiments[0];
    assert!(findings(std::slice::from_ref(experiment)).len() == 1);
    let better = experiment.ranking.iter().take_while(|variant| **variant != 0);
    let better: Vec<usize> = better.copied().collect();
    assert!(better.len() >= 2, "{better:?}");
    experiment.variants[better[0]].effect = None;
    let found = findings(std::slice::from_ref(experiment));
    assert_eq!(found.len(), 1);
    let second = &experiment.variants[better[1]];
    assert!(found[0].levels.iter().all(|(name, level)| second.levels.get(name) == Some(level)));
}

#[test]
fn the_same_question_on_several_directories_is_told_apart_by_their_names() {
    let mut analysis = made_up::analysis().clone();
    let found = analysis.findings[0].experiment.clone();
    for experiment in &mut analysis.experiments {
        let name = if experiment.key == found { "ssd" } else { "hdd" };
        experiment.directory = std::path::Path::new("/mnt").join(name);
    }
    let style = report::Style { width: 200, colour: false };
    assert!(report::terminal(&analysis, style).contains(" on ssd\n"));
    assert!(report::markdown(&analysis).contains(" on `ssd`\n"));
    let page = report::html(&analysis).unwrap();
    assert!(page.contains(r#"<span class="qualifier">ssd</span>"#));
    assert!(page.contains(r#"<span class="qualifier">hdd</span>"#));
}

#[test]
fn a_variant_for_whose_levels_the_baseline_has_none_is_compared_with_the_baseline_by_name() {
    let mut analysis = made_up::analysis().clone();
    analysis.findings[0].instead_of.clear();
    let markdown = report::markdown(&analysis);
    assert!(markdown.contains(" as the baseline."), "{markdown}");
}

#[test]
fn markdown_holds_findings_variants_claims_and_the_way_to_repeat_it() {
    insta::assert_snapshot!(report::markdown(made_up::analysis()));
}

#[test]
fn where_variants_differ_in_conditions_alone_nothing_is_recommended() {
    let mut analysis = made_up::analysis().clone();
    for experiment in &mut analysis.experiments {
        experiment.conditions = experiment.factors.keys().cloned().collect();
    }
    analysis.findings = findings(&analysis.experiments);
    assert!(analysis.findings.is_empty());
    let text = report::markdown(&analysis);
    assert!(text.contains(
        "From **1.42 M rows/s** at `index=after` to **486 k rows/s** at `index=deferred`; nothing \
         here is to be chosen."
    ), "{text}");
}

#[test]
fn a_run_without_a_trial_has_its_views_all_the_same() {
    let analysis = made_up::nothing_yet();
    let text = report::terminal(&analysis, report::Style { width: 80, colour: false });
    assert!(text.contains("No answer yet: nothing was measured."));
    assert!(text.contains("unfinished: 6 of 6 experiments"));
    assert!(report::markdown(&analysis).contains("No answer yet: too little was measured"));
    assert!(report::html(&analysis).unwrap().contains("No answer yet: nothing was measured."));
}

/// The made-up run in which confirmation runs of these variants of its first finding's experiment show
/// nothing.
fn unconfirmed(variants: &[usize]) -> Analysis {
    let mut analysis = made_up::analysis().clone();
    let key = analysis.findings[0].experiment.clone();
    let mut experiments = analysis.experiments.iter_mut();
    let experiment = experiments.find(|experiment| experiment.key == key).unwrap();
    for index in variants {
        let variant = &mut experiment.variants[*index];
        let mut confirmation = variant.effect.as_ref().unwrap().estimate.clone();
        confirmation.centre = 1.02;
        (confirmation.interval.low, confirmation.interval.high) = (0.97, 1.07);
        variant.confirmation = Some(confirmation);
    }
    analysis.findings = findings(&analysis.experiments);
    analysis
}

#[test]
fn a_winner_that_its_confirmation_run_does_not_show_is_no_finding() {
    let finding = made_up::analysis().findings[0].clone();
    let next = finding.faster.unwrap();
    let analysis = unconfirmed(&[finding.variant, next.variant]);
    let of_others = |it: &Finding| it.experiment != finding.experiment;
    assert!(analysis.findings.iter().all(of_others));
    let text = report::markdown(&analysis);
    assert!(text.contains("No variant was confirmed to be better than the baseline"));
    assert!(text.contains("×1.02"), "{text}");
}

#[test]
fn where_the_first_rung_is_not_confirmed_the_next_one_is_the_finding() {
    let finding = made_up::analysis().findings[0].clone();
    let next = finding.faster.unwrap();
    let analysis = unconfirmed(&[finding.variant]);
    let mut found = analysis.findings.iter();
    let found = found.find(|it| it.experiment == finding.experiment).unwrap();
    assert_eq!((found.variant, found.is_less_safe), (next.variant, true));
    assert_eq!(found.faster, None);
}

#[test]
fn a_run_of_crash_tests_alone_has_no_section_on_speed() {
    let mut analysis = made_up::nothing_yet();
    for experiment in &mut analysis.experiments {
        experiment.workload = "kill".to_owned();
    }
    let text = report::markdown(&analysis);
    assert!(!text.contains("What matters") && !text.contains("No variant was found to be better"));
}

#[test]
fn variants_are_exported_with_every_digit() {
    insta::assert_snapshot!(rounded(&variants_csv(made_up::analysis(), Columns::Wide).unwrap()));
}

#[test]
fn metrics_are_exported_with_spread_and_percentiles() {
    let csv = metrics_csv(made_up::analysis(), Columns::Wide).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let figures = ["metric", "median", "min", "max", "sd", "p95", "p99", "n"];
    assert_eq!(rows[0][3..], figures);
    let mut rates = rows.iter().filter(|row| row[3] == "txns_per_s");
    let rate = rates.find(|row| row[10] == "30").unwrap();
    let figure = |column: usize| rate[column].parse::<f64>().unwrap();
    let [median, min, max, sd, p95, p99] = [4, 5, 6, 7, 8, 9].map(figure);
    assert!(min < median && median < p95 && p95 < p99 && p99 < max);
    assert!(sd > 0.0 && sd < max - min);
}

#[test]
fn claims_are_exported_with_figures_and_bounds() {
    insta::assert_snapshot!(rounded(&claims_csv(made_up::analysis(), Columns::Wide).unwrap()));
}

#[test]
fn trials_are_exported_with_a_fixed_header_and_the_rest_in_one_column() {
    let (_, _, trials) = made_up::run();
    let first_of = |outcome: &str| {
        let is = |trial: &&TrialRecord| match outcome {
            "measured" => trial.outcome.problem().is_none(),
            start => trial.outcome.problem().is_some_and(|problem| problem.starts_with(start)),
        };
        trials.iter().find(is).unwrap().clone()
    };
    let chosen = ["measured", "skipped", "failed", "stopped"].map(first_of);
    let csv = trials_csv(&chosen, Columns::Wide);
    assert!(csv.lines().nth(1).unwrap().contains(",seconds.index="));
    insta::assert_snapshot!(rounded(&csv));
}

#[test]
fn an_export_of_no_trials_is_a_header() {
    let csv = trials_csv(&[], Columns::Wide);
    assert_eq!(csv.lines().count(), 1);
    assert!(csv.starts_with("experiment,purpose,round,") && csv.trim_end().ends_with(",more"));
    let narrow = "experiment,purpose,round,variant,role,outcome,problem,metric,figure\n";
    assert_eq!(trials_csv(&[], Columns::Narrow), narrow);
}

#[test]
fn figures_in_the_trials_export_read_back_as_they_were() {
    let (_, _, trials) = made_up::run();
    let csv = trials_csv(&trials, Columns::Wide);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let column = reader.headers().unwrap().iter().position(|name| name == "seconds").unwrap();
    let read: Vec<Option<f64>> =
        reader.records().map(|row| row.unwrap()[column].parse().ok()).collect();
    let written: Vec<Option<f64>> = trials
        .iter()
        .map(|trial| match &trial.outcome {
            lab::trial::Outcome::Measured(measured) => measured.metrics.get("seconds").copied(),
            _ => None,
        })
        .collect();
    assert_eq!(read, written);
}

#[test]
fn a_narrow_export_has_the_figures_of_the_wide_one() {
    let (plan, _, trials) = made_up::run();
    let csv = trials_csv(&trials, Columns::Narrow);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    for (row, trial) in reader.records().map(Result::unwrap).zip(&trials) {
        let planned = plan.experiments.iter().find(|experiment| experiment.key == trial.experiment);
        let metric = &planned.unwrap().experiment.metric;
        let figure = match &trial.outcome {
            lab::trial::Outcome::Measured(measured) => measured.metrics.get(metric).copied(),
            _ => None,
        };
        assert_eq!((&row[7], row[8].parse().ok()), (metric.as_str(), figure));
    }
    let analysis = made_up::analysis();
    for (narrow, wide) in [
        (variants_csv(analysis, Columns::Narrow), variants_csv(analysis, Columns::Wide)),
        (claims_csv(analysis, Columns::Narrow), claims_csv(analysis, Columns::Wide)),
    ] {
        let [narrow, wide] = [narrow, wide].map(|csv| columns_of(&csv.unwrap()));
        assert!(narrow.len() < wide.len());
        assert!(narrow.iter().all(|column| wide.contains(column)));
    }
}

/// The columns of a table, each with its name first.
fn columns_of(csv: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).from_reader(csv.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let column = |place: usize| rows.iter().map(|row| row[place].to_owned()).collect();
    (0..rows[0].len()).map(column).collect()
}

#[test]
fn the_json_export_is_the_analysis() {
    let analysis = made_up::analysis();
    let text = json(analysis).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["plan"]["id"], analysis.plan.id);
    assert_eq!(value["experiments"].as_array().unwrap().len(), analysis.experiments.len());
    assert_eq!(value["trials"]["failed"], analysis.trials.failed);
    assert!(text.starts_with("{\n  \"plan\""));
}

/// Numbers with ten digits, so that snapshots do not depend on the last bits of a platform's
/// logarithms.
fn rounded(csv: &str) -> String {
    let cell = |cell: &str| match cell.parse::<f64>() {
        Ok(value) if cell.contains('.') => format!("{}", (value * 1e6).round() / 1e6),
        _ => cell.to_owned(),
    };
    let line = |line: &str| line.split(',').map(cell).collect::<Vec<_>>().join(",");
    csv.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_search_says_first_what_to_paste_and_what_a_power_cut_then_takes() {
    let tuned = made_up::tuned(MayLose::Recent);
    let text = report::markdown(&tuned);
    let (_, section) = text.split_once("journal-and-sync").unwrap();
    let at = |words: &str| section.find(words).unwrap_or_else(|| panic!("{words}:\n{section}"));
    let sentence = at("If a power cut may take recent transactions: ");
    assert!(section[sentence..].lines().next().unwrap().contains("power cut"));
    let paste = at("-- on every connection");
    assert!(sentence < paste && paste < at("What each setting contributes"));
    assert!(at("What each setting contributes") < at("Ready to paste into a program"));
    let terminal = report::terminal(&tuned, report::Style { width: 100, colour: false });
    assert!(!terminal.contains("better-sqlite3"), "`pragmark settings` prints other forms");
    // It is said once.
    let again = section[paste..].find("If a power cut may take recent transactions: ");
    assert_eq!(again, None, "{section}");
}

#[test]
fn work_that_only_reads_has_no_warnings_about_syncs() {
    let mut run = made_up::analysis().clone();
    let says = |run: &Analysis| report::markdown(run).contains("a synced write takes");
    let volume = &mut run.environment.machine.volumes[0];
    volume.fsync = Some(FsyncProbe::new(300, 900, 900, VolumeKind::Disk, None));
    assert!(says(&run));
    for variant in run.experiments.iter_mut().flat_map(|experiment| &mut experiment.variants) {
        variant.counts = [("syncs".to_owned(), 0.0)].into();
    }
    assert!(!says(&run));
    let mut uncounted = run.clone();
    uncounted.experiments[0].variants[1].counts.clear();
    assert!(says(&uncounted), "it may sync");
    run.experiments[0].variants[0].counts.insert("syncs".to_owned(), 1.0);
    assert!(says(&run));
}

#[test]
fn the_answer_of_the_only_experiment_is_said_once() {
    let mut analysis = made_up::analysis().clone();
    let key = analysis.findings[0].experiment.clone();
    analysis.experiments.retain(|experiment| experiment.key == key);
    analysis.plan.experiments.retain(|planned| planned.key == key);
    let text = report::terminal(&analysis, report::Style { width: 100, colour: false });
    assert_eq!(text.matches("times as fast as journal_mode=delete").count(), 1, "{text}");
}

#[test]
fn a_run_is_repeated_by_the_folder_that_it_was_read_from() {
    let analysis = Analysis { folder: Some("my runs/r5".into()), ..made_up::analysis().clone() };
    let text = report::markdown(&analysis);
    assert!(text.contains("pragmark run --repeat 'my runs/r5'\n"), "{text}");
}
