//! What the page must hold, whatever it looks like.

use crate::made_up;
use lab::claims::Verdict;
use lab::level::Settings;
use lab::stats::Interval;
use lab::tier::MayLose;
use lab::tuning_plan::Advice;
use pragmark_report as report;
use tuning::Analysis;
use tuning::{Advised, Gain};

fn page() -> String {
    report::html(made_up::analysis()).unwrap()
}

/// Text as the templates escape it.
fn escaped(text: &str) -> String {
    let mut safe = text.replace('&', "&#38;");
    for (character, code) in [('<', "&#60;"), ('>', "&#62;"), ('"', "&#34;"), ('\'', "&#39;")] {
        safe = safe.replace(character, code);
    }
    safe
}

#[test]
fn the_made_up_run_has_every_verdict_and_every_outcome() {
    let analysis = made_up::analysis();
    for verdict in
        [Verdict::Confirmed, Verdict::Refuted, Verdict::Inconclusive, Verdict::NotApplicable]
    {
        assert!(analysis.verdicts(verdict) > 0, "no claim is {verdict}");
    }
    let trials = analysis.trials;
    assert!(trials.measured > 0 && trials.skipped > 0 && trials.failed > 0 && trials.timed_out > 0);
    assert!(analysis.experiments.iter().any(|experiment| experiment.preliminary));
    assert!(analysis.experiments.iter().any(|experiment| experiment.aa_check_alarm()));
    assert!(analysis.experiments.iter().any(|experiment| experiment.dropped_blocks > 0));
}

#[test]
fn every_variant_claim_and_problem_is_on_the_page() {
    let (analysis, page) = (made_up::analysis(), page());
    for experiment in &analysis.experiments {
        assert!(page.contains(&escaped(&experiment.question)), "{}", experiment.question);
        for variant in &experiment.variants {
            assert!(
                page.contains(&format!("data-row=\"{}\"", escaped(&variant.label))),
                "{}",
                variant.label
            );
            if let Some(problem) = &variant.problem {
                assert!(page.contains(&escaped(problem)), "{problem}");
            }
        }
        for judged in &experiment.claims {
            assert!(page.contains(&escaped(&judged.claim.says)), "{}", judged.claim.says);
            if let Some(why) = &judged.why {
                assert!(page.contains(&escaped(why)), "{why}");
            }
        }
    }
}

#[test]
fn text_from_files_cannot_become_script() {
    let page = page();
    assert!(!page.contains(made_up::HOSTILE));
    assert!(page.contains(&escaped(made_up::HOSTILE)));
    assert_eq!(page.matches("<script").count(), 1, "only the page's own script");
}

#[test]
fn nothing_is_fetched() {
    let page = page();
    for fetching in ["http://", "https://", "<link", "<img", "<iframe", "@import", "url(", "fetch("]
    {
        assert!(!page.contains(fetching), "the page contains {fetching}");
    }
}

#[test]
fn the_policy_allows_the_pages_own_style_and_script_and_nothing_else() {
    let page = page();
    let (_, policy) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
    let policy = policy.split_once('"').unwrap().0;
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && policy.contains("; script-src 'sha256-"), "{policy}");
    for forbidden in [" style=\"", " onclick=", "javascript:"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn a_finding_is_short_and_notes_stand_below_the_chart_once() {
    let page = page();
    let findings = page.split("<p class=\"what\">").skip(1).take(4);
    for finding in findings.map(|rest| rest.split_once("</p>").unwrap().0) {
        let text: String =
            finding.split('<').map(|part| part.split_once('>').map_or(part, |it| it.1)).collect();
        assert!(text.chars().count() < 200, "{text}");
    }
    assert_eq!(section(&page, "checkpoint-size").matches("throughput drifted").count(), 1);
}

#[test]
fn every_link_has_its_target_and_no_id_is_given_twice() {
    let page = page();
    let ids: Vec<&str> = attribute(&page, " id=\"").collect();
    let links: Vec<&str> = attribute(&page, "href=\"#").collect();
    assert!(links.len() > 20);
    for link in links {
        assert!(ids.contains(&link), "#{link} leads nowhere");
    }
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len());
}

