//! What is known of versions beyond the items: up to which version what is not here counts as
//! deleted.
//!
//! *Store if newer* compares with the item of its key. Where there is none, or none with a version,
//! it compares with the horizon. Whoever drops an item that has a version raises the horizon to at
//! least that version first, with the chain locked, so that nothing older comes back. One horizon
//! for the whole store is coarse: it refuses more than it must, never less. A writer that is
//! refused goes above; see `docs/design/redundancy.md`, rule 9.

use crate::schedule::atomic::{AtomicBool, AtomicU64, Ordering::*};
use farcache_base::version::Version;

/// Keys share their promises by hash: one that is promised more than it must be refuses a write
/// that is under way, which goes above then. 8 KiB in all.
const PROMISES: usize = 1024;

/// All versions are 0 before there is one.
pub(crate) struct Versions {
    horizon: AtomicU64,
    /// As far as the store has raised it since it began to catch up, or since it was opened.
    forgotten: AtomicU64,
    /// While the store catches up: items up to this version may have been overwritten or deleted
    /// elsewhere while it was away.
    unconfirmed: AtomicU64,
    is_catching_up: AtomicBool,
    /// The newest version that anything was to be stored with.
    newest: AtomicU64,
    /// What a device has to be told of: versions of which no item there tells.
    untold: AtomicU64,
    /// Up to which version keys of a hash take nothing any more; they die with the process.
    promises: Box<[AtomicU64]>,
}

impl Default for Versions {
    fn default() -> Versions {
        Versions {
            horizon: AtomicU64::new(0),
            forgotten: AtomicU64::new(0),
            unconfirmed: AtomicU64::new(0),
            is_catching_up: AtomicBool::new(false),
            newest: AtomicU64::new(0),
            untold: AtomicU64::new(0),
            promises: (0..PROMISES).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Versions {
    /// Promises to store nothing older than this version under keys of this hash. With the key's
    /// chain locked: what is read after it is what was there, or something newer.
    ///
    /// # Errors
    /// Something newer has been promised already.
    pub fn promise(&self, hash: u64, version: Version) -> Result<(), Version> {
        let before = self.promises[promise_of(hash)].fetch_max(version.bits(), SeqCst);
        match Version::from_bits(before) {
            Some(before) if before > version => Err(before),
            _ => Ok(()),
        }
    }

    /// What has been promised to keys of this hash.
    pub fn promised(&self, hash: u64) -> Option<Version> {
        Version::from_bits(self.promises[promise_of(hash)].load(SeqCst))
    }

    /// Up to which version a key without an item counts as deleted.
    pub fn horizon(&self) -> Option<Version> {
        Version::from_bits(self.horizon.load(SeqCst))
    }

    /// Up to which version a key without an item counts as deleted, as others are told of it:
    /// nothing by a store that catches up, which does not know what has become of its keys. It
    /// counts as lost, and as empty.
    pub fn told_horizon(&self) -> Option<Version> {
        self.horizon().filter(|_| !self.is_catching_up())
    }

    /// Up to which version something was forgotten since the store began to catch up.
    pub fn forgotten(&self) -> Option<Version> {
        Version::from_bits(self.forgotten.load(SeqCst))
    }

    /// Whether the store may lack what others have acknowledged.
    pub fn is_catching_up(&self) -> bool {
        self.is_catching_up.load(SeqCst)
    }

    /// Whether an item of this version is from before the store began to catch up.
    pub fn is_unconfirmed(&self, version: Version) -> bool {
        self.is_catching_up() && version.bits() <= self.unconfirmed.load(SeqCst)
    }

    /// What was stored and forgotten so far says nothing about what others have. Returns the newest
    /// version of it.
    pub fn begin_catching_up(&self) -> Option<Version> {
        let newest = self.newest();
        self.unconfirmed.store(newest, SeqCst);
        self.forgotten.store(0, SeqCst);
        self.is_catching_up.store(true, SeqCst);
        Version::from_bits(newest)
    }

    /// The store has what others have.
    pub fn end_catching_up(&self) {
        self.is_catching_up.store(false, SeqCst);
    }

    /// An item of this version is about to be stored.
    pub fn note(&self, version: Version, is_tombstone: bool) {
        self.newest.fetch_max(version.bits(), SeqCst);
        if is_tombstone {
            self.untold.fetch_max(version.bits(), SeqCst);
        }
    }

    /// An item of this version, or of some version up to it, is about to be dropped.
    pub fn forget(&self, version: u64) {
        if self.horizon.load(Relaxed) < version {
            self.horizon.fetch_max(version, SeqCst);
            self.untold.fetch_max(version, SeqCst);
        }
        if self.forgotten.load(Relaxed) < version {
            self.forgotten.fetch_max(version, SeqCst);
        }
    }

    /// Items are dropped whose versions nobody knows.
    pub fn forget_all(&self) {
        self.forget(self.newest());
    }

    /// The newest version that a device should know of: after a restart it is the horizon, because
    /// nobody knows what was lost.
    pub fn newest(&self) -> u64 {
        self.newest.load(SeqCst)
    }

    /// What a header on a device must reach before everything is durable.
    pub fn untold(&self) -> u64 {
        self.untold.load(SeqCst)
    }

    /// Goes on where an earlier life of the store ended.
    pub fn restore(&self, newest: u64) {
        self.newest.fetch_max(newest, SeqCst);
        self.horizon.fetch_max(newest, SeqCst);
    }
}

/// By bits that choose no bucket in indexes of usual sizes, so that neighbours have others.
fn promise_of(hash: u64) -> usize {
    (hash >> 40) as usize % PROMISES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(bits: u64) -> Version {
        Version::from_bits(bits << 14).unwrap()
    }

    #[test]
    fn the_horizon_rises_and_never_falls() {
        let versions = Versions::default();
        assert_eq!(versions.horizon(), None);
        versions.note(version(9), false);
        versions.forget(version(5).bits());
        versions.forget(version(3).bits());
        assert_eq!(versions.horizon(), Some(version(5)));
        versions.forget_all();
        assert_eq!(versions.horizon(), Some(version(9)));
    }

    #[test]
    fn who_catches_up_tells_nothing_of_what_it_has_forgotten() {
        let versions = Versions::default();
        versions.restore(version(9).bits());
        assert_eq!(versions.told_horizon(), Some(version(9)));
        versions.begin_catching_up();
        assert_eq!(versions.told_horizon(), None);
        assert!(versions.is_unconfirmed(version(9)));
        assert!(!versions.is_unconfirmed(version(10)));
        assert_eq!(versions.forgotten(), None);
        versions.forget(version(4).bits());
        assert_eq!(versions.forgotten(), Some(version(4)));
        assert_eq!(versions.told_horizon(), None);
        assert_eq!(versions.horizon(), Some(version(9)));
        versions.end_catching_up();
        assert_eq!(versions.told_horizon(), Some(version(9)));
        assert!(!versions.is_unconfirmed(version(9)));
    }

    #[test]
    fn devices_are_to_be_told_of_what_no_item_tells() {
        let versions = Versions::default();
        versions.note(version(4), false);
        assert_eq!(versions.untold(), 0);
        versions.note(version(3), true);
        assert_eq!(versions.untold(), version(3).bits());
        versions.restore(version(8).bits());
        assert_eq!(versions.horizon(), Some(version(8)));
        assert_eq!(versions.untold(), version(3).bits());
    }
}
