//! The meta commands: `mg`, `ms`, `md`, `ma`, `mn` and `me`.
//! Source: memcached `doc/protocol.txt`, "Meta Commands".

mod flags;
mod read;

pub use flags::{FlagError, Flags, Letter, OPAQUE_BYTES_MAX, TOKENS_MAX};
pub use read::PlainRead;

/// What a meta set does with the present item (the `M` flag).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreMode {
    /// `S`: store always.
    #[default]
    Set,
    /// `E`: only where the key is absent.
    Add,
    /// `A`: behind the present value.
    Append,
    /// `P`: before the present value.
    Prepend,
    /// `R`: only where the key is present.
    Replace,
}

impl StoreMode {
    /// The mode that a letter of the `M` flag names; none of it is the default.
    pub fn from_letter(letter: Option<u8>) -> Option<Self> {
        match letter {
            None => Some(StoreMode::Set),
            Some(b'S') => Some(StoreMode::Set),
            Some(b'E') => Some(StoreMode::Add),
            Some(b'A') => Some(StoreMode::Append),
            Some(b'P') => Some(StoreMode::Prepend),
            Some(b'R') => Some(StoreMode::Replace),
            Some(_) => None,
        }
    }
}

/// Whether the letter of a meta arithmetic's `M` flag asks to subtract; `None` if it is no mode.
pub fn is_decrement(letter: Option<u8>) -> Option<bool> {
    match letter {
        None | Some(b'I' | b'+') => Some(false),
        Some(b'D' | b'-') => Some(true),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_a_set() {
        assert_eq!(StoreMode::from_letter(None), Some(StoreMode::Set));
        assert_eq!(StoreMode::from_letter(Some(b'E')), Some(StoreMode::Add));
        assert_eq!(StoreMode::from_letter(Some(b'R')), Some(StoreMode::Replace));
        for wrong in *b"Xe " {
            assert_eq!(StoreMode::from_letter(Some(wrong)), None);
        }
    }

    #[test]
    fn modes_of_arithmetic() {
        assert_eq!(is_decrement(None), Some(false));
        assert_eq!(is_decrement(Some(b'+')), Some(false));
        assert_eq!(is_decrement(Some(b'D')), Some(true));
        assert_eq!(is_decrement(Some(b'X')), None);
        assert_eq!(is_decrement(Some(b'd')), None);
    }
}
