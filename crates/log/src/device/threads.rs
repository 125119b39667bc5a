//! The engine for devices or kernels without io_uring: a few threads that read and write.

use super::engine::{Devices, Direction, Memory, Outcome, Transfer};
use crate::schedule::thread;
use crate::schedule::thread::JoinHandle;
use crate::schedule::{Condvar, Mutex, MutexGuard};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Most threads of one engine.
const THREADS_MAX: u32 = 4;

#[derive(Default)]
struct State {
    waiting: std::collections::VecDeque<Transfer>,
    ended: Vec<Outcome>,
    stop: bool,
}

struct Shared {
    state: Mutex<State>,
    work: Condvar,
    done: Condvar,
    /// Readable while something has ended.
    event: OwnedFd,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

/// Threads that carry transfers out; they end when it is dropped.
pub(crate) struct ThreadEngine {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    in_flight: usize,
}

impl ThreadEngine {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system's.
    pub fn new(devices: &Devices, depth: u32) -> io::Result<ThreadEngine> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        });
        let mut engine = ThreadEngine {
            shared,
            threads: Vec::new(),
            in_flight: 0,
        };
        for _ in 0..depth.clamp(1, THREADS_MAX) {
            let (shared, devices) = (Arc::clone(&engine.shared), Arc::clone(devices));
            let thread = thread::Builder::new()
                .name("farcache-device".into())
                .spawn(move || carry_out(&shared, &devices))?;
            engine.threads.push(thread);
        }
        Ok(engine)
    }

    pub fn submit(&mut self, transfer: Transfer) {
        self.in_flight += 1;
        self.shared.state().waiting.push_back(transfer);
        self.shared.work.notify_one();
    }

    pub fn poll(&mut self, ended: &mut Vec<Outcome>) {
        let mut state = self.shared.state();
        self.in_flight -= state.ended.len();
        ended.append(&mut state.ended);
        // Under the lock, so that no later end is taken for one told already.
        let _ = rustix::io::read(&self.shared.event, &mut [0; 8]);
    }

    pub fn wait(&mut self) {
        if self.in_flight == 0 {
            return;
        }
        let state = self.shared.state();
        let waited = self
            .shared
            .done
            .wait_while(state, |state| state.ended.is_empty());
        drop(waited.expect("no holder panics"));
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.event.as_fd()
    }
}

impl Drop for ThreadEngine {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.stop = true;
        state.waiting.clear();
        drop(state);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A panic there has been reported by the runtime already.
            let _ = thread.join();
        }
    }
}

fn carry_out(shared: &Shared, devices: &Devices) {
    while let Some(mut transfer) = next(shared) {
        let device = &devices[transfer.device];
        let (bytes, offset) = (transfer.bytes, transfer.offset);
        let result = match (transfer.direction, &mut transfer.buffer) {
            (Direction::Write, memory) => device.write_at(&memory.buffer()[..bytes], offset),
            (Direction::Read, Memory::Own(buffer)) => device.read_at(&mut buffer[..bytes], offset),
            (Direction::Read, Memory::Shared(_)) => Err(io::ErrorKind::InvalidInput.into()),
        };
        let mut state = shared.state();
        state.ended.push(Outcome { transfer, result });
        // It cannot fail but by overflow, and then it is readable anyway.
        let _ = rustix::io::write(&shared.event, &1u64.to_ne_bytes());
        drop(state);
        shared.done.notify_one();
    }
}

fn next(shared: &Shared) -> Option<Transfer> {
    let waits = |state: &mut State| state.waiting.is_empty() && !state.stop;
    let state = shared.work.wait_while(shared.state(), waits);
    state.expect("no holder panics").waiting.pop_front()
}
