//! Frames that wait for room at a socket.

use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;

/// Slices sent with one system call.
const SLICES_MAX: usize = 32;

/// Frames in the order in which they go.
#[derive(Default)]
pub(super) struct Outbox {
    pub frames: VecDeque<Vec<u8>>,
    /// Bytes of the first of them that are sent.
    sent: usize,
}

impl Outbox {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Drops what waits, with the connection that it was for.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.sent = 0;
    }

    /// Sends what there is room for.
    ///
    /// # Errors
    /// The system's, when the connection is of no use any more.
    pub fn send_to(&mut self, socket: &OwnedFd) -> io::Result<()> {
        while !self.frames.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let count = self.frames.len().min(SLICES_MAX);
            for (slice, frame) in slices.iter_mut().zip(&self.frames) {
                *slice = IoSlice::new(frame);
            }
            slices[0] = IoSlice::new(&self.frames[0][self.sent..]);
            match send(socket, &slices[..count]) {
                Ok(count) => self.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The first `count` bytes are sent.
    fn advance(&mut self, mut count: usize) {
        while let Some(first) = self.frames.front() {
            let rest = first.len() - self.sent;
            if count < rest {
                self.sent += count;
                return;
            }
            count -= rest;
            self.sent = 0;
            self.frames.pop_front();
        }
    }
}

fn send(socket: &OwnedFd, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let flags = SendFlags::NOSIGNAL;
    Ok(sendmsg(
        socket,
        slices,
        &mut SendAncillaryBuffer::default(),
        flags,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_in_part_goes_on_where_it_ended() {
        let mut outbox = Outbox::default();
        outbox.frames.extend([vec![1, 2, 3], vec![4], vec![5, 6]]);
        outbox.advance(2);
        assert_eq!((outbox.frames.len(), outbox.sent), (3, 2));
        outbox.advance(3);
        assert_eq!((outbox.frames.len(), outbox.sent), (1, 1));
        outbox.advance(1);
        assert!(outbox.is_empty());
        assert_eq!(outbox.sent, 0);
    }
}
