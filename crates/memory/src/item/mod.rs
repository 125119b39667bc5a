//! An item in its segment: a header, the fields that are not at their default, key and value.

mod layout;
mod raw;
mod stamp;

pub use layout::{ITEM_ALIGNMENT, Layout, memcached_item_bytes};
pub use raw::{Fields, RawItem, State};
pub use stamp::Stamp;
