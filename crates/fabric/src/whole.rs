//! Messages that are handled while the network still has them.
//!
//! The usual way of a message leads through an [`Inbox`](crate::Inbox): copied there, told as an
//! event, looked at after the network is done. [`Port::progress_with`](crate::Port::progress_with)
//! spares a message that comes whole, with nothing waiting before it, that way, if its handler
//! takes it.

use crate::frame::Frame;

/// A message with all of its bytes, where the network has put them.
#[derive(Clone, Copy, Debug)]
pub struct Whole<'a> {
    /// Its frame; neither session nor key have been checked.
    pub frame: &'a Frame,
    /// The packet without its value, where the value came apart from it.
    pub head: &'a [u8],
    /// Packets, or a value.
    pub body: &'a [u8],
}

impl<'a> Whole<'a> {
    /// A message whose head and body lie behind each other.
    #[must_use]
    pub fn new(frame: &'a Frame, bytes: &'a [u8]) -> Self {
        let parts = bytes.split_at_checked(frame.head_bytes.into());
        let (head, body) = parts.unwrap_or((&[], bytes));
        Whole { frame, head, body }
    }
}

/// Handles a message at once; false leaves it, and all that come behind it, to the inbox.
///
/// It runs inside of the network's library. So it should be short, and it has no way to the port.
pub type Handler<'a> = dyn FnMut(Whole<'_>) -> bool + 'a;
