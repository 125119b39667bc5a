//! What goes with storing a value.

use farcache_base::version::Keeping;
use farcache_fabric::bytes::SendBytes;
use farcache_redundancy::spread::SPREAD_BYTES;
use farcache_redundancy::stored::HEADER_BYTES;
use std::sync::Arc;

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMode {
    /// In any case.
    Set,
    /// Where the key is absent.
    Add,
    /// Where the key is present.
    Replace,
    /// Behind the value that is there; flags and expiry do not count.
    Append,
    /// In front of the value that is there; flags and expiry do not count.
    Prepend,
    /// If [`Store::cas`], a version, is newer than what the server has of the key, deletions and
    /// what it has forgotten included. Ends in [`Reply::Older`](crate::Reply::Older) where it is
    /// not. Farcache's servers alone know it, in the binary protocol.
    IfNewer(Keeping),
    /// As [`StoreMode::IfNewer`], of a value that begins with these bytes, behind which
    /// [`Store::value`] follows.
    IfNewerBehind(Keeping, [u8; HEADER_BYTES]),
    /// As [`StoreMode::IfNewer`], and only while the server stands by the promise of just this
    /// version ([`VersionTerms::Promise`](crate::VersionTerms::Promise)). Ends in
    /// [`Reply::Promised`](crate::Reply::Promised) where it does not.
    IfPromised(Keeping),
    /// At all of its key's servers, as the server that is asked is told by these bytes
    /// (`docs/protocol.md`). As [`StoreMode::IfNewer`] for Farcache's servers alone.
    Spread([u8; SPREAD_BYTES]),
}

impl StoreMode {
    /// Whether [`Store::cas`] is a version.
    pub(crate) fn carries_version(self) -> bool {
        self.keeping().is_some()
    }

    /// What is kept besides the newest version, where [`Store::cas`] is one.
    pub(crate) fn keeping(self) -> Option<Keeping> {
        match self {
            StoreMode::IfNewer(keeping)
            | StoreMode::IfNewerBehind(keeping, _)
            | StoreMode::IfPromised(keeping) => Some(keeping),
            _ => None,
        }
    }

    /// Whether it is a step in storing a value at several servers.
    pub(crate) fn is_of_plan(self) -> bool {
        self.carries_version() || matches!(self, StoreMode::Spread(_))
    }
}

/// A value to store.
#[derive(Debug)]
pub enum Value<'a> {
    /// Copied while the operation is submitted.
    Copied(&'a [u8]),
    /// Lent until the operation is complete, and given back by
    /// [`Completion::lent`](crate::Completion::lent). Where it is large, the network takes it from
    /// where it lies.
    Lent(SendBytes),
}

impl Value<'_> {
    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Value::Copied(bytes) => bytes,
            Value::Lent(bytes) => bytes,
        }
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Value::Copied(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Value::Copied(bytes)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Copied(text.as_bytes())
    }
}

impl<'a> From<&'a Vec<u8>> for Value<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Value::Copied(bytes)
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Value::Lent(bytes.into())
    }
}

impl From<Arc<Vec<u8>>> for Value<'_> {
    fn from(bytes: Arc<Vec<u8>>) -> Self {
        Value::Lent(bytes.into())
    }
}

impl From<SendBytes> for Value<'_> {
    fn from(bytes: SendBytes) -> Self {
        Value::Lent(bytes)
    }
}

/// All that goes with storing a value.
#[derive(Debug)]
pub struct Store<'a> {
    /// When to store it.
    pub mode: StoreMode,
    /// Its key.
    pub key: &'a [u8],
    /// The value.
    pub value: Value<'a>,
    /// The application's own number, returned with the value.
    pub flags: u32,
    /// Seconds to live, up to 30 days; above, seconds since 1970; 0 for ever.
    pub expiry_s: u32,
    /// Store only where the item has this CAS token; 0 for no such condition. With
    /// [`StoreMode::IfNewer`], the version.
    pub cas: u64,
}

impl<'a> Store<'a> {
    /// Stores in any case, with flags 0, for ever.
    pub fn set(key: &'a [u8], value: impl Into<Value<'a>>) -> Self {
        Store {
            mode: StoreMode::Set,
            key,
            value: value.into(),
            flags: 0,
            expiry_s: 0,
            cas: 0,
        }
    }
}
