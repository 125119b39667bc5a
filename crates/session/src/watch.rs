//! Events that clients can watch (`watch`): which kinds there are, which anybody wants, and what is
//! told of requests. While nobody watches, an event costs one look at [`Watched::wants`].

use crate::Context;
use farcache_proto::percent;
use farcache_store::{Item, SetOutcome, StoreError};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Lookups of items.
    Fetchers,
    /// Stores of items.
    Mutations,
    /// Connections opened and closed.
    ConnEvents,
    /// Deletions of items.
    Deletions,
    /// Items that had to make room.
    Evictions,
}

impl EventKind {
    /// All of them.
    pub const ALL: [EventKind; 5] = [
        EventKind::Fetchers,
        EventKind::Mutations,
        EventKind::ConnEvents,
        EventKind::Deletions,
        EventKind::Evictions,
    ];

    /// Its name in the `watch` command.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Fetchers => "fetchers",
            EventKind::Mutations => "mutations",
            EventKind::ConnEvents => "connevents",
            EventKind::Deletions => "deletions",
            EventKind::Evictions => "evictions",
        }
    }

    /// Its bit in a set of kinds.
    pub fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// The kinds that anybody watches; the server says which.
#[derive(Debug, Default)]
pub struct Watched(AtomicU64);

impl Watched {
    /// Whether anybody watches this kind.
    #[inline]
    pub fn wants(&self, kind: EventKind) -> bool {
        self.0.load(Relaxed) & kind.bit() != 0
    }

    /// From now on the kinds with these bits are watched, and no others.
    pub fn set(&self, bits: u64) {
        self.0.store(bits, Relaxed);
    }
}

impl Context<'_> {
    /// A key was asked for, and `item` found or nothing.
    #[inline]
    pub(crate) fn show_fetched(&self, key: &[u8], item: Option<&Item<'_>>) {
        if self.service.watched.wants(EventKind::Fetchers) {
            let status = if item.is_some() { "found" } else { "not_found" };
            let bytes = item.map_or(0, |item| item.value().len());
            let key = ShownKey(key);
            self.host.publish(
                EventKind::Fetchers,
                format_args!("type=item_get key={key} status={status} size={bytes}"),
            );
        }
    }

    /// A value of `bytes` was to be stored.
    #[inline]
    pub(crate) fn show_stored(
        &self,
        key: &[u8],
        outcome: Result<SetOutcome, StoreError>,
        bytes: usize,
    ) {
        if self.service.watched.wants(EventKind::Mutations) {
            let (key, status) = (ShownKey(key), store_status(outcome));
            self.host.publish(
                EventKind::Mutations,
                format_args!("type=item_store key={key} status={status} size={bytes}"),
            );
        }
    }

    /// An item was deleted.
    #[inline]
    pub(crate) fn show_deleted(&self, key: &[u8]) {
        if self.service.watched.wants(EventKind::Deletions) {
            let key = ShownKey(key);
            self.host.publish(
                EventKind::Deletions,
                format_args!("type=deleted key={key} cmd=delete"),
            );
        }
    }
}

fn store_status(outcome: Result<SetOutcome, StoreError>) -> &'static str {
    match outcome {
        Ok(SetOutcome::Stored { .. }) => "stored",
        Ok(
            SetOutcome::NotStored
            | SetOutcome::Older { .. }
            | SetOutcome::Unsure { .. }
            | SetOutcome::Promised { .. },
        ) => "not_stored",
        Ok(SetOutcome::Exists) => "exists",
        Ok(SetOutcome::NotFound) => "not_found",
        Err(StoreError::TooLarge) => "too_large",
        Err(StoreError::OutOfMemory) => "no_memory",
        Err(StoreError::BadKey) => "not_stored",
    }
}

/// A key as watchers are shown it: bytes other than unreserved ones are percent-encoded.
pub struct ShownKey<'a>(pub &'a [u8]);

impl fmt::Display for ShownKey<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = Vec::with_capacity(self.0.len());
        percent::push_encoded(&mut shown, self.0);
        out.write_str(&String::from_utf8_lossy(&shown))
    }
}
