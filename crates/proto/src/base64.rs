//! Base64 of binary keys in the meta protocol (RFC 4648, standard alphabet).

use farcache_base::limits::KEY_BYTES_MAX;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const SKIPPED: u8 = 0x80;
const DECODED: [u8; 256] = decode_table();

const fn decode_table() -> [u8; 256] {
    let mut table = [SKIPPED; 256];
    let mut index = 0;
    while index < ALPHABET.len() {
        table[ALPHABET[index] as usize] = index as u8;
        index += 1;
    }
    table[b'=' as usize] = 0;
    table
}

/// A key decoded from base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedKey {
    bytes: [u8; KEY_BYTES_MAX],
    len: usize,
}

impl DecodedKey {
    /// The key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.len)? = byte;
        self.len += 1;
        Some(())
    }
}

/// Decodes a key. Like memcached it skips characters outside the alphabet, and refuses what is
/// left unless it fills whole groups of four with at most two of padding, and is not empty.
pub fn decode_key(encoded: &[u8]) -> Option<DecodedKey> {
    let counted = encoded
        .iter()
        .filter(|byte| DECODED[usize::from(**byte)] != SKIPPED)
        .count();
    if counted == 0 || counted % 4 != 0 {
        return None;
    }
    let mut key = DecodedKey {
        bytes: [0; KEY_BYTES_MAX],
        len: 0,
    };
    let mut group = [0u8; 4];
    let mut filled = 0;
    let mut padding = 0;
    for byte in encoded
        .iter()
        .filter(|byte| DECODED[usize::from(**byte)] != SKIPPED)
    {
        padding += usize::from(*byte == b'=');
        group[filled] = DECODED[usize::from(*byte)];
        filled += 1;
        if filled == 4 {
            filled = 0;
            decode_group(group, padding, &mut key)?;
            if padding > 0 {
                break;
            }
        }
    }
    (key.len > 0).then_some(key)
}

fn decode_group(group: [u8; 4], padding: usize, key: &mut DecodedKey) -> Option<()> {
    let bytes = [
        (group[0] << 2) | (group[1] >> 4),
        (group[1] << 4) | (group[2] >> 2),
        (group[2] << 6) | group[3],
    ];
    let kept = 3usize.checked_sub(padding).filter(|kept| *kept > 0)?;
    bytes[..kept].iter().try_for_each(|byte| key.push(*byte))
}

/// Appends the base64 of some bytes.
pub fn push_encoded(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let word = (at(0) << 16) | (at(1) << 8) | at(2);
        for position in 0..4 {
            out.push(match position <= chunk.len() {
                true => ALPHABET[(word >> (18 - 6 * position)) as usize & 63],
                false => b'=',
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_encoded(&mut out, bytes);
        out
    }

    /// The vectors of RFC 4648, section 10.
    #[test]
    fn vectors_of_the_rfc() {
        let vectors: [(&[u8], &[u8]); 6] = [
            (b"f", b"Zg=="),
            (b"fo", b"Zm8="),
            (b"foo", b"Zm9v"),
            (b"foob", b"Zm9vYg=="),
            (b"fooba", b"Zm9vYmE="),
            (b"foobar", b"Zm9vYmFy"),
        ];
        for (plain, code) in vectors {
            assert_eq!(encoded(plain), code);
            assert_eq!(decode_key(code).unwrap().as_bytes(), plain);
        }
    }

    #[test]
    fn refuses_broken_groups() {
        for bad in [&b""[..], b"Z", b"Zg=", b"Z===", b"====", b"!!!!"] {
            assert_eq!(decode_key(bad), None, "{bad:?}");
        }
        assert_eq!(decode_key(b"Zm!9v").unwrap().as_bytes(), b"foo");
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(key in proptest::collection::vec(any::<u8>(), 1..=KEY_BYTES_MAX)) {
            let decoded = decode_key(&encoded(&key)).unwrap();
            prop_assert_eq!(decoded.as_bytes(), &key[..]);
        }

        #[test]
        fn decoding_never_panics(code in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = decode_key(&code);
        }
    }
}
