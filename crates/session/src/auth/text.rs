//! Authentication on the text protocol: `set <any key> <flags> <expiry> <bytes>` with the value
//! `user password`. Source: memcached `doc/protocol.txt`, "Authentication", and 1.6.45's
//! `proto_text.c`, `try_read_command_asciiauth`.

use farcache_proto::number::parse_u32;
use farcache_proto::text::{LINE_BYTES_MAX, Tokens};
use memchr::memchr;

/// Shortest line that may be a request, in bytes without its LF. Source: `MIN_AUTH_REQ_LEN`.
const LINE_BYTES_MIN: usize = 6;

/// Longest value with user and password, in bytes. Source: `MAX_AUTH_REQ_LEN`.
const TOKEN_BYTES_MAX: usize = 16384;

/// What became of the bytes of a client that has not authenticated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TextStep {
    /// The request is not there whole.
    NeedInput,
    /// So many bytes are done with; this is the reply.
    Refused(usize, &'static str),
    /// So many bytes are done with; the client has authenticated.
    Authenticated(usize),
    /// So many bytes are done with; the user or the password is wrong.
    Failed(usize),
    /// The client sends garbage: close the connection.
    Close,
}

/// Handles the first request of `input`. A line that cannot lead to anything is answered as soon
/// as it is there, whatever it says will follow.
pub(crate) fn text_step(is_user: impl Fn(&[u8], &[u8]) -> bool, input: &[u8]) -> TextStep {
    let Some(newline) = memchr(b'\n', input) else {
        return match input.len() > LINE_BYTES_MAX {
            true => TextStep::Close,
            false => TextStep::NeedInput,
        };
    };
    if newline < LINE_BYTES_MIN {
        return TextStep::Close;
    }
    let Some(token_bytes) = announced_bytes(&input[..newline]) else {
        return TextStep::Refused(newline + 1, "CLIENT_ERROR unauthenticated\r\n");
    };
    if token_bytes > TOKEN_BYTES_MAX {
        return TextStep::Refused(newline + 1, "CLIENT_ERROR auth token too long\r\n");
    }
    match input[newline + 1..].get(..token_bytes + 2) {
        Some(token) => check(is_user, token, newline + 1 + token.len()),
        None => TextStep::NeedInput,
    }
}

/// The length of the value that a `set` line announces.
fn announced_bytes(line: &[u8]) -> Option<usize> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.starts_with(b"set") {
        return None;
    }
    let bytes = Tokens::new(line).nth(4).and_then(parse_u32)?;
    Some(bytes as usize)
}

fn check(is_user: impl Fn(&[u8], &[u8]) -> bool, token: &[u8], used: usize) -> TextStep {
    let Some(token) = token.strip_suffix(b"\r\n") else {
        return TextStep::Refused(used, "CLIENT_ERROR bad command line termination\r\n");
    };
    let Some(space) = memchr(b' ', token) else {
        return TextStep::Refused(used, "CLIENT_ERROR bad authentication token format\r\n");
    };
    // The password may have spaces.
    match is_user(&token[..space], &token[space + 1..]) {
        true => TextStep::Authenticated(used),
        false => TextStep::Failed(used),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_anna(name: &[u8], password: &[u8]) -> bool {
        name == b"anna" && password == b"secret"
    }

    #[test]
    fn a_set_with_user_and_password_authenticates() {
        let request = b"set any 0 0 11\r\nanna secret\r\nget foo\r\n";
        let used = request.len() - b"get foo\r\n".len();
        assert_eq!(text_step(is_anna, request), TextStep::Authenticated(used));
        for end in 0..used {
            assert_eq!(
                text_step(is_anna, &request[..end]),
                TextStep::NeedInput,
                "{end}"
            );
        }
    }

    #[test]
    fn anything_else_is_refused_at_once() {
        let refused = |input: &str| match text_step(is_anna, input.as_bytes()) {
            TextStep::Refused(used, reply) => {
                assert_eq!(used, input.len(), "{input}");
                reply
            }
            other => panic!("{input}: {other:?}"),
        };
        for input in [
            "get foo\r\n",
            "version\r\n",
            " set a 0 0 1\r\n",
            "set any 0 0\r\n",
            "set any 0 0 x\r\n",
            "set any 0 0 -1\r\n",
            "set any 0 0 4294967296\r\n",
            "GET / HTTP/1.1\r\n",
        ] {
            assert_eq!(refused(input), "CLIENT_ERROR unauthenticated\r\n");
        }
        for input in ["set a 0 0 16385\r\n", "set a 0 0 1000000\r\n"] {
            assert_eq!(refused(input), "CLIENT_ERROR auth token too long\r\n");
        }
        assert_eq!(
            refused("set a 0 0 2\r\nabcd"),
            "CLIENT_ERROR bad command line termination\r\n"
        );
        assert_eq!(
            refused("set a 0 0 4\r\nanna\r\n"),
            "CLIENT_ERROR bad authentication token format\r\n"
        );
        for wrong in [
            "set a 0 0 10\r\nanna wrong\r\n",
            "set a 0 0 12\r\nanna  secret\r\n",
        ] {
            let step = text_step(is_anna, wrong.as_bytes());
            assert_eq!(step, TextStep::Failed(wrong.len()));
        }
    }

    #[test]
    fn the_longest_token_is_waited_for() {
        let line = b"set a 0 0 16384\r\n";
        assert_eq!(text_step(is_anna, line), TextStep::NeedInput);
        let request = [&line[..], b"anna ", &[b'x'; 16379], b"\r\n"].concat();
        assert_eq!(
            text_step(is_anna, &request),
            TextStep::Failed(request.len())
        );
    }

    #[test]
    fn garbage_without_end_closes_the_connection() {
        let endless = [b'x'; LINE_BYTES_MAX + 1];
        assert_eq!(text_step(is_anna, &endless[1..]), TextStep::NeedInput);
        assert_eq!(text_step(is_anna, &endless), TextStep::Close);
    }

    #[test]
    fn too_short_a_line_closes_the_connection() {
        for line in ["\r\n", "mn\r\n", "quit\r\n", "stats\n"] {
            assert_eq!(
                text_step(is_anna, line.as_bytes()),
                TextStep::Close,
                "{line:?}"
            );
        }
    }
}
