//! What the servers tell of themselves.

use crate::arguments::{context, tell, text};
use crate::context::Context;
use crate::figures::{self, NAMES, keep, shown};
use crate::instance::Instance;
use crate::{lifecycle, memory};
use farcache_client::{Operation, Reply};
use farcache_libmemcached_abi::{Analysis, Handle, KEY_ROOM_BYTES, Return, Statistics, flags};
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// `memcached_stat_fn`: called with each statistic.
type StatisticFunction = unsafe extern "C" fn(
    *const Instance,
    key: *const c_char,
    key_length: usize,
    value: *const c_char,
    value_length: usize,
    context: *mut c_void,
) -> Return;

/// Names with values, in the server's order.
type List = Vec<(String, String)>;

impl Context<'_> {
    /// Asks servers for their statistics.
    fn ask_statistics(&mut self, servers: &[usize], group: &[u8]) -> Vec<Result<List, Return>> {
        // What libmemcached says where the server does not know the group, which it tells from
        // other failures in text only.
        let unknown = match self.is_binary() {
            true => Return::NOTFOUND,
            false => Return::INVALID_ARGUMENTS,
        };
        if group.len() >= KEY_ROOM_BYTES {
            return vec![Err(unknown); servers.len()];
        }
        let answers = self.ask_servers(servers, || Operation::Statistics { group });
        let listed = |answer| match answer {
            Ok(Reply::Statistics(list)) => Ok(list),
            Ok(_) => Err(Return::PROTOCOL_ERROR),
            Err(Return::NOTFOUND | Return::PROTOCOL_ERROR) => Err(unknown),
            Err(why) => Err(why),
        };
        answers.into_iter().map(listed).collect()
    }

    /// Room for something for each server, zeroed; null where there is no memory.
    fn room_for_servers<T>(&mut self) -> *mut T {
        let bytes = self.state.servers.len() * size_of::<T>();
        // SAFETY: the handle is created; the memory is as large as it is zeroed.
        unsafe {
            let memory = memory::allocate(self.raw(), bytes).cast::<u8>();
            if !memory.is_null() {
                memory.write_bytes(0, bytes);
            }
            memory.cast()
        }
    }

    fn statistics(&mut self, group: Option<&CStr>) -> Result<(*mut Statistics, Return), Return> {
        self.begin()?;
        if self.handle.has(flags::USE_UDP) {
            return Err(self.fail(Return::NOT_SUPPORTED, ""));
        }
        if let Some(group) = group {
            self.check_key(group.to_bytes())?;
        }
        let group = group.map_or(&b""[..], CStr::to_bytes);
        let servers = self.all_servers();
        let answers = self.ask_statistics(&servers, group);
        let room = self.room_for_servers::<Statistics>();
        if room.is_null() {
            return Err(self.fail(Return::MEMORY_ALLOCATION_FAILURE, ""));
        }
        let mut outcome = Return::SUCCESS;
        for (server, answer) in answers.into_iter().enumerate() {
            // SAFETY: there is room for each server; all zero is a valid structure.
            let of = unsafe { &mut *room.add(server) };
            of.pid = -1;
            of.root = self.raw();
            match answer {
                Ok(list) => list.iter().for_each(|(name, value)| keep(of, name, value)),
                Err(Return::INVALID_ARGUMENTS) => outcome = Return::INVALID_ARGUMENTS,
                Err(_) if outcome == Return::SUCCESS => outcome = Return::SOME_ERRORS,
                Err(_) => {}
            }
        }
        Ok((room, outcome))
    }

    /// # Safety
    /// The function takes the argument.
    unsafe fn each_statistic(
        &mut self,
        group: Option<&CStr>,
        function: Option<StatisticFunction>,
        argument: *mut c_void,
    ) -> Result<(), Return> {
        if self.versions().is_err_and(Return::is_fatal) {
            let last = self.state.errors.last();
            return last.map_or(Ok(()), |last| Err(last.code));
        }
        let group = group.map_or(&b""[..], CStr::to_bytes);
        for server in self.all_servers() {
            if server >= self.state.servers.len() {
                break; // The function has removed it.
            }
            let answers = self.ask_statistics(&[server], group);
            let list = match &answers[..] {
                [Ok(list)] => list,
                [Err(Return::INVALID_ARGUMENTS)] => return Err(Return::INVALID_ARGUMENTS),
                _ => continue,
            };
            for (name, value) in list {
                let Some(instance) = self.state.servers.get(server) else {
                    break;
                };
                let instance: *const Instance = &raw const **instance;
                let text = |text: &str| CString::new(text).unwrap_or_default();
                let (name, value) = (text(name), text(value));
                if let Some(function) = function {
                    let (key_length, value_length) = (name.count_bytes(), value.count_bytes());
                    // SAFETY: as the caller promises; the server is the handle's, the texts outlive
                    // the call.
                    unsafe {
                        function(
                            instance,
                            name.as_ptr(),
                            key_length,
                            value.as_ptr(),
                            value_length,
                            argument,
                        )
                    };
                }
            }
        }
        Ok(())
    }

    fn statistics_of_first(
        &mut self,
        group: Option<&CStr>,
        of: &mut Statistics,
    ) -> Result<(), Return> {
        self.begin()?;
        if let Some(group) = group {
            self.check_key(group.to_bytes())?;
        }
        let group = group.map_or(&b""[..], CStr::to_bytes);
        for list in self.ask_statistics(&[0], group) {
            list?.iter().for_each(|(name, value)| keep(of, name, value));
        }
        Ok(())
    }
}

