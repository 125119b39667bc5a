//! Values: their sizes, and bytes that tell which key they belong to.

use super::keys::{KeyId, hex_digits, parse_hex_digits};
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

/// Values start at one of this many places of the pattern.
const PATTERN_STARTS: usize = 4096;

/// Bytes of the key's number at the front of every value long enough.
const ID_BYTES: usize = 8;

/// Size in bytes of the value of each key: fixed, or uniform over a range and always the same for
/// the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueSizes {
    /// Smallest value.
    pub bytes_min: usize,
    /// Largest value.
    pub bytes_max: usize,
}

impl ValueSizes {
    /// Every value has this many bytes.
    pub fn fixed(bytes: usize) -> Self {
        ValueSizes {
            bytes_min: bytes,
            bytes_max: bytes,
        }
    }

    /// Size of the key's value.
    pub fn of(&self, id: KeyId) -> usize {
        let span = (self.bytes_max - self.bytes_min + 1) as u64;
        self.bytes_min + (((mix(id) >> 32) * span) >> 32) as usize
    }

    /// Mean size over all keys.
    pub fn mean_bytes(&self) -> f64 {
        (self.bytes_min + self.bytes_max) as f64 / 2.0
    }
}

impl std::str::FromStr for ValueSizes {
    type Err = String;

    /// `64`, or `64-1024`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let number = |part: &str| {
            part.parse::<usize>()
                .map_err(|error| format!("{part}: {error}"))
        };
        let sizes = ValueSizes {
            bytes_min: number(low)?,
            bytes_max: number(high)?,
        };
        if sizes.bytes_min > sizes.bytes_max || sizes.bytes_max > u32::MAX as usize {
            return Err(format!("not a range of sizes: {text}"));
        }
        Ok(sizes)
    }
}

/// Spreads a key's number over 64 bits (the finalizer of SplitMix64).
pub fn mix(id: KeyId) -> u64 {
    let mut bits = u64::from(id).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Makes and checks values: the key's number, then bytes of a random pattern from a place that
/// the number fixes.
#[derive(Clone, Debug)]
pub struct Values {
    sizes: ValueSizes,
    pattern: Vec<u8>,
}

impl Values {
    /// Values of these sizes.
    pub fn new(sizes: ValueSizes) -> Self {
        let mut pattern = vec![0; PATTERN_STARTS + sizes.bytes_max];
        SmallRng::seed_from_u64(0x00FA_0CAC).fill_bytes(&mut pattern);
        Values { sizes, pattern }
    }

    /// Their sizes.
    pub fn sizes(&self) -> ValueSizes {
        self.sizes
    }

    /// Appends the key's value.
    pub fn push(&self, id: KeyId, buffer: &mut Vec<u8>) {
        let bytes = self.sizes.of(id);
        let head = hex_digits(id);
        let head = &head[..ID_BYTES.min(bytes)];
        buffer.extend_from_slice(head);
        buffer.extend_from_slice(self.tail(id, bytes - head.len()));
    }

    /// Which key's value this is; `None` if it is not whole and exact.
    pub fn identify(&self, value: &[u8]) -> Option<KeyId> {
        let id = parse_hex_digits(value)?;
        self.matches(id, value).then_some(id)
    }

    /// Whether this is the key's value, byte by byte.
    pub fn matches(&self, id: KeyId, value: &[u8]) -> bool {
        let head = ID_BYTES.min(value.len());
        value.len() == self.sizes.of(id)
            && value[..head] == hex_digits(id)[..head]
            && value[head..] == *self.tail(id, value.len() - head)
    }

    fn tail(&self, id: KeyId, bytes: usize) -> &[u8] {
        let start = mix(id) as usize % PATTERN_STARTS;
        &self.pattern[start..start + bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse() {
        assert_eq!("64".parse(), Ok(ValueSizes::fixed(64)));
        assert_eq!(
            "1-9".parse(),
            Ok(ValueSizes {
                bytes_min: 1,
                bytes_max: 9
            })
        );
        assert!("9-1".parse::<ValueSizes>().is_err());
        assert!("x".parse::<ValueSizes>().is_err());
    }

    #[test]
    fn sizes_cover_the_range_and_stay() {
        let sizes = ValueSizes {
            bytes_min: 10,
            bytes_max: 13,
        };
        let mut seen = [false; 4];
        for id in 0..1000 {
            seen[sizes.of(id) - 10] = true;
            assert_eq!(sizes.of(id), sizes.of(id));
        }
        assert_eq!(seen, [true; 4]);
    }

    #[test]
    fn a_value_names_its_key_and_any_changed_byte_shows() {
        let values = Values::new(ValueSizes {
            bytes_min: 8,
            bytes_max: 200,
        });
        for id in 0..200 {
            let mut value = Vec::new();
            values.push(id, &mut value);
            assert_eq!(values.identify(&value), Some(id));
            for position in 0..value.len() {
                value[position] ^= 1;
                assert_ne!(values.identify(&value), Some(id));
                value[position] ^= 1;
            }
            value.push(0);
            assert_eq!(values.identify(&value), None);
        }
    }

    #[test]
    fn short_values_match_their_key() {
        let values = Values::new(ValueSizes::fixed(3));
        let mut value = Vec::new();
        values.push(7, &mut value);
        assert!(values.matches(7, &value));
        assert_eq!(value, b"000");
    }
}
