//! A driver of the user's own, with a workload, parameters and metrics that no file of pragmark knows.

use crate::laboratory::Laboratory;

/// Writes a new driver and its experiment, made small.
fn new_driver(laboratory: &Laboratory, name: &str, language: &str) {
    laboratory
        .pragmark(&["new", "driver", name, language])
        .exits(0)
        .says(&[name, "pragmark run", "--drivers"]);
    let file = format!("{name}.toml");
    let text = laboratory.read(&file);
    let small = text.replace("orders = 300", "orders = 20")
        + "stopping = { rounds = 3, max_rounds = 3 }\n"
        + CLAIM;
    laboratory.write(&file, &small);
}

const CLAIM: &str = r#"
[[claims]]
id = "own-1"
says = "WAL stores orders at least a hundredth as fast"
ratio = { of = { journal_mode = "wal" }, to = { journal_mode = "delete" } }
at_least = 0.01
published = 1.0
"#;

fn lacks(program: &str, arguments: &[&str]) -> bool {
    let output = std::process::Command::new(program).args(arguments).output();
    !output.is_ok_and(|output| output.status.success())
}

#[test]
fn a_new_driver_in_python_is_measured_at_once_and_its_metric_is_one_like_any_other() {
    if !testing::has_python() {
        return;
    }
    let laboratory = Laboratory::with_tiers();
    new_driver(&laboratory, "shop", "python");
    let with_shop = |arguments: &[&str]| {
        laboratory.pragmark_with_variables(&[("PRAGMARK_DRIVERS", "shop")], arguments)
    };
    with_shop(&["list", "workloads"])
        .exits(0)
        .says(&["orders: a whole number from 1 (orders); default 300", "number of orders"]);
    with_shop(&["list", "metrics"]).exits(0).says(&["orders_per_s", "orders stored per second"]);
    with_shop(&["show", "shop.toml"]).exits(0).says(&["workload shop, compared by orders_per_s"]);
    with_shop(&["run", "shop.toml", "--out", "run"]).exits(0).says(&[
        "Orders per second, higher is better",
        "ops/s",
        "journal_mode=wal",
        "power cut",
    ]);
    for trial in laboratory.trials("run") {
        let measured = &trial["outcome"]["measured"];
        if trial["purpose"] == "rounds" {
            assert!(measured["metrics"]["orders_per_s"].as_f64().unwrap() > 0.0);
            assert_eq!(measured["checksum"], "(20, 190, 190)");
        }
    }
    // The folder of the run is enough for everything that reads it.
    std::fs::remove_dir_all(laboratory.path().join("shop")).unwrap();
    laboratory
        .pragmark(&["report", "run", "--format", "markdown"])
        .exits(0)
        .says(&["Orders per second", "own-1"]);
    laboratory
        .pragmark(&["report", "run", "--format", "metrics-csv"])
        .exits(0)
        .says(&["orders_per_s"]);
    laboratory
        .pragmark(&["run", "--resume", "run"])
        .exits(2)
        .complains(&["the run uses the driver `shop`", "--drivers"]);
}

#[test]
fn a_new_driver_in_ruby_is_measured_at_once() {
    if lacks("ruby", &["-e", "require 'sqlite3'"]) {
        testing::skip("this machine has no Ruby with the gem sqlite3");
        return;
    }
    let laboratory = Laboratory::new();
    new_driver(&laboratory, "ruby-shop", "ruby");
    laboratory
        .pragmark(&["run", "ruby-shop.toml", "--out", "run", "--drivers", "ruby-shop"])
        .exits(0)
        .says(&["Orders per second, higher is better"]);
}

#[test]
fn a_variant_with_another_result_or_an_unknown_metric_fails() {
    if !testing::has_python() {
        return;
    }
    let laboratory = Laboratory::new();
    new_driver(&laboratory, "shop", "python");
    let program = laboratory.read("shop/work.py");
    let run =
        |out: &str| laboratory.pragmark(&["run", "shop.toml", "--out", out, "--drivers", "shop"]);
    let other = program.replace(
        r#"  connection.execute("INSERT INTO orders(customer, cents) VALUES (?, ?)", (number % 100, number))"#,
        r#"  connection.execute("INSERT INTO orders(customer, cents) SELECT ?, ? + (journal_mode = 'wal') FROM pragma_journal_mode", (number % 100, number))"#,
    );
    assert_ne!(other, program);
    laboratory.write("shop/work.py", &other);
    run("other").exits(1).says(&["the result differs from the baseline's"]);

    let misspelt = program.replace(r#""seconds": seconds"#, r#""second": seconds"#);
    assert_ne!(misspelt, program);
    laboratory.write("shop/work.py", &misspelt);
    run("misspelt").exits(1);
    let told = laboratory.trials("misspelt").iter().any(|trial| {
        let why = trial["outcome"]["failed"]["why"].as_str();
        why.is_some_and(|why| why.contains("unknown metric `second`; did you mean `seconds`?"))
    });
    assert!(told);
}

#[test]
fn mistakes_in_manifest_and_experiment_are_named_with_file_and_line() {
    let laboratory = Laboratory::new();
    new_driver(&laboratory, "shop", "python");
    let own = [("PRAGMARK_DRIVERS", "shop")];
    let show = || laboratory.pragmark_with_variables(&own, &["show", "shop.toml"]);
    let experiment = laboratory.read("shop.toml");
    for (old, new, complaint) in [
        ("orders = 20", "ordres = 20", "shop.toml:6: `ordres` is neither a parameter of `shop`"),
        ("orders = 20", "orders = 0", "`orders` cannot be 0; it takes a whole number from 1"),
        ("\"orders_per_s\"", "\"order_per_s\"", "did you mean `orders_per_s`?"),
        ("orders = 20", "open_mutex = \"no\"", "`open_mutex` is neither a parameter of `shop`"),
        ("driver = \"shop\", ", "", "the drivers that have it: shop"),
    ] {
        assert!(experiment.contains(old), "{old}");
        laboratory.write("shop.toml", &experiment.replace(old, new));
        show().exits(2).complains(&[complaint]);
    }
    laboratory.write("shop.toml", &experiment);
    show().exits(0);
    let manifest = laboratory.read("shop/driver.toml");
    let wrong = manifest.replace("min     = 1", "min     = 1000");
    laboratory.write("shop/driver.toml", &wrong);
    show()
        .exits(3)
        .complains(&["shop/driver.toml: line 17", "the default of `orders` cannot be 300"]);
}

#[test]
fn a_new_driver_overwrites_nothing_and_has_a_known_language() {
    let laboratory = Laboratory::new();
    let new = |name: &str, language: &str| laboratory.pragmark(&["new", "driver", name, language]);
    new("small", "go").exits(3).complains(&["small.toml"]);
    assert!(!laboratory.path().join("small").exists());
    new("shop", "perl").exits(2).complains(&["the languages are python, ruby, node, go, java"]);
    new("My Shop", "python").exits(2).complains(&["cannot be the name of a driver"]);
}
