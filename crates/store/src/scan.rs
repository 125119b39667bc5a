//! Visiting every item.

mod held;

pub use held::Held;

use crate::handle::Item;
use crate::handle::StoreHandle;
use crate::index::Location;
use crate::item::RawItem;
use crate::suspended::Suspended;
use farcache_base::version::Version;

/// Most classes of the index that one call looks at for items with versions, so that it ends soon
/// where there are few.
const CLASSES_MAX: u64 = 4096;

/// Most items on devices that one call shows: each is read whole for its key.
const READ_MAX: usize = 16;

/// Highest level of an index, in a cursor that came from outside.
const LEVEL_MAX: u32 = 40;

/// An item that has a version, or a tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its version.
    pub version: Version,
    /// The value; none of a tombstone.
    pub value: Option<&'a [u8]>,
    /// Whether it has been read since it was stored or moved.
    pub is_used: bool,
}
/// Where a scan of the store stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanCursor {
    /// Next class of the index.
    class: u64,
    /// Level of the index when the scan began, plus 1; 0 before that.
    level: u32,
}

fn listed<'a>(item: RawItem<'a>) -> Option<Listed<'a>> {
    let stamp = item.stamp()?;
    Some(Listed {
        key: item.key(),
        version: stamp.version,
        value: (!stamp.is_tombstone).then(|| item.value()),
        is_used: item.state().frequency() > 0,
    })
}

impl ScanCursor {
    /// Bytes of a cursor that is sent.
    pub const BYTES: usize = 16;

    /// As it is sent.
    pub fn encode(self) -> [u8; ScanCursor::BYTES] {
        let number = u128::from(self.class) << 32 | u128::from(self.level);
        number.to_be_bytes()
    }

    /// What was sent so; none where that is no cursor.
    pub fn decode(bytes: [u8; ScanCursor::BYTES]) -> Option<ScanCursor> {
        let number = u128::from_be_bytes(bytes);
        let class = u64::try_from(number >> 32).ok()?;
        let level = number as u32;
        (level <= LEVEL_MAX && class <= 1 << LEVEL_MAX).then_some(ScanCursor { class, level })
    }

    /// Between nothing and all of the index, in 1024ths.
    pub fn progress(self) -> u64 {
        match self.level {
            0 => 0,
            level => ((self.class << 10) >> (level - 1)).min(1024),
        }
    }
}

impl StoreHandle {
    /// Visits about `most` items that have a version, and tombstones, from the cursor on; false when
    /// the end is reached, which is at once where no version was ever stored: then no item is looked
    /// at. As [`StoreHandle::scan`], but what lies on a device is visited too.
    ///
    /// # Errors
    /// [`Suspended`], where items must be read from a device first: the cursor is as it was, and the
    /// caller forgets what it was shown.
    pub fn scan_versions(
        &self,
        cursor: &mut ScanCursor,
        most: usize,
        visit: &mut dyn FnMut(&Listed<'_>),
    ) -> Result<bool, Suspended> {
        if self.core.versions.newest() == 0 {
            return Ok(false);
        }
        self.enter();
        let index = &self.core.index;
        let mut next = *cursor;
        if next.level == 0 {
            next.level = index.scan_level() + 1;
        }
        let level = next.level - 1;
        let class_end = (next.class + CLASSES_MAX).min(1 << level);
        let (mut locations, mut on_device) = (Vec::with_capacity(most), 0);
        let mut class = Vec::new();
        while next.class < class_end && locations.len() < most && on_device < READ_MAX {
            class.clear();
            index.visit_class_hashed(next.class, level, |hash, location| {
                class.push((hash, location));
            });
            let all: Vec<Location> = class.iter().map(|entry| entry.1).collect();
            let is_copy =
                |one: Location| one.is_on_device() && self.core.is_shadow(self.guard(), one, &all);
            locations.extend(class.iter().filter(|entry| !is_copy(entry.1)));
            on_device += all.iter().filter(|one| one.is_on_device()).count();
            next.class += 1;
        }
        let mut suspended = Ok(());
        for (hash, location) in locations {
            match self.listed_at(hash, location) {
                Ok(Some(raw)) => _ = listed(raw).map(|listed| visit(&listed)),
                Ok(None) => {}
                Err(what) => suspended = Err(what),
            }
        }
        suspended?;
        *cursor = next;
        Ok(next.class < 1 << level)
    }

    /// The item at a location, if it is still of use.
    fn listed_at(&self, hash: u64, location: Location) -> Result<Option<RawItem<'_>>, Suspended> {
        let core = &self.core;
        if !location.is_on_device() {
            // SAFETY: the location was found in the index since this handle's last quiescent point.
            let raw = unsafe { core.arena.item(location) };
            return Ok(core.is_alive(location, raw, self.now()).then_some(raw));
        }
        let Some(tier) = core.tier.as_ref() else {
            return Ok(None);
        };
        if !tier.is_readable(location) {
            return Ok(None);
        }
        // SAFETY: the location was found in the index since this handle's last quiescent point.
        let Some(raw) = (unsafe { self.at_hand(location) }) else {
            self.want(hash, location)?;
            return Ok(None);
        };
        Ok(core
            .is_visible_on_device(self.guard(), location, raw, self.now())
            .then_some(raw))
    }

    /// Visits about `most` items from the cursor on; false when the end is reached. Items stored
    /// or deleted meanwhile may or may not be seen; each other one is seen once. Expired items are
    /// left out, and so are those that lie on a device only.
    pub fn scan(
        &self,
        cursor: &mut ScanCursor,
        most: usize,
        visit: &mut dyn FnMut(&Item<'_>),
    ) -> bool {
        self.enter();
        if cursor.level == 0 {
            cursor.level = self.core.index.scan_level() + 1;
        }
        let level = cursor.level - 1;
        let mut locations = Vec::with_capacity(most);
        while cursor.class < 1 << level && locations.len() < most {
            self.core
                .index
                .visit_class(cursor.class, level, |location| {
                    if !location.is_on_device() {
                        locations.push(location);
                    }
                });
            cursor.class += 1;
        }
        for location in locations {
            // SAFETY: the location was found in the index since this handle's last quiescent point.
            let raw = unsafe { self.core.arena.item(location) };
            if self.core.is_visible(location, raw, self.now()) {
                visit(&Item::new(self, location, raw, raw.state()));
            }
        }
        cursor.class < 1 << level
    }
}
