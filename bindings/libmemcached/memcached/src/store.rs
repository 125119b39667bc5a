//! Storing: set, add, replace, append, prepend, cas, each also by the key of a group.

use crate::arguments::{bytes, code, context};
use crate::context::Context;
use crate::stored::{Item, Verb, answer, mode};
use farcache_client::{Error, Operation, SendBytes, Store, Value};
use farcache_libmemcached_abi::{Handle, Return, flags};
use std::ffi::c_char;
use std::ptr::NonNull;

/// Values of up to so many bytes are copied into the message; larger ones are sent from where the
/// application has them.
const COPIED_BYTES_MAX: usize = 8 << 10;

/// Longest value that the original sends in a datagram: what UDP carries over IPv4, less room for
/// the longest key, the frame's header and the command's other words.
const DATAGRAM_VALUE_BYTES_MAX: usize = 65_507 - 400;

impl Context<'_> {
    /// The value as the server gets it.
    fn value_to_store(&mut self, value: &[u8], verb: Verb) -> Result<Option<Vec<u8>>, Return> {
        if !self.is_encrypted() {
            return Ok(None);
        }
        if matches!(verb, Verb::Append | Verb::Prepend) {
            let what = "Operation not allowed while encyrption is enabled";
            return Err(self.fail(Return::NOT_SUPPORTED, what));
        }
        match self.encrypt(value) {
            Some(encrypted) => Ok(Some(encrypted)),
            None => Err(self.fail(Return::FAILURE, "hashkit_encrypt() failed")),
        }
    }

    pub(crate) fn store(&mut self, item: &Item<'_>, verb: Verb) -> Result<(), Return> {
        self.begin()?;
        self.check_key(item.key)?;
        self.rebuild_when_due();
        let server = self.server_of_key(item.group);
        let encrypted = self.value_to_store(item.value, verb)?;
        let value = encrypted.as_deref().unwrap_or(item.value);
        let key = self.full_key(item.key);
        let expiry_s = self.expiry_s(item.expiration);
        if let Some(client) = self.redundant(&key)? {
            return self.store_redundantly(&client, item, verb, (&key, value, expiry_s));
        }
        let store = |value| {
            Operation::Store(Store {
                mode: mode(verb, item.cas),
                key: &key,
                value,
                flags: item.flags,
                expiry_s,
                cas: item.cas,
            })
        };
        let copies = if verb == Verb::Set {
            self.replicas()
        } else {
            0
        };
        if verb == Verb::Set && self.handle.has(flags::BUFFER_REQUESTS) {
            self.send(store(Value::Copied(value)), server, false)?;
            self.replicate(|| store(Value::Copied(value)), server, copies);
            return self.buffered();
        }
        if !self.handle.has(flags::REPLY) {
            self.check_datagram(value, server)?;
            self.send(store(Value::Copied(value)), server, true)?;
            self.replicate(|| store(Value::Copied(value)), server, copies);
            return Ok(());
        }
        let given = match self.is_impatient() {
            true => Value::Copied(value),
            // SAFETY: the value stays as it is until this call is over, and the network lets go of
            // it before the operation is complete, which is waited for here.
            false => unsafe { lend(value) },
        };
        let request = self.submit(store(given), server)?;
        // A server that is not known to be there must answer before the others get copies.
        let is_known = self.state.servers[server].health.is_connected;
        if is_known {
            self.replicate(|| store(Value::Copied(value)), server, copies);
        }
        let outcome = self.complete(server, request)?;
        if !is_known {
            self.replicate(|| store(Value::Copied(value)), server, copies);
        }
        match outcome {
            Ok(_) => Ok(()),
            Err(error) => Err(self.refused(server, answer(&error, verb, self.is_binary()), &error)),
        }
    }

    /// How something that waits in a buffer ends for now.
    pub(crate) fn buffered(&mut self) -> Result<(), Return> {
        match !self.is_binary() && !self.handle.has(flags::REPLY) {
            true => Ok(()),
            false => Err(Return::BUFFERED),
        }
    }

    /// Remembers a refusal that is more than an ordinary answer; returns its code.
    pub(crate) fn refused(&mut self, server: usize, code: Return, error: &Error) -> Return {
        let what = match error {
            Error::Server { message, .. } => message.to_string(),
            error => error.to_string(),
        };
        self.fail_at(server, code, &what)
    }

    /// Sends further servers what one has got. They have it before the next operation begins, or
    /// the connections end; whether they take it is not told.
    pub(crate) fn replicate<'o>(
        &mut self,
        operation: impl Fn() -> Operation<'o>,
        server: usize,
        copies: usize,
    ) {
        if copies == 0 {
            return;
        }
        for to in self.servers_after(server).take(copies) {
            if !self.is_admitted_unseen(to) {
                continue;
            }
            let Ok(client) = self.client() else { return };
            let request = client.submit_to(operation(), self.delivery(to));
            self.leave_pending(to, request);
            client.flush();
        }
    }

    /// A datagram has room for so much: what is larger cannot be sent by UDP.
    fn check_datagram(&mut self, value: &[u8], server: usize) -> Result<(), Return> {
        match self.handle.has(flags::USE_UDP) && value.len() > DATAGRAM_VALUE_BYTES_MAX {
            true => Err(self.fail_at(server, Return::WRITE_FAILURE, "")),
            false => Ok(()),
        }
    }
}

