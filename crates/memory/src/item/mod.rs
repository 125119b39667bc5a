//! An item in its segment: a header, the fields that are not at their default, key and value.

mod bytes;
mod fields;
mod layout;
mod raw;
mod stamp;
mod state;

pub use fields::Fields;
pub use layout::{ITEM_ALIGNMENT, Layout, memcached_item_bytes};
pub use raw::RawItem;
pub use stamp::Stamp;
pub use state::State;
