//! What is done with one socket.

use std::os::fd::BorrowedFd;

/// Bytes to be received from a socket.
#[derive(Debug)]
pub struct Receiving<'a> {
    /// The socket.
    pub socket: BorrowedFd<'a>,
    /// Where the bytes go.
    pub room: &'a mut [u8],
}

/// Bytes to be sent to a socket.
#[derive(Debug)]
pub struct Sending<'a> {
    /// The socket.
    pub socket: BorrowedFd<'a>,
    /// The bytes.
    pub bytes: &'a [u8],
}
