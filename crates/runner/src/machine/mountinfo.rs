//! The mount table: parsing `/proc/self/mountinfo` and finding the mount under a path.
//!
//! Format: proc_pid_mountinfo(5).

use std::path::{Path, PathBuf};

/// One line of the mount table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Major and minor number of the device; the major number is 0 without a block device
    /// (and for every btrfs).
    pub device: (u32, u32),
    /// The directory of the file system that is mounted, `/` except for bind mounts and subvolumes.
    pub root: PathBuf,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Options of the mount.
    pub mount_options: Vec<String>,
    /// File system type, with its subtype if it has one (`fuse.sshfs`).
    pub file_system: String,
    /// The mounted source: a device, an export, or any word.
    pub source: String,
    /// Options of the file system.
    pub super_options: Vec<String>,
}

impl Mount {
    /// Returns the options of the mount, then further options of the file system, without those that name hosts,
    /// accounts or the layers of a container.
    pub fn public_options(&self) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        for option in self.mount_options.iter().chain(&self.super_options) {
            if !is_private(option) && !options.contains(option) {
                options.push(option.clone());
            }
        }
        options
    }
}

fn is_private(option: &str) -> bool {
    const PRIVATE: &str = "addr clientaddr mountaddr srcaddr ip unc prefixpath username user domain name secret \
        mon_addr lowerdir upperdir workdir";
    // Newer kernels write one `lowerdir+` for each layer.
    let name = option.split('=').next().unwrap_or(option);
    PRIVATE.split(' ').any(|private| private == name.trim_end_matches('+'))
}

/// Reads a mount table. Lines that do not have the documented form are left out: a table with an
/// unknown line still tells where the other directories lie.
pub fn parse_mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    // The optional fields in the middle vary in number and end with a single hyphen.
    let (mount, file_system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let (major, minor) = mount.next()?.split_once(':')?;
    let root = unescape(mount.next()?);
    let mount_point = unescape(mount.next()?);
    let mount_options = options(mount.next()?);
    let mut file_system = file_system.split(' ');
    Some(Mount {
        device: (major.parse().ok()?, minor.parse().ok()?),
        root: root.into(),
        mount_point: mount_point.into(),
        mount_options,
        file_system: unescape(file_system.next()?),
        source: unescape(file_system.next()?),
        super_options: options(file_system.next().unwrap_or_default()),
    })
}

fn options(field: &str) -> Vec<String> {
    field.split(',').filter(|option| !option.is_empty()).map(unescape).collect()
}

/// Undoes the kernel's octal escapes (space, tab, newline, hash and backslash); anything that is not
/// such an escape stays as it is.
fn unescape(field: &str) -> String {
    let mut plain = String::with_capacity(field.len());
    let mut rest = field;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 4);
        match digits.and_then(ascii_from_octal) {
            Some(escaped) => {
                plain.push(escaped);
                rest = &rest[at + 4..];
            }
            None => {
                plain.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn ascii_from_octal(digits: &str) -> Option<char> {
    let all_octal = digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let code = u8::from_str_radix(digits, 8).ok()?;
    (all_octal && code.is_ascii()).then_some(char::from(code))
}

/// Returns the mount that holds `path` (absolute, without symbolic links): the longest mount point that is a prefix of
/// it and, of those mounted over one another, the last.
pub fn mount_of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.components().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r"22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard,barrier=0
30 27 0:26 / /tmp rw,nosuid - tmpfs tmpfs rw,size=24684084k
31 27 253:2 / /var/lib/data rw,noatime shared:7 master:2 propagate_from:1 - xfs /dev/mapper/vg-data rw,attr2
32 27 0:45 /@home /home rw,relatime shared:9 - btrfs /dev/nvme0n1p2 rw,ssd,space_cache=v2,subvolid=257,subvol=/@home
33 27 0:50 / /mnt/my\040share\134x rw - nfs4 server:/ex\040port rw,vers=4.2,hard,addr=10.0.0.9,clientaddr=10.0.0.7
34 27 0:60 / /container rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/c,workdir=/d,lowerdir+=/e
35 27 0:61 / /tmp/over rw - fuse.sshfs user@host:/x rw,user_id=0
36 30 0:62 / /tmp rw - tmpfs none rw
not a mount line
37 27 zero:1 / /bad rw - ext4 /dev/bad rw
38 27 8:1 / /short rw -
";

    fn mounted_under(path: &str) -> Mount {
        mount_of(&parse_mountinfo(TABLE), Path::new(path)).unwrap().clone()
    }

    #[test]
    fn lines_without_the_documented_form_are_left_out() {
        assert_eq!(parse_mountinfo(TABLE).len(), 9);
        assert_eq!(parse_mountinfo(""), []);
    }

    #[test]
    fn an_ext4_partition_is_read_field_by_field() {
        assert_eq!(
            mounted_under("/srv/db"),
            Mount {
                device: (254, 0),
                root: "/".into(),
                mount_point: "/".into(),
                mount_options: vec!["rw".into(), "relatime".into()],
                file_system: "ext4".into(),
                source: "/dev/vda1".into(),
                super_options: vec!["rw".into(), "discard".into(), "barrier=0".into()],
            }
        );
    }

    #[test]
    fn any_number_of_optional_fields_is_skipped() {
        let data = mounted_under("/var/lib/data/sqlite");
        assert_eq!((data.file_system.as_str(), data.device), ("xfs", (253, 2)));
    }

    #[test]
    fn a_btrfs_subvolume_keeps_its_root_and_source() {
        let home = mounted_under("/home/me");
        assert_eq!(home.root, Path::new("/@home"));
        assert_eq!(home.source, "/dev/nvme0n1p2");
        assert_eq!(home.device.0, 0);
    }

    #[test]
    fn escapes_are_undone() {
        let share = mounted_under(r"/mnt/my share\x/dir");
        assert_eq!(share.file_system, "nfs4");
        assert_eq!(share.source, "server:/ex port");
    }

    #[test]
    fn what_is_no_escape_stays() {
        for odd in [r"a\", r"a\0", r"a\04", r"a\09x", r"\+12", r"\777", "\\é9"] {
            assert_eq!(unescape(odd), odd);
        }
        assert_eq!(unescape(r"\011\\040"), "\t\\ ");
    }

    #[test]
    fn the_longest_mount_point_wins_by_whole_components() {
        assert_eq!(mounted_under("/tmp/over/x").file_system, "fuse.sshfs");
        assert_eq!(mounted_under("/tmpfile").file_system, "ext4");
    }

    #[test]
    fn of_mounts_over_one_another_the_last_wins() {
        assert_eq!(mounted_under("/tmp/x").source, "none");
    }

    #[test]
    fn options_that_name_hosts_or_layers_are_not_public() {
        assert_eq!(mounted_under(r"/mnt/my share\x").public_options(), ["rw", "vers=4.2", "hard"]);
        assert_eq!(mounted_under("/container").public_options(), ["rw"]);
        assert_eq!(mounted_under("/").public_options(), ["rw", "relatime", "discard", "barrier=0"]);
    }
}
