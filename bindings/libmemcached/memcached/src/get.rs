//! Getting one value at once.

use crate::arguments::{bytes, code, context, tell};
use crate::context::Context;
use crate::failure::code_of;
use crate::stored::{Got, Item, Verb};
use crate::{memory, result};
use farcache_client::{Operation, ReceiveBytes, Reply};
use farcache_libmemcached_abi::{Behavior, Handle, ResultStructure, Return, flags};
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Room that a value is received into if the one before was not larger, in bytes.
const EXPECTED_BYTES_MIN: usize = 128;

/// As [`EXPECTED_BYTES_MIN`] at most: larger values are announced, and then get room of their size.
const EXPECTED_BYTES_MAX: usize = 16 << 10;

impl Context<'_> {
    pub(crate) fn begin_get(&mut self) -> Result<(), Return> {
        self.begin()?;
        match self.handle.has(flags::USE_UDP) {
            true => Err(self.fail(Return::NOT_SUPPORTED, "")),
            false => Ok(()),
        }
    }

    /// Gets a value; `NOTFOUND` where the key is absent.
    pub(crate) fn get(&mut self, group: &[u8], key: &[u8]) -> Result<Got, Return> {
        self.begin_get()?;
        self.check_key(key)?;
        self.rebuild_when_due();
        self.state.batches.clear();
        let server = self.server_of_key(if group.is_empty() { key } else { group });
        let whole = self.full_key(key).into_owned();
        if let Some(client) = self.redundant(&whole)? {
            let outcome = self.get_redundantly(&client, group, (key, &whole));
            return self.fetched_alone(outcome);
        }
        let mut outcome = self.get_at(server, &whole);
        for copy in self.servers_after(server).take(self.replicas()) {
            if outcome.is_ok() {
                break;
            }
            let copy = self.get_at(copy, &whole);
            // That a server does not have it says more than that another is not there.
            outcome = match (outcome, copy) {
                (Err(Return::NOTFOUND), Err(_)) => Err(Return::NOTFOUND),
                (_, copy) => copy,
            };
        }
        self.fetched_alone(outcome)
    }

    /// As though it had been fetched with the handle's own result.
    fn fetched_alone(&mut self, outcome: Result<Got, Return>) -> Result<Got, Return> {
        let fetched = &mut self.handle.result;
        match outcome {
            Ok(_) => fetched.count += 1,
            Err(Return::FAILURE) if std::mem::take(&mut fetched.count) == 0 => {
                return Err(Return::NOTFOUND);
            }
            Err(_) => fetched.count = 0,
        }
        outcome
    }

    fn get_at(&mut self, server: usize, key: &[u8]) -> Result<Got, Return> {
        // With room for the zero byte behind it.
        let into = Vec::with_capacity(self.state.expected_bytes.max(EXPECTED_BYTES_MIN) + 1);
        let into = ReceiveBytes::from(into);
        match self.carry_out(Operation::Get { key, into }, server)? {
            Ok(Reply::Value { value, flags, .. }) => {
                self.state.expected_bytes = value.len().min(EXPECTED_BYTES_MAX);
                let value = self.readable(value.into_vec())?;
                Ok(Got { value, flags })
            }
            Ok(_) => Err(self.fail(Return::PROTOCOL_ERROR, "")),
            Err(error) => Err(self.refused(server, code_of(&error), &error)),
        }
    }

    /// A value in memory for the application; null where there is none.
    fn handed_out(&mut self, value: Vec<u8>) -> *mut c_char {
        if memory::is_c(self.handle) {
            return memory::hand_over(value).0;
        }
        // SAFETY: the handle is created; the memory has room for the value and a zero byte behind
        // it.
        unsafe {
            let memory: *mut u8 = memory::allocate(self.raw(), value.len() + 1).cast();
            if !memory.is_null() {
                std::ptr::copy_nonoverlapping(value.as_ptr(), memory, value.len());
                memory.add(value.len()).write(0);
            }
            memory.cast()
        }
    }

    /// Lets the application make a value for a key that no server has, stores it, and hands it out.
    fn made_up(
        &mut self,
        key: &[u8],
        length: *mut usize,
        flags: *mut u32,
    ) -> Option<(*mut c_char, Return)> {
        let make = self.handle.get_key_failure?;
        let mut made = MaybeUninit::<ResultStructure>::uninit();
        // SAFETY: the result is filled before it is used; the application's function takes its own
        // handle, the key as it gave it, and a result.
        let (made, outcome) = unsafe {
            result::initialize(made.as_mut_ptr(), self.raw(), 0);
            let made = made.assume_init_mut();
            let outcome = make(self.raw(), key.as_ptr().cast(), key.len(), made);
            (made, outcome)
        };
        let stored = match outcome {
            Return::SUCCESS => self.store_made(key, made),
            Return::BUFFERED => self.store_buffered(key, made),
            outcome => outcome,
        };
        if !matches!(stored, Return::SUCCESS | Return::BUFFERED) {
            result::clear(made);
            return None;
        }
        // SAFETY: the places are the application's.
        unsafe {
            tell(length, result::length(&made.value));
            tell(flags, made.item_flags);
        }
        Some((result::take(made), stored))
    }

    fn store_made(&mut self, key: &[u8], made: &ResultStructure) -> Return {
        // SAFETY: the string has as many bytes as it says.
        let value = unsafe { bytes(made.value.string, result::length(&made.value)) };
        let item = Item {
            group: key,
            key,
            value,
            expiration: 0,
            flags: made.item_flags,
            cas: 0,
        };
        let query = self.handle.query_id;
        let outcome = code(self.store(&item, Verb::Set));
        self.handle.query_id = query;
        outcome
    }

    fn store_buffered(&mut self, key: &[u8], made: &ResultStructure) -> Return {
        let was_buffering = self.behavior(Behavior::BUFFER_REQUESTS) != 0;
        let _ = self.set_behavior(Behavior::BUFFER_REQUESTS, 1);
        let outcome = self.store_made(key, made);
        if outcome == Return::BUFFERED && !was_buffering {
            let _ = self.set_behavior(Behavior::BUFFER_REQUESTS, 0);
        }
        outcome
    }
}

