//! Status codes, and the pointers that UCX hides them in.

use crate::raw::layout::Constant;
use std::ffi::c_void;
use std::fmt;

/// The outcome of a call: 0 is success, 1 is still going on, below 0 are errors.
///
/// C declares a packed enumeration of one byte. Here it is a number with named constants, because a
/// later UCX may answer with a code that this one does not know, and a Rust enumeration must never
/// hold such a value.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ucs_status_t(
    /// The code as C has it.
    pub i8,
);

const _: () = assert!(size_of::<ucs_status_t>() == 1);

macro_rules! statuses {
    ($($(#[$about:meta])* $name:ident = $code:literal;)+) => {
        $($(#[$about])* pub const $name: ucs_status_t = ucs_status_t($code);)+

        /// The constants of this file.
        pub(super) const CONSTANTS: &[Constant] = &[$((stringify!($name), $code)),+];
    };
}

statuses! {
    /// Done.
    UCS_OK = 0;
    /// Begun, not done; a callback or a later check will tell.
    UCS_INPROGRESS = 1;
    /// Nothing has arrived.
    UCS_ERR_NO_MESSAGE = -1;
    /// Try again after progress: a queue is full.
    UCS_ERR_NO_RESOURCE = -2;
    /// The network or the operating system refused.
    UCS_ERR_IO_ERROR = -3;
    /// Out of memory, or of memory that may be registered.
    UCS_ERR_NO_MEMORY = -4;
    /// A parameter does not make sense.
    UCS_ERR_INVALID_PARAM = -5;
    /// No transport reaches the peer.
    UCS_ERR_UNREACHABLE = -6;
    /// The address cannot be understood.
    UCS_ERR_INVALID_ADDR = -7;
    /// The transport cannot do this.
    UCS_ERR_NOT_IMPLEMENTED = -8;
    /// The message is longer than the buffer it was received into.
    UCS_ERR_MESSAGE_TRUNCATED = -9;
    /// Nothing could be done now.
    UCS_ERR_NO_PROGRESS = -10;
    /// The buffer is too small for the answer.
    UCS_ERR_BUFFER_TOO_SMALL = -11;
    /// Not found.
    UCS_ERR_NO_ELEM = -12;
    /// Some connections could not be made.
    UCS_ERR_SOME_CONNECTS_FAILED = -13;
    /// No device for the transports asked for.
    UCS_ERR_NO_DEVICE = -14;
    /// Events are waiting; [`ucp_worker_arm`](crate::raw::Functions::ucp_worker_arm) says so when
    /// there is something to progress first.
    UCS_ERR_BUSY = -15;
    /// Cancelled, as operations are whose endpoint was closed by force.
    UCS_ERR_CANCELED = -16;
    /// The shared memory segment cannot be used.
    UCS_ERR_SHMEM_SEGMENT = -17;
    /// There already.
    UCS_ERR_ALREADY_EXISTS = -18;
    /// Beyond what is valid.
    UCS_ERR_OUT_OF_RANGE = -19;
    /// No answer in time.
    UCS_ERR_TIMED_OUT = -20;
    /// Over a limit.
    UCS_ERR_EXCEEDS_LIMIT = -21;
    /// Known, but not supported here.
    UCS_ERR_UNSUPPORTED = -22;
    /// The peer refused.
    UCS_ERR_REJECTED = -23;
    /// There is no connection.
    UCS_ERR_NOT_CONNECTED = -24;
    /// The peer is gone.
    UCS_ERR_CONNECTION_RESET = -25;
    /// The endpoint's peer did not answer in time.
    UCS_ERR_ENDPOINT_TIMEOUT = -80;
    /// Below every code; a pointer at or above it, seen as a number, is a code.
    UCS_ERR_LAST = -100;
}

impl ucs_status_t {
    /// Whether this is an error.
    pub const fn is_error(self) -> bool {
        self.0 < 0
    }

    /// The constant's name, where this version of the crate has one.
    pub fn name(self) -> Option<&'static str> {
        CONSTANTS
            .iter()
            .find_map(|&(name, code)| (code == i64::from(self.0)).then_some(name))
    }
}

impl fmt::Debug for ucs_status_t {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => formatter.write_str(name),
            None => write!(formatter, "ucs_status_t({})", self.0),
        }
    }
}

/// What a non-blocking call returns: null when it was done in place (no callback follows), a status
/// code in disguise when it failed, otherwise the request that its callback will be given.
pub type ucs_status_ptr_t = *mut c_void;

/// Number that a pointer in disguise starts at: the last 100 addresses hold the error codes.
const ERROR_ADDRESS_MIN: usize = UCS_ERR_LAST.0 as isize as usize;

/// Whether the pointer is an error code. As the macro of this name in C.
#[allow(non_snake_case, reason = "C's name")]
pub fn UCS_PTR_IS_ERR(pointer: ucs_status_ptr_t) -> bool {
    pointer.addr() >= ERROR_ADDRESS_MIN
}

/// Whether the pointer is a request: neither null nor an error code. As the macro of this name in
/// C.
#[allow(non_snake_case, reason = "C's name")]
pub fn UCS_PTR_IS_PTR(pointer: ucs_status_ptr_t) -> bool {
    !pointer.is_null() && !UCS_PTR_IS_ERR(pointer)
}

/// The status of what returned this pointer: [`UCS_INPROGRESS`] for a request. As the macro of this
/// name in C.
#[allow(non_snake_case, reason = "C's name")]
pub fn UCS_PTR_STATUS(pointer: ucs_status_ptr_t) -> ucs_status_t {
    if UCS_PTR_IS_PTR(pointer) {
        return UCS_INPROGRESS;
    }
    // Null is success, and an error's low byte is its code: both fit.
    ucs_status_t(pointer.addr() as i8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(number: isize) -> ucs_status_ptr_t {
        std::ptr::without_provenance_mut(number as usize)
    }

    #[test]
    fn null_is_success() {
        assert!(!UCS_PTR_IS_ERR(pointer(0)) && !UCS_PTR_IS_PTR(pointer(0)));
        assert_eq!(UCS_PTR_STATUS(pointer(0)), UCS_OK);
    }

    #[test]
    fn the_last_hundred_addresses_are_errors() {
        for code in [-1, -25, -100] {
            assert!(UCS_PTR_IS_ERR(pointer(code)) && !UCS_PTR_IS_PTR(pointer(code)));
            assert_eq!(UCS_PTR_STATUS(pointer(code)), ucs_status_t(code as i8));
        }
    }

    #[test]
    fn what_lies_below_is_a_request() {
        for number in [-101, 1, 4096] {
            assert!(UCS_PTR_IS_PTR(pointer(number)) && !UCS_PTR_IS_ERR(pointer(number)));
            assert_eq!(UCS_PTR_STATUS(pointer(number)), UCS_INPROGRESS);
        }
    }

    #[test]
    fn codes_without_a_name_are_shown_as_numbers() {
        assert_eq!(format!("{UCS_ERR_BUSY:?}"), "UCS_ERR_BUSY");
        assert_eq!(format!("{:?}", ucs_status_t(-47)), "ucs_status_t(-47)");
    }
}
