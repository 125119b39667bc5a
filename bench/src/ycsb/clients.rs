//! What the clients of one process have in common, however they reach the servers.

use super::records::Seen;
use std::io;

/// A request of a client.
#[derive(Clone, Copy, Debug)]
pub struct Asked<T> {
    /// Which client.
    pub client: usize,
    /// The record's number.
    pub number: u64,
    /// Whether the record is written; else it is read.
    pub is_write: bool,
    /// What its owner wants to know when it ends.
    pub tag: T,
}

/// How a request has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// What was read.
    Read(Seen),
    /// It was written.
    Written,
    /// With an error.
    Failed,
}

/// Clients that one thread drives. Each has requests under way to several servers.
pub trait Clients<T: Copy> {
    /// Begins a request; a write has a value.
    fn begin(&mut self, asked: Asked<T>, key: &[u8], value: &[u8]);

    /// Sends what has begun.
    ///
    /// # Errors
    /// If a connection breaks on whose end the clients cannot go on.
    fn send(&mut self) -> io::Result<()>;

    /// Waits until some requests have ended, and tells of them.
    ///
    /// # Errors
    /// As [`Clients::send`].
    fn serve(&mut self, ended: &mut dyn FnMut(Asked<T>, Ended)) -> io::Result<()>;

    /// The first error that a request has ended with.
    fn first_error(&self) -> Option<String>;
}
