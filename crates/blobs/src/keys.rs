//! Under which keys the parts of a blob stand.

use crate::{Error, WriteId};

/// Longest name of a blob, in bytes.
pub const NAME_BYTES_MAX: usize = 200;

/// The key of a chunk at its first place, or at a later one, to which other servers belong. The
/// place stands in front: what follows it mixes the hash.
pub fn chunk_key(write: WriteId, index: u64, place: u32) -> String {
    match place {
        0 => format!("chunk:{write}:{index}"),
        later => format!("chunk:{later}:{write}:{index}"),
    }
}

/// The key of a manifest.
///
/// # Errors
/// [`Error::InvalidName`]: every protocol must be able to say it.
pub fn manifest_key(name: &str) -> Result<String, Error> {
    let is_plain = |byte: u8| byte > b' ' && byte != 0x7f;
    match (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain) {
        true => Ok(format!("blob:{name}")),
        false => Err(Error::InvalidName(name.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_these() {
        let write = WriteId(*b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\xff");
        let key = chunk_key(write, 17, 0);
        assert_eq!(key, "chunk:000102030405060708090a0b0c0d0eff:17");
        let later = chunk_key(write, 17, 2);
        assert_eq!(later, "chunk:2:000102030405060708090a0b0c0d0eff:17");
        assert!(chunk_key(write, u64::MAX, u32::MAX).len() < 250);
        assert_eq!(manifest_key("a/b").unwrap(), "blob:a/b");
    }

    #[test]
    fn names_that_a_protocol_cannot_say_are_refused() {
        let longest = "n".repeat(NAME_BYTES_MAX);
        assert!(manifest_key(&longest).is_ok() && manifest_key("n\u{e9}").is_ok());
        let too_long = "n".repeat(NAME_BYTES_MAX + 1);
        for name in ["", " ", "a b", "a\n", "\u{7f}", &too_long] {
            let refused = Error::InvalidName(name.into());
            assert_eq!(manifest_key(name), Err(refused));
        }
    }
}