#[test]
fn elements_are_closed_in_the_order_in_which_they_were_opened() {
    let page = page();
    let body = &page[page.find("<body>").unwrap()..page.find("<script>").unwrap()];
    let mut open: Vec<&str> = Vec::new();
    for tag in body.split('<').skip(1) {
        let tag = &tag[..tag.find('>').expect("every tag ends")];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "</{name}> closes something else"),
            (false, false) => open.push(name),
            (false, true) => {}
        }
    }
    assert_eq!(open, ["body"], "left open");
}

#[test]
fn a_factorial_of_two_factors_has_a_map_and_says_why_cells_are_empty() {
    let page = page();
    assert_eq!(page.matches(MAP).count(), 1);
    let map = &page[page.find(MAP).unwrap()..];
    let map = &map[..map.find("</figure>").unwrap()];
    assert_eq!(map.matches("<td class=\"heat-").count(), 24);
    assert_eq!(map.matches("heat-none\"").count(), 4);
    let corrupting: Vec<&str> =
        map.split("<td").skip(1).filter(|cell| cell.contains('✘')).collect();
    assert!(!corrupting.is_empty());
    assert!(corrupting.iter().all(|cell| cell.starts_with(" class=\"heat-same")), "{corrupting:?}");
    assert!(page.contains("left out: extra adds nothing where there is no journal to sync"));
    assert!(page.contains("stopped at its time limit of 60 s"));
}

/// The caption of the map of a factorial.
const MAP: &str = "<figcaption>Ratio to the baseline, with the median";

/// The chart of effects in the section of an experiment.
fn effects<'a>(page: &'a str, key: &str) -> &'a str {
    let heading = "<h3>What each setting does</h3>";
    let (_, effects) = section(page, key).split_once(heading).unwrap();
    effects.split_once("</figure>").unwrap().0
}

/// The section of one experiment.
fn section<'a>(page: &'a str, key: &str) -> &'a str {
    let index = made_up::analysis()
        .experiments
        .iter()
        .position(|experiment| experiment.key == key)
        .unwrap();
    let start = page.find(&format!("id=\"e{}-{key}\"", index + 1)).unwrap();
    let length = page[start..].find("</section>").unwrap();
    &page[start..start + length]
}

#[test]
fn upper_bounds_stand_apart_from_the_variants_with_their_problems() {
    let page = page();
    let section = section(&page, "insert-index-timing");
    let (variants, upper_bounds) = section.split_once("<ol class=\"bounds\"").unwrap();
    assert!(variants.contains("data-row=") && !variants.contains("data-bound="));
    let upper_bounds = &upper_bounds[..upper_bounds.find("</ol>").unwrap()];
    assert_eq!(upper_bounds.matches("data-bound=").count(), 3);
    assert_eq!(upper_bounds.matches("class=\"hollow\"").count(), 2);
    assert!(!upper_bounds.contains("data-row=") && !upper_bounds.contains("class=\"interval\""));
    assert!(
        upper_bounds
            .contains("upper bound, skipped: this file system cannot map a file that grows")
    );
}

#[test]
fn what_the_work_did_is_shown_where_it_was_counted_and_without_empty_columns() {
    let page = page();
    let of_journal = section(&page, "journal-and-sync");
    assert!(of_journal.contains("<summary>Why: what the work did</summary>"));
    assert!(of_journal.contains("title=\"syncs.wal\">Syncs, WAL</th>"));
    assert!(!of_journal.contains("title=\"cache_misses\""));
    let of_index = section(&page, "insert-index-timing");
    assert!(of_index.contains("title=\"syncs\">Syncs, database only</th>"));
    assert!(!of_index.contains("title=\"syncs.database\""));
    assert!(!section(&page, "page-size").contains("what the work did"));
}

