//! Asking for many values, which are fetched afterwards.

use crate::arguments::{bytes, code, context};
use crate::batch::{Answer, Batch, NO_SERVER};
use crate::context::Context;
use crate::failure::is_about_connecting;
use farcache_client::Values;
use farcache_libmemcached_abi::{ExecuteFunction, Handle, Return, flags};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};

/// Keys of the first question to each server: its answer shows whether there is one, and is waited
/// for.
const FIRST_KEYS: usize = 8;

/// Keys of each further question; their values wait with the server until they are fetched or have
/// arrived meanwhile.
const FURTHER_KEYS: usize = 64;

/// Keys by the servers that they are asked from.
type KeysOfServers = BTreeMap<usize, Vec<Vec<u8>>>;

impl Context<'_> {
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
    pub(crate) fn arrive(&mut self, batch: &mut Batch) -> Result<(), Return> {
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

export! {
    /// Asks for many values, which are fetched afterwards.
    fn memcached_mget(
        handle: *mut Handle,
        keys: *const *const c_char,
        lengths: *const usize,
        count: usize,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { get_many(handle, &[], keys, lengths, count) }
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
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { get_many(handle, bytes(group, group_length), keys, lengths, count) }
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
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe {
            memcached_mget_execute_by_key(
                handle, std::ptr::null(), 0, keys, lengths,
                count, functions, argument, function_count,
            )
        }
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
            // SAFETY: C's contract, as it stands at the top of the crate.
            let Some(mut context) = (unsafe { context(handle) }) else {
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
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { get_many(handle, bytes(group, group_length), keys, lengths, count) }
    }
}