export! {
    /// The statistics of every server; freed with `memcached_stat_free`.
    fn memcached_stat(handle: *mut Handle, group: *mut c_char, error: *mut Return) -> *mut Statistics {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { tell(error, Return::INVALID_ARGUMENTS) };
            return null_mut();
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        match context.statistics(unsafe { text(group) }) {
            Ok((statistics, outcome)) => {
                // SAFETY: C's contract, as it stands at the top of the crate.
                unsafe { tell(error, outcome) };
                statistics
            }
            Err(why) => {
                // SAFETY: C's contract, as it stands at the top of the crate.
                unsafe { tell(error, why) };
                null_mut()
            }
        }
    }

    /// Frees what `memcached_stat` gave.
    fn memcached_stat_free(_handle: *const Handle, statistics: *mut Statistics) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(given) = unsafe { statistics.as_ref() } {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { memory::release(given.root, statistics.cast()) };
        }
    }

    /// The statistics of a server that belongs to no handle.
    fn memcached_stat_servername(
        statistics: *mut Statistics,
        group: *mut c_char,
        host: *const c_char,
        port: u16,
    ) -> Return {
        let mut unwanted = MaybeUninit::<Statistics>::uninit();
        let statistics = if statistics.is_null() { unwanted.as_mut_ptr() } else { statistics };
        // SAFETY: C's, which can be written by C's contract, or this function's own.
        unsafe { statistics.write_bytes(0, 1) };
        let mut handle = MaybeUninit::<Handle>::uninit();
        // SAFETY: the memory is this function's own.
        let handle = unsafe { lifecycle::create(handle.as_mut_ptr()) };
        // SAFETY: the handle was made just now, and is this function's own.
        let Some(mut context) = (unsafe { Context::new(handle) }) else {
            return Return::MEMORY_ALLOCATION_FAILURE;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        let added = context.add_host(unsafe { text(host) }, port, 0);
        // SAFETY: a text by C's contract; the statistics have just been written.
        let (group, statistics) = unsafe { (text(group), &mut *statistics) };
        let outcome = added.and_then(|()| context.statistics_of_first(group, statistics));
        // SAFETY: the handle is this function's own, and is used no more.
        unsafe { lifecycle::destroy(handle) };
        crate::arguments::code(outcome)
    }

    /// One statistic as a text, which the caller frees.
    fn memcached_stat_get_value(
        handle: *const Handle,
        statistics: *mut Statistics,
        name: *const c_char,
        error: *mut Return,
    ) -> *mut c_char {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let (Some(of), Some(name)) = (unsafe { statistics.as_mut() }, unsafe { text(name) }) else {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { tell(error, Return::INVALID_ARGUMENTS) };
            return null_mut();
        };
        match shown(of, &name.to_string_lossy()) {
            Some(value) => {
                // SAFETY: C's contract, as it stands at the top of the crate.
                unsafe { tell(error, Return::SUCCESS) };
                let value = CString::new(value).unwrap_or_default();
                // SAFETY: C's contract, as it stands at the top of the crate.
                unsafe { libc::strdup(value.as_ptr()) }
            }
            None => {
                // SAFETY: C's contract, as it stands at the top of the crate.
                if let Some(mut context) = unsafe { context(handle) } {
                    context.fail(Return::INVALID_ARGUMENTS, "Invalid key provided");
                }
                // SAFETY: C's contract, as it stands at the top of the crate.
                unsafe { tell(error, Return::INVALID_ARGUMENTS) };
                null_mut()
            }
        }
    }

    /// The names of the statistics, ended by null; the caller frees the list, not the names.
    fn memcached_stat_get_keys(
        handle: *mut Handle,
        _statistics: *mut Statistics,
        error: *mut Return,
    ) -> *mut *mut c_char {
        if handle.is_null() {
            return null_mut();
        }
        let bytes = (NAMES.len() + 1) * size_of::<*mut c_char>();
        // SAFETY: C's contract, as it stands at the top of the crate.
        let list: *mut *mut c_char = unsafe { memory::allocate(handle, bytes) }.cast();
        if list.is_null() {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { tell(error, Return::MEMORY_ALLOCATION_FAILURE) };
            return list;
        }
        for (index, name) in NAMES.iter().enumerate() {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { list.add(index).write(name.as_ptr().cast_mut()) };
        }
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe {
            list.add(NAMES.len()).write(null_mut());
            tell(error, Return::SUCCESS);
        }
        list
    }

    /// Calls the function with each statistic of every server.
    fn memcached_stat_execute(
        handle: *mut Handle,
        group: *const c_char,
        function: Option<StatisticFunction>,
        argument: *mut c_void,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        crate::arguments::code(unsafe { context.each_statistic(text(group), function, argument) })
    }

    /// Compares the servers; freed with `memcached_analyze_free`.
    fn memcached_analyze(handle: *mut Handle, statistics: *mut Statistics, error: *mut Return) -> *mut Analysis {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return null_mut();
        };
        if statistics.is_null() {
            return null_mut();
        }
        let analysis = context.room_for_servers::<Analysis>();
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(to) = (unsafe { analysis.as_mut() }) else {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { tell(error, Return::MEMORY_ALLOCATION_FAILURE) };
            return null_mut();
        };
        let count = context.state.servers.len();
        to.root = context.raw();
        // SAFETY: C's contract, as it stands at the top of the crate.
        figures::analyze(unsafe { std::slice::from_raw_parts(statistics, count) }, to);
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { tell(error, Return::SUCCESS) };
        analysis
    }

    /// Frees what `memcached_analyze` gave.
    fn memcached_analyze_free(analysis: *mut Analysis) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(given) = unsafe { analysis.as_ref() } {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { memory::release(given.root, analysis.cast()) };
        }
    }
}
