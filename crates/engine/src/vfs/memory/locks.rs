//! The locks of files and of shared memory, by the rules of `os_unix.c`.

use crate::ffi;
use std::ffi::c_int;

/// An open file, as an owner of locks.
pub(super) type Owner = u64;

/// The lock is held by somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Busy;

/// The locks on one file (<https://sqlite.org/lockingv3.html>).
#[derive(Debug, Default)]
pub(super) struct FileLocks(Vec<(Owner, c_int)>);

impl FileLocks {
    fn level(&self, owner: Owner) -> c_int {
        let held = self.0.iter().find(|(holder, _)| *holder == owner);
        held.map_or(ffi::SQLITE_LOCK_NONE, |(_, level)| *level)
    }

    /// Returns the highest level that anybody else holds.
    fn others(&self, owner: Owner) -> c_int {
        let others = self.0.iter().filter(|(holder, _)| *holder != owner);
        others.map(|(_, level)| *level).max().unwrap_or(0)
    }

    fn set(&mut self, owner: Owner, level: c_int) {
        match self.0.iter_mut().find(|(holder, _)| *holder == owner) {
            Some(held) => held.1 = level,
            None => self.0.push((owner, level)),
        }
    }

    pub(super) fn lock(&mut self, owner: Owner, level: c_int) -> Result<(), Busy> {
        if self.level(owner) >= level {
            return Ok(());
        }
        let others = self.others(owner);
        let hindrance = match level {
            ffi::SQLITE_LOCK_SHARED => ffi::SQLITE_LOCK_PENDING,
            _ => ffi::SQLITE_LOCK_RESERVED,
        };
        if others >= hindrance {
            return Err(Busy);
        }
        if level == ffi::SQLITE_LOCK_EXCLUSIVE && others >= ffi::SQLITE_LOCK_SHARED {
            if self.level(owner) == ffi::SQLITE_LOCK_RESERVED {
                // Readers may finish, new ones may not begin.
                self.set(owner, ffi::SQLITE_LOCK_PENDING);
            }
            return Err(Busy);
        }
        self.set(owner, level);
        Ok(())
    }

    pub(super) fn unlock(&mut self, owner: Owner, level: c_int) {
        if level == ffi::SQLITE_LOCK_NONE {
            self.0.retain(|(holder, _)| *holder != owner);
        } else if self.level(owner) > level {
            self.set(owner, level);
        }
    }

    pub(super) fn is_reserved(&self) -> bool {
        self.0.iter().any(|(_, level)| *level >= ffi::SQLITE_LOCK_RESERVED)
    }
}

/// The locks of the shared memory of a write-ahead log: eight, each shared or exclusive.
#[derive(Debug, Default)]
pub(super) struct SharedMemoryLocks(Vec<Held>);

#[derive(Debug)]
struct Held {
    owner: Owner,
    shared: u8,
    exclusive: u8,
}

impl SharedMemoryLocks {
    /// Takes or releases locks as the flags of `xShmLock` say.
    pub(super) fn change(
        &mut self,
        owner: Owner,
        offset: c_int,
        count: c_int,
        flags: c_int,
    ) -> Result<(), Busy> {
        let mask = (((1_u16 << count) - 1) << offset) as u8;
        let (mut shared, mut exclusive) = (0, 0);
        for held in self.0.iter().filter(|held| held.owner != owner) {
            shared |= held.shared;
            exclusive |= held.exclusive;
        }
        let index = self.0.iter().position(|held| held.owner == owner).unwrap_or_else(|| {
            self.0.push(Held { owner, shared: 0, exclusive: 0 });
            self.0.len() - 1
        });
        let held = &mut self.0[index];
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            held.shared &= !mask;
            held.exclusive &= !mask;
            return Ok(());
        }
        let (mine, hindrance) = match flags & ffi::SQLITE_SHM_SHARED {
            0 => (&mut held.exclusive, shared | exclusive),
            _ => (&mut held.shared, exclusive),
        };
        if hindrance & mask != 0 {
            return Err(Busy);
        }
        *mine |= mask;
        Ok(())
    }

    pub(super) fn forget(&mut self, owner: Owner) {
        self.0.retain(|held| held.owner != owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: c_int = ffi::SQLITE_LOCK_SHARED;
    const RESERVED: c_int = ffi::SQLITE_LOCK_RESERVED;
    const EXCLUSIVE: c_int = ffi::SQLITE_LOCK_EXCLUSIVE;

    #[test]
    fn one_writer_may_prepare_while_others_read_and_waits_for_them() {
        let mut locks = FileLocks::default();
        assert_eq!(locks.lock(1, SHARED), Ok(()));
        assert_eq!(locks.lock(2, SHARED), Ok(()));
        assert_eq!(locks.lock(1, EXCLUSIVE), Err(Busy));
        assert_eq!(locks.lock(3, SHARED), Ok(()), "who only reads keeps nobody out");
        locks.unlock(3, ffi::SQLITE_LOCK_NONE);
        assert_eq!(locks.lock(1, RESERVED), Ok(()));
        assert_eq!(locks.lock(2, RESERVED), Err(Busy));
        assert_eq!(locks.lock(1, EXCLUSIVE), Err(Busy));
        assert_eq!(locks.lock(3, SHARED), Err(Busy), "pending keeps new readers out");
        locks.unlock(2, ffi::SQLITE_LOCK_NONE);
        assert_eq!(locks.lock(1, EXCLUSIVE), Ok(()));
        assert_eq!(locks.lock(3, SHARED), Err(Busy));
        locks.unlock(1, SHARED);
        assert_eq!(locks.lock(3, SHARED), Ok(()));
        assert!(!locks.is_reserved());
    }

    #[test]
    fn exclusive_locks_of_shared_memory_exclude_and_shared_ones_do_not() {
        let (shared, exclusive) = (
            ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_SHARED,
            ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_EXCLUSIVE,
        );
        let release = ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_SHARED;
        let mut locks = SharedMemoryLocks::default();
        assert_eq!(locks.change(1, 3, 1, shared), Ok(()));
        assert_eq!(locks.change(2, 3, 1, shared), Ok(()));
        assert_eq!(locks.change(2, 0, 8, exclusive), Err(Busy));
        assert_eq!(locks.change(2, 0, 3, exclusive), Ok(()));
        assert_eq!(locks.change(1, 2, 1, shared), Err(Busy));
        assert_eq!(locks.change(1, 3, 1, release), Ok(()));
        assert_eq!(locks.change(2, 3, 1, exclusive), Ok(()));
        locks.forget(2);
        assert_eq!(locks.change(1, 0, 8, exclusive), Ok(()));
    }
}
