//! Receives from and sends to many sockets with one system call.
//!
//! Who serves many connections of which several are ready at once pays two system calls for each. A
//! [`Batch`] hands all of these calls to the kernel together, through io_uring, and returns when
//! all of them have ended. None of them waits for a socket, so this takes no longer than making
//! them one by one; and nothing is under way between two calls, so the caller's buffers are its own
//! again.
//!
//! Where io_uring is not permitted, [`Batch::new`] fails and the caller makes the calls one by one.

mod batch;
mod calls;
mod ring;

pub use batch::Batch;
pub use calls::{Receiving, Sending};
