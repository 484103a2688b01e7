//! Text in other encodings, made UTF-8 while it is read.
//!
//! What is wrong in its encoding becomes a byte that UTF-8 never has: the reader of the format then finds
//! it where it finds all such bytes, and names row and column.

use std::io::{self, BufRead, Read};
use std::str::FromStr;

use encoding_rs::{Decoder, DecoderResult};

/// The encoding of a text, by the names of the web's standard (<https://encoding.spec.whatwg.org>):
/// `utf-8`, `utf-16le`, `windows-1252`, `latin1` (which that standard takes for the same), ….
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl Encoding {
    /// UTF-8, which needs no decoding.
    pub(crate) const UTF_8: Encoding = Encoding(encoding_rs::UTF_8);

    /// Its name in the standard.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns whether it is UTF-16, in whichever order of bytes.
    pub(crate) fn is_utf_16(self) -> bool {
        [encoding_rs::UTF_16LE, encoding_rs::UTF_16BE].contains(&self.0)
    }

    /// Returns the encoding that a byte order mark at the beginning gives.
    pub(crate) fn of_mark(beginning: &[u8]) -> Option<Encoding> {
        encoding_rs::Encoding::for_bom(beginning).map(|(encoding, _)| Encoding(encoding))
    }
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(label: &str) -> Result<Encoding, String> {
        // The standard has no name for UTF-16 in either order; the byte order mark decides, and without
        // one it is little-endian there too.
        encoding_rs::Encoding::for_label(label.as_bytes()).map(Encoding).ok_or_else(|| {
            format!(
                "unknown encoding `{label}`; examples: utf-16le, windows-1252, iso-8859-15, \
                     shift_jis"
            )
        })
    }
}

/// An encoding with several bytes for each ASCII character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
pub(super) enum Wide {
    #[strum(to_string = "UTF-16LE")]
    Utf16Le,
    #[strum(to_string = "UTF-16BE")]
    Utf16Be,
    #[strum(to_string = "UTF-32")]
    Utf32,
}

impl Wide {
    /// Returns the encoding that the zeros among the first bytes show, if no mark shows another one.
    pub(super) fn of(beginning: &[u8]) -> Option<Wide> {
        let has_zeros = |at: usize, of: usize| {
            let bytes = beginning.iter().skip(at).step_by(of);
            beginning.len() > at && bytes.take(4).all(|byte| *byte == 0)
        };
        // The mark of UTF-32 begins with the mark of UTF-16.
        if beginning.starts_with(&[0xff, 0xfe, 0, 0]) || beginning.starts_with(&[0, 0, 0xfe, 0xff])
        {
            return Some(Wide::Utf32);
        }
        if Encoding::of_mark(beginning).is_some() || beginning.len() < 4 {
            return None;
        }
        match (has_zeros(0, 2), has_zeros(1, 2)) {
            _ if has_zeros(1, 4) && has_zeros(2, 4) => Some(Wide::Utf32),
            (true, false) => Some(Wide::Utf16Be),
            (false, true) => Some(Wide::Utf16Le),
            _ => None,
        }
    }
}

/// A byte that no UTF-8 has.
const NEVER: u8 = 0xff;
/// Bytes decoded at a time.
const BUFFER: usize = 64 << 10;

/// Bytes of a text in another encoding, read as UTF-8.
pub(super) struct Decoded<R> {
    raw: R,
    decoder: Decoder,
    /// The decoded text.
    text: Vec<u8>,
    /// Bytes of the text that have been read.
    read: usize,
    /// Whether the end has been decoded.
    ended: bool,
}

impl<R: BufRead> Decoded<R> {
    pub(super) fn new(raw: R, encoding: Encoding) -> Decoded<R> {
        Decoded {
            raw,
            decoder: encoding.0.new_decoder_with_bom_removal(),
            text: Vec::new(),
            read: 0,
            ended: false,
        }
    }

    fn decode(&mut self) -> io::Result<()> {
        self.text.resize(BUFFER, 0);
        self.read = 0;
        let raw = self.raw.fill_buf()?;
        let last = raw.is_empty();
        // Room for the byte that stands for what is wrong.
        let room = &mut self.text[..BUFFER - 1];
        let (result, read, mut written) =
            self.decoder.decode_to_utf8_without_replacement(raw, room, last);
        self.raw.consume(read);
        match result {
            DecoderResult::Malformed(_, _) => {
                self.text[written] = NEVER;
                written += 1;
            }
            DecoderResult::InputEmpty => self.ended = last,
            DecoderResult::OutputFull => {}
        }
        self.text.truncate(written);
        Ok(())
    }
}

impl<R: BufRead> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.text.len() && !self.ended {
            self.decode()?;
        }
        let count = buffer.len().min(self.text.len() - self.read);
        buffer[..count].copy_from_slice(&self.text[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(label: &str, bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        // Parts of characters at the ends of the buffer.
        let raw = io::BufReader::with_capacity(3, bytes);
        Decoded::new(raw, label.parse().unwrap()).read_to_end(&mut text).unwrap();
        text
    }

    #[test]
    fn texts_become_utf_8() {
        assert_eq!(decoded("latin1", b"caf\xe9 \x80"), "café €".as_bytes());
        let utf_16: Vec<u8> = "\u{feff}a→𝄞".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decoded("utf-16le", &utf_16), "a→𝄞".as_bytes());
        assert_eq!(decoded("shift_jis", b"\x93\xfa\x96{"), "日本".as_bytes());
    }

    #[test]
    fn what_is_wrong_becomes_a_byte_that_utf_8_never_has() {
        // Half of a surrogate pair, and half of a character.
        assert_eq!(decoded("utf-16le", b"\x00\xd8a\0b"), b"\xffa\xff");
        assert!("no such thing".parse::<Encoding>().is_err());
    }

    #[test]
    fn long_texts_are_decoded_in_parts() {
        let text = "é".repeat(BUFFER);
        let latin = vec![0xe9; BUFFER];
        assert_eq!(decoded("latin1", &latin), text.as_bytes());
    }
}
