//! Programs into which the recorder cannot get, recognised by their files.

use std::fs;
use std::path::Path;

/// Why a program cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It uses SQLite translated to Go, without a C library.
    Modernc,
    /// It is linked statically, so nothing can be loaded with it.
    Static,
}

/// Returns the obstacle to recording a program, if its file shows one.
pub fn obstacle(program: &Path) -> Option<Obstacle> {
    let bytes = fs::read(program).ok()?;
    if !bytes.starts_with(b"\x7fELF") {
        return None;
    }
    let contains = |word: &[u8]| {
        let first = word[0];
        let mut rest = bytes.as_slice();
        while let Some(at) = rest.iter().position(|byte| *byte == first) {
            rest = &rest[at..];
            if rest.starts_with(word) {
                return true;
            }
            rest = &rest[1..];
        }
        false
    };
    if contains(b"modernc.org/sqlite") {
        return Some(Obstacle::Modernc);
    }
    (!has_loader(&bytes)).then_some(Obstacle::Static)
}

/// Returns whether a 64-bit ELF file names a dynamic loader (`PT_INTERP`).
fn has_loader(elf: &[u8]) -> bool {
    const PT_INTERP: u64 = 3;
    let number = |at: usize, size: usize| -> Option<u64> {
        let bytes = elf.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let header = |index: u64| -> Option<u64> {
        let at = number(32, 8)?.checked_add(index * number(54, 2)?)?;
        number(usize::try_from(at).ok()?, 4)
    };
    let count = number(56, 2).unwrap_or(0);
    // Of a file that is not as expected nothing is claimed.
    elf.get(4) != Some(&2) || count == 0 || (0..count).any(|index| header(index) == Some(PT_INTERP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_with_a_loader_and_other_files_have_no_obstacle() {
        assert_eq!(obstacle(Path::new("/bin/sh")), None);
        assert_eq!(obstacle(Path::new("/etc/hostname")), None);
        assert_eq!(obstacle(Path::new("/no/such/file")), None);
    }

    #[test]
    fn a_program_without_a_loader_is_static() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut elf = vec![0; 120];
        elf[..5].copy_from_slice(b"\x7fELF\x02");
        elf[32] = 64;
        elf[54] = 56;
        elf[56] = 1;
        elf[64] = 1;
        fs::write(file.path(), &elf).unwrap();
        assert_eq!(obstacle(file.path()), Some(Obstacle::Static));
        elf[64] = 3;
        fs::write(file.path(), &elf).unwrap();
        assert_eq!(obstacle(file.path()), None);
    }
}
