//! Getting: one value at once, or many to be fetched one by one.

use crate::arguments::{bytes, code, context, list, tell};
use crate::connection::{code_of, is_about_connecting};
use crate::context::Context;
use crate::store::{Item, Verb};
use crate::{memory, result};
use farcache_client::{Error, GetManyRequest, Operation, ReceiveBytes, Reply, Values};
use farcache_libmemcached_abi::{
    Behavior, ExecuteFunction, Handle, ResultStructure, Return, flags,
};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Keys of the first question to each server: its answer shows whether there is one, and is waited
/// for.
const FIRST_KEYS: usize = 8;

/// Keys of each further question; their values wait with the server until they are fetched or have
/// arrived meanwhile.
const FURTHER_KEYS: usize = 64;

/// Values of at least so many bytes are handed over in the memory that they were received in; a
/// smaller one is copied into the memory of the value before.
const HANDED_OVER_BYTES_MIN: usize = 4 << 10;

/// Room that a value is received into if the one before was not larger, in bytes.
const EXPECTED_BYTES_MIN: usize = 128;

/// As [`EXPECTED_BYTES_MIN`] at most: larger values are announced, and then get room of their size.
const EXPECTED_BYTES_MAX: usize = 16 << 10;

/// Stands for a server where values are of keys that lie on several.
const NO_SERVER: usize = usize::MAX;

/// Values of one server that are fetched, one after the other.
pub(crate) struct Batch {
    server: usize,
    keys: Vec<Vec<u8>>,
    answer: Answer,
    next: usize,
    /// Whether CAS tokens were asked for.
    tells_cas: bool,
}

enum Answer {
    Awaited(GetManyRequest),
    There(Values),
    /// Nobody waits for it any more.
    GivenUp,
    /// It has not come, which is told when values are fetched; with those that came before.
    Missed(Error, Values),
}

/// Keys by the servers that they are asked from.
type KeysOfServers = BTreeMap<usize, Vec<Vec<u8>>>;

/// A value that was got.
pub(crate) struct Got {
    pub(crate) value: Vec<u8>,
    pub(crate) flags: u32,
}

