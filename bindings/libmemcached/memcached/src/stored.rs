//! What is stored and what is got, whichever servers it lies on.

use crate::context::Context;
use crate::failure::code_of;
use farcache_client::{Error, StoreMode};
use farcache_libmemcached_abi::Return;

/// What is asked of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    Cas,
}

/// All that is stored.
pub(crate) struct Item<'a> {
    /// Chooses the server.
    pub(crate) group: &'a [u8],
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) expiration: libc::time_t,
    pub(crate) flags: u32,
    pub(crate) cas: u64,
}

/// The code of a server's answer, which differs between libmemcached's two protocols.
pub(crate) fn answer(error: &Error, verb: Verb, is_binary: bool) -> Return {
    match (error, verb, is_binary) {
        (Error::Exists, Verb::Add, false) | (Error::NotFound, Verb::Replace, false) => {
            Return::NOTSTORED
        }
        (Error::NotFound, Verb::Append | Verb::Prepend, _) => Return::NOTSTORED,
        _ => code_of(error),
    }
}

/// `MEMCACHED_CAS` without a token is what its opcode in the binary protocol is: replace.
pub(crate) fn mode(verb: Verb, cas: u64) -> StoreMode {
    match verb {
        Verb::Set => StoreMode::Set,
        Verb::Cas if cas != 0 => StoreMode::Set,
        Verb::Add => StoreMode::Add,
        Verb::Replace | Verb::Cas => StoreMode::Replace,
        Verb::Append => StoreMode::Append,
        Verb::Prepend => StoreMode::Prepend,
    }
}

/// A value that was got.
pub(crate) struct Got {
    pub(crate) value: Vec<u8>,
    pub(crate) flags: u32,
}

impl Context<'_> {
    /// The value as the application stored it.
    pub(crate) fn readable(&mut self, value: Vec<u8>) -> Result<Vec<u8>, Return> {
        if !self.is_encrypted() || value.is_empty() {
            return Ok(value);
        }
        match self.decrypt(&value) {
            Some(plain) => Ok(plain),
            None => Err(self.fail(Return::FAILURE, "hashkit_decrypt() failed")),
        }
    }
}
