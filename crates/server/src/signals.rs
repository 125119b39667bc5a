//! Signals, turned into events that the accepting thread hears.

use crate::shared::Shared;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use signal_hook::low_level::pipe;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Signals that end the server, and their names.
const ENDING: [(i32, &str); 3] = [
    (SIGTERM, "SIGTERM"),
    (SIGINT, "SIGINT"),
    (SIGUSR1, "SIGUSR1"),
];

/// The signals that the server handles: SIGTERM, SIGINT and SIGUSR1 end it in order, SIGHUP makes
/// it read certificates and users anew.
pub struct Signals {
    arrived: UnixStream,
    reload: Arc<AtomicBool>,
    /// The number of the signal that ends the server, once it has come.
    end: Arc<AtomicUsize>,
}

impl Signals {
    /// Takes the signals over from their default effects.
    ///
    /// # Errors
    /// When descriptors are exhausted.
    pub fn take_over() -> io::Result<Self> {
        let (arrived, write) = UnixStream::pair()?;
        arrived.set_nonblocking(true)?;
        let (reload, end) = (Arc::default(), Arc::default());
        for (signal, _) in ENDING {
            flag::register_usize(signal, Arc::clone(&end), signal as usize)?;
        }
        flag::register(SIGHUP, Arc::clone(&reload))?;
        for signal in ENDING.iter().map(|(signal, _)| *signal).chain([SIGHUP]) {
            pipe::register(signal, write.try_clone()?)?;
        }
        Ok(Signals {
            arrived,
            reload,
            end,
        })
    }

    /// Does what the signals that have come ask for.
    pub fn handle(&mut self, shared: &Shared) {
        let mut bytes = [0; 64];
        // Only tells that something arrived; what it was stands in the flags.
        let _ = self.arrived.read(&mut bytes);
        let ending = self.end.load(Relaxed);
        if let Some((_, name)) = ENDING
            .iter()
            .find(|(signal, _)| *signal as usize == ending)
            .filter(|_| !shared.is_stopping())
        {
            shared.stop(name);
        }
        if self.reload.swap(false, Relaxed) {
            shared.reload();
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.arrived.as_fd()
    }
}
