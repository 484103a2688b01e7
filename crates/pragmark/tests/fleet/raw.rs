//! Messages by NATS's own words, as those of nobody in particular.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use crate::world::World;

/// Publishes a message, and waits until the server has it.
pub fn publish(world: &World, subject: &str, payload: &[u8]) {
    let mut stream = TcpStream::connect(("127.0.0.1", world.port)).unwrap();
    let mut server = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    server.read_line(&mut line).unwrap();
    let length = payload.len();
    let words = format!("CONNECT {{\"verbose\":false}}\r\nPUB {subject} {length}\r\n");
    stream.write_all(words.as_bytes()).unwrap();
    stream.write_all(payload).unwrap();
    stream.write_all(b"\r\nPING\r\n").unwrap();
    while line.trim() != "PONG" {
        line.clear();
        assert!(server.read_line(&mut line).unwrap() > 0, "it hung up");
    }
}
