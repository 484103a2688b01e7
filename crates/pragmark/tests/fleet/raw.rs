//! Messages by NATS's own words, as those of nobody in particular.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::world::World;

/// A connection.
struct Raw {
    reading: BufReader<TcpStream>,
    writing: TcpStream,
}

impl Raw {
    fn connected(world: &World) -> Raw {
        let writing = TcpStream::connect(("127.0.0.1", world.port)).unwrap();
        let mut raw = Raw { reading: BufReader::new(writing.try_clone().unwrap()), writing };
        raw.line();
        raw.write(b"CONNECT {\"verbose\":false}\r\n");
        raw
    }

    fn write(&mut self, bytes: &[u8]) {
        self.writing.write_all(bytes).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.reading.read_line(&mut line).unwrap() > 0, "it hung up");
        line.trim().to_owned()
    }

    /// Publishes a message, and waits for what begins with this word.
    fn publish(&mut self, to: &str, payload: &[u8], more: &[u8], word: &str) -> String {
        self.write(format!("PUB {to} {}\r\n", payload.len()).as_bytes());
        self.write(&[payload, b"\r\n", more].concat());
        loop {
            let line = self.line();
            if line.starts_with(word) {
                return line;
            }
        }
    }
}

/// Publishes a message, and waits until the server has it.
pub fn publish(world: &World, subject: &str, payload: &[u8]) {
    Raw::connected(world).publish(subject, payload, b"PING\r\n", "PONG");
}

/// Returns all messages of a stream, with their subjects.
pub fn stored(world: &World, stream: &str) -> Vec<(String, Vec<u8>)> {
    let mut raw = Raw::connected(world);
    raw.write(b"SUB answers 1\r\n");
    let mut found = Vec::new();
    let mut ask = |request: String| -> Value {
        let to = format!("$JS.API.STREAM.MSG.GET.{stream} answers");
        let header = raw.publish(&to, request.as_bytes(), b"", "MSG ");
        let length: usize = header.rsplit(' ').next().unwrap().parse().unwrap();
        let mut answer = vec![0; length + 2];
        raw.reading.read_exact(&mut answer).unwrap();
        serde_json::from_slice(&answer[..length]).unwrap()
    };
    let mut from = 1;
    loop {
        let answer = ask(format!("{{\"seq\":{from},\"next_by_subj\":\">\"}}"));
        let Some(message) = answer.get("message") else { return found };
        from = message["seq"].as_u64().unwrap() + 1;
        let payload = STANDARD.decode(message["data"].as_str().unwrap_or_default()).unwrap();
        found.push((message["subject"].as_str().unwrap().to_owned(), payload));
    }
}
