//! Readiness of many connections: edge-triggered epoll, spinning or sleeping.

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::{AsFd, OwnedFd};
use std::io;

/// Most events taken from the kernel at once.
const EVENTS_MAX: usize = 256;

/// Tells which connections may be read or written.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Poller {
    /// A poller of nothing yet.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Poller {
            epoll,
            events: Vec::with_capacity(EVENTS_MAX),
        })
    }

    /// Watches a descriptor for both directions; it is reported under `token` at each change.
    ///
    /// # Errors
    /// Those of the system.
    pub fn add(&self, descriptor: impl AsFd, token: usize) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token as u64);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, descriptor, data, flags)?)
    }

    /// Waits for events, at most `timeout_ns` (0: looks once), and appends their tokens.
    ///
    /// # Errors
    /// Those of the system; an interrupted wait is none.
    pub fn wait(&mut self, timeout_ns: u64, tokens: &mut Vec<usize>) -> io::Result<()> {
        self.events.clear();
        let timeout = Timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as i64,
            tv_nsec: (timeout_ns % 1_000_000_000) as i64,
        };
        match epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.events),
            Some(&timeout),
        ) {
            Ok(_) => {
                tokens.extend(self.events.iter().map(|event| {
                    let data = event.data;
                    data.u64() as usize
                }));
                Ok(())
            }
            Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
