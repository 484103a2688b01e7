//! Records that are too long, and threads that die.

use super::*;

/// Lines of which nothing is known but their number.
struct Lines;

impl TextFormat for Lines {
    fn begin(&mut self, _options: &ReadOptions) {}

    fn unit(&self) -> Unit {
        Unit::Line
    }

    fn cut(&self, bytes: &[u8]) -> usize {
        memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1)
    }

    fn parse(&self, bytes: &[u8]) -> Result<Parsed> {
        Ok(Parsed {
            batches: Vec::new(),
            numbers: memchr::memchr_iter(b'\n', bytes).count() as u64,
        })
    }

    fn too_long(&self, megabytes: usize) -> String {
        format!("longer than {megabytes} MiB")
    }
}

/// Lines at some of which a thread dies: `x` where they are cut, `y` where they are parsed.
struct Deadly;

impl TextFormat for Deadly {
    fn begin(&mut self, _options: &ReadOptions) {}

    fn unit(&self) -> Unit {
        Unit::Line
    }

    fn cut(&self, bytes: &[u8]) -> usize {
        assert!(!bytes.contains(&b'x'), "a test");
        Lines.cut(bytes)
    }

    fn parse(&self, bytes: &[u8]) -> Result<Parsed> {
        assert!(!bytes.contains(&b'y'), "a test");
        Lines.parse(bytes)
    }

    fn too_long(&self, megabytes: usize) -> String {
        Lines.too_long(megabytes)
    }
}

#[test]
fn a_thread_that_dies_is_not_the_end_of_the_input() {
    for last in ["x\n", "y\n", "z\n"] {
        let lines = "a line\n".repeat(BLOCK);
        let text = lines.clone() + last + &lines;
        let input = Input::from_bytes("test", text.into_bytes()).unwrap();
        let text = Text::open(input).unwrap();
        let end = Batches::ahead(text, Deadly, Arc::default()).next();
        let error = end.err().map(|error| error.to_string());
        let expected = "cannot read test: the thread that reads it ended before its end";
        assert_eq!(error.as_deref(), (last != "z\n").then_some(expected));
    }
}

#[test]
fn a_record_that_is_too_long_is_named_by_its_number() {
    let line = format!("{}\n", "x".repeat(1_000));
    let long = "x".repeat(5 << 20);
    let input = Input::from_bytes("test", (line.repeat(3_000) + &long).into_bytes()).unwrap();
    let mut text = Text::open(input).unwrap();
    text.longest = 1 << 20;
    let mut batches = Batches::ahead(text, Lines, Arc::default());
    let error = batches.next().unwrap_err().to_string();
    assert_eq!(error, "test: line 3001: longer than 1 MiB");
}
