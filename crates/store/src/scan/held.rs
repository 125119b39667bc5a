//! Visiting what a server holds for another one, to which the keys move.

use super::ScanCursor;
use crate::handle::Item;
use crate::handle::StoreHandle;
use crate::index::Location;
use crate::suspended::Suspended;

/// Looks for items on devices that have been moved each time before they were read.
const LOOKS_MAX: u32 = 64;

/// Most classes of the index that one call looks at, so that it ends soon where there are few such
/// items.
const CLASSES_MAX: u64 = 256;

/// Which items a scan for another server visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Items in memory that have been used since they were stored.
    Used,
    /// All other items in memory.
    Unused,
    /// Items that lie on a device only.
    OnDevice,
}

impl StoreHandle {
    /// Visits about `most` items from the cursor on, those on devices too; returns how far the
    /// cursor is then, in parts of 2^32, or none where it has come to the end. As
    /// [`StoreHandle::scan`]; items with a version are left out as well.
    ///
    /// # Errors
    /// [`Suspended`], where items must be read from a device first: the cursor has not moved.
    pub fn scan_held(
        &self,
        held: Held,
        cursor: &mut ScanCursor,
        most: usize,
        visit: &mut dyn FnMut(&Item<'_>),
    ) -> Result<Option<u32>, Suspended> {
        self.enter();
        let index = &self.core.index;
        let level = match cursor.level {
            0 => index.scan_level(),
            // What came from elsewhere may be anything.
            level => (level - 1).min(index.scan_level()),
        };
        let mut class = cursor.class;
        let class_end = (class + CLASSES_MAX).min(1 << level);
        for _ in 0..LOOKS_MAX {
            class = cursor.class;
            let mut places = Vec::with_capacity(most);
            while class < class_end && places.len() < most {
                let mut entries = Vec::new();
                index.visit_class_hashed(class, level, |hash, it| entries.push((hash, it)));
                match held {
                    Held::OnDevice => self.add_unshadowed(&entries, &mut places),
                    _ => places.extend(entries.iter().filter(|(_, it)| !it.is_on_device())),
                }
                class += 1;
            }
            match held {
                // Some were moved to another segment meanwhile: their entries point there now.
                Held::OnDevice if !self.are_at_hand(&places)? => continue,
                Held::OnDevice => self.visit_on_device(&places, visit),
                _ => self.visit_in_memory(&places, held == Held::Used, visit),
            }
            break;
        }
        *cursor = ScanCursor {
            class,
            level: level + 1,
        };
        Ok((class < 1 << level).then(|| ((u128::from(class) << 32) >> level) as u32))
    }

    /// The entries of a class on devices, but for copies of what is in memory too.
    fn add_unshadowed(&self, class: &[(u64, Location)], places: &mut Vec<(u64, Location)>) {
        let all: Vec<Location> = class.iter().map(|entry| entry.1).collect();
        let is_wanted =
            |one: Location| one.is_on_device() && !self.core.is_shadow(self.guard(), one, &all);
        places.extend(class.iter().filter(|entry| is_wanted(entry.1)));
    }

    fn visit_in_memory(
        &self,
        places: &[(u64, Location)],
        used: bool,
        visit: &mut dyn FnMut(&Item<'_>),
    ) {
        for &(_, location) in places {
            // SAFETY: the location was found in the index since this handle's last quiescent point.
            let raw = unsafe { self.core.arena.item(location) };
            let is_wanted = raw.state().was_fetched() == used && raw.stamp().is_none();
            if is_wanted && self.core.is_visible(location, raw, self.now()) {
                visit(&Item::new(self, location, raw, raw.state()));
            }
        }
    }

    /// Whether all items at these places can be looked at; false where some have left.
    ///
    /// # Errors
    /// [`Suspended`], where they must be read first.
    fn are_at_hand(&self, places: &[(u64, Location)]) -> Result<bool, Suspended> {
        let Some(tier) = self.core.tier.as_ref() else {
            return Ok(true);
        };
        let (mut suspended, mut are_there) = (Ok(()), true);
        for &(hash, location) in places {
            let is_readable = tier.is_readable(location);
            // SAFETY: as in `visit_in_memory`.
            if is_readable && unsafe { self.at_hand(location) }.is_none() {
                are_there &= tier.has_segment_of(self.guard(), location);
                suspended = suspended.and(self.want(hash, location));
            }
        }
        suspended.and(Ok(are_there))
    }

    fn visit_on_device(&self, places: &[(u64, Location)], visit: &mut dyn FnMut(&Item<'_>)) {
        let core = &self.core;
        for &(_, location) in places {
            // SAFETY: the location was found in the index since this handle's last quiescent point.
            let Some(raw) = (unsafe { self.at_hand(location) }) else {
                continue;
            };
            let is_visible = core.is_visible_on_device(self.guard(), location, raw, self.now());
            if is_visible && raw.stamp().is_none() {
                visit(&Item::new(self, location, raw, raw.state()));
            }
        }
    }

    /// Whether items may lie on devices.
    pub fn has_devices(&self) -> bool {
        self.core.tier.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SetOptions, Store, StoreConfig};

    /// Steps until the end, and what was visited.
    fn steps(handle: &StoreHandle, held: Held) -> (usize, usize) {
        let (mut cursor, mut steps, mut visited) = (ScanCursor::default(), 0, 0);
        let mut step =
            |cursor: &mut ScanCursor| handle.scan_held(held, cursor, 16, &mut |_| visited += 1);
        while step(&mut cursor).expect("nothing is read").is_some() {
            steps += 1;
        }
        (steps, visited)
    }

    #[test]
    fn a_step_ends_soon_although_it_finds_nothing() {
        let store = Store::new(StoreConfig::default()).expect("a store");
        let handle = store.handle();
        for number in 0..4000_u32 {
            let set = handle.set(&number.to_be_bytes(), b"value", &SetOptions::default());
            set.expect("room");
        }
        for (held, items) in [(Held::Used, 0), (Held::Unused, 4000), (Held::OnDevice, 0)] {
            let (steps, visited) = steps(&handle, held);
            assert_eq!(visited, items, "{held:?}");
            assert!(steps > 1, "{held:?}");
        }
    }
}
