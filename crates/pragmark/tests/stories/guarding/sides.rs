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
        "name the setting in pragmas",
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
    answer.exits(5).says(&["journal_mode was DELETE in the base and is WAL"]);
}

#[test]
fn pragmas_are_taken_as_sqlite_takes_them() {
    let Some(project) = Project::shop() else {
        return;
    };
    let pragmas =
        "PRAGMA foreign_keys = ON;\nPRAGMA main.synchronous = 0;\nPRAGMA temp_store(2);\n";
    project.write("pragmas.sql", pragmas);
    let answer = project.guard(&["--base", "HEAD", "--counters-only"]);
    answer.exits(4).says(&["is OFF in the new side"]);
    let answer = project.guard(&["--base", "../nowhere", "--counters-only"]);
    answer.exits(2).complains(&["--base ../nowhere is no directory"]);
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
    answer.exits(4).says(&["safety: synchronous was FULL in the base and is OFF in the new side"]);
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

#[test]
fn random_data_of_a_build_are_undecided_with_the_remedy() {
    let Some(project) = Project::shop() else {
        return;
    };
    let file = "[work]\nbuild = '''python3 -c \"import os, sqlite3, random; c = sqlite3.connect(os.environ['PRAGMARK_DATABASE']); c.executescript('CREATE TABLE t(a); CREATE TABLE u(a); CREATE INDEX i ON u(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO u SELECT i FROM n'); c.executemany('INSERT INTO t VALUES (?)', [(random.random(),) for _ in range(50)]); c.commit()\"'''\nscripts = \"all.sql\"\n";
    project.write("pragmark-guard.toml", file);
    let all =
        "-- name: all\nSELECT a FROM t ORDER BY a;\n-- name: one\nSELECT a FROM u WHERE a = 5;\n";
    project.write("all.sql", all);
    project.commit("Random data");
    let answer = project.guard(&["--base", "HEAD", "--counters-only"]).exits(5);
    answer.says(&["rows into t the second time", "fixed seed"]);
    project.write("pragmark-guard.toml", &file.replace("CREATE INDEX i ON u(a); ", ""));
    project.commit("No index");
    let answer = project.guard(&LAST).exits(4);
    answer.says(&["no new SCAN"]);
    project.is_clean();
}

#[test]
fn a_project_that_was_elsewhere_in_the_base_is_named_with_its_side() {
    let Some(project) = Project::shop() else {
        return;
    };
    std::fs::create_dir(project.path().join("moved")).unwrap();
    for file in ["pragmark-guard.toml", "shop.py", "queries.sql", "pragmas.sql"] {
        project.git(&["mv", file, "moved"]);
    }
    project.commit("Moved");
    let moved = ["--config", "moved/pragmark-guard.toml", "--base", "HEAD~1", "--counters-only"];
    let answer = project.guard(&moved).exits(3);
    answer.complains(&["the base side (HEAD~1) has no directory moved", "--base ../old/FOLDER"]);
    project.is_clean();
}

#[test]
fn submodules_are_checked_out_with_a_revision() {
    let (Some(project), Some(other)) = (Project::shop(), Project::shop()) else {
        return;
    };
    let local = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    project.git(&[&local[..], &[other.path().to_str().unwrap(), "sql"]].concat());
    let work = "[work]\nbuild = \"python3 sql/shop.py migrate\"\nscripts = \"sql/queries.sql\"\n";
    project.write("pragmark-guard.toml", work);
    project.commit("Submodule");
    let base = ["--base", "HEAD", "--counters-only"];
    let mut guard = project.command(&base);
    guard.envs([("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "protocol.file.allow")]);
    guard.env("GIT_CONFIG_VALUE_0", "always");
    crate::laboratory::answer_of(&mut guard).exits(0);
    project.guard(&base).exits(3).complains(&["the submodules of the base side"]);
    project.is_clean();
}

#[test]
fn a_project_by_itself_fails_on_scans_and_steps() {
    let Some(project) = Project::shop() else {
        return;
    };
    let answer = project.guard(&["--no-base"]).exits(4);
    answer.says(&["Full-scan steps of customers_of_city: 1,999", "allowed is <= 1,000"]);
    let own = "[work]\nbuild = \"python3 shop.py migrate\"\nscripts = \"queries.sql\"\n[limits]\n\"scan_steps.customers_of_city\" = \"<= 5000\"\n";
    project.write("pragmark-guard.toml", own);
    project.guard(&["--no-base", "--out", "kept"]).exits(0).complains(&["record: kept"]);
    assert!(project.path().join("kept/run.json").exists());
    let two = ["--no-base", "--engine", "default", "--engine", "system"];
    project.guard(&two).exits(2).complains(&["one --engine and one --db"]);
    let work = "[work]\nbuild = \"python3 shop.py migrate\"\nscripts = \"queries.sql\"\n";
    let limits = "[limits]\nvm_steps = \"<= 1\"\n\"vm_steps.no_such\" = \"<= 9\"\n";
    project.write("pragmark-guard.toml", &format!("{work}{limits}"));
    let answer = project.guard(&["--no-base"]).exits(4);
    answer.says(&["VM steps of orders_of_customer", "no such statement"]);
}
