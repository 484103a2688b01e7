//! Where the server is, and with which credentials it lets a program in.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use async_nats::ConnectOptions;

use crate::error::{FleetError, Result};

/// The address of a server, without credentials: `nats://host:4222`, or `tls://host:4222`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl FromStr for Address {
    type Err = FleetError;

    fn from_str(text: &str) -> Result<Address> {
        let with_scheme =
            if text.contains("://") { text.to_owned() } else { format!("nats://{text}") };
        let refused = || FleetError::Address(text.to_owned());
        let (scheme, host) = with_scheme.split_once("://").ok_or_else(refused)?;
        if host.contains('@') {
            return Err(FleetError::PasswordInAddress);
        }
        let is_known = ["nats", "tls"].contains(&scheme);
        let parses = with_scheme.parse::<async_nats::ServerAddr>().is_ok();
        if is_known && parses && !host.is_empty() {
            Ok(Address(with_scheme))
        } else {
            Err(refused())
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// With what a program gets in. Secrets are read from files or from the environment, never from an argument, and are
/// kept in no record.
#[derive(Clone, Default)]
pub struct Access {
    /// A credentials file as `nsc` makes it: a JWT and the seed of its nkey.
    pub credentials: Option<PathBuf>,
    /// A file with the seed of an nkey.
    pub nkey: Option<PathBuf>,
    /// User and password.
    pub password: Option<(String, String)>,
    /// A file with the certificate of the authority that signed the server's, where no system trusts it.
    pub authority: Option<PathBuf>,
}

impl fmt::Debug for Access {
    /// Says which means there are, and none of their secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("credentials", &self.credentials)
            .field("nkey", &self.nkey)
            .field("user", &self.password.as_ref().map(|(user, _)| user))
            .field("authority", &self.authority)
            .finish()
    }
}

impl Access {
    /// Returns the options of a connection.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(crate) fn options(&self, address: &Address) -> Result<ConnectOptions> {
        let mut options = ConnectOptions::new().require_tls(address.0.starts_with("tls://"));
        if let Some(path) = &self.credentials {
            options = options.credentials(&read(path)?).map_err(FleetError::io("read", path))?;
        }
        if let Some(path) = &self.nkey {
            options = options.nkey(read(path)?.trim().to_owned());
        }
        if let Some((user, password)) = &self.password {
            options = options.user_and_password(user.clone(), password.clone());
        }
        if let Some(path) = &self.authority {
            read(path)?;
            options = options.add_root_certificates(path.clone());
        }
        Ok(options)
    }
}

pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(FleetError::io("read", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_known_scheme_and_no_password() {
        for (text, address) in [
            ("nats://host:4222", "nats://host:4222"),
            ("tls://host", "tls://host"),
            ("host:4333", "nats://host:4333"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), address);
        }
        for text in ["", "http://host", "nats://", "nats://a b"] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(matches!(error, FleetError::Address(_)), "{text}: {error}");
        }
        let error = "nats://me:secret@host".parse::<Address>().unwrap_err();
        assert!(matches!(error, FleetError::PasswordInAddress));
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn what_is_printed_of_an_access_has_no_password() {
        let access =
            Access { password: Some(("me".to_owned(), "secret".to_owned())), ..Access::default() };
        let printed = format!("{access:?}");
        assert!(printed.contains("me") && !printed.contains("secret"), "{printed}");
    }
}
