//! Processes that are killed while they load.

use std::process::Command;
use std::time::{Duration, Instant};

use lab::seed::Seed;

use crate::accidents::{Prepared, child, rounds};

#[test]
fn a_killed_load_leaves_the_old_database_or_the_complete_new_one_and_the_next_one_succeeds() {
    let mut random = Seed(5).generator();
    for prepared in Prepared::all() {
        let (mut olds, mut news) = (0, 0);
        let begin = Instant::now();
        start(&prepared, &prepared.fresh()).wait().unwrap();
        let usual = begin.elapsed().as_micros() as u64;
        for _ in 0..rounds(2) {
            let database = prepared.fresh();
            let mut child = start(&prepared, &database);
            std::thread::sleep(Duration::from_micros(random.below(usual + usual / 10)));
            child.kill().unwrap();
            child.wait().unwrap();
            if prepared.is_loaded(&database) {
                news += 1;
                continue;
            }
            olds += 1;
            prepared.scene.load(&database).unwrap();
            assert!(prepared.is_loaded(&database), "{}", prepared.scene.name);
            let files = std::fs::read_dir(database.parent().unwrap()).unwrap();
            let unfinished = files
                .flatten()
                .filter(|file| file.file_name().to_string_lossy().contains("unfinished"));
            assert_eq!(unfinished.count(), 0, "{}", prepared.scene.name);
        }
        println!("{}: {} kills, {olds} old, {news} new", prepared.scene.name, olds + news);
    }
}

fn start(prepared: &Prepared, database: &std::path::Path) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    child(&mut command, "child_that_loads", prepared.number, database);
    command.spawn().unwrap()
}
