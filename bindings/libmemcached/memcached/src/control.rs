//! What is asked of every server: emptying, versions, verbosity; and the connections themselves.

use crate::arguments::{code, context, list};
use crate::context::Context;
use crate::failure::code_of;
use crate::instance::PROGRAM_UNKNOWN;
use farcache_client::{Error, Operation, Reply, Request};
use farcache_libmemcached_abi::{Handle, Return, flags};
use std::ffi::{CString, c_char, c_void};

/// `memcached_dump_fn`: called with each key.
type DumpFunction =
    unsafe extern "C" fn(*const Handle, *const c_char, usize, context: *mut c_void) -> Return;

/// The three numbers that a version begins with.
fn program_version(text: &str) -> Option<[u8; 3]> {
    let mut numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    Some([next()?, next()?, next()?])
}

impl Context<'_> {
    /// Asks some servers at the same time; what each answered. A server's failure is remembered.
    pub(crate) fn ask_servers<'o>(
        &mut self,
        servers: &[usize],
        operation: impl Fn() -> Operation<'o>,
    ) -> Vec<Result<Reply, Return>> {
        let submit = |&server: &usize| self.submit(operation(), server);
        let requests: Vec<Result<Request, Return>> = servers.iter().map(submit).collect();
        let judged = servers.iter().zip(requests).map(|(&server, request)| {
            let answer = self.complete(server, request?)?;
            answer.map_err(|error| self.refused(server, code_of(&error), &error))
        });
        judged.collect()
    }

    pub(crate) fn all_servers(&self) -> Vec<usize> {
        (0..self.state.servers.len()).collect()
    }

    fn flush_all(&mut self, expiration: libc::time_t) -> Result<(), Return> {
        self.begin()?;
        let delay_s = expiration as u32;
        let servers = self.all_servers();
        let answers = self.ask_servers(&servers, || Operation::Flush { delay_s });
        all_well(&answers)
    }

    /// Asks the servers whose version is not known.
    pub(crate) fn versions(&mut self) -> Result<(), Return> {
        self.begin()?;
        if self.handle.has(flags::USE_UDP) {
            return Err(Return::NOT_SUPPORTED);
        }
        let mut servers = self.all_servers();
        servers.retain(|&server| self.state.servers[server].program == PROGRAM_UNKNOWN);
        let answers = self.ask_servers(&servers, || Operation::Version);
        let mut outcome = all_well(&answers);
        for (&server, answer) in servers.iter().zip(&answers) {
            let Ok(Reply::Text(text)) = answer else {
                continue;
            };
            match program_version(text) {
                Some(program) => self.state.servers[server].program = program,
                None => {
                    let what = "strtol() failed to parse major version";
                    self.fail_at(server, Return::UNKNOWN_READ_FAILURE, what);
                    outcome = Err(Return::SOME_ERRORS);
                }
            }
        }
        outcome
    }

    /// Over a text connection of its own, as libmemcached does: memcached has no such command in
    /// the binary protocol.
    fn set_verbosity(&mut self, level: u32) -> Result<(), Return> {
        self.begin_uncounted()?;
        let mut outcome = Ok(());
        for server in self.all_servers() {
            let asked = self.ask_text(server, &format!("verbosity {level}\r\n"), &mut |_| {});
            if asked.is_err() {
                outcome = Err(Return::SOME_ERRORS);
            }
        }
        outcome
    }

    /// Calls the functions with each key that the servers tell of.
    ///
    /// # Safety
    /// The functions take the argument.
    unsafe fn dump(
        &mut self,
        functions: &[Option<DumpFunction>],
        argument: *mut c_void,
    ) -> Result<(), Return> {
        self.begin()?;
        if self.is_binary() {
            let what = "Binary protocol is not supported for memcached_dump()";
            return Err(self.fail(Return::NOT_SUPPORTED, what));
        }
        // As libmemcached does, which finds out so whom it can ask.
        let _ = self.versions();
        if self.handle.has(flags::USE_UDP) {
            return Err(self.fail(Return::NOT_SUPPORTED, ""));
        }
        let mut outcome = Ok(());
        for server in self.all_servers() {
            if server >= self.state.servers.len() {
                break; // A function has removed it.
            }
            self.admit(server)?;
            let mut keys = Vec::new();
            let mut keep = |line: &str| keys.extend(dumped_key(line));
            if let Err(error) = self.ask_text(server, "lru_crawler metadump all\r\n", &mut keep) {
                return Err(self.text_failed(server, &error));
            }
            for key in keys {
                for function in functions.iter().flatten() {
                    // SAFETY: as the caller promises; the key outlives the call.
                    let told =
                        unsafe { function(self.raw(), key.as_ptr(), key.count_bytes(), argument) };
                    if told != Return::SUCCESS {
                        self.fail_at(server, told, "");
                        outcome = Err(Return::SOME_ERRORS);
                        break;
                    }
                }
            }
        }
        outcome
    }

    fn text_failed(&mut self, server: usize, error: &std::io::Error) -> Return {
        if self.state.servers[server].health.is_on_trial {
            let failure = Error::Connect(error.to_string().as_str().into());
            return self.server_failed(server, &failure);
        }
        let code = match error.kind() {
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => Return::TIMEOUT,
            std::io::ErrorKind::InvalidData => Return::SERVER_ERROR,
            _ => Return::CONNECTION_FAILURE,
        };
        self.fail_at(server, code, &error.to_string())
    }
}

/// The key of a line of `lru_crawler metadump`, in which bytes may be written as `%` and two
/// hexadecimal digits.
fn dumped_key(line: &str) -> Option<CString> {
    let escaped = line.strip_prefix("key=")?.split(' ').next()?.as_bytes();
    let mut key = Vec::with_capacity(escaped.len());
    let mut at = 0;
    while at < escaped.len() {
        let digits = escaped.get(at + 1..at + 3).filter(|_| escaped[at] == b'%');
        let byte = digits
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        key.push(byte.unwrap_or(escaped[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    CString::new(key).ok()
}

fn all_well(answers: &[Result<Reply, Return>]) -> Result<(), Return> {
    match answers.iter().all(Result::is_ok) {
        true => Ok(()),
        false => Err(Return::SOME_ERRORS),
    }
}

export! {
    /// Drops every item of every server, now or so many seconds later.
    fn memcached_flush(handle: *mut Handle, expiration: libc::time_t) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        code(context.flush_all(expiration))
    }

    /// Asks the servers for their versions, unless they are known.
    fn memcached_version(handle: *mut Handle) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        code(context.versions())
    }

    /// Sets how much the servers log.
    fn memcached_verbosity(handle: *mut Handle, level: u32) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        code(context.set_verbosity(level))
    }

    /// Ends the connections, after everything that waits has been sent. The next operation connects
    /// anew.
    fn memcached_quit(handle: *mut Handle) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(mut context) = unsafe { context(handle) }
            && context.begin().is_ok()
        {
            context.quit();
        }
    }

    /// Sends everything that waits in buffers, and waits until the servers have dealt with it.
    fn memcached_flush_buffers(handle: *mut Handle) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        code(context.settle())
    }

    /// Calls the functions with each key of every server; not with the binary protocol.
    fn memcached_dump(
        handle: *mut Handle,
        functions: *mut Option<DumpFunction>,
        argument: *mut c_void,
        count: u32,
    ) -> Return {
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        code(unsafe { context.dump(list(functions, count), argument) })
    }
}
