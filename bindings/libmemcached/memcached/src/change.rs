//! Deleting, touching, looking whether a key is there, and counting.

use crate::arguments::{bytes, code, context, tell};
use crate::context::Context;
use crate::failure::code_of;
use crate::key::OVER_S;
use farcache_client::{Direction, Error, Initial, Operation, Reply, Store, StoreMode, Value};
use farcache_libmemcached_abi::{EXPIRATION_NOT_ADD, Handle, Return, flags};
use std::ffi::c_char;

/// Counting as the application asks for it.
struct Count<'a> {
    direction: Direction,
    group: &'a [u8],
    key: &'a [u8],
    offset: u64,
    /// What to create where the key is absent, with its expiry.
    initial: Option<(u64, libc::time_t)>,
}

impl Context<'_> {
    fn delete(&mut self, group: &[u8], key: &[u8], expiration: libc::time_t) -> Result<(), Return> {
        self.begin()?;
        self.check_key(key)?;
        if expiration != 0 {
            let what = "Memcached server version does not allow expiration of deleted items";
            return Err(self.fail(Return::INVALID_ARGUMENTS, what));
        }
        self.rebuild_when_due();
        let server = self.server_of_key(group);
        let is_buffering = self.handle.has(flags::BUFFER_REQUESTS);
        let is_replying = self.handle.has(flags::REPLY);
        if self.handle.delete_trigger.is_some() {
            self.check_delete_trigger()?;
        }
        let full = self.full_key(key).into_owned();
        if let Some(client) = self.redundant(&full)? {
            self.delete_redundantly(&client, group, (key, &full))?;
            self.trigger_deletion(key);
            return Ok(());
        }
        let operation = || Operation::Delete { key: &full, cas: 0 };
        self.replicate(operation, server, self.replicas());
        if is_buffering || !is_replying {
            self.send(operation(), server, !is_buffering)?;
            return if is_buffering {
                Err(Return::BUFFERED)
            } else {
                Ok(())
            };
        }
        self.plain(operation(), server)?;
        self.trigger_deletion(key);
        Ok(())
    }

    /// Tells the application that a key was removed.
    fn trigger_deletion(&mut self, key: &[u8]) {
        if let Some(trigger) = self.handle.delete_trigger {
            // SAFETY: the application's function takes its own handle and the key as it gave it.
            unsafe { trigger(self.raw(), key.as_ptr().cast(), key.len()) };
        }
    }

    /// Carries an operation out that brings nothing.
    fn plain(&mut self, operation: Operation<'_>, server: usize) -> Result<(), Return> {
        match self.carry_out(operation, server)? {
            Ok(_) => Ok(()),
            Err(error) => Err(self.refused(server, code_of(&error), &error)),
        }
    }

    fn touch(&mut self, group: &[u8], key: &[u8], expiration: libc::time_t) -> Result<(), Return> {
        self.begin()?;
        self.check_key(key)?;
        self.rebuild_when_due();
        let (server, given) = (self.server_of_key(group), key);
        let key = self.full_key(key).into_owned();
        let expiry_s = self.expiry_s(expiration);
        let touch = Operation::Touch {
            key: &key,
            expiry_s,
        };
        if let Some(client) = self.redundant(&key)? {
            let touched = self.change_redundantly(&client, (group, given), touch);
            return touched.map(drop);
        }
        if self.handle.has(flags::USE_UDP) {
            self.send(touch, server, true)?;
            return Err(self.fail(Return::NOT_SUPPORTED, ""));
        }
        let touched = self.plain(touch, server);
        // Where libmemcached has no connection to send it over, it says so in words of its own.
        match touched {
            Err(_) if self.state.servers[server].health.is_unreachable => {
                Err(self.fail_at(server, Return::WRITE_FAILURE, ""))
            }
            touched => touched,
        }
    }

    /// As libmemcached does: by adding an item that is over at once, so that no value travels.
    fn exist(&mut self, group: &[u8], key: &[u8]) -> Result<(), Return> {
        self.begin()?;
        if self.handle.has(flags::USE_UDP) {
            return Err(self.fail(Return::NOT_SUPPORTED, ""));
        }
        self.check_key(key)?;
        self.rebuild_when_due();
        let (server, given) = (self.server_of_key(group), key);
        let key = self.full_key(given).into_owned();
        if let Some(client) = self.redundant(&key)? {
            let whole = &key[..];
            let got = self.get_redundantly(&client, group, (given, whole));
            return got.map(drop);
        }
        let add = Operation::Store(Store {
            mode: StoreMode::Add,
            key: &key,
            value: Value::Copied(&[]),
            flags: 0,
            expiry_s: OVER_S,
            cas: 0,
        });
        match self.carry_out(add, server)? {
            Ok(_) => Err(Return::NOTFOUND),
            Err(Error::Exists | Error::NotStored) => Ok(()),
            Err(error) => Err(self.refused(server, code_of(&error), &error)),
        }
    }

    fn count(&mut self, count: &Count<'_>) -> Result<u64, Return> {
        self.begin()?;
        if self.is_encrypted() {
            let what = "Operation not allowed while encyrption is enabled";
            return Err(self.fail(Return::NOT_SUPPORTED, what));
        }
        self.check_key(count.key)?;
        self.rebuild_when_due();
        let server = self.server_of_key(count.group);
        if count.initial.is_some() && !self.is_binary() {
            let what =
                "memcached_increment_with_initial_by_key() is not supported via the ASCII protocol";
            return Err(self.fail(Return::INVALID_ARGUMENTS, what));
        }
        let key = self.full_key(count.key).into_owned();
        let initial = count.initial.and_then(|(number, expiration)| {
            let expiry_s = expiration as u32;
            (expiry_s != EXPIRATION_NOT_ADD).then_some(Initial { number, expiry_s })
        });
        let operation = Operation::Arithmetic {
            direction: count.direction,
            key: &key,
            delta: count.offset,
            initial,
        };
        if let Some(client) = self.redundant(&key)? {
            let place = (count.group, count.key);
            return match self.change_redundantly(&client, place, operation)? {
                Reply::Number { number, .. } => Ok(number),
                _ => Err(self.fail(Return::PROTOCOL_ERROR, "")),
            };
        }
        if !self.handle.has(flags::REPLY) {
            self.send(operation, server, true)?;
            return Ok(u64::MAX);
        }
        match self.carry_out(operation, server)? {
            Ok(Reply::Number { number, .. }) => Ok(number),
            Ok(_) => Err(self.fail(Return::PROTOCOL_ERROR, "")),
            Err(error) => {
                // Over the binary protocol libmemcached does not know this answer.
                let code = match (&error, self.is_binary()) {
                    (Error::NotNumeric, true) => Return::UNKNOWN_READ_FAILURE,
                    _ => code_of(&error),
                };
                Err(self.refused(server, code, &error))
            }
        }
    }
}

