//! What a write asks for and how it ended, in the store's own terms.

use crate::fences::KeyHash;
use farcache_base::time::Seconds;
use farcache_base::version::{Keeping, Version};

/// When a value is stored, given what the key holds already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetMode {
    /// Always.
    #[default]
    Set,
    /// Only where the key is absent.
    Add,
    /// Only where the key is present.
    Replace,
    /// Behind the present value, whose flags and expiry stay.
    Append,
    /// Before the present value, whose flags and expiry stay.
    Prepend,
}

/// Everything about a store operation but its key and value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetOptions {
    /// Condition on the present item.
    pub mode: SetMode,
    /// The client's opaque flags.
    pub flags: u32,
    /// When the item expires ([`farcache_base::time::NEVER`] by default).
    pub expiry: Seconds,
    /// The key came base64-encoded and is returned so (meta protocol `b`).
    pub key_is_binary: bool,
    /// Store only if the present item has this CAS token.
    pub compare_cas: Option<u64>,
    /// CAS token that the new item gets (meta protocol `E`).
    pub new_cas: Option<u64>,
    /// With `compare_cas`: a token older than the item's stores the value all the same, marked
    /// stale (meta protocol `I`).
    pub invalidate: bool,
    /// With append and prepend: an absent key is created with this expiry (meta protocol `N`).
    pub vivify: Option<Seconds>,
    /// The new item counts as already handed to one client for recaching (meta protocol `N` of
    /// a get).
    pub win_sent: bool,
    /// The caller tells its client the CAS token, so the token must survive a move of the item.
    pub cas_wanted: bool,
    /// Store only if this is newer than what the store has of the key, tombstones and what it has
    /// forgotten included. It becomes the CAS token. Mode and conditions are passed over then.
    pub version: Option<Version>,
    /// With `version`: it is one that others have, who were asked after this was taken. So of a key
    /// that the store does not hold only what it has forgotten since then speaks against it.
    pub restored: Option<Forgotten>,
    /// With `restored`: what the store has of this very version gives way, as it is less than what
    /// comes.
    pub fills_in: bool,
    /// With `version`: store only while the promise of just this version stands for the key, so
    /// that nothing was stored under it in between; see [`crate::StoreHandle::promise`].
    pub is_promised: bool,
    /// With `version`: what is kept of the key besides its newest version, until
    /// [`StoreHandle::note_complete`] is called for that; [`StoreHandle::predecessor`] shows it.
    ///
    /// [`StoreHandle::note_complete`]: crate::StoreHandle::note_complete
    /// [`StoreHandle::predecessor`]: crate::StoreHandle::predecessor
    pub keeping: Keeping,
}

/// How a deletion by version is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TombstoneOptions {
    /// Until when the tombstone refuses older versions, unless memory is short; from then on the
    /// horizon does, for all keys that the store does not hold. [`farcache_base::time::NEVER`]
    /// keeps it while memory suffices.
    pub keep_until: Seconds,
    /// As [`SetOptions::is_promised`].
    pub is_promised: bool,
    /// As [`SetOptions::keeping`].
    pub keeping: Keeping,
}

/// What a store had forgotten at some moment ([`crate::StoreHandle::forgotten`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgotten(pub(crate) Option<Version>);

/// How a store operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOutcome {
    /// The value is stored under this CAS token.
    Stored {
        /// Token of the new item.
        cas: u64,
    },
    /// The condition of the mode did not hold.
    NotStored,
    /// `compare_cas` differs from the item's token.
    Exists,
    /// `compare_cas` was given and there is no item.
    NotFound,
    /// The store has something else of the same `version`, or something newer, and has never had
    /// this. Where it had it before something newer came, it is stored.
    Older {
        /// What a newer version must exceed.
        current: Version,
    },
    /// The store has something newer, and nobody knows any more whether it had this before.
    Unsure {
        /// What a newer version must exceed.
        current: Version,
    },
    /// A promise stands in the way, or none stands behind the version.
    Promised {
        /// What a newer version must exceed.
        current: Version,
        /// Something newer is there as well; else it would be stored but for the promise.
        has_newer: bool,
    },
}

/// How *delete if newer* ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionedDelete {
    /// A tombstone of this version stands in place of the item, if there was one.
    Deleted {
        /// Whether there was one.
        was_present: bool,
    },
    /// As [`SetOutcome::Older`].
    Older {
        /// What a newer version must exceed.
        current: Version,
    },
    /// As [`SetOutcome::Unsure`].
    Unsure {
        /// What a newer version must exceed.
        current: Version,
    },
    /// As [`SetOutcome::Promised`].
    Promised {
        /// What a newer version must exceed.
        current: Version,
        /// As there.
        has_newer: bool,
    },
}

/// What a store has of a key under which readers see nothing that has a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newest {
    /// The key was deleted by this version.
    Tombstone(Version),
    /// Nothing, or an item without a version. Whatever the store had or knew of the key, it was not
    /// newer than this, if it is there.
    Forgotten(Option<Version>),
}

