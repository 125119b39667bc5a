//! The engine that uses io_uring.

use super::engine::{Devices, Direction, Memory, Outcome, Transfer};
use io_uring::{IoUring, opcode, types::Fd};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Most bytes that the kernel moves in one transfer.
const TRANSFER_BYTES_MAX: usize = 1 << 30;

/// A ring whose completions wait for its thread's next system call, where the kernel can do that
/// (Linux 5.19): being interrupted for each of them takes a virtual machine a sixth of a read's
/// time (docs/journal/2026-11-22-tier-reads.md).
fn new_ring(depth: u32) -> io::Result<IoUring> {
    let cooperative = IoUring::builder()
        .setup_coop_taskrun()
        .setup_taskrun_flag()
        .build(depth);
    cooperative.or_else(|_| IoUring::new(depth))
}

/// A transfer, and how far it has come.
struct Progress {
    transfer: Transfer,
    moved: usize,
}

/// A ring of its own, polled by its owner.
pub(crate) struct UringEngine {
    ring: IoUring,
    /// Keeps the descriptors open.
    _devices: Devices,
    descriptors: Vec<RawFd>,
    /// What the kernel works on, by the number it was given.
    slots: Vec<Option<Progress>>,
    vacant: Vec<usize>,
    waiting: VecDeque<Progress>,
    ended: Vec<Outcome>,
    unsubmitted: usize,
}

impl UringEngine {
    /// Sets up a ring.
    ///
    /// # Errors
    /// The kernel's, where it has none to give, and `Unsupported` for a device without a
    /// descriptor.
    pub fn new(devices: &Devices, depth: u32) -> io::Result<UringEngine> {
        let descriptors = devices
            .iter()
            .map(|device| device.descriptor().map(|descriptor| descriptor.as_raw_fd()))
            .collect::<Option<Vec<RawFd>>>()
            .ok_or(io::ErrorKind::Unsupported)?;
        let depth = depth.clamp(1, 4096);
        Ok(UringEngine {
            ring: new_ring(depth)?,
            _devices: devices.clone(),
            descriptors,
            slots: (0..depth).map(|_| None).collect(),
            vacant: (0..depth as usize).rev().collect(),
            waiting: VecDeque::new(),
            ended: Vec::new(),
            unsubmitted: 0,
        })
    }

    pub fn submit(&mut self, transfer: Transfer) {
        let is_own = matches!(transfer.buffer, Memory::Own(_));
        assert!(
            transfer.bytes <= transfer.buffer.buffer().len(),
            "the buffer has the room"
        );
        assert!(
            is_own || transfer.direction == Direction::Write,
            "only memory of one's own is read into"
        );
        self.waiting.push_back(Progress { transfer, moved: 0 });
        self.fill();
    }

    /// Gives the ring what waits, as far as there is room.
    fn fill(&mut self) {
        while !self.waiting.is_empty()
            && let Some(slot) = self.vacant.pop()
        {
            let progress = self.waiting.pop_front().expect("just looked");
            let entry = self.entry(&progress).user_data(slot as u64);
            self.slots[slot] = Some(progress);
            // SAFETY: the buffer is kept in the slot until the kernel has reported the end of this
            // entry, and longer if the ring is dropped before; the descriptor is open as long as
            // the engine.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            pushed.expect("the ring has as many places as there are slots");
            self.unsubmitted += 1;
        }
    }

    fn entry(&self, progress: &Progress) -> io_uring::squeue::Entry {
        let Progress { transfer, moved } = progress;
        let descriptor = Fd(self.descriptors[transfer.device]);
        let address = transfer.buffer.buffer().address().wrapping_add(*moved);
        let bytes = (transfer.bytes - moved).min(TRANSFER_BYTES_MAX) as u32;
        let offset = transfer.offset + *moved as u64;
        match transfer.direction {
            Direction::Read => opcode::Read::new(descriptor, address, bytes)
                .offset(offset)
                .build(),
            Direction::Write => opcode::Write::new(descriptor, address, bytes)
                .offset(offset)
                .build(),
        }
    }

    pub fn start(&mut self) {
        if self.unsubmitted > 0 {
            self.enter();
        }
    }

    /// Has the kernel take what is in the ring, and report what has ended.
    fn enter(&mut self) {
        // What a refusal leaves in the ring goes with the next call.
        if let Ok(count) = self.ring.submit() {
            self.unsubmitted -= count.min(self.unsubmitted);
        }
    }

    /// Takes note of what the kernel reports.
    fn reap(&mut self) {
        let reports: Vec<(u64, i32)> = self
            .ring
            .completion()
            .map(|report| (report.user_data(), report.result()))
            .collect();
        for (slot, result) in reports {
            let slot = slot as usize;
            if let Some(progress) = self.slots[slot].take() {
                self.vacant.push(slot);
                self.note(progress, result);
            }
        }
        self.fill();
        self.start();
    }

    fn note(&mut self, mut progress: Progress, result: i32) {
        let end = match result {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            // Interrupted or short of memory: again.
            -4 | -11 => return self.waiting.push_front(progress),
            ..0 => Err(io::Error::from_raw_os_error(-result)),
            moved => {
                progress.moved += moved as usize;
                if progress.moved < progress.transfer.bytes {
                    return self.waiting.push_front(progress);
                }
                Ok(())
            }
        };
        self.ended.push(Outcome {
            transfer: progress.transfer,
            result: end,
        });
    }

    pub fn poll(&mut self, ended: &mut Vec<Outcome>) {
        self.start();
        if self.ring.submission().taskrun() {
            self.enter();
        }
        self.reap();
        ended.append(&mut self.ended);
    }

    pub fn wait(&mut self) {
        while self.ended.is_empty() && self.in_flight() > 0 {
            if self.ring.submit_and_wait(1).is_ok() {
                self.unsubmitted = 0;
            }
            self.reap();
        }
    }

    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.vacant.len() + self.waiting.len() + self.ended.len()
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring, and with it the descriptor, is open as long as the engine is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

impl Drop for UringEngine {
    /// Waits for the kernel: it writes into buffers that are about to be freed.
    fn drop(&mut self) {
        self.waiting.clear();
        while self.slots.len() > self.vacant.len() {
            let waited = self.ring.submit_and_wait(1);
            self.reap();
            self.waiting.clear();
            let is_refused = waited.is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
            if is_refused && self.slots.len() > self.vacant.len() {
                // The ring is of no use any more: better to leak buffers than to free what the
                // kernel may write.
                self.slots.drain(..).for_each(std::mem::forget);
                return;
            }
        }
    }
}
