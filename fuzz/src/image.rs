//! Devices with a few segments, changed at will.

use farcache_store::{
    Device, EngineChoice, FaultyDevice, KeyArcs, KeyHash, SetOptions, Store, StoreConfig,
    TierConfig,
};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const SEGMENT_BYTES: usize = 64 << 10;
const HEADER_BYTES: usize = 128;
/// The two places of the note, and how long each is.
const NOTES: [usize; 2] = [16 << 10, 40 << 10];
const NOTE_BYTES: usize = 24 << 10;
/// Keys of the items, from 0 on, in four bytes each.
pub const KEYS: u32 = 40;

/// The store over a device.
#[allow(dead_code, reason = "not every target opens a store")]
pub fn open(device: &Arc<FaultyDevice>) -> Option<Arc<Store>> {
    let config = StoreConfig {
        memory_bytes: 1 << 20,
        segment_bytes: SEGMENT_BYTES as u32,
        huge_pages: false,
        // Each of the keys has a place of its own on the ring of hashes.
        key_hash: Some(KeyHash(|_, key| {
            key.first().map_or(0, |&byte| u32::from(byte) << 24)
        })),
        ..StoreConfig::default()
    };
    let tier = TierConfig {
        segment_bytes: SEGMENT_BYTES as u32,
        engine: EngineChoice::Threads,
        read_buffer_bytes: 1 << 20,
        ..TierConfig::new(vec![Arc::clone(device) as Arc<dyn Device>])
    };
    Store::open(config, tier).ok()
}

/// A device with a few segments, one of them overwritten in part.
fn template() -> &'static [u8] {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let device = Arc::new(FaultyDevice::new(16 * SEGMENT_BYTES as u64));
        for round in 0..2 {
            let store = open(&device).expect("a new device is in order");
            let handle = store.handle();
            for number in (0..KEYS).step_by(1 + round) {
                let value = vec![round as u8; 2500];
                let _ = handle.set(&number.to_le_bytes(), &value, &SetOptions::default());
            }
            drop(handle);
            let arcs = vec![(0, 3 << 24), (9 << 24, 9 << 24)];
            store.fence(KeyArcs { hash: 0, arcs });
            store.note_tenure(b"mine").expect("the device takes it");
            store.shutdown(Duration::from_secs(5));
        }
        device.contents()
    })
}

fn checksum_at(bytes: &mut [u8], place: usize, checksum: u32) {
    bytes[place..place + 4].copy_from_slice(&checksum.to_le_bytes());
}

/// Makes the checksums of a note right: of what follows its block, as long as that says, and of the
/// block.
fn mend_note(note: &mut [u8]) {
    let length = u32::from_le_bytes(note[12..16].try_into().expect("4 bytes")) as usize;
    if let Some(payload) = note[HEADER_BYTES..].get(..length) {
        let checksum = crc32c::crc32c(payload);
        checksum_at(note, 48, checksum);
    }
    let checksum = crc32c::crc32c(&note[..HEADER_BYTES - 4]);
    checksum_at(note, HEADER_BYTES - 4, checksum);
}

/// Makes the checksums of superblocks, notes, headers and tables right.
fn mend(bytes: &mut [u8]) {
    for superblock in [0, 4096] {
        let checksum = crc32c::crc32c(&bytes[superblock..superblock + 124]);
        checksum_at(bytes, superblock + 124, checksum);
    }
    for note in NOTES {
        mend_note(&mut bytes[note..note + NOTE_BYTES]);
    }
    for segment in bytes.chunks_exact_mut(SEGMENT_BYTES).skip(1) {
        let number = |at: usize| {
            u32::from_le_bytes(segment[at..at + 4].try_into().expect("4 bytes")) as usize
        };
        let (items, tombstones, start, echoes) = (number(72), number(76), number(80), number(92));
        let table = items
            .saturating_mul(24)
            .saturating_add(tombstones.saturating_add(echoes).saturating_mul(16));
        if let Some(table) = segment.get(start..start.saturating_add(table)) {
            let checksum = crc32c::crc32c(table);
            checksum_at(segment, 88, checksum);
        }
        let checksum = crc32c::crc32c(&segment[..HEADER_BYTES - 4]);
        checksum_at(segment, HEADER_BYTES - 4, checksum);
    }
}

/// The device that an input stands for: a byte that says whether checksums are made right, then
/// changes of four bytes each. None for an empty input.
pub fn changed(input: &[u8]) -> Option<FaultyDevice> {
    let (&mends, edits) = input.split_first()?;
    let mut bytes = template().to_vec();
    for edit in edits.chunks_exact(4).take(64) {
        // Slot, place in it (headers and tables lie at its ends), new byte.
        let slot = usize::from(edit[0]) % 16 * SEGMENT_BYTES;
        let place = usize::from(u16::from_le_bytes([edit[1], edit[2]]));
        bytes[slot + place] = edit[3];
    }
    if mends % 2 == 1 {
        mend(&mut bytes);
    }
    Some(FaultyDevice::with_contents(bytes))
}
