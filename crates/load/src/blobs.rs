//! Blobs in texts.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Encoding of blobs in text formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blobs {
    /// Two hexadecimal digits a byte.
    Hex,
    /// Base64 with padding.
    Base64,
}

impl Blobs {
    /// Returns the bytes that a text stands for.
    pub(crate) fn bytes(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Blobs::Base64 => STANDARD.decode(text).ok(),
            Blobs::Hex if text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                let pairs = (0..text.len()).step_by(2);
                pairs.map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
            }
            Blobs::Hex => None,
        }
    }

    /// Returns the text of bytes.
    pub(crate) fn text(self, bytes: &[u8]) -> String {
        match self {
            Blobs::Base64 => STANDARD.encode(bytes),
            Blobs::Hex => {
                bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
                    let _ = write!(text, "{byte:02x}");
                    text
                })
            }
        }
    }
}