/// # Safety
/// As C's contract says of `memcached_get_by_key`.
unsafe fn get(
    handle: *mut Handle,
    group: &[u8],
    key: &[u8],
    length: *mut usize,
    flags: *mut u32,
    error: *mut Return,
) -> *mut c_char {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(mut context) = context(handle) else {
            tell(length, 0);
            tell(error, Return::INVALID_ARGUMENTS);
            return null_mut();
        };
        match context.get(group, key) {
            Ok(got) => {
                tell(length, got.value.len());
                tell(flags, got.flags);
                tell(error, Return::SUCCESS);
                context.handed_out(got.value)
            }
            Err(why) => {
                tell(length, 0);
                if why == Return::NOTFOUND {
                    tell(flags, 0);
                    if let Some((value, stored)) = context.made_up(key, length, flags) {
                        tell(error, stored);
                        return value;
                    }
                }
                tell(error, why);
                null_mut()
            }
        }
    }
}

export! {
    /// Gets a value, which the caller frees.
    fn memcached_get(
        handle: *mut Handle,
        key: *const c_char,
        key_length: usize,
        length: *mut usize,
        flags: *mut u32,
        error: *mut Return,
    ) -> *mut c_char {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { get(handle, &[], bytes(key, key_length), length, flags, error) }
    }

    /// Gets a value, which the caller frees. The group's key chooses the server.
    fn memcached_get_by_key(
        handle: *mut Handle,
        group: *const c_char,
        group_length: usize,
        key: *const c_char,
        key_length: usize,
        length: *mut usize,
        flags: *mut u32,
        error: *mut Return,
    ) -> *mut c_char {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe {
            get(handle, bytes(group, group_length), bytes(key, key_length), length, flags, error)
        }
    }
}
