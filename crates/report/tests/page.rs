//! What the page must hold, whatever it looks like.

mod made_up;

use lab::claims::Verdict;
use pragmark_report as report;

fn page() -> String {
    report::html(made_up::analysis()).unwrap()
}

/// Text as the templates escape it.
fn escaped(text: &str) -> String {
    let mut safe = text.replace('&', "&#38;");
    for (character, code) in [
        ('<', "&#60;"),
        ('>', "&#62;"),
        ('"', "&#34;"),
        ('\'', "&#39;"),
    ] {
        safe = safe.replace(character, code);
    }
    safe
}

#[test]
fn the_made_up_run_has_every_verdict_and_every_outcome() {
    let analysis = made_up::analysis();
    for verdict in [
        Verdict::Confirmed,
        Verdict::Refuted,
        Verdict::Inconclusive,
        Verdict::NotApplicable,
    ] {
        assert!(analysis.verdicts(verdict) > 0, "no claim is {verdict}");
    }
    let trials = analysis.trials;
    assert!(trials.measured > 0 && trials.skipped > 0 && trials.failed > 0 && trials.timed_out > 0);
    assert!(
        analysis
            .experiments
            .iter()
            .any(|experiment| experiment.preliminary)
    );
    assert!(
        analysis
            .experiments
            .iter()
            .any(|experiment| experiment.canary_alarm())
    );
    assert!(
        analysis
            .experiments
            .iter()
            .any(|experiment| experiment.dropped_blocks > 0)
    );
}

#[test]
fn every_arm_claim_and_problem_is_on_the_page() {
    let (analysis, page) = (made_up::analysis(), page());
    for experiment in &analysis.experiments {
        assert!(
            page.contains(&escaped(&experiment.question)),
            "{}",
            experiment.question
        );
        for arm in &experiment.arms {
            assert!(
                page.contains(&format!("data-arm=\"{}\"", escaped(&arm.label))),
                "{}",
                arm.label
            );
            if let Some(problem) = &arm.problem {
                assert!(page.contains(&escaped(problem)), "{problem}");
            }
        }
        for judged in &experiment.claims {
            assert!(
                page.contains(&escaped(&judged.claim.says)),
                "{}",
                judged.claim.says
            );
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
    assert_eq!(
        page.matches("<script").count(),
        1,
        "only the page's own script"
    );
}

#[test]
fn nothing_is_fetched() {
    let page = page();
    for fetching in [
        "http://", "https://", "<link", "<img", "<iframe", "@import", "url(", "fetch(",
    ] {
        assert!(!page.contains(fetching), "the page contains {fetching}");
    }
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
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
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
    assert_eq!(page.matches("<figure class=\"heat\">").count(), 1);
    assert_eq!(page.matches("<td class=\"heat-").count(), 24);
    assert_eq!(page.matches("heat-none\"").count(), 4);
    assert!(page.contains("left out: extra adds nothing where there is no journal to sync"));
    assert!(page.contains("stopped at its time limit of 60 s"));
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
    assert!(
        page().len() < 150_000,
        "the page weighs {} bytes",
        page().len()
    );
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
    page.split(start)
        .skip(1)
        .map(|rest| &rest[..rest.find('"').expect("every attribute ends")])
}
