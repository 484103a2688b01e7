//! Numbers of pages: those that trees may have, and those that belong to something else.

/// Which pages trees leave out: the lock-byte page
/// (<https://sqlite.org/fileformat2.html#the_lock_byte_page>) and, with auto_vacuum, the pages of the
/// [map](super::map).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbering {
    lock_page: u64,
    /// How many pages one of the map and those that it is about are together; none without a map.
    group: Option<u64>,
}

/// The byte at which SQLite takes locks; the page that holds it is never used.
const LOCK_BYTE: u64 = 1 << 30;
/// The first page of the map.
const FIRST_OF_MAP: u64 = 2;
/// Bytes that the map has for a page.
pub(super) const OF_PAGE: usize = 5;

impl Numbering {
    pub(super) fn new(page_size: usize, usable: usize, has_map: bool) -> Numbering {
        Numbering {
            lock_page: LOCK_BYTE / page_size as u64 + 1,
            group: has_map.then(|| (usable / OF_PAGE) as u64 + 1),
        }
    }

    /// How many of the pages up to this one are left out.
    fn left_out(self, page: u64) -> u64 {
        let lock = u64::from(self.lock_page <= page);
        let Some(group) = self.group else {
            return lock;
        };
        let groups = match page.checked_sub(FIRST_OF_MAP) {
            Some(behind) => behind / group + 1,
            None => 0,
        };
        // A page of the map that would be the lock-byte page is the next one.
        let is_one_too_many = page == self.lock_page && self.map_page(page) > page;
        groups + lock - u64::from(is_one_too_many)
    }

    /// The page of the map that is about a page, if there is a map.
    pub(super) fn of(self, page: u32) -> Option<u32> {
        self.group.map(|_| self.map_page(page.into()) as u32)
    }

    fn map_page(self, page: u64) -> u64 {
        let group = self.group.unwrap_or(1);
        let first = (page - FIRST_OF_MAP) / group * group + FIRST_OF_MAP;
        first + u64::from(first == self.lock_page)
    }
}

/// Page numbers that follow one another, without those that trees leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    first: u32,
    numbering: Numbering,
}

impl Range {
    /// `first` may be one that is left out.
    pub(super) fn new(first: u32, numbering: Numbering) -> Range {
        Range { first, numbering }
    }

    /// The number of the page at this index.
    #[inline]
    pub(super) fn page(self, index: usize) -> u32 {
        self.number(index) as u32
    }

    /// The number behind so many pages, which may be larger than a page can have.
    pub(super) fn behind(self, pages: usize) -> u64 {
        match pages.checked_sub(1) {
            Some(last) => self.number(last) + 1,
            None => u64::from(self.first),
        }
    }

    #[inline]
    fn number(self, index: usize) -> u64 {
        let first = u64::from(self.first);
        let before = self.numbering.left_out(first - 1);
        let least = first + index as u64;
        let mut page = least;
        loop {
            let next = least + self.numbering.left_out(page) - before;
            if next == page {
                return page;
            }
            page = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As SQLite calculates it (`ptrmapPageno`).
    fn is_left_out(page: u64, group: u64, lock_page: u64) -> bool {
        let mut map = (page - 2) / group * group + 2;
        map += u64::from(map == lock_page);
        page == lock_page || page == map
    }

    #[test]
    fn pages_of_the_map_and_the_lock_byte_page_are_left_out_wherever_they_lie() {
        for (group, lock_page) in [(103, 2 + 103 * 7), (103, 500), (103, 2 + 103 * 7 + 1), (5, 12)]
        {
            let numbering = Numbering { lock_page, group: Some(group) };
            let usual = |first: u32| {
                (u64::from(first)..).filter(|page| !is_left_out(*page, group, lock_page))
            };
            for first in 2..1_000 {
                let range = Range::new(first, numbering);
                for (index, page) in usual(first).take(300).enumerate() {
                    assert_eq!(
                        u64::from(range.page(index)),
                        page,
                        "{group}, {lock_page}, {first}, {index}"
                    );
                }
                assert_eq!(range.behind(0), u64::from(first));
                assert_eq!(range.behind(1), u64::from(range.page(0)) + 1);
            }
        }
    }

    #[test]
    fn without_a_map_only_the_lock_byte_page_is_left_out() {
        let numbering = Numbering::new(65_536, 65_536, false);
        let range = Range::new(16_384, numbering);
        assert_eq!([0, 1, 2].map(|index| range.page(index)), [16_384, 16_386, 16_387]);
        assert_eq!(Range::new(16_385, numbering).page(0), 16_386);
        assert_eq!(numbering.of(7), None);
    }
}
