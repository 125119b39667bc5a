//! Visiting every item.

use crate::found::Item;
use crate::handle::StoreHandle;

/// Where a scan of the store stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanCursor {
    /// Next class of the index.
    class: u64,
    /// Level of the index when the scan began, plus 1; 0 before that.
    level: u32,
}

impl StoreHandle {
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
            let raw = self.core.arena.item(location);
            if self.core.is_visible(location, raw, self.now()) {
                visit(&Item::new(self, location, raw, raw.state()));
            }
        }
        cursor.class < 1 << level
    }
}
