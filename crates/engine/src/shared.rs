//! Numbers that several processes share. They have nothing to do with SQLite; they are here because mapped
//! memory needs unsafe code.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
#[cfg(target_os = "linux")]
use std::sync::atomic::AtomicU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
#[cfg(target_os = "linux")]
use rustix::thread::futex;

/// Numbers in memory that several processes have in common; all are 0 at first.
#[derive(Debug)]
pub struct SharedNumbers {
    numbers: NonNull<AtomicU64>,
    count: usize,
    /// Keeps the file of the numbers.
    _file: File,
    path: PathBuf,
}

/// Returns a file in memory, and the path by which other processes find it while it is open.
#[cfg(target_os = "linux")]
fn file() -> io::Result<(File, PathBuf)> {
    use std::os::fd::AsRawFd;
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = File::from(rustix::fs::memfd_create("pragmark", flags)?);
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Ok((file, path.into()))
}

/// Returns a temporary file, which the system removes some time.
#[cfg(not(target_os = "linux"))]
fn file() -> io::Result<(File, PathBuf)> {
    let (file, path) = tempfile::NamedTempFile::new()?.keep()?;
    Ok((file, path))
}

// SAFETY: what it points to stays mapped until it is dropped, and consists of atomics.
unsafe impl Send for SharedNumbers {}
// SAFETY: as above.
unsafe impl Sync for SharedNumbers {}

impl SharedNumbers {
    /// New numbers; at least one.
    ///
    /// # Errors
    /// The system has no memory for them.
    pub fn new(count: usize) -> io::Result<SharedNumbers> {
        let (file, path) = file()?;
        file.set_len((count * size_of::<u64>()) as u64)?;
        SharedNumbers::map((file, path), count)
    }

    /// Returns the numbers that another process has made, by the path that [`SharedNumbers::path`] gave
    /// there.
    ///
    /// # Errors
    /// That process has ended.
    pub fn open(path: &Path) -> io::Result<SharedNumbers> {
        let file = File::options().read(true).write(true).open(path)?;
        let count = file.metadata()?.len() as usize / size_of::<u64>();
        SharedNumbers::map((file, path.to_owned()), count)
    }

    fn map((file, path): (File, PathBuf), count: usize) -> io::Result<SharedNumbers> {
        let (bytes, none) = (count * size_of::<u64>(), std::ptr::null_mut());
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the system chooses where, so no other memory is replaced. Nobody else shortens the file, which has no
        // name and is as long as the numbers.
        let mapped = unsafe { mmap(none, bytes, access, MapFlags::SHARED, &file, 0)? };
        match NonNull::new(mapped.cast()) {
            Some(numbers) => Ok(SharedNumbers { numbers, count, _file: file, path }),
            None => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }

    /// Where another process finds the numbers while this one has them.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sleeps until [`SharedNumbers::wake`] with this index, for at most `most`; returns at once if the
    /// number is no longer `seen`. It may wake up without a reason.
    #[cfg(target_os = "linux")]
    pub fn sleep(&self, index: usize, seen: u64, most: Duration) {
        let timeout = futex::Timespec {
            tv_sec: most.as_secs() as i64,
            tv_nsec: i64::from(most.subsec_nanos()),
        };
        // Whoever waits looks again, whatever the reason for which it woke up.
        let _ = futex::wait(self.low(index), futex::Flags::empty(), seen as u32, Some(&timeout));
    }

    /// The same, where only time wakes up.
    #[cfg(not(target_os = "linux"))]
    pub fn sleep(&self, index: usize, seen: u64, most: Duration) {
        if self[index].load(Ordering::SeqCst) == seen {
            std::thread::sleep(most.min(Duration::from_micros(50)));
        }
    }

    /// Changes a number and wakes everybody who sleeps until it changes.
    pub fn wake(&self, index: usize) {
        self[index].fetch_add(1, Ordering::SeqCst);
        // There may be nobody.
        #[cfg(target_os = "linux")]
        let _ = futex::wake(self.low(index), futex::Flags::empty(), u32::MAX);
    }

    /// Returns the lower half of a number.
    #[cfg(target_os = "linux")]
    fn low(&self, index: usize) -> &AtomicU32 {
        let number: *const AtomicU64 = &self[index];
        let half = usize::from(cfg!(target_endian = "big"));
        // SAFETY: both halves of a number are mapped as long as this is, and aligned; other accesses to them are atomic,
        // too, and x86-64 and aarch64 keep atomics of different sizes in order.
        unsafe { &*number.cast::<AtomicU32>().add(half) }
    }
}

impl Deref for SharedNumbers {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `count` numbers are mapped, aligned to a page, and zero bytes are valid atomics.
        unsafe { std::slice::from_raw_parts(self.numbers.as_ptr(), self.count) }
    }
}

impl Drop for SharedNumbers {
    fn drop(&mut self) {
        let bytes = self.count * size_of::<u64>();
        // SAFETY: it was mapped with this length, and no borrow is left.
        let unmapped = unsafe { munmap(self.numbers.as_ptr().cast(), bytes) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn numbers_are_the_same_wherever_they_are_opened_and_wake_who_sleeps() {
        let own = SharedNumbers::new(3).unwrap();
        let other = SharedNumbers::open(own.path()).unwrap();
        assert_eq!(other.len(), 3);
        other[2].store(7, Ordering::SeqCst);
        assert_eq!(own[2].load(Ordering::SeqCst), 7);
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while own[1].load(Ordering::SeqCst) == 0 {
                    own.sleep(1, 0, Duration::from_secs(60));
                }
            });
            std::thread::sleep(Duration::from_millis(20));
            other.wake(1);
        });
        assert!(start.elapsed() < Duration::from_secs(30));
        own.sleep(2, 6, Duration::from_secs(60));
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
