//! What each client does, as a function of the seed.

/// Clients, each with keys of its own, so that the order of a key's changes is its client's.
pub const CLIENTS: usize = 32;

/// Keys of one client.
pub const KEYS: u32 = 40;

/// Bytes of the longest small value.
const SMALL_BYTES_MAX: u64 = 6000;

/// Bytes of a large value: several segments of 64 KiB, or a large part of one of 1 MiB.
const LARGE_BYTES: u64 = 300_000;

/// What an operation does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Stores a value of so many bytes.
    Set(usize),
    /// Deletes the item.
    Delete,
}

/// One operation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Number of the key among the client's.
    pub key: u32,
    /// What happens to it.
    pub change: Change,
}

/// The operations of one life of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// Number of the life, from 1.
    pub life: u32,
    /// Seed of the choices.
    pub seed: u64,
}

/// SplitMix64's finalizer (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
/// 2014).
fn mix(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl History {
    fn random(&self, client: usize, index: u32, purpose: u64) -> u64 {
        let own = mix(self.seed ^ mix(u64::from(self.life) << 32 | client as u64));
        mix(own ^ mix(u64::from(index) << 3 | purpose))
    }

    /// The operation of a client that has this index. The first ones store each of its keys once.
    pub fn operation(&self, client: usize, index: u32) -> Operation {
        let random = |purpose, below| self.random(client, index, purpose) % below;
        if index < KEYS {
            return Operation {
                key: index,
                change: self.set(client, index),
            };
        }
        // Sometimes everything is deleted, one key after the other: tombstones come in crowds.
        let round = index / KEYS;
        let is_sweep = self.random(client, round, 3).is_multiple_of(16);
        let key = if is_sweep {
            index % KEYS
        } else {
            random(0, u64::from(KEYS)) as u32
        };
        let change = if is_sweep || random(1, 5) == 0 {
            Change::Delete
        } else {
            self.set(client, index)
        };
        Operation { key, change }
    }

    fn set(&self, client: usize, index: u32) -> Change {
        let random = self.random(client, index, 2);
        let bytes = match random % 200 {
            0 => LARGE_BYTES,
            _ => 40 + (random >> 8) % SMALL_BYTES_MAX,
        };
        Change::Set(bytes as usize)
    }

    /// The name of a key.
    pub fn key_name(client: usize, key: u32) -> String {
        format!("c{client}k{key}")
    }

    /// The value that an operation stores: it names its operation, and every byte depends on that.
    pub fn value(&self, client: usize, index: u32, bytes: usize) -> Vec<u8> {
        let mut value = format!("{}:{client}:{index}:", self.life).into_bytes();
        let mut state = self.random(client, index, 4);
        while value.len() < bytes {
            state = mix(state);
            value.extend_from_slice(&state.to_le_bytes());
        }
        value.truncate(bytes.max(24));
        value
    }

    /// Life and index that a value names.
    pub fn named_by(value: &[u8]) -> Option<(u32, u32)> {
        // The bytes behind the third colon are no text.
        let start = &value[..value.len().min(48)];
        let text = std::str::from_utf8(start.split(|&byte| byte > 127).next()?).ok()?;
        let mut parts = text.split(':');
        let life = parts.next()?.parse().ok()?;
        parts.next()?;
        Some((life, parts.next()?.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HISTORY: History = History { life: 3, seed: 9 };

    #[test]
    fn every_key_is_stored_before_anything_else_happens() {
        for index in 0..KEYS {
            let operation = HISTORY.operation(5, index);
            assert_eq!(operation.key, index);
            assert!(matches!(operation.change, Change::Set(_)));
        }
    }

    #[test]
    fn a_value_names_its_operation_and_differs_from_all_others() {
        let value = HISTORY.value(5, 77, 100);
        assert_eq!(value.len(), 100);
        assert_eq!(History::named_by(&value), Some((3, 77)));
        assert_ne!(value, HISTORY.value(5, 78, 100));
        assert_ne!(value, HISTORY.value(6, 77, 100));
        let other = History { life: 3, seed: 10 };
        assert_ne!(value, other.value(5, 77, 100));
        assert_eq!(History::named_by(b"garbage"), None);
        assert_eq!(History::named_by(b""), None);
    }

    #[test]
    fn sets_deletes_and_large_values_all_occur() {
        let changes: Vec<Change> = (0..20_000)
            .map(|index| HISTORY.operation(0, index).change)
            .collect();
        assert!(changes.contains(&Change::Delete));
        assert!(changes.contains(&Change::Set(LARGE_BYTES as usize)));
    }
}
