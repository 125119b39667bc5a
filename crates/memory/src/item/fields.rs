//! What a new item's header says.

use super::layout::{KIND_BINARY_KEY, KIND_CAS_TOLD, KIND_STALE, KIND_WIN_SENT, Layout};
use super::stamp::Stamp;
use farcache_base::time::Seconds;

/// What is written into a new item's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The client's flags.
    pub flags: u32,
    /// When it expires; `NEVER` where it does not.
    pub expiry: Seconds,
    /// A token other than the derived one.
    pub cas: Option<u64>,
    /// The version, of an item stored with one; it is the token then.
    pub stamp: Option<Stamp>,
    /// The key is returned base64-encoded.
    pub key_is_binary: bool,
    /// An invalidation has marked it stale.
    pub stale: bool,
    /// A client has been told to recache it.
    pub win_sent: bool,
    /// A client has been told the token that its place gives it.
    pub cas_told: bool,
}

impl Fields {
    /// Shape of an item with these fields and a key and value of these lengths.
    #[inline]
    pub fn layout(&self, key_len: usize, value_len: usize) -> Layout {
        Layout::new(
            key_len,
            value_len,
            self.expiry,
            self.flags,
            self.token().is_some(),
        )
    }

    /// What is written into the field for the token, if there is one.
    #[inline]
    pub(super) fn token(&self) -> Option<u64> {
        self.stamp.map(Stamp::word).or(self.cas)
    }

    /// Gives it a token that is no version.
    pub fn set_cas(&mut self, cas: Option<u64>) {
        (self.cas, self.stamp) = (cas, None);
    }

    /// Its kind byte.
    #[inline]
    pub(super) fn kind(&self, layout: Layout) -> u8 {
        let bit = |bit, wanted| if wanted { bit } else { 0 };
        let marks_token = match self.token() {
            Some(_) => self.stamp.is_some(),
            None => self.cas_told,
        };
        layout.kind
            | bit(KIND_BINARY_KEY, self.key_is_binary)
            | bit(KIND_STALE, self.stale)
            | bit(KIND_WIN_SENT, self.win_sent)
            | bit(KIND_CAS_TOLD, marks_token)
    }
}