#[test]
fn equal_tables_are_shown_once_with_the_names_of_their_variants() {
    let page = page();
    let section = section(&page, "insert-index-timing");
    assert_eq!(section.matches("<table class=\"figures data\">").count(), 2);
    assert_eq!(section.matches("<td>IdxInsert</td>").count(), 1);
    assert!(
        section.contains("<code>index=before-sorted</code> and <code>index=deferred</code></p>")
    );
}

#[test]
fn sizes_have_a_line_chart_with_the_knees_that_were_planted() {
    let page = page();
    assert_eq!(page.matches("<figure class=\"curve\">").count(), 1);
    let section = section(&page, "insert-growth");
    assert_eq!(section.matches("<polyline class=\"line\"").count(), 3);
    assert_eq!(section.matches("<polyline class=\"model\"").count(), 2);
    assert!(section.contains("1.2\u{a0}M\u{a0}rows"));
    assert!(!section.contains(MAP), "the chart says what the map would");
}

#[test]
fn an_absolute_claim_is_shown_in_the_unit_of_its_metric() {
    let page = page();
    let section = section(&page, "insert-growth");
    for figure in ["13.0 B/row", "[13.0, 13.0] B/row", "13.2 B/row", "12.5 to 13.9 B/row"] {
        assert!(section.contains(figure), "{figure}");
    }
}

#[test]
fn contents_are_grouped_by_source_with_the_verdicts_of_each_question() {
    let page = page();
    let start = page.find("<nav class=\"toc").unwrap();
    let contents = &page[start..start + page[start..].find("</nav>").unwrap()];
    let headings: Vec<&str> =
        contents.split("<h3>").skip(1).map(|rest| &rest[..rest.find('<').unwrap()]).collect();
    assert_eq!(headings, ["Source 001", "Source 002", "Source 003", "Without a source"]);
    assert!(contents.contains("title=\"1 refuted\""));
}

#[test]
fn pragmas_that_differ_stand_apart_from_those_that_all_connections_share() {
    let page = page();
    let complete = &page[page.find("id=\"pragmas\"").unwrap()..];
    assert!(complete.contains("<code>busy_timeout = 5000</code>"));
    assert!(!complete.contains("<code>journal_mode = "));
    assert_eq!(page.matches("busy_timeout = 5000").count(), 1);
    assert!(page.contains("<th scope=\"col\"><code>synchronous</code></th>"));
}

#[test]
fn the_page_is_light_and_a_large_run_is_written_at_once() {
    let analysis = made_up::analysis();
    assert!(page().len() < 290_000, "the page weighs {} bytes", page().len());
    let mut large = analysis.clone();
    for copy in 0..40 {
        for (experiment, planned) in analysis.experiments.iter().zip(&analysis.plan.experiments) {
            let mut experiment = experiment.clone();
            experiment.key.push_str(&format!("-{copy}"));
            large.experiments.push(experiment);
            large.plan.experiments.push(planned.clone());
        }
    }
    // Linear: forty-one times the experiments, at most forty-one times the text.
    assert!(report::html(&large).unwrap().len() < 41 * page().len());
}

fn attribute<'a>(page: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(start).skip(1).map(|rest| &rest[..rest.find('"').expect("every attribute ends")])
}

#[test]
fn crossed_factors_have_effects_maps_and_shares_and_others_have_none() {
    let page = page();
    let crossed = section(&page, "journal-and-sync");
    assert!(crossed.contains("<h3>What each setting does</h3>"));
    // Five journal modes and three levels of synchronous besides those of the baseline.
    assert_eq!(effects(&page, "journal-and-sync").matches("data-row=").count(), 8);
    assert_eq!(crossed.matches("divided by the product of both single effects").count(), 1);
    assert!(crossed.contains("<figure class=\"shares\">"));
    assert!(crossed.contains("<td class=\"heat-base\"><b>×1</b></td>"));
    assert!(!section(&page, "insert-index-timing").contains("What each setting does"));
}