/// # Safety
/// As C's contract says of `memcached_increment`.
unsafe fn counted(handle: *mut Handle, count: &Count<'_>, value: *mut u64) -> Return {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(mut context) = context(handle) else {
            return Return::INVALID_ARGUMENTS;
        };
        match context.count(count) {
            Ok(number) => {
                tell(value, number);
                Return::SUCCESS
            }
            // What never got as far as a server leaves the place as it is.
            Err(why @ (Return::NO_SERVERS | Return::BAD_KEY_PROVIDED | Return::NOT_SUPPORTED)) => {
                why
            }
            Err(why) => {
                tell(value, u64::MAX);
                why
            }
        }
    }
}

/// Defines the four functions of a direction.
macro_rules! counts {
    ($($direction:ident $doc:literal $name:ident $by_key:ident $initial:ident $initial_by_key:ident;)*) => {
        export! {
            $(
                #[doc = $doc]
                fn $name(
                    handle: *mut Handle,
                    key: *const c_char,
                    key_length: usize,
                    offset: u32,
                    value: *mut u64,
                ) -> Return {
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    unsafe {
                        $by_key(handle, key, key_length, key, key_length, offset.into(), value)
                    }
                }

                #[doc = concat!($doc, " The group's key chooses the server.")]
                fn $by_key(
                    handle: *mut Handle,
                    group: *const c_char,
                    group_length: usize,
                    key: *const c_char,
                    key_length: usize,
                    offset: u64,
                    value: *mut u64,
                ) -> Return {
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    let group = unsafe { bytes(group, group_length) };
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    let key = unsafe { bytes(key, key_length) };
                    let direction = Direction::$direction;
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    unsafe {
                        let count = Count { direction, group, key, offset, initial: None };
                        counted(handle, &count, value)
                    }
                }

                #[doc = concat!($doc, " Creates it where it is absent; needs the binary protocol.")]
                fn $initial(
                    handle: *mut Handle,
                    key: *const c_char,
                    key_length: usize,
                    offset: u64,
                    initial: u64,
                    expiration: libc::time_t,
                    value: *mut u64,
                ) -> Return {
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    unsafe {
                        $initial_by_key(
                            handle, key, key_length, key, key_length,
                            offset, initial, expiration, value,
                        )
                    }
                }

                #[doc = concat!($doc, " Creates it where it is absent; needs the binary protocol. The group's key \
                    chooses the server.")]
                fn $initial_by_key(
                    handle: *mut Handle,
                    group: *const c_char,
                    group_length: usize,
                    key: *const c_char,
                    key_length: usize,
                    offset: u64,
                    initial: u64,
                    expiration: libc::time_t,
                    value: *mut u64,
                ) -> Return {
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    let group = unsafe { bytes(group, group_length) };
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    let key = unsafe { bytes(key, key_length) };
                    let (direction, initial) = (Direction::$direction, Some((initial, expiration)));
                    // SAFETY: C's contract, as it stands at the top of the crate.
                    unsafe {
                        counted(handle, &Count { direction, group, key, offset, initial }, value)
                    }
                }
            )*
        }
    };
}

