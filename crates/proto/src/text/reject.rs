//! Requests refused while they are parsed.

/// The answer to a request that could not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The line to answer, without its line ending.
    pub message: &'static str,
    /// The client asked for no reply, and memcached then keeps even this error back.
    pub quiet: bool,
    /// Bytes behind the line, of a value that nobody will store, to be thrown away.
    pub skip_bytes: usize,
}

impl Reject {
    /// Unknown commands.
    pub const ERROR: Reject = Reject::loud("ERROR");

    /// Too few tokens, too long a key, malformed numbers.
    pub const BAD_FORMAT: Reject = Reject::loud("CLIENT_ERROR bad command line format");

    /// An answer that is always given.
    pub const fn loud(message: &'static str) -> Reject {
        Reject {
            message,
            quiet: false,
            skip_bytes: 0,
        }
    }

    /// This answer, kept back if `quiet`.
    #[must_use]
    pub const fn unless(self, quiet: bool) -> Reject {
        Reject { quiet, ..self }
    }

    /// This answer, after which so many bytes are thrown away.
    #[must_use]
    pub const fn skipping(self, skip_bytes: usize) -> Reject {
        Reject { skip_bytes, ..self }
    }
}
