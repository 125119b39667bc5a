//! Signals, turned into events that the accepting thread hears.

use crate::shared::Shared;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::low_level::pipe;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;

/// Signals that end the server.
const ENDING: [i32; 3] = [SIGTERM, SIGINT, SIGUSR1];

/// The signals that the server handles: SIGTERM, SIGINT and SIGUSR1 end it in order.
pub struct Signals {
    ending: UnixStream,
}

impl Signals {
    /// Takes the signals over from their default effects.
    ///
    /// # Errors
    /// When descriptors are exhausted.
    pub fn take_over() -> io::Result<Self> {
        let (ending, write) = UnixStream::pair()?;
        ending.set_nonblocking(true)?;
        for signal in ENDING {
            pipe::register(signal, write.try_clone()?)?;
        }
        Ok(Signals { ending })
    }

    /// Does what the signals that have come ask for.
    pub fn handle(&mut self, shared: &Shared) {
        let mut bytes = [0; 64];
        if self.ending.read(&mut bytes).is_ok_and(|count| count > 0) {
            tracing::info!("ending on a signal");
            shared.stopping.store(true, Relaxed);
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ending.as_fd()
    }
}
