//! Signatures by nkeys, the keys that NATS has, too: of objects by people, and of outcomes by agents.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};

use crate::address::read;
use crate::error::{FleetError, Result};

/// Who vouches for an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// The public key.
    pub key: String,
    /// The signature in base64.
    pub signature: String,
}

/// A key that signs: a person's, or one that a process of an agent makes for itself when it starts and never writes down.
pub struct Signer(KeyPair);

impl Default for Signer {
    fn default() -> Signer {
        Signer(KeyPair::new_user())
    }
}

/// A public key whose objects are accepted.
#[derive(Clone)]
pub struct Trusted(Arc<KeyPair>);

impl std::fmt::Debug for Trusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.public_key())
    }
}

impl Signer {
    /// Returns the key whose seed is in a file.
    ///
    /// # Errors
    /// When the file cannot be read or holds no seed.
    pub fn from_file(path: &Path) -> Result<Signer> {
        let seed = read(path)?;
        let key = KeyPair::from_seed(seed.trim());
        let no_key = |_| FleetError::NoKey(format!("{} holds no seed of an nkey", path.display()));
        Ok(Signer(key.map_err(no_key)?))
    }

    /// Returns the public key.
    pub fn key(&self) -> String {
        self.0.public_key()
    }

    /// Returns the signature of these bytes.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub(crate) fn sign(&self, bytes: &[u8]) -> Result<Signature> {
        let signed = self.0.sign(bytes);
        let signed = signed.map_err(|error| FleetError::NoKey(error.to_string()))?;
        Ok(Signature { key: self.key(), signature: STANDARD.encode(signed) })
    }
}

impl FromStr for Trusted {
    type Err = FleetError;

    fn from_str(text: &str) -> Result<Trusted> {
        let no_key = |_| FleetError::NoKey(format!("{text} is no public nkey"));
        let key = KeyPair::from_public_key(text).map_err(no_key)?;
        Ok(Trusted(Arc::new(key)))
    }
}

impl Trusted {
    /// Returns whether this key has signed these bytes.
    pub(crate) fn has_signed(&self, bytes: &[u8], signature: &Signature) -> bool {
        signature.key == self.0.public_key() && signature.is_of(bytes)
    }
}

impl Signature {
    /// Returns whether the owner of its key has signed these bytes.
    pub(crate) fn is_of(&self, bytes: &[u8]) -> bool {
        let key = KeyPair::from_public_key(&self.key);
        let signed = STANDARD.decode(&self.signature);
        matches!((key, signed), (Ok(key), Ok(signed)) if key.verify(bytes, &signed).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_key_is_refused() {
        assert!("UABC".parse::<Trusted>().is_err());
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Signer::from_file(file.path()).err().unwrap();
        assert!(error.to_string().contains("no seed"), "{error}");
    }
}
