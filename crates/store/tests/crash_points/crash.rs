//! What a crash leaves on the devices.

use crate::device::{BLOCK_BYTES, Entry};
use crate::image::Image;
use crate::random::Random;
use std::sync::Arc;

/// A write that is not known to be durable.
#[derive(Clone)]
pub struct Pending {
    pub device: usize,
    pub offset: u64,
    pub data: Arc<[u8]>,
    pub completed: usize,
}

/// What is on the devices at a moment: what is durable, and what a power loss may still take away
/// again.
#[derive(Clone)]
pub struct Contents {
    pub durable: Vec<Image>,
    pub pending: Vec<Pending>,
}

/// What becomes of writes that are not durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The process is gone, the machine goes on: what had been written stays, and is not durable
    /// yet.
    Kill,
    /// None of them arrived.
    All,
    /// All of them arrived.
    Nothing,
    /// Any of them, each as a whole.
    Writes,
    /// Any blocks of them.
    Blocks,
    /// All on some devices, none on the others.
    Devices,
}

impl Contents {
    pub fn new(durable: Vec<Image>) -> Contents {
        Contents {
            durable,
            pending: Vec::new(),
        }
    }

    /// What a reader finds.
    pub fn visible(&self) -> Vec<Image> {
        let mut images = self.durable.clone();
        for write in &self.pending {
            images[write.device].write(&write.data, write.offset);
        }
        images
    }

    /// Goes on by one entry, the one with this number.
    pub fn advance(&mut self, entry: &Entry) {
        match entry {
            Entry::Write {
                device,
                offset,
                data,
                completed,
            } => self.pending.push(Pending {
                device: *device,
                offset: *offset,
                data: Arc::clone(data),
                completed: *completed,
            }),
            Entry::SyncEnded { device, begun } => {
                let durable = &mut self.durable[*device];
                self.pending.retain(|write| {
                    let is_synced = write.device == *device && write.completed <= *begun;
                    if is_synced {
                        durable.write(&write.data, write.offset);
                    }
                    !is_synced
                });
            }
            Entry::SyncBegun | Entry::Gone => {}
        }
    }

    /// The ways to lose something now that differ from one another.
    pub fn losses(&self) -> &'static [Loss] {
        use Loss::*;
        match self.pending.len() {
            0 => &[Kill],
            1 => &[Kill, All, Nothing, Blocks],
            _ => &[Kill, All, Nothing, Writes, Blocks, Blocks, Devices],
        }
    }

    /// What a crash after so many entries leaves.
    pub fn crash(&self, position: usize, loss: Loss, random: &mut Random) -> Contents {
        let mut left = Contents::new(self.durable.clone());
        let keeps: Vec<bool> = self.durable.iter().map(|_| random.once_in(2)).collect();
        for write in &self.pending {
            let is_under_way = write.completed > position;
            match loss {
                Loss::Kill if is_under_way => left.keep_blocks(write, random),
                Loss::Kill | Loss::Nothing => left.pending.push(write.clone()),
                Loss::All => {}
                Loss::Devices if keeps[write.device] => left.pending.push(write.clone()),
                Loss::Devices => {}
                Loss::Writes if random.once_in(2) => left.pending.push(write.clone()),
                Loss::Writes => {}
                Loss::Blocks => left.keep_blocks(write, random),
            }
        }
        if loss != Loss::Kill {
            left = Contents::new(left.visible());
        }
        left.pending.iter_mut().for_each(|one| one.completed = 0);
        left
    }

    /// Keeps any part of a write: mostly its front, or some blocks, or all but some.
    fn keep_blocks(&mut self, write: &Pending, random: &mut Random) {
        let blocks = write.data.len().div_ceil(BLOCK_BYTES) as u64;
        let front = random.below(blocks + 1);
        let kind = random.below(4);
        for block in 0..blocks {
            let arrives = match kind {
                0 => block < front,
                1 => block >= front,
                2 => random.once_in(2),
                _ => !random.once_in(blocks),
            };
            if arrives {
                let start = block as usize * BLOCK_BYTES;
                let end = (start + BLOCK_BYTES).min(write.data.len());
                self.pending.push(Pending {
                    device: write.device,
                    offset: write.offset + start as u64,
                    data: write.data[start..end].into(),
                    completed: 0,
                });
            }
        }
    }
}