counts! {
    Increment "Adds to a number."
        memcached_increment memcached_increment_by_key
        memcached_increment_with_initial memcached_increment_with_initial_by_key;
    Decrement "Subtracts from a number, down to 0."
        memcached_decrement memcached_decrement_by_key
        memcached_decrement_with_initial memcached_decrement_with_initial_by_key;
}

export! {
    /// Removes an item; the expiration must be 0.
    fn memcached_delete(
        handle: *mut Handle,
        key: *const c_char,
        key_length: usize,
        expiration: libc::time_t,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { memcached_delete_by_key(handle, key, key_length, key, key_length, expiration) }
    }

    /// Removes an item; the expiration must be 0. The group's key chooses the server.
    fn memcached_delete_by_key(
        handle: *mut Handle,
        group: *const c_char,
        group_length: usize,
        key: *const c_char,
        key_length: usize,
        expiration: libc::time_t,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        let (group, key) = unsafe { (bytes(group, group_length), bytes(key, key_length)) };
        code(context.delete(group, key, expiration))
    }

    /// Gives an item a new expiry.
    fn memcached_touch(
        handle: *mut Handle,
        key: *const c_char,
        key_length: usize,
        expiration: libc::time_t,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { memcached_touch_by_key(handle, key, key_length, key, key_length, expiration) }
    }

    /// Gives an item a new expiry. The group's key chooses the server.
    fn memcached_touch_by_key(
        handle: *mut Handle,
        group: *const c_char,
        group_length: usize,
        key: *const c_char,
        key_length: usize,
        expiration: libc::time_t,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        let (group, key) = unsafe { (bytes(group, group_length), bytes(key, key_length)) };
        code(context.touch(group, key, expiration))
    }

    /// Whether a key is there: MEMCACHED_SUCCESS or MEMCACHED_NOTFOUND.
    fn memcached_exist(handle: *mut Handle, key: *const c_char, key_length: usize) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { memcached_exist_by_key(handle, key, key_length, key, key_length) }
    }

    /// Whether a key is there. The group's key chooses the server.
    fn memcached_exist_by_key(
        handle: *mut Handle,
        group: *const c_char,
        group_length: usize,
        key: *const c_char,
        key_length: usize,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        let (group, key) = unsafe { (bytes(group, group_length), bytes(key, key_length)) };
        code(context.exist(group, key))
    }
}
