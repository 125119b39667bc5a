//! What every operation looks at first: that there are servers, and that the key can be one.

use crate::context::Context;
use farcache_libmemcached_abi::{KEY_ROOM_BYTES, Return, flags};
use std::borrow::Cow;

/// An expiry that is over at once: 31 days, which as a time of day is in January 1970.
pub(crate) const OVER_S: u32 = 2_678_400;

impl Context<'_> {
    /// Begins a query: counts it, wants servers, and forgets the errors of the one before.
    pub(crate) fn begin(&mut self) -> Result<(), Return> {
        self.handle.query_id += 1;
        self.begin_uncounted()
    }

    /// Begins a part of a query, or what counts as none: wants servers, and forgets the errors of
    /// the query before.
    pub(crate) fn begin_uncounted(&mut self) -> Result<(), Return> {
        self.check_servers()?;
        self.state.errors.clear();
        Ok(())
    }

    /// Fails where there are no servers.
    pub(crate) fn check_servers(&mut self) -> Result<(), Return> {
        match self.state.servers.is_empty() {
            true => Err(self.fail(Return::NO_SERVERS, "")),
            false => Ok(()),
        }
    }

    /// Fails where the text cannot be a key, by its length or, if that is wished, its characters.
    pub(crate) fn check_key(&mut self, key: &[u8]) -> Result<(), Return> {
        self.check_key_length(key)?;
        if self.handle.has(flags::VERIFY_KEY) && !self.is_binary() {
            self.check_key_characters(key)?;
        }
        Ok(())
    }

    pub(crate) fn check_key_length(&mut self, key: &[u8]) -> Result<(), Return> {
        match key.len() {
            1..KEY_ROOM_BYTES => Ok(()),
            _ => Err(self.fail(Return::BAD_KEY_PROVIDED, "Key provided was too long.")),
        }
    }

    pub(crate) fn check_key_characters(&mut self, key: &[u8]) -> Result<(), Return> {
        match key.iter().all(u8::is_ascii_graphic) {
            true => Ok(()),
            false => Err(self.fail(
                Return::BAD_KEY_PROVIDED,
                "Key provided had invalid character.",
            )),
        }
    }

    /// An expiry as the servers take it. A negative one is over at once where libmemcached would
    /// write it as text, and far away where it would send 32 bits.
    pub(crate) fn expiry_s(&self, expiration: libc::time_t) -> u32 {
        match expiration < 0 && !self.is_binary() {
            true => OVER_S,
            false => expiration as u32,
        }
    }

    /// The key as the servers know it: behind the namespace.
    pub(crate) fn full_key<'a>(&self, key: &'a [u8]) -> Cow<'a, [u8]> {
        match self.namespace() {
            [] => Cow::Borrowed(key),
            namespace => Cow::Owned([namespace, key].concat()),
        }
    }
}
