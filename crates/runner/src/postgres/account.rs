//! The user as whom a server runs: PostgreSQL refuses to be root.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::ServerError;

/// A user of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// Users that own nothing worth having, the fitting one first.
const PREFERRED: [&str; 2] = ["postgres", "nobody"];

impl Account {
    /// Returns the user to become; `None` unless this process runs as root.
    pub(super) fn needed() -> Result<Option<Account>, ServerError> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = PREFERRED.iter().find_map(|name| find(&passwd, name));
        found.map(Some).ok_or(ServerError::NoAccount)
    }

    /// The first directory on the way to `path`, or `path` itself, that this user may not enter.
    pub(super) fn blocked(&self, path: &Path) -> Option<PathBuf> {
        let mut way: Vec<&Path> = path.ancestors().collect();
        way.reverse();
        way.into_iter()
            .find(|directory| fs::metadata(directory).is_ok_and(|metadata| !self.enters(&metadata)))
            .map(Path::to_owned)
    }

    fn enters(&self, directory: &Metadata) -> bool {
        let class = match () {
            () if directory.uid() == self.uid => 0o100,
            () if directory.gid() == self.gid => 0o010,
            () => 0o001,
        };
        directory.mode() & class != 0
    }
}

/// The user of this name in a file of passwd(5).
fn find(passwd: &str, name: &str) -> Option<Account> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let found = fields.next().filter(|found| *found == name)?;
        Some(Account {
            name: found.to_owned(),
            uid: fields.nth(1)?.parse().ok().filter(|uid| *uid != 0)?,
            gid: fields.next()?.parse().ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_user_is_found_by_name_and_never_root() {
        let passwd = "root:x:0:0::/root:/bin/sh\npostgres2:x:7:7::/:/bin/sh\nnobody:x:65534:65533::/:/bin/false\nfake:x:0:5::/:/bin/sh\nshort:x\n";
        let nobody = Account { name: "nobody".to_owned(), uid: 65534, gid: 65533 };
        assert_eq!(find(passwd, "nobody"), Some(nobody));
        for missing in ["postgres", "root", "fake", "short"] {
            assert_eq!(find(passwd, missing), None, "{missing}");
        }
    }

    #[test]
    fn the_first_closed_directory_on_the_way_is_named() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("open").join("closed").join("inner");
        fs::create_dir_all(&inner).unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(root.path(), 0o755);
        mode(&root.path().join("open/closed"), 0o700);
        let stranger =
            Account { name: "stranger".to_owned(), uid: 4_000_000_000, gid: 4_000_000_000 };
        assert_eq!(stranger.blocked(&inner), Some(root.path().join("open/closed")));
        assert_eq!(stranger.blocked(&root.path().join("open")), None);
        mode(&root.path().join("open/closed"), 0o711);
        assert_eq!(stranger.blocked(&inner), None);
    }
}
