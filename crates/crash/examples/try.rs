use pragmark_crash::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let jm: Vec<JournalMode> = args[1].split(',').map(|s| s.parse().unwrap()).collect();
    let sy: Vec<Synchronous> = args[2].split(',').map(|s| s.parse().unwrap()).collect();
    let lm: Vec<LockingMode> = args[3].split(',').map(|s| s.parse().unwrap()).collect();
    let images: usize = args[4].parse().unwrap();
    let threads: usize = args[5].parse().unwrap();
    let plan = Plan {
        arms: Arm::matrix(&jm, &sy, &lm, &[4096]),
        models: Model::ALL.to_vec(),
        images,
        second_crash_every: 16,
        seed: lab::seed::Seed(1),
        engine: engine::Source::Embedded,
        script: None,
        threads,
    };
    let p = Progress::default();
    let m = measure(&plan, &p).unwrap();
    for c in &m.cells {
        println!(
            "{} {}: {} [{}]",
            c.arm,
            c.model,
            c.verdict,
            c.expected.promise.words()
        );
        if let Some(t) = &c.tally {
            println!("    {t:?}");
        }
        if let Some(w) = &c.witness {
            println!(
                "    cut {} ack {} faults {} lost {} {:?} second {} files {:?}",
                w.cut,
                w.acknowledged,
                w.faults,
                w.lost,
                w.violation,
                w.second_crash,
                w.files
                    .iter()
                    .map(|(n, b)| (n.clone(), b.len()))
                    .collect::<Vec<_>>()
            );
        }
    }
    println!(
        "images {} recoveries {} took {:?} largest {}",
        m.images, m.recoveries, m.took, m.largest_database
    );
}