#[test]
fn a_level_of_a_condition_is_marked_as_no_choice() {
    let page = page();
    let growth = section(&page, "insert-growth");
    assert_eq!(growth.matches("a condition, no choice").count(), 5);
    assert_eq!(effects(&page, "insert-growth").matches("data-row=").count(), 7);
}

#[test]
fn settings_to_use_are_printed_for_the_common_bindings_where_settings_were_compared() {
    let page = page();
    let journal = section(&page, "journal-and-sync");
    assert!(journal.contains("<h3>Settings to use</h3>"));
    let bindings = report::settings::Binding::ALL.iter().enumerate();
    for (place, binding) in bindings {
        let title = format!("<summary>{}</summary>", binding.title());
        let is_shown = place < report::settings::Binding::SHOWN;
        assert_eq!(journal.contains(&title), is_shown, "{}", binding.title());
    }
    for rung in
        ["To lose no acknowledged transaction", "If a power cut may take recent transactions"]
    {
        assert!(journal.contains(rung), "{rung}");
    }
    // What can corrupt is named, and never printed to be pasted.
    assert!(journal.contains("Better still, but less safe"));
    assert!(!journal.contains("PRAGMA synchronous = off"));
    assert!(!section(&page, "insert-growth").contains("Settings to use"));
}

#[test]
fn settings_of_a_safer_rung_say_why_they_are_printed_for_a_riskier_one() {
    let mut analysis = made_up::analysis().clone();
    let mut ladders = analysis.ladders.iter_mut();
    let ladder = ladders.find(|ladder| ladder.experiment == "journal-and-sync");
    let ladder = ladder.unwrap();
    let printed = |analysis: &Analysis| {
        let query = report::SettingsQuery {
            experiment: Some("journal-and-sync".to_owned()),
            binding: None,
            may_lose: MayLose::Recent,
        };
        report::settings_to_use(analysis, &query)
    };
    let why = "No variant that may lose more is chosen before it.";
    ladder.rungs.retain(|rung| rung.may_lose != MayLose::Recent);
    let safer = printed(&analysis);
    assert!(safer.contains("To lose no acknowledged transaction") && safer.contains(why));
    assert!(!printed(made_up::analysis()).contains(why));
}

#[test]
fn a_search_without_time_for_its_rounds_says_which_time_limit_has_it() {
    let mut tuned = made_up::tuned(MayLose::Recent);
    let search = tuned.tuning.as_mut().unwrap();
    search.limit_for_rounds_s = Some(200.0);
    let key = search.experiment.clone();
    let experiment = tuned.experiments.iter_mut().find(|experiment| experiment.key == key);
    let experiment = experiment.unwrap();
    experiment.rounds = 2;
    for variant in &mut experiment.variants {
        variant.effect = None;
    }
    tuned.findings.clear();
    tuned.ladders.clear();
    let text = report::markdown(&tuned);
    assert!(text.contains("No answer yet: too few rounds"), "{text}");
    let more =
        "left time for 2 rounds; by the time that they took, `--time-limit 4m` is long enough";
    assert!(text.contains(more), "{text}");
    // Indexes have been counted before.
    let advice = Advice {
        change: "index on orders(day)".to_owned(),
        counted: Some("orders 150,077 → 55 steps".to_owned()),
        sql: None,
        settings: Settings::new(),
    };
    tuned.experiments.retain(|experiment| experiment.key == key);
    assert!(!report::markdown(&tuned).contains("to recommend a setting"));
    tuned.tuning.as_mut().unwrap().advised = vec![Advised { advice, gain: None }];
    let text = report::markdown(&tuned);
    let (_, first) = text.split_once("What matters on this machine").unwrap();
    let counted = first.find("index on orders(day) (orders 150,077 → 55 steps).");
    let settings = first.find("Too little was measured to recommend a setting.");
    assert!(counted.is_some() && counted < settings, "{first}");
}

