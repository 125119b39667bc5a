//! Many calls, each on a socket of its own.

use crate::calls::{Receiving, Sending};
use crate::ring::{Call, Ring};
use std::io;

/// Makes calls on many sockets together.
pub struct Batch {
    ring: Ring,
}

impl Batch {
    /// A batch that hands at most `calls_max` calls to the kernel at once; of more it makes several
    /// parts.
    ///
    /// # Errors
    /// The kernel's, where it has no ring to give or does not permit one.
    ///
    /// # Panics
    /// If `calls_max` is 0.
    pub fn new(calls_max: u32) -> io::Result<Batch> {
        assert!(calls_max > 0, "room for calls");
        Ok(Batch {
            ring: Ring::new(calls_max)?,
        })
    }

    /// Whether the kernel still takes calls together. Where it does not, nothing is lost: the calls
    /// that were not made look like those on sockets that were not ready.
    pub fn is_usable(&self) -> bool {
        self.ring.is_usable()
    }

    /// Receives once from each socket what is there. `results` then holds, in the order of the
    /// calls, the bytes received, 0 at the end of the stream.
    ///
    /// # Errors
    /// Each call has its own: [`io::ErrorKind::WouldBlock`] where nothing is there, and what the
    /// socket says. A call that the kernel did not take has the first too; see
    /// [`Batch::is_usable`].
    pub fn receive<'a>(
        &mut self,
        calls: impl IntoIterator<Item = Receiving<'a>>,
        results: &mut Vec<io::Result<usize>>,
    ) {
        results.clear();
        self.ring
            .make(calls.into_iter().map(Call::Receive), results);
    }

    /// Sends once to each socket as much as it takes. `results` then holds, in the order of the
    /// calls, the bytes taken.
    ///
    /// # Errors
    /// As [`Batch::receive`]. A socket whose other end has closed brings no signal.
    pub fn send<'a>(
        &mut self,
        calls: impl IntoIterator<Item = Sending<'a>>,
        results: &mut Vec<io::Result<usize>>,
    ) {
        results.clear();
        self.ring.make(calls.into_iter().map(Call::Send), results);
    }
}
