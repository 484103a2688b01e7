//! What both sides are, and what was looked at before anything is said of them.

use super::{LAST, Project};

/// Has the file say this of the work of the shop, and nothing else.
fn write_work(project: &Project, work: &str) {
    let build = "build = \"python3 shop.py migrate\"";
    project.write("pragmark-guard.toml", &format!("[work]\n{build}\n{work}\n"));
}

#[test]
fn a_pragma_among_the_statements_leaves_safety_undecided() {
    let Some(project) = Project::shop() else {
        return;
    };
    let queries = std::fs::read_to_string(project.path().join("queries.sql")).unwrap();
    let with_pragma = format!("{queries}-- name: hurry\nPRAGMA synchronous = OFF;\n");
    project.write("queries.sql", &with_pragma);
    project.commit("Hurry");
    // The settings that `pragmas` names do not hold.
    project.guard(&LAST).exits(3).complains(&["synchronous is off"]);
    write_work(&project, "scripts = \"queries.sql\"");
    project.commit("PRAGMAs are not named");
    project.write("queries.sql", &queries);
    project.commit("No hurry");
    project.write("queries.sql", &with_pragma);
    project.commit("Hurry again");
    project.guard(&LAST).exits(5).says(&[
        "Guard: undecided",
        "in the new side, hurry sets synchronous",
        "name the setting in `pragmas`",
    ]);
    project.is_clean();
}

#[test]
fn a_journal_mode_that_the_build_leaves_in_the_file_is_seen() {
    let Some(project) = Project::shop() else {
        return;
    };
    write_work(&project, "scripts = \"queries.sql\"");
    project.commit("PRAGMAs are not named");
    project.guard(&["--base", "HEAD", "--counters-only"]).exits(0);
    project.write("pragmas.sql", "PRAGMA journal_mode = wal;\n");
    let answer = project.guard(&["--base", "HEAD", "--counters-only"]);
    answer.exits(5).says(&["journal_mode was delete in the base and is wal"]);
}

#[test]
fn settings_that_the_base_leaves_to_sqlite_have_a_tier_as_well() {
    let Some(project) = Project::shop() else {
        return;
    };
    write_work(&project, "scripts = \"queries.sql\"");
    project.commit("PRAGMAs are not named");
    let off = "scripts = \"queries.sql\"\nsettings = { synchronous = \"off\" }";
    write_work(&project, off);
    let answer = project.guard(&["--base", "HEAD", "--counters-only"]);
    answer.exits(4).says(&["safety: the new settings lose more than those of the base"]);
}

#[test]
fn sides_that_do_different_work_are_not_compared() {
    let Some(project) = Project::shop() else {
        return;
    };
    project.write(
        "inserts.toml",
        "id = \"inserts\"\nquestion = \"?\"\nworkload = \"bulk-insert\"\nbase = { rows = 500 }\n[factors]\nsynchronous = [\"off\", \"full\"]\n[design]\nkind = \"one-at-a-time\"\nbaseline = { synchronous = \"off\" }\n",
    );
    project.write("pragmark-guard.toml", "[work]\nexperiment = \"inserts.toml\"\n");
    project.commit("Other work");
    project.guard(&LAST).exits(3).complains(&[
        "the sides do different work: `sql` in the base, `bulk-insert` in the new side",
    ]);
    project.is_clean();
}

#[test]
fn a_side_whose_setup_fails_is_named_with_the_reason() {
    let Some(project) = Project::shop() else {
        return;
    };
    write_work(&project, "scripts = \"queries.sql\"\nsetup = \"setup.sql\"");
    project.write("setup.sql", "CREATE INDEX by_day ON orders(day);\n");
    project.commit("A setup");
    project.write("setup.sql", "CREATE INDEX by_day ON nowhere(day);\n");
    let base = ["--base", "HEAD", "--counters-only"];
    project
        .guard(&base)
        .exits(3)
        .complains(&["new: working directory cannot be measured", "nowhere"]);
    project.commit("A setup that fails");
    project.guard(&base).exits(3).complains(&["base: HEAD at ", "nowhere"]);
}

#[test]
fn a_new_side_may_repair_the_budgets_of_the_base() {
    let Some(project) = Project::shop() else {
        return;
    };
    let file = std::fs::read_to_string(project.path().join("pragmark-guard.toml")).unwrap();
    project.write("pragmark-guard.toml", &file.replace("<= 1.25", "at most 1.25"));
    project.commit("A budget that is none");
    project.guard(&LAST).exits(2).complains(&["at most 1.25"]);
    project.write("pragmark-guard.toml", &file);
    project.commit("A budget");
    project.guard(&LAST).exits(0);
    project.write("pragmark-guard.toml", &file.replace("scripts", "script"));
    project.commit("Work that is none");
    project.write("pragmark-guard.toml", &file);
    project.commit("Work");
    project
        .guard(&LAST)
        .exits(3)
        .complains(&["pragmark-guard.toml of the base side (HEAD~1 at ", "script"]);
    project.is_clean();
}
