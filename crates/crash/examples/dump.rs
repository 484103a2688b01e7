use pragmark_crash::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let arm = Arm {
        journal_mode: args[1].parse().unwrap(),
        synchronous: args[2].parse().unwrap(),
        locking_mode: args[3].parse().unwrap(),
        page_size: 4096,
    };
    let (a, b): (usize, usize) = (args[4].parse().unwrap(), args[5].parse().unwrap());
    let mut bench = Bench::new(&engine::Source::Embedded).unwrap();
    let r = Recording::make(
        &mut bench,
        &arm,
        &Script::built_in(&arm),
        lab::seed::Seed(1).child(&arm.to_string()),
    )
    .unwrap()
    .unwrap();
    for (i, c) in r.commits.iter().enumerate() {
        if c.cut + 30 > a && c.cut < b + 30 {
            println!("commit {i} at {}", c.cut);
        }
    }
    for i in a..b.min(r.trace.steps.len()) {
        let s = match &r.trace.steps[i] {
            Step::Write {
                inode,
                offset,
                bytes,
            } => format!("write {inode:?} {offset}+{}", bytes.len()),
            Step::Create { name, inode } => format!("create {} {inode:?}", r.trace.names[name.0]),
            Step::Unlink { name } => format!("unlink {}", r.trace.names[name.0]),
            s => format!("{s:?}"),
        };
        println!("{i} {s}");
    }
}
