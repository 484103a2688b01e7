//! Taking the name out of a copy of a library.
//!
//! The dynamic loader takes a mapped library for the requested one if it calls itself
//! so (`DT_SONAME`, elf(5)). A copy that kept its name would thus be found instead of the
//! system's library. It stands apart because it alone reads ELF files; it is free of unsafe code.

/// The tag of an entry that the loader ignores: within the range reserved for systems, and unknown to glibc
/// and musl.
const UNUSED: u64 = 0x6000_0f0f;

const PT_DYNAMIC: u64 = 2;
const DT_NULL: u64 = 0;
const DT_SONAME: u64 = 14;

/// The size of an entry of the dynamic section.
const ENTRY: usize = 16;

/// Returns the offset of the tag of the name in a 64-bit little-endian file; `None` if the file has no name,
/// and for files of other kinds.
pub(super) fn offset(file: &[u8]) -> Option<usize> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (headers, size, count) = (number(file, 32, 8)?, number(file, 54, 2)?, number(file, 56, 2)?);
    let header = (0..count)
        .map(|index| (headers + index * size) as usize)
        .find(|header| number(file, *header, 4) == Some(PT_DYNAMIC))?;
    let begin = number(file, header + 8, 8)? as usize;
    let length = number(file, header + 32, 8)? as usize;
    (begin..begin.checked_add(length)?)
        .step_by(ENTRY)
        .map_while(|entry| Some((entry, number(file, entry, 8)?)))
        .take_while(|(_, tag)| *tag != DT_NULL)
        .find(|(_, tag)| *tag == DT_SONAME)
        .map(|(entry, _)| entry)
}

/// Makes the name at a [`offset`] one that the loader does not see.
pub(super) fn remove(file: &mut [u8], offset: usize) {
    if let Some(tag) = file.get_mut(offset..offset + 8) {
        tag.copy_from_slice(&UNUSED.to_le_bytes());
    }
}

fn number(file: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(length)?)?;
    let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    Some(bytes.iter().rev().fold(0, fold))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file with one program header, of the dynamic section, with these tags.
    fn file(tags: &[u64]) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32] = 64;
        file[54] = 56;
        file[56] = 1;
        file[64] = PT_DYNAMIC as u8;
        file[64 + 8] = 120;
        file[64 + 32] = (tags.len() * ENTRY) as u8;
        for tag in tags {
            file.extend(tag.to_le_bytes());
            file.extend([7; 8]);
        }
        file
    }

    #[test]
    fn the_name_is_found_and_taken_out() {
        let mut named = file(&[1, DT_SONAME, 5]);
        let found = offset(&named).unwrap();
        assert_eq!(found, 120 + ENTRY);
        remove(&mut named, found);
        assert_eq!(offset(&named), None);
        assert_eq!(number(&named, 120, 8), Some(1));
        assert_eq!(number(&named, 120 + 2 * ENTRY, 8), Some(5));
    }

    #[test]
    fn what_has_no_name_is_left_alone() {
        assert_eq!(offset(&file(&[1, DT_NULL, DT_SONAME])), None);
        assert_eq!(offset(b"\x7fELF\x01\x01"), None);
        assert_eq!(offset(b""), None);
        let whole = file(&[1, DT_SONAME]);
        for length in 0..whole.len() - ENTRY {
            assert_eq!(offset(&whole[..length]), None, "cut after {length}");
        }
    }
}
