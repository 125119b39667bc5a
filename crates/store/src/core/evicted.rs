//! Telling the store's owner which items are evicted.

use super::Core;
use crate::item::RawItem;
use farcache_base::time::{NEVER, Seconds};
use std::sync::OnceLock;

/// An item that has just been evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted<'i> {
    /// Its key.
    pub key: &'i [u8],
    /// Length of its value.
    pub value_bytes: usize,
    /// Whether it was ever read.
    pub was_fetched: bool,
    /// Seconds that it would have lived; none where it would not have expired.
    pub rest_s: Option<Seconds>,
    /// Seconds since its last use.
    pub idle_s: Seconds,
}

pub(crate) type Tell = dyn Fn(&Evicted<'_>) + Send + Sync;

/// Who is told, if anybody.
#[derive(Default)]
pub(crate) struct Observer(OnceLock<Box<Tell>>);

impl Observer {
    /// Has evictions told to `tell`, unless they are told to another one.
    pub fn set(&self, tell: Box<Tell>) {
        _ = self.0.set(tell);
    }
}

impl Core {
    /// Tells that an item is evicted, whose memory is still in place.
    pub(crate) fn tell_evicted(&self, item: RawItem<'_>) {
        let Some(observer) = self.eviction_observer.0.get() else {
            return;
        };
        let (now, expiry) = (self.now(), item.expiry());
        observer(&Evicted {
            key: item.key(),
            value_bytes: item.value().len(),
            was_fetched: item.state().was_fetched(),
            rest_s: (expiry != NEVER).then(|| expiry.saturating_sub(now)),
            idle_s: now.saturating_sub(item.state().last_access()),
        });
    }
}
