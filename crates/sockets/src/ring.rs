//! Calls handed to the kernel together, and waited for.

use crate::calls::{Receiving, Sending};
use io_uring::squeue::Entry;
use io_uring::{IoUring, opcode, types::Fd};
use std::io;
use std::os::fd::AsRawFd;

/// One call of a batch.
pub(crate) enum Call<'a> {
    Receive(Receiving<'a>),
    Send(Sending<'a>),
}

impl Call<'_> {
    /// The call as the kernel reads it. It never waits for the socket.
    fn entry(&mut self) -> Entry {
        match self {
            Call::Receive(Receiving { socket, room }) => {
                let bytes = bytes_of(room.len());
                opcode::Recv::new(Fd(socket.as_raw_fd()), room.as_mut_ptr(), bytes)
                    .flags(libc::MSG_DONTWAIT)
                    .build()
            }
            Call::Send(Sending { socket, bytes }) => {
                let count = bytes_of(bytes.len());
                opcode::Send::new(Fd(socket.as_raw_fd()), bytes.as_ptr(), count)
                    .flags(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
                    .build()
            }
        }
    }
}

/// Bytes of one call; of more, the kernel is offered the first.
fn bytes_of(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// A ring in which nothing is under way outside of [`Ring::make`].
pub(crate) struct Ring {
    /// None once the kernel has refused it.
    ring: Option<IoUring>,
    calls_max: usize,
}

impl Ring {
    /// Sets up a ring for `calls_max` calls at once.
    pub fn new(calls_max: u32) -> io::Result<Ring> {
        Ok(Ring {
            ring: Some(IoUring::new(calls_max)?),
            calls_max: calls_max as usize,
        })
    }

    /// Whether the kernel still takes calls.
    pub fn is_usable(&self) -> bool {
        self.ring.is_some()
    }

    /// Makes the calls and appends their results, in their order.
    pub fn make<'a>(
        &mut self,
        calls: impl Iterator<Item = Call<'a>>,
        results: &mut Vec<io::Result<usize>>,
    ) {
        let mut calls = calls.peekable();
        while calls.peek().is_some() {
            // If `calls` panics, the ring goes, with what nobody has read of it.
            let ring = self.ring.take();
            let part = calls.by_ref().take(self.calls_max);
            let Some(mut ring) = ring else {
                results.extend(part.map(|_| Err(not_made())));
                continue;
            };
            let first = results.len();
            queue(&mut ring, part, results);
            if finish(&mut ring, results.len() - first, results) {
                self.ring = Some(ring);
            }
        }
    }
}

/// Puts calls into an empty ring, with a place for the result of each.
fn queue<'a>(
    ring: &mut IoUring,
    calls: impl Iterator<Item = Call<'a>>,
    results: &mut Vec<io::Result<usize>>,
) {
    let mut queue = ring.submission();
    for mut call in calls {
        let entry = call.entry().user_data(results.len() as u64);
        results.push(Err(not_made()));
        // SAFETY: the socket and the buffer are borrowed for longer than `Ring::make` runs, which
        // does not return before the kernel has reported the end of each entry that it has read,
        // and which drops the ring if it leaves entries unread.
        let pushed = unsafe { queue.push(&entry) };
        pushed.expect("the ring was empty and has room for so many");
    }
}

/// Has the kernel make `count` queued calls, and collects their results; false if it refuses.
fn finish(ring: &mut IoUring, count: usize, results: &mut [io::Result<usize>]) -> bool {
    let (mut submitted, mut ended) = (0, 0);
    while ended < count {
        match ring.submit_and_wait(count - ended) {
            Ok(taken) => submitted += taken,
            Err(error) if is_passing(&error) => {}
            Err(_) if submitted == ended => return false,
            // What the kernel has, it ends by itself: none of the calls waits for anything.
            Err(_) => std::hint::spin_loop(),
        }
        ended += collect(ring, results);
    }
    true
}

fn collect(ring: &mut IoUring, results: &mut [io::Result<usize>]) -> usize {
    let mut count = 0;
    for report in ring.completion() {
        results[report.user_data() as usize] = match report.result() {
            error @ ..0 => Err(io::Error::from_raw_os_error(-error)),
            bytes => Ok(bytes as usize),
        };
        count += 1;
    }
    count
}

/// The result of a call that nobody made: as if the socket had not been ready.
fn not_made() -> io::Error {
    io::ErrorKind::WouldBlock.into()
}

/// Whether the same call may be taken next time.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)
    )
}