#[test]
fn the_first_screen_of_a_search_says_what_to_change_in_the_application() {
    let with = |gain: Option<f64>, sql: Option<&str>| {
        let mut tuned = made_up::tuned(MayLose::Recent);
        let gain = gain.map(|ratio| Gain {
            ratio,
            interval: Interval { low: 0.9 * ratio, high: 1.1 * ratio },
            detectable: 0.1,
            rounds: 7,
        });
        let advice = Advice {
            counted: None,
            change: "10 executions in one transaction".to_owned(),
            sql: sql.map(str::to_owned),
            settings: Settings::new(),
        };
        tuned.tuning.as_mut().unwrap().advised = vec![Advised { advice, gain }];
        let text = report::markdown(&tuned);
        let (_, rest) = text.split_once("What matters on this machine").unwrap();
        rest.split("\n## ").next().unwrap().to_owned()
    };
    for (gain, words) in [
        (
            Some(3.0),
            "To change in the application: 10 executions in one transaction, 3.0 times as fast",
        ),
        (Some(1.0), "1 change of the application tried, none found to be better."),
        (None, "were not timed: no time was left"),
    ] {
        let text = with(gain, None);
        assert!(text.contains(words), "{words}: {text}");
    }
    // What brings most comes first.
    for (gain, sql, is_first) in [
        (3e3, Some("CREATE INDEX a ON t(b);"), true),
        (1.01, Some("ANALYZE;"), false),
        (3e3, None, false),
    ] {
        let text = with(Some(gain), sql);
        let change = text.find("To change in the application").unwrap_or(usize::MAX);
        assert_eq!(change < text.find("Use ").unwrap(), is_first, "{text}");
    }
}

/// An experiment whose variants do not differ as a whole; the second of its two statements does.
fn mixed() -> Analysis {
    let mut analysis = made_up::analysis().clone();
    let of_all = |experiment: &lab::analysis::ExperimentAnalysis| {
        experiment.variants.iter().filter_map(|variant| variant.effect.clone()).collect::<Vec<_>>()
    };
    let effects = analysis.experiments.iter().flat_map(of_all);
    let mut found = effects.filter(|effect| effect.is_found());
    let found = found.next_back().expect("an effect");
    let is_alike = |effects: &[lab::analysis::Effect]| {
        !effects.is_empty() && effects.iter().all(|effect| !effect.is_found())
    };
    analysis.experiments.retain(|experiment| {
        is_alike(&of_all(experiment))
            && experiment.variants.iter().all(|variant| variant.problem.is_none())
    });
    analysis.experiments.truncate(1);
    let statement = |name: &str| lab::trial::StatementRecord {
        name: name.to_owned(),
        sql: format!("SELECT '{name}'"),
        ..lab::trial::StatementRecord::default()
    };
    for (index, variant) in analysis.experiments[0].variants.iter_mut().enumerate() {
        variant.statements = vec![statement("one"), statement("other")];
        if index > 0 {
            variant.statement_effects.insert("other".to_owned(), found.clone());
        }
    }
    analysis
}

#[test]
fn a_statement_that_differs_stands_before_a_mix_that_does_not() {
    let analysis = mixed();
    let answers = report::answers(&analysis);
    // In the direction of the latency by which the variants are compared.
    assert!(answers[0].answer.starts_with("Time of single statements"), "{answers:?}");
    let text = report::markdown(&analysis);
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no `{words}` in {text}"));
    assert!(
        at("Time of single statements") < at("All statements together: No detectable difference")
    );
}

#[test]
fn the_question_of_an_only_experiment_is_said_once() {
    let analysis = mixed();
    let page = report::html(&analysis).unwrap();
    let (_, body) = page.split_once("<h1>").unwrap();
    let question = escaped(&analysis.experiments[0].question);
    assert_eq!(body.matches(&question).count(), 1, "{question}");
    assert!(page.contains(">Results<"));
}
