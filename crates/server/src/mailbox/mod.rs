//! What other threads hand to a worker: connections, news of its part of the fabric, and what came
//! of connecting to peers.

pub mod life_line;

use crate::connections::Address;
use crate::dial::Dialled;
use crate::net::waker::Waker;
use life_line::{Bond, Mail};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// A connection that no worker has yet.
#[derive(Debug)]
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
#[derive(Debug)]
pub struct Mailbox {
    arrivals: Mutex<Vec<Arrival>>,
    fabric: Mutex<Vec<Mail>>,
    ended_life_lines: Mutex<Vec<Arc<Bond>>>,
    dialled: Mutex<Vec<Dialled>>,
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
        Ok(Mailbox {
            arrivals: Mutex::default(),
            fabric: Mutex::default(),
            ended_life_lines: Mutex::default(),
            dialled: Mutex::default(),
            waker: Waker::new()?,
            connections: AtomicUsize::new(0),
        })
    }

    /// Hands a connection over.
    pub fn deliver(&self, arrival: Arrival) {
        self.connections.fetch_add(1, Relaxed);
        push(&self.arrivals, arrival);
        self.waker.wake();
    }

    /// Takes what has been handed over.
    pub fn collect(&self) -> Vec<Arrival> {
        take_all(&self.arrivals)
    }

    /// Tells the worker something about its part of the fabric.
    pub fn post(&self, mail: Mail) {
        push(&self.fabric, mail);
        self.waker.wake();
    }

    /// Takes what it has been told of the fabric.
    pub fn collect_fabric(&self) -> Vec<Mail> {
        take_all(&self.fabric)
    }

    /// Tells the worker to close the connection of a session that has ended.
    pub fn end_life_line(&self, bond: Arc<Bond>) {
        push(&self.ended_life_lines, bond);
        self.waker.wake();
    }

    /// Tells the worker what came of connecting to a peer.
    pub fn dialled(&self, dialled: Dialled) {
        push(&self.dialled, dialled);
        self.waker.wake();
    }

    /// Takes what came of connecting to peers.
    pub fn collect_dialled(&self) -> Vec<Dialled> {
        take_all(&self.dialled)
    }

    /// Takes the sessions that have ended.
    pub fn collect_ended(&self) -> Vec<Arc<Bond>> {
        take_all(&self.ended_life_lines)
    }
}

fn push<T>(list: &Mutex<Vec<T>>, one: T) {
    list.lock().expect("no panic while held").push(one);
}

fn take_all<T>(list: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *list.lock().expect("no panic while held"))
}
