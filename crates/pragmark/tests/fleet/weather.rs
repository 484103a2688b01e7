//! A bad network between programs and server: what passes is delayed and comes twice at random.
//!
//! It understands as much of the NATS protocol as it takes to repeat whole messages
//! (<https://docs.nats.io/reference/reference-protocols/nats-protocol>).

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Of so many messages one comes twice, on average.
const TWICE: u64 = 5;

/// Of so many messages one is late, on average.
const LATE: u64 = 20;

/// The longest delay in milliseconds.
const LONGEST_MS: u64 = 60;

/// A proxy, which ends with the process.
pub struct Weather {
    pub port: u16,
    seen: Arc<Seen>,
}

/// What has happened to messages.
#[derive(Default)]
struct Seen {
    twice: AtomicU64,
    late: AtomicU64,
    drawn: AtomicU64,
}

impl Weather {
    /// Passes on to the server at this port, whether it runs or not.
    pub fn before(server: u16) -> Weather {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let of_all = Arc::clone(&seen);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Without a server the client is let down at once, as it would be without a proxy.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    connect(client, server, &of_all);
                }
            }
        });
        Weather { port, seen }
    }

    /// How many messages came twice, and how many were late.
    pub fn seen(&self) -> (u64, u64) {
        let [twice, late] = [&self.seen.twice, &self.seen.late];
        (twice.load(Ordering::Relaxed), late.load(Ordering::Relaxed))
    }
}

fn connect(client: TcpStream, server: TcpStream, seen: &Arc<Seen>) {
    let ends = [(&client, &server), (&server, &client)];
    for (from, to) in ends.map(|(from, to)| (from.try_clone(), to.try_clone())) {
        let (Ok(from), Ok(to)) = (from, to) else {
            return;
        };
        let seen = Arc::clone(seen);
        std::thread::spawn(move || {
            // The end of either side ends both.
            let _ = pass_on(&from, &to, &seen);
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

fn pass_on(from: &TcpStream, mut to: &TcpStream, seen: &Seen) -> Result<()> {
    to.set_nodelay(true)?;
    let mut reader = BufReader::new(from);
    let mut message = Vec::new();
    while read(&mut reader, &mut message)? {
        if seen.draws(LATE) {
            seen.late.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(seen.draw() % LONGEST_MS));
        }
        to.write_all(&message)?;
        if may_come_twice(&message) && seen.draws(TWICE) {
            seen.twice.fetch_add(1, Ordering::Relaxed);
            to.write_all(&message)?;
        }
    }
    Ok(())
}

/// Reads a line, and the content that it announces; false at the end.
fn read(reader: &mut impl BufRead, message: &mut Vec<u8>) -> Result<bool> {
    message.clear();
    if reader.read_until(b'\n', message)? == 0 {
        return Ok(false);
    }
    if has_content(message) {
        let line = String::from_utf8_lossy(message);
        let bytes = line.split_whitespace().next_back();
        let bytes: u64 = bytes.and_then(|it| it.parse().ok()).unwrap_or(0);
        // The content ends with a line break, too.
        reader.take(bytes + 2).read_to_end(message)?;
    }
    Ok(true)
}

fn has_content(line: &[u8]) -> bool {
    let kinds: [&[u8]; 4] = [b"PUB ", b"HPUB ", b"MSG ", b"HMSG "];
    kinds.iter().any(|kind| line.starts_with(kind))
}

/// What carries content, except requests for work: the answer to the second would go to nobody and be given to another
/// agent only after a while, which is tested by killing agents.
fn may_come_twice(message: &[u8]) -> bool {
    let asks_for_work = |part: &[u8]| part.starts_with(b"$JS.API.CONSUMER.MSG.NEXT");
    has_content(message) && !message.split(|byte| *byte == b' ').any(asks_for_work)
}

impl Seen {
    /// The next number of a splitmix64 sequence.
    fn draw(&self) -> u64 {
        let state = self.drawn.fetch_add(1, Ordering::Relaxed) + 1;
        let mut it = state.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        it = (it ^ (it >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        it ^ (it >> 31)
    }

    /// Whether one in so many is meant.
    fn draws(&self, one_in: u64) -> bool {
        self.draw().is_multiple_of(one_in)
    }
}

#[test]
fn messages_are_repeated_whole() {
    let text = b"PING\r\nPUB a 3\r\nx\ny\r\nHPUB $JS.API.CONSUMER.MSG.NEXT.W.c r 2 4\r\nabcd\r\n";
    let mut reader = &text[..];
    let mut message = Vec::new();
    let mut messages = Vec::new();
    while read(&mut reader, &mut message).unwrap() {
        messages.push((message.clone(), may_come_twice(&message)));
    }
    let twice: Vec<bool> = messages.iter().map(|(_, twice)| *twice).collect();
    assert_eq!(twice, [false, true, false]);
    assert_eq!(messages.into_iter().flat_map(|it| it.0).collect::<Vec<u8>>(), text);
}
