//! How an operation ended.

use std::ffi::{CStr, c_uint};

/// `memcached_return_t`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return(pub c_uint);

/// Texts of [`Return::text`], by number: applications compare and show them, so they are
/// libmemcached's to the letter.
static TEXTS: [&CStr; 49] = [
    c"SUCCESS",
    c"FAILURE",
    c"getaddrinfo() or getnameinfo() HOSTNAME LOOKUP FAILURE",
    c"CONNECTION FAILURE",
    c"CONNECTION BIND FAILURE",
    c"WRITE FAILURE",
    c"READ FAILURE",
    c"UNKNOWN READ FAILURE",
    c"PROTOCOL ERROR",
    c"CLIENT ERROR",
    c"SERVER ERROR",
    c"ERROR was returned by server",
    c"CONNECTION DATA EXISTS",
    c"CONNECTION DATA DOES NOT EXIST",
    c"NOT STORED",
    c"STORED",
    c"NOT FOUND",
    c"MEMORY ALLOCATION FAILURE",
    c"PARTIAL READ",
    c"SOME ERRORS WERE REPORTED",
    c"NO SERVERS DEFINED",
    c"SERVER END",
    c"SERVER DELETE",
    c"SERVER VALUE",
    c"STAT VALUE",
    c"ITEM VALUE",
    c"SYSTEM ERROR",
    c"COULD NOT OPEN UNIX SOCKET",
    c"ACTION NOT SUPPORTED",
    c"A KEY LENGTH OF ZERO WAS PROVIDED",
    c"FETCH WAS NOT COMPLETED",
    c"A TIMEOUT OCCURRED",
    c"ACTION QUEUED",
    c"A BAD KEY WAS PROVIDED/CHARACTERS OUT OF RANGE",
    c"THE HOST TRANSPORT PROTOCOL DOES NOT MATCH THAT OF THE CLIENT",
    c"SERVER IS MARKED DEAD",
    c"ENCOUNTERED AN UNKNOWN STAT KEY",
    c"ITEM TOO BIG",
    c"INVALID ARGUMENTS",
    c"KEY RETURNED FROM SERVER WAS TOO LARGE",
    c"FAILED TO SEND AUTHENTICATION TO SERVER",
    c"AUTHENTICATION FAILURE",
    c"CONTINUE AUTHENTICATION",
    c"ERROR OCCURED WHILE PARSING",
    c"USER INITIATED ERROR OCCURED WHILE PARSING",
    c"DEPRECATED",
    c"OPERATION IN PROCESS",
    c"SERVER HAS FAILED AND IS DISABLED UNTIL TIMED RETRY",
    c"SERVER FAILED TO ALLOCATE OBJECT",
];

#[allow(missing_docs)]
impl Return {
    pub const SUCCESS: Self = Self(0);
    pub const FAILURE: Self = Self(1);
    pub const HOST_LOOKUP_FAILURE: Self = Self(2);
    pub const CONNECTION_FAILURE: Self = Self(3);
    pub const CONNECTION_BIND_FAILURE: Self = Self(4);
    pub const WRITE_FAILURE: Self = Self(5);
    pub const READ_FAILURE: Self = Self(6);
    pub const UNKNOWN_READ_FAILURE: Self = Self(7);
    pub const PROTOCOL_ERROR: Self = Self(8);
    pub const CLIENT_ERROR: Self = Self(9);
    pub const SERVER_ERROR: Self = Self(10);
    pub const ERROR: Self = Self(11);
    pub const DATA_EXISTS: Self = Self(12);
    pub const DATA_DOES_NOT_EXIST: Self = Self(13);
    pub const NOTSTORED: Self = Self(14);
    pub const STORED: Self = Self(15);
    pub const NOTFOUND: Self = Self(16);
    pub const MEMORY_ALLOCATION_FAILURE: Self = Self(17);
    pub const PARTIAL_READ: Self = Self(18);
    pub const SOME_ERRORS: Self = Self(19);
    pub const NO_SERVERS: Self = Self(20);
    pub const END: Self = Self(21);
    pub const DELETED: Self = Self(22);
    pub const VALUE: Self = Self(23);
    pub const STAT: Self = Self(24);
    pub const ITEM: Self = Self(25);
    pub const ERRNO: Self = Self(26);
    pub const FAIL_UNIX_SOCKET: Self = Self(27);
    pub const NOT_SUPPORTED: Self = Self(28);
    pub const NO_KEY_PROVIDED: Self = Self(29);
    pub const FETCH_NOTFINISHED: Self = Self(30);
    pub const TIMEOUT: Self = Self(31);
    pub const BUFFERED: Self = Self(32);
    pub const BAD_KEY_PROVIDED: Self = Self(33);
    pub const INVALID_HOST_PROTOCOL: Self = Self(34);
    pub const SERVER_MARKED_DEAD: Self = Self(35);
    pub const UNKNOWN_STAT_KEY: Self = Self(36);
    pub const E2BIG: Self = Self(37);
    pub const INVALID_ARGUMENTS: Self = Self(38);
    pub const KEY_TOO_BIG: Self = Self(39);
    pub const AUTH_PROBLEM: Self = Self(40);
    pub const AUTH_FAILURE: Self = Self(41);
    pub const AUTH_CONTINUE: Self = Self(42);
    pub const PARSE_ERROR: Self = Self(43);
    pub const PARSE_USER_ERROR: Self = Self(44);
    pub const DEPRECATED: Self = Self(45);
    pub const IN_PROGRESS: Self = Self(46);
    pub const SERVER_TEMPORARILY_DISABLED: Self = Self(47);
    pub const SERVER_MEMORY_ALLOCATION_FAILURE: Self = Self(48);
    pub const MAXIMUM_RETURN: Self = Self(49);
}

impl Return {
    /// What `memcached_strerror` says.
    #[must_use]
    pub fn text(self) -> &'static CStr {
        TEXTS
            .get(self.0 as usize)
            .copied()
            .unwrap_or(c"INVALID memcached_return_t")
    }

    /// `memcached_success`: whether it did what was asked.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(
            self,
            Self::BUFFERED
                | Self::DELETED
                | Self::END
                | Self::ITEM
                | Self::STAT
                | Self::STORED
                | Self::SUCCESS
                | Self::VALUE
        )
    }

    /// `memcached_failed`.
    #[must_use]
    pub fn is_failure(self) -> bool {
        !self.is_success() && self != Self::AUTH_CONTINUE
    }

    /// `memcached_fatal`: a failure that is more than a server's ordinary answer. Only these are
    /// remembered as a handle's last error.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        self.is_failure()
            && !matches!(
                self,
                Self::CLIENT_ERROR
                    | Self::DATA_EXISTS
                    | Self::E2BIG
                    | Self::ERROR
                    | Self::NOTFOUND
                    | Self::NOTSTORED
                    | Self::SERVER_MEMORY_ALLOCATION_FAILURE
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_told_apart() {
        for number in 0..=Return::MAXIMUM_RETURN.0 {
            let code = Return(number);
            assert!(!(code.is_success() && code.is_failure()), "{code:?}");
            assert!(code.is_failure() || !code.is_fatal(), "{code:?}");
        }
        assert!(Return::TIMEOUT.is_fatal());
        assert!(!Return::NOTFOUND.is_fatal());
        assert!(!Return::AUTH_CONTINUE.is_failure());
    }

    #[test]
    fn unknown_numbers_have_a_text() {
        assert_eq!(Return(u32::MAX).text(), c"INVALID memcached_return_t");
        assert_eq!(Return::E2BIG.text(), c"ITEM TOO BIG");
    }
}