impl Context<'_> {
    fn begin_get(&mut self) -> Result<(), Return> {
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

    /// Asks for many values, which are fetched afterwards.
    fn get_many(&mut self, group: &[u8], keys: &[&[u8]]) -> Result<(), Return> {
        self.begin_get()?;
        if keys.is_empty() {
            let what = "Numbers of keys provided was zero";
            return Err(self.fail(Return::INVALID_ARGUMENTS, what));
        }
        keys.iter().try_for_each(|key| self.check_key(key))?;
        self.rebuild_when_due();
        self.state.batches.clear();
        self.state.fetch_failure = None;
        self.settle_unseen();
        let mut of_servers = KeysOfServers::new();
        let mut of_several = Vec::new();
        for key in keys {
            let whole = self.full_key(key).into_owned();
            if self.redundant(&whole)?.is_some() {
                self.check_group(group, key)?;
                of_several.push(whole);
                continue;
            }
            let server = self.server_of_key(if group.is_empty() { key } else { group });
            of_servers.entry(server).or_default().push(whole);
        }
        if !of_several.is_empty() {
            let outcome = self.get_many_redundantly(of_several);
            if of_servers.is_empty() || outcome.is_err() {
                return outcome;
            }
        }
        if self.replicas() == 0 {
            return self.stream(of_servers);
        }
        let mut outcome = Err(Return::FAILURE);
        for replica in 0..=self.replicas() {
            let mut absent = Vec::new();
            let asked = self.ask(std::mem::take(&mut of_servers), &mut outcome, &mut absent)?;
            self.gather(asked, &mut outcome, &mut absent);
            for (server, missing) in absent {
                if let Some(copy) = self.servers_after(server).next() {
                    of_servers.entry(copy).or_default().extend(missing);
                }
            }
            if of_servers.is_empty() || replica == self.replicas() {
                break;
            }
        }
        outcome
    }

    /// Gets the values of keys that lie on several servers, to be fetched.
    fn get_many_redundantly(&mut self, keys: Vec<Vec<u8>>) -> Result<(), Return> {
        let client = self.client()?;
        let values = client.get_many(&keys);
        let values = values.map_err(|error| self.failed_together(&error))?;
        if let Some(error) = values.error() {
            let code = self.failed_together(error);
            self.state.fetch_failure = Some(code);
        }
        self.state.batches.push_back(Batch {
            server: NO_SERVER,
            keys,
            answer: Answer::There(values),
            next: 0,
            tells_cas: self.is_binary() || self.handle.has(flags::SUPPORT_CAS),
        });
        Ok(())
    }

    /// Sends all questions before any answer is waited for. Keys of servers that are left alone are
    /// told.
    fn ask(
        &mut self,
        of_servers: KeysOfServers,
        outcome: &mut Result<(), Return>,
        left_out: &mut Vec<(usize, Vec<Vec<u8>>)>,
    ) -> Result<Vec<Batch>, Return> {
        let client = self.client()?;
        let tells_cas = self.is_binary() || self.handle.has(flags::SUPPORT_CAS);
        let mut asked = Vec::new();
        for (server, keys) in of_servers {
            if let Err(code) = self.admit(server) {
                *outcome = outcome.map_err(|_| code);
                left_out.push((server, keys));
                continue;
            }
            let mut keys = keys.into_iter().peekable();
            let mut count = FIRST_KEYS;
            while keys.peek().is_some() {
                let keys: Vec<_> = keys.by_ref().take(count).collect();
                let to = self.delivery(server);
                let request = client.submit_get_many(&keys, Values::new(), to);
                asked.push(Batch {
                    server,
                    keys,
                    answer: Answer::Awaited(request),
                    next: 0,
                    tells_cas,
                });
                count = FURTHER_KEYS;
            }
        }
        client.flush();
        Ok(asked)
    }

    /// Asks, and waits until each server has shown that it is there. Good where any is.
    fn stream(&mut self, of_servers: KeysOfServers) -> Result<(), Return> {
        let mut outcome = Err(Return::FAILURE);
        let mut seen = None;
        for mut batch in self.ask(of_servers, &mut outcome, &mut Vec::new())? {
            let is_first = seen != Some(batch.server);
            seen = Some(batch.server);
            if is_first {
                match self.look_for(&mut batch) {
                    Ok(()) => outcome = Ok(()),
                    Err(code) => outcome = outcome.map_err(|_| code),
                }
            }
            self.state.batches.push_back(batch);
        }
        outcome
    }

    /// Waits for the first values of a server. Fails where there is none; one that does not answer
    /// is told of when values are fetched.
    fn look_for(&mut self, batch: &mut Batch) -> Result<(), Return> {
        if self.is_impatient() && self.state.servers[batch.server].health.is_connected {
            return Ok(());
        }
        batch.arrive();
        let Answer::Missed(error, _) = &batch.answer else {
            return Ok(());
        };
        if !is_about_connecting(error) {
            return Ok(());
        }
        let error = error.clone();
        batch.give_up();
        let code = self.server_failed(batch.server, &error);
        // libmemcached tries to connect for each key.
        match batch.keys.len() {
            1 => Err(code),
            _ => {
                self.admit(batch.server)?;
                Err(self.server_failed(batch.server, &error))
            }
        }
    }

    /// Waits for the values of a batch. Fails where their server does.
    fn arrive(&mut self, batch: &mut Batch) -> Result<(), Return> {
        if self.is_impatient()
            && let Answer::Awaited(request) = &batch.answer
        {
            let client = self.client()?;
            client.progress();
            if !client.peek(request) {
                batch.give_up();
                return Err(self.fail_at(batch.server, Return::TIMEOUT, ""));
            }
        }
        batch.arrive();
        match std::mem::replace(&mut batch.answer, Answer::GivenUp) {
            Answer::Missed(error, values) => {
                batch.answer = Answer::There(values);
                Err(self.server_failed(batch.server, &error))
            }
            Answer::There(values) => {
                batch.answer = Answer::There(values);
                if batch.server != NO_SERVER {
                    self.answered(batch.server);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Waits for the answers; tells the keys that a server did not have. The outcome is good where
    /// any server answered.
    fn gather(
        &mut self,
        asked: Vec<Batch>,
        outcome: &mut Result<(), Return>,
        absent: &mut Vec<(usize, Vec<Vec<u8>>)>,
    ) {
        for mut batch in asked {
            match self.arrive(&mut batch) {
                Ok(()) => *outcome = Ok(()),
                Err(code) => *outcome = outcome.map_err(|_| code),
            }
            let missing = batch.missing();
            if !missing.is_empty() {
                absent.push((batch.server, missing));
            }
            self.state.batches.push_back(batch);
        }
    }

    /// Fills a result with the next value; false where there is none.
    fn fetch_next(&mut self, into: &mut ResultStructure) -> Result<bool, Return> {
        while let Some(mut batch) = self.state.batches.pop_front() {
            if let Err(code) = self.arrive(&mut batch) {
                self.state.fetch_failure.get_or_insert(code);
            }
            let Some(found) = batch.take_next() else {
                continue;
            };
            let tells_cas = batch.tells_cas;
            self.state.batches.push_front(batch);
            self.fill(into, found, tells_cas)?;
            return Ok(true);
        }
        match self.state.fetch_failure.take() {
            Some(code) => Err(code),
            None => Ok(false),
        }
    }

    fn fill(
        &mut self,
        into: &mut ResultStructure,
        found: Found,
        tells_cas: bool,
    ) -> Result<(), Return> {
        let key = found.key.get(self.namespace().len()..);
        let key = key.unwrap_or(&found.key);
        let value = self.readable(found.value)?;
        if value.len() >= HANDED_OVER_BYTES_MIN && memory::is_c(self.handle) {
            result::adopt(into, key, value);
        } else {
            result::fill(into, key, &value)?;
        }
        into.item_flags = found.flags;
        into.item_cas = if tells_cas { found.cas } else { 0 };
        into.count += 1;
        Ok(())
    }

    /// The next value; null, and what is told says why, where there is none.
    ///
    /// # Safety
    /// The result is null or one of this library, and belongs to nobody else.
    unsafe fn fetch(
        &mut self,
        into: *mut ResultStructure,
        error: &mut Return,
    ) -> *mut ResultStructure {
        // SAFETY: as the caller promises; a result that is made is this function's own.
        unsafe {
            let into = if into.is_null() {
                result::create(self.raw())
            } else {
                into
            };
            let Some(given) = into.as_mut() else {
                *error = Return::MEMORY_ALLOCATION_FAILURE;
                return null_mut();
            };
            match self.fetch_next(given) {
                Ok(true) => {
                    *error = Return::SUCCESS;
                    return into;
                }
                Ok(false) => {
                    *error = if given.count > 0 {
                        Return::END
                    } else {
                        Return::NOTFOUND
                    }
                }
                Err(Return::FAILURE) if given.count == 0 => *error = Return::NOTFOUND,
                Err(code) => *error = code,
            }
            if result::is_allocated(given) {
                result::clear(given);
                memory::release(self.raw(), into.cast());
            } else {
                given.count = 0;
                result::reset(given);
            }
            null_mut()
        }
    }

    /// Calls the functions with each value that waits.
    ///
    /// # Safety
    /// The functions take the argument.
    unsafe fn fetch_execute(
        &mut self,
        functions: &[Option<ExecuteFunction>],
        argument: *mut c_void,
    ) -> Return {
        if self.handle.has(flags::USE_UDP) {
            return Return::NOT_SUPPORTED;
        }
        let mut failed = false;
        let mut error = Return::SUCCESS;
        let raw = self.raw();
        // SAFETY: the handle's own result is nobody else's while the handle is in use; the rest is
        // as the caller promises.
        unsafe {
            loop {
                let into = self.fetch(&raw mut (*raw).result, &mut error);
                if into.is_null() {
                    break;
                }
                for function in functions.iter().flatten() {
                    let outcome = function(raw, into, argument);
                    if outcome.is_failure() {
                        failed = true;
                        self.fail(outcome, "");
                        break;
                    }
                }
            }
        }
        match (failed, error.is_success()) {
            (true, _) => Return::SOME_ERRORS,
            (false, true) => Return::SUCCESS,
            (false, false) => error,
        }
    }
}

/// A value with its key, as the server has it.
struct Found {
    key: Vec<u8>,
    value: Vec<u8>,
    flags: u32,
    cas: u64,
}

impl Batch {
    /// Waits for the values.
    fn arrive(&mut self) {
        self.answer = match std::mem::replace(&mut self.answer, Answer::GivenUp) {
            Answer::Awaited(request) => {
                let values = request.wait();
                let mut errors = values.errors().iter();
                match errors.find(|error| error.is_connection()).cloned() {
                    Some(error) => Answer::Missed(error, values),
                    None => Answer::There(values),
                }
            }
            answer => answer,
        };
    }

    /// Nobody waits for the values any more.
    fn give_up(&mut self) {
        self.answer = Answer::GivenUp;
    }

    /// The next value, if there is one left.
    fn take_next(&mut self) -> Option<Found> {
        let Answer::There(values) = &mut self.answer else {
            return None;
        };
        while let Some(key) = self.keys.get_mut(self.next) {
            let index = self.next;
            self.next += 1;
            let Ok(Some(item)) = values.get(index) else {
                continue;
            };
            let (flags, cas) = (item.flags, item.cas);
            return Some(Found {
                key: std::mem::take(key),
                value: values.take(index)?,
                flags,
                cas,
            });
        }
        None
    }

    /// Keys without a value.
    fn missing(&self) -> Vec<Vec<u8>> {
        let Answer::There(values) = &self.answer else {
            return self.keys.clone();
        };
        let is_missing =
            |(index, _): &(usize, &Vec<u8>)| !matches!(values.get(*index), Ok(Some(_)));
        let keys = self.keys.iter().enumerate().filter(is_missing);
        keys.map(|(_, key)| key.clone()).collect()
    }
}

/// The application's keys.
///
/// # Safety
/// There are `count` keys with their lengths, unless one of the arrays is null.
unsafe fn keys<'a>(
    keys: *const *const c_char,
    lengths: *const usize,
    count: usize,
) -> Option<Vec<&'a [u8]>> {
    if keys.is_null() || lengths.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    Some(
        (0..count)
            .map(|index| unsafe { bytes(*keys.add(index), *lengths.add(index)) })
            .collect(),
    )
}

/// # Safety
/// As C's contract says of `memcached_mget_by_key`.
unsafe fn get_many(
    handle: *mut Handle,
    group: &[u8],
    given: *const *const c_char,
    lengths: *const usize,
    count: usize,
) -> Return {
    // SAFETY: as the caller promises.
    let (context, keys) = unsafe { (context(handle), keys(given, lengths, count)) };
    let Some(mut context) = context else {
        return Return::INVALID_ARGUMENTS;
    };
    match keys {
        Some(keys) => code(context.get_many(group, &keys)),
        None if count == 0 => code(context.get_many(group, &[])),
        None => match context.begin_get() {
            Ok(()) => {
                let what = "Key was NULL or length of key was zero.";
                context.fail(Return::BAD_KEY_PROVIDED, what)
            }
            Err(why) => why,
        },
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
        get(handle, &[], bytes(key, key_length), length, flags, error)
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
        get(handle, bytes(group, group_length), bytes(key, key_length), length, flags, error)
    }

    /// Asks for many values, which are fetched afterwards.
    fn memcached_mget(
        handle: *mut Handle,
        keys: *const *const c_char,
        lengths: *const usize,
        count: usize,
    ) -> Return {
        get_many(handle, &[], keys, lengths, count)
    }

    /// Asks for many values, which are fetched afterwards. The group's key chooses the server.
    fn memcached_mget_by_key(
        handle: *mut Handle,
        group: *const c_char,
        group_length: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        count: usize,
    ) -> Return {
        get_many(handle, bytes(group, group_length), keys, lengths, count)
    }

    /// Asks for many values, which are fetched afterwards; needs the binary protocol. The functions
    /// are kept for libmemcached's sake: all values wait until they are fetched, so that none has
    /// to be dealt with before.
    fn memcached_mget_execute(
        handle: *mut Handle,
        keys: *const *const c_char,
        lengths: *const usize,
        count: usize,
        functions: *mut ExecuteFunction,
        argument: *mut c_void,
        function_count: u32,
    ) -> Return {
        memcached_mget_execute_by_key(
            handle, std::ptr::null(), 0, keys, lengths, count, functions, argument, function_count,
        )
    }

    /// As `memcached_mget_execute`. The group's key chooses the server.
    fn memcached_mget_execute_by_key(
        handle: *mut Handle,
        group: *const c_char,
        group_length: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        count: usize,
        _functions: *mut ExecuteFunction,
        _argument: *mut c_void,
        _function_count: u32,
    ) -> Return {
        {
            let Some(mut context) = context(handle) else {
                return Return::INVALID_ARGUMENTS;
            };
            if let Err(why) = context.begin_uncounted() {
                return why;
            }
            if context.handle.has(flags::USE_UDP) {
                return context.fail(Return::NOT_SUPPORTED, "");
            }
            if !context.is_binary() {
                let what = "ASCII protocol is not supported for memcached_mget_execute_by_key()";
                return context.fail(Return::NOT_SUPPORTED, what);
            }
        }
        get_many(handle, bytes(group, group_length), keys, lengths, count)
    }

    /// The next value, which the caller frees, with its key: room for 250 bytes, no zero byte
    /// behind it.
    fn memcached_fetch(
        handle: *mut Handle,
        key: *mut c_char,
        key_length: *mut usize,
        length: *mut usize,
        flags: *mut u32,
        error: *mut Return,
    ) -> *mut c_char {
        let own = if handle.is_null() { null_mut() } else { &raw mut (*handle).result };
        let result = memcached_fetch_result(handle, own, error);
        let Some(result) = result.as_mut() else {
            tell(length, 0);
            tell(key_length, 0);
            tell(flags, 0);
            tell(key, 0);
            return null_mut();
        };
        tell(length, result::length(&result.value));
        tell(flags, result.item_flags);
        if !key.is_null() {
            std::ptr::copy_nonoverlapping(result.item_key.as_ptr(), key, result.key_length);
            tell(key_length, result.key_length);
        }
        result::take(result)
    }

    /// The next value in a result: the one that is given, or a new one, which the caller frees.
    fn memcached_fetch_result(
        handle: *mut Handle,
        result: *mut ResultStructure,
        error: *mut Return,
    ) -> *mut ResultStructure {
        let mut why = Return::INVALID_ARGUMENTS;
        let fetched = match context(handle) {
            Some(context) if context.handle.has(flags::USE_UDP) => {
                why = Return::NOT_SUPPORTED;
                null_mut()
            }
            Some(mut context) => context.fetch(result, &mut why),
            None => null_mut(),
        };
        tell(error, why);
        fetched
    }

    /// Calls the functions with each value that waits.
    fn memcached_fetch_execute(
        handle: *mut Handle,
        functions: *mut Option<ExecuteFunction>,
        argument: *mut c_void,
        count: u32,
    ) -> Return {
        let Some(mut context) = context(handle) else {
            return Return::INVALID_ARGUMENTS;
        };
        context.fetch_execute(list(functions, count), argument)
    }
}
