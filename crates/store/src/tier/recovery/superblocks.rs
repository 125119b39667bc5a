//! Which store the devices belong to, and making them this process's.

use crate::device::{BUFFER_ALIGNMENT, Buffer, Device};
use crate::tier::format::{SUPERBLOCK_COPIES, Superblock};
use crate::tier::options::TierEventKind;
use crate::tier::{Tier, TierConfig};
use std::hash::{BuildHasher, RandomState};
use std::io;

/// What the superblocks say.
pub(crate) struct Found {
    /// The store's, with the generation that begins now.
    pub superblock: Superblock,
    /// Devices that hold segments of this store.
    has_segments: Vec<bool>,
    /// Devices that held something that is of no use.
    was_formatted: Vec<bool>,
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

impl Found {
    /// Seed of the index's hash.
    pub fn index_seed(&self) -> u64 {
        self.superblock.index_seed
    }

    /// Reads the superblocks.
    ///
    /// # Errors
    /// The devices', and `InvalidInput` for devices that are too small or do not belong together.
    pub fn look(config: &TierConfig) -> io::Result<Found> {
        if config.devices.is_empty() {
            return Err(invalid("a tier needs a device".into()));
        }
        let superblocks = config
            .devices
            .iter()
            .map(|device| read_superblock(device.as_ref()))
            .collect::<io::Result<Vec<_>>>()?;
        let present = || superblocks.iter().flatten();
        let newest = present().max_by_key(|one| (one.generation, one.watermark));
        let mut superblock = newest.copied().unwrap_or_else(|| blank(config));
        if present().any(|one| one.store_id != superblock.store_id) {
            let message =
                "the devices hold data of different stores: clear those that are to be used anew";
            return Err(invalid(message.into()));
        }
        check_sizes(config, superblock.segment_bytes)?;
        let is_current = |one: &Option<Superblock>| {
            one.is_some_and(|one| one.generation == superblock.generation)
        };
        let has_segments: Vec<bool> = superblocks.iter().map(is_current).collect();
        let was_formatted = superblocks
            .iter()
            .map(|one| one.is_some() && !is_current(one))
            .collect();
        superblock.generation += 1;
        Ok(Found {
            superblock,
            has_segments,
            was_formatted,
        })
    }

    /// The devices that hold segments of this store.
    pub(super) fn devices(&self) -> Vec<usize> {
        let devices = 0..self.has_segments.len();
        devices.filter(|&one| self.has_segments[one]).collect()
    }

    /// Makes the devices this process's: from now on those that are missing have missed something.
    pub(super) fn claim(&self, tier: &Tier, flush_floor: u64) -> io::Result<()> {
        let superblock = Superblock {
            flush_floor,
            ..self.superblock
        };
        for (number, device) in tier.devices.iter().enumerate() {
            device.sync()?;
            if self.was_formatted[number] {
                let why = "it missed what the others have seen";
                tier.events
                    .tell(TierEventKind::Formatted, &device.name(), why);
            }
            write_superblock(device.as_ref(), &superblock)?;
        }
        Ok(())
    }
}

fn check_sizes(config: &TierConfig, segment_bytes: u32) -> io::Result<()> {
    let is_possible =
        segment_bytes.is_power_of_two() && (64 << 10..=4 << 20).contains(&segment_bytes);
    if !is_possible {
        return Err(invalid(format!(
            "segments of {segment_bytes} bytes cannot be"
        )));
    }
    for device in &config.devices {
        if device.bytes() < 16 * u64::from(segment_bytes) {
            let name = device.name();
            return Err(invalid(format!(
                "{name} must have room for 16 segments of {segment_bytes} bytes"
            )));
        }
    }
    Ok(())
}

fn blank(config: &TierConfig) -> Superblock {
    let random = |what: &str| RandomState::new().hash_one(what);
    let mut store_id = [0; 16];
    store_id[..8].copy_from_slice(&random("store").to_le_bytes());
    store_id[8..].copy_from_slice(&random("id").to_le_bytes());
    Superblock {
        segment_bytes: config.segment_bytes,
        store_id,
        index_seed: random("index"),
        fingerprint_seed: random("fingerprint"),
        generation: 0,
        device_bytes: 0,
        flush_floor: 0,
        watermark: 0,
    }
}

fn read_superblock(device: &dyn Device) -> io::Result<Option<Superblock>> {
    let mut buffer = Buffer::new(BUFFER_ALIGNMENT);
    let mut copies = Vec::new();
    for offset in SUPERBLOCK_COPIES {
        device.read_at(&mut buffer, offset)?;
        copies.extend(Superblock::decode(&buffer));
    }
    let age = |copy: &Superblock| (copy.generation, copy.watermark);
    Ok(copies.into_iter().max_by_key(age))
}

/// Writes both copies, one after the other, so that one is whole whatever happens.
pub(in crate::tier) fn write_superblock(
    device: &dyn Device,
    superblock: &Superblock,
) -> io::Result<()> {
    let mut buffer = Buffer::new(BUFFER_ALIGNMENT);
    let own = Superblock {
        device_bytes: device.bytes(),
        ..*superblock
    };
    own.encode(&mut buffer);
    for offset in SUPERBLOCK_COPIES {
        device.write_at(&buffer, offset)?;
        device.sync()?;
    }
    Ok(())
}
