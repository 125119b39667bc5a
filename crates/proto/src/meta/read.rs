//! The `mg` requests that change nothing but the item's use: the fast case.

use super::flags::{Letter, OPAQUE_BYTES_MAX};
use crate::tokens::Tokens;

/// An `mg` whose flags only choose what is returned, so that several may be looked up together.
#[derive(Clone, Copy, Debug)]
pub struct PlainRead<'a> {
    /// The key as sent; never base64.
    pub key: &'a [u8],
    /// The flags in the order given, checked.
    pub flags: Tokens<'a>,
    /// Letters among the flags.
    letters: Letter,
}

/// Flags that choose what is returned and do nothing else.
const PLAIN: Letter = {
    let letters = b"cfhklqstvOPL";
    let mut set = Letter::of(letters[0]);
    let mut index = 1;
    while index < letters.len() {
        set = set.with(Letter::of(letters[index]));
        index += 1;
    }
    set
};

impl<'a> PlainRead<'a> {
    /// Takes key and flags of an `mg`, if it is of the plain kind and free of errors.
    pub fn parse(mut tokens: Tokens<'a>) -> Option<Self> {
        let key = tokens.next()?;
        let flags = tokens;
        let mut letters = Letter::default();
        let mut tokens_left = super::TOKENS_MAX - 2;
        for token in tokens {
            let letter = Letter::of(token[0]);
            let is_new = !letters.contains(letter);
            let is_opaque_long = token.len() > OPAQUE_BYTES_MAX && token[0] == b'O';
            if letter.is_empty()
                || !PLAIN.contains(letter)
                || !is_new
                || is_opaque_long
                || tokens_left == 0
            {
                return None;
            }
            tokens_left -= 1;
            letters = letters.with(letter);
        }
        Some(PlainRead {
            key,
            flags,
            letters,
        })
    }

    /// Whether the value is wanted.
    pub fn wants_value(&self) -> bool {
        self.letters.contains(const { Letter::of(b'v') })
    }

    /// Whether a miss goes unanswered.
    pub fn is_quiet(&self) -> bool {
        self.letters.contains(const { Letter::of(b'q') })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[u8]) -> Option<PlainRead<'_>> {
        PlainRead::parse(Tokens::new(line))
    }

    #[test]
    fn takes_plain_reads() {
        let read = parse(b"key v Oabc q").unwrap();
        assert_eq!(read.key, b"key");
        assert!(read.wants_value() && read.is_quiet());
        let read = parse(b"key").unwrap();
        assert!(!read.wants_value() && !read.is_quiet());
        assert!(parse(b"key c f h k l q s t v O P L").is_some());
    }

    #[test]
    fn leaves_the_rest_to_the_full_parser() {
        for line in [
            &b""[..],
            b"key b",
            b"key v v",
            b"key N30",
            b"key u",
            b"key !",
            b"key z",
        ] {
            assert!(parse(line).is_none(), "{line:?}");
        }
        assert!(parse(b"key O0123456789012345678901234567890").is_some());
        assert!(parse(b"key O01234567890123456789012345678901").is_none());
    }
}
