//! How devices are read and written: many transfers at once, each with a buffer of its own.

use super::Device;
use super::buffer::Buffer;
use super::threads::ThreadEngine;
use super::uring::UringEngine;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// The devices that an engine reaches, by number.
pub(crate) type Devices = Arc<[Arc<dyn Device>]>;

/// Which way a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// The memory of a transfer: its own for a read; a write may share it with readers.
pub(crate) enum Memory {
    Own(Buffer),
    Shared(Arc<Buffer>),
}

impl Memory {
    /// The buffer.
    pub fn buffer(&self) -> &Buffer {
        match self {
            Memory::Own(buffer) => buffer,
            Memory::Shared(buffer) => buffer,
        }
    }
}

/// Bytes to be moved between a device and a part of a buffer.
pub(crate) struct Transfer {
    pub direction: Direction,
    /// Number of the device.
    pub device: usize,
    /// Where on the device; a multiple of its blocks.
    pub offset: u64,
    /// The memory whose first bytes are moved.
    pub buffer: Memory,
    /// How many bytes are moved; a multiple of the device's blocks.
    pub bytes: usize,
    /// What the user wants to be told with the outcome.
    pub token: u64,
}

/// A transfer that has ended.
pub struct Outcome {
    pub(crate) transfer: Transfer,
    pub(crate) result: io::Result<()>,
}

impl Outcome {
    /// The number that the transfer was given.
    pub fn token(&self) -> u64 {
        self.transfer.token
    }
}

/// An engine, for one thread.
pub(crate) enum Engine {
    Uring(Box<UringEngine>),
    Threads(ThreadEngine),
}

/// Whether io_uring may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uring {
    Never,
    IfPossible,
    Required,
}

impl Engine {
    /// An engine for these devices with at most `depth` transfers at the device at once; more wait
    /// in the engine.
    ///
    /// # Errors
    /// The system's, where it has no descriptors or threads left or io_uring is required and
    /// missing.
    pub fn new(devices: &Devices, depth: u32, uring: Uring) -> io::Result<Engine> {
        let is_possible = devices.iter().all(|device| device.descriptor().is_some());
        if uring != Uring::Never && is_possible {
            match UringEngine::new(devices, depth) {
                Ok(engine) => return Ok(Engine::Uring(Box::new(engine))),
                Err(error) if uring == Uring::Required => return Err(error),
                Err(_) => {}
            }
        } else if uring == Uring::Required {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        ThreadEngine::new(devices, depth).map(Engine::Threads)
    }

    /// Takes a transfer on; it begins at the latest with [`Engine::start`].
    pub fn submit(&mut self, transfer: Transfer) {
        match self {
            Engine::Uring(engine) => engine.submit(transfer),
            Engine::Threads(engine) => engine.submit(transfer),
        }
    }

    /// Begins what was taken on.
    pub fn start(&mut self) {
        if let Engine::Uring(engine) = self {
            engine.start();
        }
    }

    /// Appends the transfers that have ended to `ended`.
    pub fn poll(&mut self, ended: &mut Vec<Outcome>) {
        match self {
            Engine::Uring(engine) => engine.poll(ended),
            Engine::Threads(engine) => engine.poll(ended),
        }
    }

    /// Waits until a transfer has ended that [`Engine::poll`] has not told yet; returns at once if
    /// there is none under way.
    pub fn wait(&mut self) {
        match self {
            Engine::Uring(engine) => engine.wait(),
            Engine::Threads(engine) => engine.wait(),
        }
    }

    /// Transfers taken on and not yet told of.
    pub fn in_flight(&self) -> usize {
        match self {
            Engine::Uring(engine) => engine.in_flight(),
            Engine::Threads(engine) => engine.in_flight(),
        }
    }

    /// Readable while [`Engine::poll`] has something to tell.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Engine::Uring(engine) => engine.descriptor(),
            Engine::Threads(engine) => engine.descriptor(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::FileDevice;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn transfer(direction: Direction, offset: u64, fill: u8, token: u64) -> Transfer {
        let mut buffer = Buffer::new(4096);
        buffer.fill(fill);
        Transfer {
            direction,
            device: 0,
            offset,
            buffer: Memory::Own(buffer),
            bytes: 4096,
            token,
        }
    }

    fn finish(engine: &mut Engine) -> Vec<Outcome> {
        engine.start();
        let mut ended = Vec::new();
        while engine.in_flight() > 0 {
            engine.wait();
            engine.poll(&mut ended);
        }
        ended.sort_by_key(|outcome| outcome.transfer.token);
        ended
    }

    fn what_is_written_is_read(uring: Uring) {
        let folder = tempfile::tempdir().unwrap();
        let file = FileDevice::open(folder.path().join("device"), Some(1 << 20)).unwrap();
        let devices: Devices = Arc::from([Arc::new(file) as Arc<dyn Device>]);
        // More transfers than may be at the device at once.
        let mut engine = Engine::new(&devices, 4, uring).unwrap();
        for number in 0..20 {
            engine.submit(transfer(
                Direction::Write,
                number * 4096,
                number as u8,
                number,
            ));
        }
        assert!(
            finish(&mut engine)
                .iter()
                .all(|outcome| outcome.result.is_ok())
        );
        for number in 0..20 {
            engine.submit(transfer(Direction::Read, number * 4096, 0xff, number));
        }
        let read = finish(&mut engine);
        assert_eq!(read.len(), 20);
        for (number, outcome) in read.iter().enumerate() {
            assert!(outcome.result.is_ok());
            assert!(
                outcome
                    .transfer
                    .buffer
                    .buffer()
                    .iter()
                    .all(|&byte| byte == number as u8)
            );
        }
        engine.submit(transfer(Direction::Read, 1 << 20, 0, 99));
        assert!(finish(&mut engine)[0].result.is_err(), "behind the end");
        engine.submit(transfer(Direction::Read, 0, 0, 100));
        drop(engine);
    }

    #[test]
    fn threads_move_what_they_are_given() {
        what_is_written_is_read(Uring::Never);
    }

    #[test]
    fn either_engine_moves_what_it_is_given() {
        what_is_written_is_read(Uring::IfPossible);
    }

    #[test]
    fn the_descriptor_tells_of_what_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let file = FileDevice::open(folder.path().join("device"), Some(1 << 20)).unwrap();
        let devices: Devices = Arc::from([Arc::new(file) as Arc<dyn Device>]);
        for uring in [Uring::Never, Uring::IfPossible] {
            let mut engine = Engine::new(&devices, 4, uring).unwrap();
            engine.submit(transfer(Direction::Read, 0, 0, 1));
            engine.start();
            let mut ended = Vec::new();
            while ended.is_empty() {
                let mut readable = [PollFd::from_borrowed_fd(engine.descriptor(), PollFlags::IN)];
                let timeout = Timespec {
                    tv_sec: 10,
                    tv_nsec: 0,
                };
                // What the kernel has put off interrupts the wait.
                let count = poll(&mut readable, Some(&timeout));
                assert_ne!(count, Ok(0), "nothing was told of the end");
                engine.poll(&mut ended);
            }
            assert!(ended[0].result.is_ok());
        }
    }
}
