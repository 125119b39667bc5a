//! Requests refused while they are parsed.

/// The answer to a request that could not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The line to answer, without its line ending.
    pub message: &'static str,
    /// The client asked for no reply, and memcached then keeps even this error back.
    pub quiet: bool,
}

impl Reject {
    /// Unknown commands and wrong numbers of tokens.
    pub const ERROR: Reject = Reject::loud("ERROR");

    /// Too long a key, malformed numbers.
    pub const BAD_FORMAT: Reject = Reject::loud("CLIENT_ERROR bad command line format");

    /// An answer that is always given.
    pub const fn loud(message: &'static str) -> Reject {
        Reject {
            message,
            quiet: false,
        }
    }

    /// This answer, kept back if `quiet`.
    #[must_use]
    pub const fn unless(self, quiet: bool) -> Reject {
        Reject { quiet, ..self }
    }
}
