//! What a log asks of the store whose items it keeps.

use crate::fence::Fence;
use crate::guard::Guard;
use crate::item::RawItem;
use crate::location::Location;
use crate::log::{Fillings, Log};
use farcache_base::time::Seconds;
use std::sync::Arc;

/// The owner of a log: it numbers the fillings, knows what has been voided, and has the index of
/// the items, of which the log knows nothing.
pub trait Owner: Fillings + Send + Sync + Sized + 'static {
    /// Its log.
    fn log(&self) -> &Log;

    /// The time.
    fn now(&self) -> Seconds;

    /// Fillings up to this sequence number were flushed.
    fn flush_floor(&self) -> u64;

    /// The newest version of anything stored so far.
    fn newest_version(&self) -> u64;

    /// The version that devices must be told of before what was stored so far is durable.
    fn untold_version(&self) -> u64;

    /// An item's segment is about to go: the item moves to the segment being assembled, or, unless
    /// it is to be kept, leaves the index.
    fn move_item(
        &self,
        guard: Guard<'_>,
        location: Location,
        item: RawItem<'_>,
        wish: Wish,
    ) -> Moved;

    /// Takes all these locations out of the index: what lies there cannot be read.
    fn drop_lost(&self, guard: Guard<'_>, is_lost: &dyn Fn(Location) -> bool);
}

/// What is to become of a live item whose segment is about to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It moves.
    Keep,
    /// It is dropped, to make room.
    Drop,
}

/// What became of one item of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It has moved.
    Kept,
    /// It has left the index.
    Dropped,
    /// It had died before, of which has been told.
    NotFound,
    /// There will be room when the device has caught up.
    Busy,
    /// There is no room.
    Full,
}

/// Takes in what a log finds on its devices when it is opened, oldest first.
pub trait Intake: Owner {
    /// So many items are to come, at most.
    fn expect_items(&self, items: u64);

    /// An item with this hash is to come soon.
    fn prefetch(&self, hash: u64);

    /// An item of a key was written here, or, with no place, elsewhere and has died since: what was
    /// entered of the key before is superseded.
    fn enter(
        &self,
        guard: Guard<'_>,
        hash: u64,
        fingerprint: u64,
        place: Option<Location>,
    ) -> Entered;

    /// The number of entries has changed so much since it was told last.
    fn count_entries(&self, change: i64);

    /// All that was found has been entered; the numbers go on from here.
    fn go_on(&self, from: Found);
}

/// What entering an item has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// By how many there are more entries.
    pub change: i64,
    /// The index points at the item.
    pub is_entered: bool,
}

/// Where the owner of a log goes on after a restart.
#[derive(Clone, Debug)]
pub struct Found {
    /// No filling had a higher sequence number; 0 where nothing was found.
    pub sequence: u64,
    /// Fillings up to this sequence number were flushed.
    pub flush_floor: u64,
    /// No version was newer; 0 where there was none.
    pub version: u64,
    /// The fences that stood.
    pub fences: Arc<[Fence]>,
}
