//! Files that travel by their hash: databases, scripts, traces and documents, and code: engines, extensions and drivers.
//!
//! The server keeps each content once, in its object store. A run names its objects, and an agent fetches those that it
//! needs into its own cache, and checks their hashes. Code is used only where the agent was started to accept any, or a
//! trusted key has signed it.

mod cache;
mod store;

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use lab::record::is_name;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{FleetError, Result};
use crate::signature::{Signature, Signer, Trusted};

pub use cache::ObjectCache;

/// Bytes that are read or sent at a time.
const PIECE: usize = 128 << 10;

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// How the plan names it: by a path, or by the name of an engine or of a driver.
    pub name: String,
    /// Its name on other machines; of a driver's file, its path in the folder of the driver.
    pub file: String,
    /// Its hash, as hexadecimal digits.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// Its purpose.
    pub content: Content,
    /// Who vouches for it, if anybody does.
    pub signature: Option<Signature>,
}

/// The purpose of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Data or SQL, which is read.
    Data,
    /// An extension of SQLite, which is loaded.
    Extension {
        /// For which machines, such as `x86_64-linux-gnu`.
        target: String,
    },
    /// An SQLite library, which is loaded.
    Engine {
        /// For which machines, such as `x86_64-linux-gnu`.
        target: String,
    },
    /// A file of a driver, which is executed.
    Driver {
        /// Whether the file is a program.
        is_program: bool,
    },
}

impl Object {
    /// Returns a file on this machine, signed if there is a key.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_file(
        name: &str,
        path: &Path,
        file: &str,
        content: Content,
        signer: Option<&Signer>,
    ) -> Result<Object> {
        let (sha256, bytes) = hash_of(path)?;
        let mut object = Object {
            name: name.to_owned(),
            file: file.to_owned(),
            sha256,
            bytes,
            content,
            signature: None,
        };
        object.signature = signer.map(|signer| signer.sign(&object.statement())).transpose()?;
        Ok(object)
    }

    /// Returns whether this key has signed it, with what it is for.
    pub fn is_signed_by(&self, key: &Trusted) -> bool {
        self.signature
            .as_ref()
            .is_some_and(|signature| key.has_signed(&self.statement(), signature))
    }

    /// Returns the signed bytes: the content's hash and its purpose.
    fn statement(&self) -> Vec<u8> {
        let Object { name, file, sha256, content, .. } = self;
        let parts = ("pragmark object 1", name, file, sha256, content);
        serde_json::to_vec(&parts).expect("texts are JSON")
    }

    /// Returns whether it is executed or loaded.
    pub fn is_code(&self) -> bool {
        self.content != Content::Data
    }

    /// Whether its hash, its file and, of a driver, its name can be parts of paths: an object that is read may come from
    /// anywhere.
    ///
    /// # Errors
    /// The damage.
    pub(crate) fn check(&self) -> Result<()> {
        let is_hash = self.sha256.len() == HASH_DIGITS && self.sha256.chars().all(is_digit);
        let is_driver = matches!(self.content, Content::Driver { .. });
        if !is_hash {
            return Err(wrong(&self.sha256, "no SHA-256"));
        }
        if is_driver && !is_name(&self.name) {
            return Err(wrong(&self.name, "no name of a driver"));
        }
        self.path().map(drop)
    }

    /// Its path in the folder of a driver, and its name elsewhere, without a way out of that folder.
    ///
    /// # Errors
    /// When it has one.
    pub fn path(&self) -> Result<PathBuf> {
        let path = PathBuf::from(&self.file);
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if is_plain && path.file_name().is_some() {
            Ok(path)
        } else {
            Err(wrong(&self.file, "no name of a file"))
        }
    }
}

/// Digits of a SHA-256.
const HASH_DIGITS: usize = 64;

/// Returns whether it is a digit of a hash as [`digits`] writes it.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || ('a'..='f').contains(&c)
}

fn wrong(text: &str, is: &str) -> FleetError {
    FleetError::damaged("an object of the run", format!("`{text}` is {is}"))
}

/// Hash and size of a file.
fn hash_of(path: &Path) -> Result<(String, u64)> {
    let failed = FleetError::io("read", path);
    let mut file = File::open(path).map_err(&failed)?;
    let (mut hash, mut piece, mut bytes) = (Sha256::new(), vec![0; PIECE], 0);
    loop {
        match file.read(&mut piece).map_err(&failed)? {
            0 => return Ok((digits(&hash.finalize()), bytes)),
            count => {
                hash.update(&piece[..count]);
                bytes += count as u64;
            }
        }
    }
}

/// As hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(signer: &Signer) -> Object {
        let file = tempfile::NamedTempFile::new().unwrap();
        let content = Content::Engine { target: "x".to_owned() };
        Object::of_file("3.46.0", file.path(), "libsqlite3.so", content, Some(signer)).unwrap()
    }

    #[test]
    fn only_what_a_trusted_key_has_signed_for_this_use_is_trusted() {
        let own = Signer::default();
        let trusted: Trusted = own.key().parse().unwrap();
        let other: Trusted = Signer::default().key().parse().unwrap();
        let object = signed(&own);
        assert!(object.is_signed_by(&trusted) && !object.is_signed_by(&other));
        let changes: [fn(&mut Object); 4] = [
            |it| it.sha256 = "0".repeat(64),
            |it| it.name = "default".to_owned(),
            |it| it.content = Content::Driver { is_program: true },
            |it| it.signature = None,
        ];
        for change in changes {
            let mut object = object.clone();
            change(&mut object);
            assert!(!object.is_signed_by(&trusted), "{object:?}");
        }
    }

    #[test]
    fn no_object_has_a_name_that_leaves_its_folder() {
        let object = |file: &str| Object {
            name: "x".to_owned(),
            file: file.to_owned(),
            sha256: String::new(),
            bytes: 0,
            content: Content::Data,
            signature: None,
        };
        for file in ["a.db", "lib/a.py"] {
            assert_eq!(object(file).path().unwrap(), Path::new(file));
        }
        for file in ["", "..", "../a", "/etc/passwd", "a/../../b"] {
            assert!(object(file).path().is_err(), "{file}");
        }
    }

    #[test]
    fn hashes_and_drivers_cannot_be_paths() {
        let usual = Object {
            name: "ruby".to_owned(),
            file: "lib/a.rb".to_owned(),
            sha256: "0a".repeat(32),
            bytes: 0,
            content: Content::Driver { is_program: false },
            signature: None,
        };
        usual.check().unwrap();
        for hash in ["/home/u/.ssh", "..", "", &"0A".repeat(32), &"0a".repeat(31)] {
            let object = Object { sha256: hash.to_owned(), ..usual.clone() };
            assert!(object.check().is_err(), "{hash}");
        }
        for name in ["..", "/home/u", "a/b", ""] {
            let object = Object { name: name.to_owned(), ..usual.clone() };
            assert!(object.check().is_err(), "{name}");
        }
        let data = Object { name: "/data/own.db".to_owned(), content: Content::Data, ..usual };
        data.check().unwrap();
    }

    #[test]
    fn a_file_is_named_by_its_sha_256() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let object = Object::of_file("abc", file.path(), "abc.txt", Content::Data, None).unwrap();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((object.sha256.as_str(), object.bytes), (known, 3));
    }
}
