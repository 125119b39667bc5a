//! What each key may hold, and values whose bytes tell which write they are of.

use std::ops::Range;

/// What a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// No value.
    Nothing,
    /// The value of the write of this number.
    Value(u32),
}

/// What is known of a key.
#[derive(Clone, Debug)]
pub struct Entry {
    acknowledged: Content,
    /// Writes since then whose end nobody was told.
    unknown: Vec<Content>,
}

impl Default for Entry {
    fn default() -> Entry {
        Entry {
            acknowledged: Content::Nothing,
            unknown: Vec::new(),
        }
    }
}

impl Entry {
    /// A write was acknowledged.
    pub fn acknowledge(&mut self, content: Content) {
        self.acknowledged = content;
        self.unknown.clear();
    }

    /// A write may have taken effect, or may take effect yet.
    pub fn leave_open(&mut self, content: Content) {
        self.unknown.push(content);
    }

    /// Whether a read may show this.
    pub fn allows(&self, content: Content) -> bool {
        self.acknowledged == content || self.unknown.contains(&content)
    }

    /// For people who look for what went wrong.
    pub fn wanted(&self) -> String {
        format!("{:?}, or one of {:?}", self.acknowledged, self.unknown)
    }
}

/// Lengths of values, and how many of 20 have them: below and above what `ec` makes shards of.
const LENGTHS: [(u64, Range<u64>); 4] = [
    (6, 100..2_000),
    (4, 2_000..4_096),
    (9, 4_096..100_000),
    (1, 300_000..1_000_000),
];

const HEAD_BYTES: usize = 16;

fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (number ^ (number >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn seed(key: usize, number: u32) -> u64 {
    mix((key as u64) << 32 | u64::from(number))
}

/// The length of the value of a write.
pub fn length(key: usize, number: u32) -> usize {
    let seed = seed(key, number);
    let mut dice = (seed >> 8) % 20;
    for (count, range) in LENGTHS {
        if dice < count {
            return (range.start + (seed >> 20) % (range.end - range.start)) as usize;
        }
        dice -= count;
    }
    HEAD_BYTES
}

/// The value of a write.
pub fn value(key: usize, number: u32) -> Vec<u8> {
    let length = length(key, number);
    let seed = seed(key, number);
    let mut bytes = Vec::with_capacity(length + 8);
    bytes.extend((key as u64).to_le_bytes());
    bytes.extend(u64::from(number).to_le_bytes());
    let mut at = 0;
    while bytes.len() < length {
        at += 1;
        bytes.extend(
            (seed ^ at)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .to_le_bytes(),
        );
    }
    bytes.truncate(length);
    bytes
}

/// Which write of the key these bytes are of.
///
/// # Errors
/// They are of none.
pub fn read(key: usize, bytes: &[u8]) -> Result<u32, String> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let number = word(8).and_then(|number| u32::try_from(number).ok());
    let number = number.filter(|_| word(0) == Some(key as u64));
    let number = number.ok_or_else(|| format!("{} bytes of no write", bytes.len()))?;
    match bytes == value(key, number) {
        true => Ok(number),
        false => Err(format!("{} bytes, not those of {number}", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_tell_whose_they_are() {
        let one = value(7, 1);
        assert_eq!(one.len(), length(7, 1));
        assert_eq!(read(7, &one), Ok(1));
        assert!(read(8, &one).is_err(), "another key's");
        let mut damaged = one.clone();
        *damaged.last_mut().expect("bytes") ^= 1;
        assert!(read(7, &damaged).is_err());
        assert!(read(7, &one[..one.len() - 1]).is_err());
        assert!(read(7, b"").is_err());
    }

    #[test]
    fn lengths_are_on_both_sides_of_the_threshold() {
        let large = (0..1000).filter(|key| length(*key, 1) >= 4 << 10).count();
        assert!((400..600).contains(&large), "{large}");
    }

    #[test]
    fn what_is_unknown_may_be_there_or_not() {
        let mut entry = Entry::default();
        entry.acknowledge(Content::Value(1));
        entry.leave_open(Content::Value(2));
        assert!(entry.allows(Content::Value(1)) && entry.allows(Content::Value(2)));
        assert!(!entry.allows(Content::Nothing));
        entry.acknowledge(Content::Nothing);
        assert!(entry.allows(Content::Nothing) && !entry.allows(Content::Value(1)));
    }
}
