//! Recordings that are torn, overwritten or something else.

use pragmark_recorder::read::{ReadError, Record, Recording};
use pragmark_recorder::{Folder, Options};
use proptest::prelude::*;

const CHUNK: usize = 65_536;

/// The bytes of an empty recording.
fn empty() -> Vec<u8> {
    let temp = tempfile::tempdir().unwrap();
    let folder = Folder::create(&temp.path().join("recording"), &Options::default()).unwrap();
    std::fs::read(folder.raw()).unwrap()
}

/// A chunk with these records.
fn chunk(records: &[u8], used: u32) -> Vec<u8> {
    let mut bytes = vec![0; CHUNK];
    bytes[..4].copy_from_slice(&0x4b43_4d50u32.to_ne_bytes());
    bytes[4..8].copy_from_slice(&(CHUNK as u32).to_ne_bytes());
    bytes[8..12].copy_from_slice(&used.to_ne_bytes());
    bytes[32..32 + records.len()].copy_from_slice(records);
    bytes
}

/// Reads everything; the number of records, and of bytes that are none.
fn read(bytes: &[u8]) -> Result<(usize, u64), ReadError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let (mut count, mut torn) = (0, 0);
    let lost = Recording::open(file.path())?.for_each_chunk::<ReadError>(|chunk| {
        let mut records = chunk.records();
        for (_, record) in records.by_ref() {
            if let Record::Begin { values, .. } = record {
                assert!(values.iter().count() <= CHUNK);
            }
            count += 1;
        }
        torn += records.unreadable() as u64;
        Ok(())
    })?;
    Ok((count, lost + torn))
}

#[test]
fn other_files_versions_and_architectures_are_refused() {
    assert!(matches!(read(b"short"), Err(ReadError::NotARecording(_))));
    assert!(matches!(read(&[7; CHUNK]), Err(ReadError::NotARecording(_))));
    let mut other = empty();
    other[16] += 1;
    assert!(matches!(read(&other), Err(ReadError::Version { .. })));
    let mut swapped = empty();
    swapped[16..24].reverse();
    assert!(matches!(read(&swapped), Err(ReadError::Architecture(_))));
}

#[test]
fn what_is_torn_is_counted() {
    // A CLOSE record, a complete COMMIT record, and a COMMIT record without its ticket.
    let records = [8, 5, 7, 1, 9, 7, 1];
    let file = [empty(), chunk(&records, 7), chunk(&records, u32::MAX)].concat();
    assert_eq!(read(&file).unwrap(), (2, 2 + CHUNK as u64));
}

proptest! {
    #[test]
    fn any_bytes_are_read_to_their_end(records in prop::collection::vec(any::<u8>(), 0..2000)) {
        let file = [empty(), chunk(&records, records.len() as u32)].concat();
        let (_, torn) = read(&file).unwrap();
        prop_assert!(torn <= records.len() as u64);
    }

    #[test]
    fn any_damage_to_a_recording_is_survived(at in 0..2 * CHUNK, bytes in prop::collection::vec(any::<u8>(), 1..64)) {
        let records = [[8, 5].as_slice(), &[5, 1, 0, 2, b'S', b'Q', 2, 2, 17, 3, 1, b'x']].concat();
        let mut file = [empty(), chunk(&records, records.len() as u32)].concat();
        let end = (at + bytes.len()).min(file.len());
        file[at..end].copy_from_slice(&bytes[..end - at]);
        // An error and a count are both right; a panic is not.
        let _ = read(&file);
    }
}
