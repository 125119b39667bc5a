//! How a request ended.

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// Status of a response.
        #[repr(u16)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Status { $($(#[$doc])* $name = $code,)* }

        impl Status {
            /// The status with this code.
            pub fn from_code(code: u16) -> Option<Status> {
                match code { $($code => Some(Status::$name),)* _ => None }
            }

            /// The text that memcached sends as the value of a response with this status.
            pub fn text(self) -> &'static str {
                match self { $(Status::$name => $text,)* }
            }
        }
    };
}

statuses! {
    /// Done.
    Success = 0x00, "";
    /// There is no such key.
    NotFound = 0x01, "Not found";
    /// The key is there already, or has another CAS token.
    Exists = 0x02, "Data exists for key.";
    /// The value is larger than the server takes.
    TooLarge = 0x03, "Too large.";
    /// The packet makes no sense.
    InvalidArguments = 0x04, "Invalid arguments";
    /// The condition for storing did not hold.
    NotStored = 0x05, "Not stored.";
    /// The value is not a number.
    NotNumeric = 0x06, "Non-numeric server-side value for incr or decr";
    /// Authentication is missing or failed.
    AuthenticationError = 0x20, "Auth failure.";
    /// Authentication needs another step.
    AuthenticationContinue = 0x21, "";
    /// No such command.
    UnknownCommand = 0x81, "Unknown command";
    /// No memory for it.
    OutOfMemory = 0x82, "Out of memory";
    /// The server is not set up for it.
    NotSupported = 0x83, "Not supported";
    /// It could not be made durable (memcached's "internal error").
    NotDurable = 0x84, "Not durable: no SSD is in service";
    /// It cannot be done now.
    TemporaryFailure = 0x86, "Temporary failure";
    /// The key is deleted by the version in the header's CAS token; Farcache's own.
    Deleted = 0xf0, "Deleted";
    /// The server has promised somebody to take nothing older than the version in the header's CAS
    /// token, or no promise stands behind the request any more; Farcache's own.
    Promised = 0xf1, "Promised";
    /// A write that the server has made at several servers may have taken effect, or may take effect
    /// yet; or a version is not stored, because of the newer one in the header's CAS token, and the
    /// server does not know any more whether it has had it. Farcache's own.
    InDoubt = 0xf2, "The write may have taken effect";
    /// The client has placed the key by other owners than the server's map names; Farcache's own.
    OtherOwners = 0xf3, "The cluster's map gives the key to other servers";
}
