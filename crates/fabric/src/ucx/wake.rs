//! The descriptor that a port sleeps on.

use super::worker::Worker;
use crate::error::Error;
use rustix::event::epoll;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Readable when the port's worker has something to do. It stays when the worker changes.
#[derive(Debug)]
pub(super) struct Wake(OwnedFd);

impl Wake {
    pub fn new() -> Result<Wake, Error> {
        let descriptor = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system)?;
        Ok(Wake(descriptor))
    }

    /// Follows this worker's descriptor, too.
    pub fn watch(&self, worker: &Worker) -> Result<(), Error> {
        let data = epoll::EventData::new_u64(0);
        let descriptor = worker.descriptor();
        epoll::add(&self.0, descriptor, data, epoll::EventFlags::IN).map_err(system)
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn system(error: rustix::io::Errno) -> Error {
    Error::System(format!("epoll: {error}"))
}
