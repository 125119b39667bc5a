//! The classic text commands, and the command line that they share with the meta commands.
//! Source: memcached `doc/protocol.txt`.

mod admin;
mod peek;
mod reject;
mod request;
mod store;

pub use crate::tokens::Tokens;
pub use admin::{Admin, TimeChange, WatchFlags};
pub use peek::peek_store;
pub use reject::Reject;
pub use request::{Request, parse};
pub use store::{Store, StoreVerb};

/// Longest command line that is waited for, in bytes; only `get`s may be longer.
/// Source: memcached `proto_text.c`, `try_read_command_ascii`.
pub const LINE_BYTES_MAX: usize = 2048;

/// Shortest command, in bytes with its line ending: a name of two letters and CRLF.
/// Source: memcached `proto_parser.c`, `process_request`.
pub const COMMAND_BYTES_MIN: usize = 4;

/// The command line at the start of `input`, without its line ending, and how many bytes it takes
/// with it; `None` while its end has not arrived. It ends with LF, before which one CR is dropped.
#[inline]
pub fn split_line(input: &[u8]) -> Option<(&[u8], usize)> {
    let end = memchr::memchr(b'\n', input)?;
    let line = match &input[..end] {
        [head @ .., b'\r'] => head,
        line => line,
    };
    Some((line, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_lf_or_crlf() {
        assert_eq!(split_line(b"mn\r\nget"), Some((&b"mn"[..], 4)));
        assert_eq!(split_line(b"mn\n"), Some((&b"mn"[..], 3)));
        assert_eq!(split_line(b"mn\r\r\n"), Some((&b"mn\r"[..], 5)));
        assert_eq!(split_line(b"\r\n"), Some((&b""[..], 2)));
        assert_eq!(split_line(b"\n"), Some((&b""[..], 1)));
        assert_eq!(split_line(b"mn\r"), None);
    }
}