/// The value, without a copy where it is large.
///
/// # Safety
/// The value must not change before the operation is complete.
pub(crate) unsafe fn lend(value: &[u8]) -> Value<'_> {
    if value.len() <= COPIED_BYTES_MAX {
        return Value::Copied(value);
    }
    // SAFETY: the slice can be read; the caller promises the rest.
    Value::Lent(unsafe { SendBytes::from_foreign(NonNull::from(value).cast(), value.len(), None) })
}

/// Defines the two functions of a verb.
macro_rules! verbs {
    ($($doc:literal $name:ident $by_key:ident $verb:ident;)*) => {
        export! {
            $(
                #[doc = $doc]
                fn $name(
                    handle: *mut Handle,
                    key: *const c_char,
                    key_length: usize,
                    value: *const c_char,
                    value_length: usize,
                    expiration: libc::time_t,
                    flags: u32,
                ) -> Return {
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    unsafe {
                        $by_key(
                            handle, key, key_length, key, key_length,
                            value, value_length, expiration, flags,
                        )
                    }
                }

                #[doc = concat!($doc, " The group's key chooses the server.")]
                fn $by_key(
                    handle: *mut Handle,
                    group: *const c_char,
                    group_length: usize,
                    key: *const c_char,
                    key_length: usize,
                    value: *const c_char,
                    value_length: usize,
                    expiration: libc::time_t,
                    flags: u32,
                ) -> Return {
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    let Some(mut context) = (unsafe { context(handle) }) else {
                        return Return::INVALID_ARGUMENTS;
                    };
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    let key = unsafe { bytes(key, key_length) };
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    let value = unsafe { bytes(value, value_length) };
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    let group = unsafe { bytes(group, group_length) };
                    let item = Item { group, key, value, expiration, flags, cas: 0 };
                    code(context.store(&item, Verb::$verb))
                }
            )*
        }
    };
}

verbs! {
    "Stores a value in any case." memcached_set memcached_set_by_key Set;
    "Stores a value where the key is absent." memcached_add memcached_add_by_key Add;
    "Stores a value where the key is present." memcached_replace memcached_replace_by_key Replace;
    "Puts a value behind the one that is there." memcached_append memcached_append_by_key Append;
    "Puts a value in front of the one that is there." memcached_prepend memcached_prepend_by_key Prepend;
}

export! {
    /// Stores a value where the item still has this CAS token.
    fn memcached_cas(
        handle: *mut Handle,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
        expiration: libc::time_t,
        flags: u32,
        cas: u64,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe {
            memcached_cas_by_key(
                handle, key, key_length, key, key_length,
                value, value_length, expiration, flags, cas,
            )
        }
    }

    /// Stores a value where the item still has this CAS token. The group's key chooses the server.
    fn memcached_cas_by_key(
        handle: *mut Handle,
        group: *const c_char,
        group_length: usize,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
        expiration: libc::time_t,
        flags: u32,
        cas: u64,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        let (key, value) = unsafe { (bytes(key, key_length), bytes(value, value_length)) };
        // SAFETY: C's contract, as it stands at the top of the crate.
        let group = unsafe { bytes(group, group_length) };
        let item = Item { group, key, value, expiration, flags, cas };
        code(context.store(&item, Verb::Cas))
    }
}
