//! Authentication on the text protocol: `set <any key> <flags> <expiry> <bytes>` with the value
//! `user password`. Source: memcached `doc/protocol.txt`, "Authentication".

use super::Users;
use memchr::memchr;

/// Longest line of a client that has not authenticated, in bytes. Source: memcached 1.6.
const LINE_BYTES_MAX: usize = 2048;

/// Longest value with user and password, in bytes.
const TOKEN_BYTES_MAX: usize = 2048;

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

/// Handles the first request of `input`.
pub(crate) fn text_step(users: &Users, input: &[u8]) -> TextStep {
    let Some(newline) = memchr(b'\n', input) else {
        return if input.len() > LINE_BYTES_MAX {
            TextStep::Close
        } else {
            TextStep::NeedInput
        };
    };
    let Some(token_len) = announced_len(&input[..newline]) else {
        return TextStep::Refused(newline + 1, "CLIENT_ERROR unauthenticated\r\n");
    };
    if token_len > TOKEN_BYTES_MAX {
        return TextStep::Close;
    }
    let Some(token) = input[newline + 1..].get(..token_len + 2) else {
        return TextStep::NeedInput;
    };
    check(users, token, newline + 1 + token.len())
}

/// The length of the value that a `set` line announces.
fn announced_len(line: &[u8]) -> Option<usize> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = words(line);
    if words.next() != Some(b"set") {
        return None;
    }
    std::str::from_utf8(words.nth(3)?).ok()?.parse().ok()
}

fn check(users: &Users, token: &[u8], used: usize) -> TextStep {
    let Some(token) = token.strip_suffix(b"\r\n") else {
        return TextStep::Refused(used, "CLIENT_ERROR bad command line termination\r\n");
    };
    let mut words = words(token);
    let (Some(name), Some(password)) = (words.next(), words.next()) else {
        return TextStep::Refused(used, "CLIENT_ERROR bad authentication token format\r\n");
    };
    if users.check(name, password) {
        TextStep::Authenticated(used)
    } else {
        TextStep::Failed(used)
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b' ')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_users(test: impl Fn(&Users)) {
        let path = std::env::temp_dir().join(format!(
            "farcache-text-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::write(&path, "anna:secret\n").unwrap();
        test(&Users::new(path.clone()));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_set_with_user_and_password_authenticates() {
        with_users(|users| {
            let request = b"set any 0 0 11\r\nanna secret\r\nget foo\r\n";
            let used = request.len() - b"get foo\r\n".len();
            assert_eq!(text_step(users, request), TextStep::Authenticated(used));
            for end in 0..used {
                assert_eq!(
                    text_step(users, &request[..end]),
                    TextStep::NeedInput,
                    "{end}"
                );
            }
        });
    }

    #[test]
    fn anything_else_is_refused() {
        with_users(|users| {
            let refused = |input: &str| match text_step(users, input.as_bytes()) {
                TextStep::Refused(used, reply) => {
                    assert_eq!(used, input.len(), "{input}");
                    reply
                }
                other => panic!("{other:?}"),
            };
            for input in [
                "get foo\r\n",
                "version\r\n",
                "set any 0 0\r\n",
                "set any 0 0 x\r\n",
                "\n",
            ] {
                assert_eq!(refused(input), "CLIENT_ERROR unauthenticated\r\n");
            }
            assert_eq!(
                refused("set a 0 0 2\r\nabcd"),
                "CLIENT_ERROR bad command line termination\r\n"
            );
            assert_eq!(
                refused("set a 0 0 4\r\nanna\r\n"),
                "CLIENT_ERROR bad authentication token format\r\n"
            );
            let wrong = "set a 0 0 10\r\nanna wrong\r\n";
            assert_eq!(
                text_step(users, wrong.as_bytes()),
                TextStep::Failed(wrong.len())
            );
        });
    }

    #[test]
    fn garbage_without_end_closes_the_connection() {
        with_users(|users| {
            assert_eq!(
                text_step(users, &[b'x'; LINE_BYTES_MAX + 1]),
                TextStep::Close
            );
            assert_eq!(text_step(users, b"set a 0 0 100000\r\n"), TextStep::Close);
        });
    }
}
