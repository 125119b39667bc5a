//! Lists of servers that the application makes before it has a handle. They are C arrays of C's
//! allocator.

use crate::arguments::{context, tell, text};
use crate::instance::is_valid_name;
use farcache_libmemcached_abi::{
    Connection, DEFAULT_PORT, Handle, Return, ServerState, ServerStructure,
};
use std::ffi::{CStr, CString, c_char};

/// Bit of [`ServerStructure::options`].
const IS_INITIALIZED: u8 = 1 << 1;

/// # Safety
/// `list` is null or a list of this library.
unsafe fn count(list: *const ServerStructure) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { list.as_ref() }.map_or(0, |first| first.number_of_hosts)
}

/// Fills an entry that may never have been set.
///
/// # Safety
/// The entry can be written; the name has less than 1025 bytes.
unsafe fn fill(entry: *mut ServerStructure, name: &CStr, port: u16, weight: u32) {
    // SAFETY: as the caller promises. All zero is a valid entry.
    unsafe {
        entry.write_bytes(0, 1);
        let entry = &mut *entry;
        entry.options = IS_INITIALIZED;
        entry.port = port;
        entry.weight = weight.max(1);
        entry.version = u32::MAX;
        entry.state = ServerState::NEW;
        entry.major_version = u8::MAX;
        entry.micro_version = u8::MAX;
        entry.minor_version = u8::MAX;
        entry.kind = if port == 0 {
            Connection::UNIX_SOCKET
        } else {
            Connection::TCP
        };
        let name = name.to_bytes_with_nul();
        std::ptr::copy_nonoverlapping(
            name.as_ptr().cast(),
            entry.hostname.as_mut_ptr(),
            name.len(),
        );
    }
}

/// The list with one more server; null, and the list freed, where its name cannot be one.
///
/// # Safety
/// `list` is null or a list of this library, and only the result is used afterwards.
unsafe fn append(
    list: *mut ServerStructure,
    name: Option<&CStr>,
    port: u16,
    weight: u32,
    error: *mut Return,
) -> *mut ServerStructure {
    let name = name.unwrap_or(c"localhost");
    let port = match (name.to_bytes().first(), port) {
        (Some(b'/'), _) => 0,
        (_, 0) => DEFAULT_PORT,
        (_, port) => port,
    };
    // SAFETY: as the caller promises; a list is memory of C's allocator.
    unsafe {
        let count = count(list) + 1;
        let bytes = count as usize * size_of::<ServerStructure>();
        let grown: *mut ServerStructure = libc::realloc(list.cast(), bytes).cast();
        if grown.is_null() {
            return grown;
        }
        if !is_valid_name(name) {
            libc::free(grown.cast());
            return std::ptr::null_mut();
        }
        fill(grown.add(count as usize - 1), name, port, weight);
        (*grown).number_of_hosts = count;
        tell(error, Return::SUCCESS);
        grown
    }
}

/// An entry of `memcached_servers_parse`: `host`, `host:port`, `host:port:weight`, `[IPv6]:port`.
fn parse_entry(entry: &str) -> (&str, u16, u32) {
    let brackets = entry
        .find('[')
        .and_then(|open| Some(open + entry[open..].find(']')?));
    let from = brackets.unwrap_or(0);
    let Some(colon) = entry[from..].find(':') else {
        return (entry, 0, 0);
    };
    let (host, rest) = (&entry[..from + colon], &entry[from + colon + 1..]);
    let weight = rest.find(' ').or_else(|| rest.find(':'));
    let weight = weight.map_or(0, |at| leading_number(&rest[at + 1..]));
    (host, leading_number(rest) as u16, weight as u32)
}

/// What C's `strtoul` reads.
fn leading_number(text: &str) -> u64 {
    let text = text.trim_start();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text[..digits].parse().unwrap_or(0)
}

export! {
    /// Adds a server to a list; the list may be null.
    fn memcached_server_list_append(
        list: *mut ServerStructure,
        host: *const c_char,
        port: u16,
        error: *mut Return,
    ) -> *mut ServerStructure {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { append(list, text(host), port, 0, error) }
    }

    /// Adds a server with a weight to a list; the list may be null.
    fn memcached_server_list_append_with_weight(
        list: *mut ServerStructure,
        host: *const c_char,
        port: u16,
        weight: u32,
        error: *mut Return,
    ) -> *mut ServerStructure {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { append(list, text(host), port, weight, error) }
    }

    /// How many servers a list has.
    fn memcached_server_list_count(list: *const ServerStructure) -> u32 {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { count(list) }
    }

    /// Frees a list.
    fn memcached_server_list_free(list: *mut ServerStructure) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        unsafe { libc::free(list.cast()) };
    }

    /// Frees a list, or empties an entry that is no list.
    fn memcached_server_free(server: *mut ServerStructure) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if unsafe { count(server) } > 0 {
            // SAFETY: C's contract, as it stands at the top of the crate.
            unsafe { libc::free(server.cast()) };
        // SAFETY: C's contract, as it stands at the top of the crate.
        } else if let Some(server) = unsafe { server.as_mut() } {
            server.options &= !IS_INITIALIZED;
        }
    }

    /// Forgets the errors of a list's entry: it has none, as nothing is done with it before it is
    /// pushed.
    fn memcached_server_error_reset(server: *mut ServerStructure) {
        // SAFETY: C's contract, as it stands at the top of the crate.
        if let Some(server) = unsafe { server.as_mut() } {
            server.error_messages = std::ptr::null_mut();
        }
    }

    /// Adds a list's servers to a handle.
    fn memcached_server_push(handle: *mut Handle, list: *const ServerStructure) -> Return {
        if list.is_null() {
            return Return::SUCCESS;
        }
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(mut context) = (unsafe { context(handle) }) else {
            return Return::INVALID_ARGUMENTS;
        };
        // SAFETY: C's contract, as it stands at the top of the crate.
        for index in 0..unsafe { count(list) } as usize {
            // SAFETY: C's contract, as it stands at the top of the crate.
            let entry = unsafe { &*list.add(index) };
            // SAFETY: C's contract, as it stands at the top of the crate.
            let name = unsafe { CStr::from_ptr(entry.hostname.as_ptr()) };
            context.push_weighted(name, entry.port, entry.weight, entry.kind);
        }
        context.run_distribution();
        Return::SUCCESS
    }

    /// Makes a list of a text: entries separated by commas, each `host`, `host:port` or
    /// `host:port:weight`.
    fn memcached_servers_parse(list: *const c_char) -> *mut ServerStructure {
        let mut servers = std::ptr::null_mut();
        // SAFETY: C's contract, as it stands at the top of the crate.
        let Some(given) = (unsafe { text(list) }) else {
            return servers;
        };
        let given = given.to_string_lossy();
        let mut rest: &str = &given;
        while !rest.is_empty() {
            let (entry, after) = rest.split_once(',').unwrap_or((rest, ""));
            let (host, port, weight) = parse_entry(entry);
            let host = CString::new(host).unwrap_or_default();
            // SAFETY: C's contract, as it stands at the top of the crate.
            servers = unsafe { append(servers, Some(&host), port, weight, std::ptr::null_mut()) };
            rest = after.strip_prefix(|c: char| c.is_ascii_whitespace()).unwrap_or(after);
        }
        servers
    }
}
