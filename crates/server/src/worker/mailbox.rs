//! How the accepting thread hands connections to a worker.

use crate::connections::Address;
use crate::net::waker::Waker;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// A connection that no worker has yet.
pub struct Arrival {
    /// The accepted socket, non-blocking.
    pub socket: OwnedFd,
    /// Its client's address.
    pub peer: Address,
    /// Where it was accepted.
    pub listener: Arc<Address>,
    /// Whether it is encrypted.
    pub tls: bool,
}

/// One worker's mailbox.
pub struct Mailbox {
    arrivals: Mutex<Vec<Arrival>>,
    /// Wakes the worker.
    pub waker: Waker,
    /// Connections that the worker has or is about to get.
    pub connections: AtomicUsize,
}

impl Mailbox {
    /// An empty mailbox.
    ///
    /// # Errors
    /// When descriptors are exhausted.
    pub fn new() -> io::Result<Self> {
        let arrivals = Mutex::default();
        Ok(Mailbox {
            arrivals,
            waker: Waker::new()?,
            connections: AtomicUsize::new(0),
        })
    }

    /// Hands a connection over.
    pub fn deliver(&self, arrival: Arrival) {
        self.connections.fetch_add(1, Relaxed);
        self.arrivals
            .lock()
            .expect("no panic while held")
            .push(arrival);
        self.waker.wake();
    }

    /// Takes what has been handed over.
    pub fn collect(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.arrivals.lock().expect("no panic while held"))
    }
}