/// Everything about a delete but its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Delete only if the item has this CAS token.
    pub compare_cas: Option<u64>,
    /// CAS token that an item kept (invalidated or cleared) gets.
    pub new_cas: Option<u64>,
    /// Mark the item stale and let the next reader win the recache, instead of removing it
    /// (meta protocol `I`).
    pub invalidate: bool,
    /// With `invalidate` or `clear_value`: the new expiry of the item kept (meta protocol `T`).
    /// Without it an item invalidated keeps its own, and one cleared never expires.
    pub expiry: Option<Seconds>,
    /// Put an empty item with the same CAS token in the item's place (meta protocol `x`).
    pub clear_value: bool,
    /// Client flags of an item cleared.
    pub flags: u32,
}

/// How a delete ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// Removed, invalidated or cleared, as asked.
    Deleted,
    /// `compare_cas` differs from the item's token.
    Exists,
    /// There is no such item.
    NotFound,
}

/// Everything about an increment or decrement but its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArithmeticOptions {
    /// Amount to add or subtract.
    pub delta: u64,
    /// Subtract, stopping at 0, instead of adding, wrapping at 2^64.
    pub decrement: bool,
    /// Value and expiry with which an absent key is created.
    pub initial: Option<(u64, Seconds)>,
    /// New expiry of a present item.
    pub expiry: Option<Seconds>,
    /// Change only if the item has this CAS token.
    pub compare_cas: Option<u64>,
    /// CAS token that the new value gets.
    pub new_cas: Option<u64>,
    /// The caller tells its client the CAS token.
    pub cas_wanted: bool,
    /// A created item's key is returned base64-encoded.
    pub key_is_binary: bool,
}

/// How an increment or decrement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOutcome {
    /// The new value, its CAS token and expiry.
    Done {
        /// Number now stored.
        value: u64,
        /// Token of the item.
        cas: u64,
        /// Expiry of the item.
        expiry: Seconds,
        /// The key was absent and has been created.
        created: bool,
    },
    /// There is no such item and no initial value.
    NotFound,
    /// The value is not a decimal number of 64 bits.
    NotNumeric,
    /// `compare_cas` differs from the item's token.
    Exists,
}

/// Whether a read counts as a use of the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Marks the item as read, for eviction and for `h` and `l` of the meta protocol.
    Use,
    /// Leaves no trace.
    Peek,
}

/// Why a write could not be carried out at all. The old value, if any, is gone after a failed
/// `Set` of the protocols; that is their rule and the caller's duty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// No memory that may be given up (`-M`, or everything is in use).
    OutOfMemory,
    /// Larger than the configured largest item.
    TooLarge,
    /// A key of no bytes or of more than [`farcache_base::limits::KEY_BYTES_MAX`].
    BadKey,
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            StoreError::OutOfMemory => "out of memory storing object",
            StoreError::TooLarge => "object too large for cache",
            StoreError::BadKey => "bad key",
        })
    }
}

impl std::error::Error for StoreError {}

/// How a store is laid out and limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// Memory for items, the index and all else that grows with them, in bytes (`-m`). With devices
    /// for items only.
    pub memory_bytes: u64,
    /// Size of a segment in bytes, a power of two from 64 KiB to 64 MiB.
    pub segment_bytes: u32,
    /// Largest item in bytes, by memcached's accounting (`-I`).
    pub item_bytes_max: usize,
    /// Whether items may be evicted to make room (off with `-M`).
    pub evict: bool,
    /// Where they may not: whether those with an expiry may all the same (`--evict-expiring`). For
    /// a store without devices.
    pub evict_expiring: bool,
    /// Whether CAS tokens are handed out (off with `-C`).
    pub cas: bool,
    /// Ask for huge pages.
    pub huge_pages: bool,
    /// Most handles that will be open at once.
    pub handles_max: usize,
    /// How keys are hashed for fences ([`crate::Store::fence`]). Without it a fence shuts out every
    /// key.
    pub key_hash: Option<KeyHash>,
}

impl StoreConfig {
    /// The segment size, in bytes, that suits a memory limit: 1 MiB, smaller where that would make
    /// fewer than 256 segments, so that a few open ones do not take much of the memory.
    pub fn segment_bytes_for(memory_bytes: u64) -> u32 {
        let wanted = (memory_bytes / 256).max(1).ilog2();
        1 << wanted.clamp(16, 20)
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        StoreConfig {
            memory_bytes: 64 << 20,
            segment_bytes: 1 << 20,
            item_bytes_max: farcache_base::limits::ITEM_BYTES_DEFAULT,
            evict: true,
            evict_expiring: false,
            cas: true,
            huge_pages: true,
            handles_max: 64,
            key_hash: None,
        }
    }
}

impl SetOptions {
    /// A plain set with these flags and expiry.
    pub fn set(flags: u32, expiry: Seconds) -> Self {
        SetOptions {
            flags,
            expiry,
            ..SetOptions::default()
        }
    }
}
