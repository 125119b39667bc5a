//! The flags of a meta command.

use crate::number::{parse_i64, parse_u32, parse_u64};
use crate::tokens::Tokens;

/// Most tokens of a meta command: its name, its key and 18 more.
/// Source: memcached `proto_parser.h`, `MFLAG_MAX_OPT_LENGTH`.
pub const TOKENS_MAX: usize = 20;

/// Longest opaque token in bytes, the letter `O` included.
/// Source: memcached `proto_parser.h`, `MFLAG_MAX_OPAQUE_LENGTH`.
pub const OPAQUE_BYTES_MAX: usize = 32;

/// A set of flag letters, `A` to `z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Letter(u64);

impl Letter {
    /// The set of one letter; empty for anything that is no letter.
    pub const fn of(letter: u8) -> Letter {
        match letter {
            b'A'..=b'Z' | b'a'..=b'z' => Letter(1 << (letter - b'A')),
            _ => Letter(0),
        }
    }

    /// Whether all of `other` are in it.
    pub const fn contains(self, other: Letter) -> bool {
        self.0 & other.0 == other.0
    }

    /// The letters of both.
    #[must_use]
    pub const fn with(self, other: Letter) -> Letter {
        Letter(self.0 | other.0)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Why flags were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagError {
    /// The key is too long.
    LongKey,
    /// There are more tokens than [`TOKENS_MAX`].
    TooMany,
    /// A letter came twice, or is outside ASCII.
    Duplicate,
    /// No command knows this letter.
    Invalid,
    /// A number is malformed.
    BadToken,
    /// The client flags are malformed.
    BadClientFlags,
    /// `J` is malformed.
    BadInitial,
    /// `D` is malformed.
    BadDelta,
    /// The key is not base64.
    BadKey,
}

impl FlagError {
    /// The line with which memcached answers all meta commands but `ma`.
    pub fn message(self) -> &'static str {
        match self {
            FlagError::Duplicate => "CLIENT_ERROR duplicate flag",
            FlagError::Invalid => "CLIENT_ERROR invalid flag",
            FlagError::BadToken => "CLIENT_ERROR bad token in command line format",
            FlagError::BadClientFlags | FlagError::LongKey => {
                "CLIENT_ERROR bad command line format"
            }
            FlagError::TooMany => "CLIENT_ERROR options flags are too long",
            FlagError::BadInitial => "CLIENT_ERROR invalid numeric initial value",
            FlagError::BadDelta => "CLIENT_ERROR invalid numeric delta value",
            FlagError::BadKey => "CLIENT_ERROR error decoding key",
        }
    }
}

/// The flags of one meta command, checked, with the numbers they carry.
#[derive(Clone, Copy, Debug)]
pub struct Flags<'a> {
    tokens: Tokens<'a>,
    letters: Letter,
    /// `F`: client flags.
    pub client_flags: u32,
    /// `C`: CAS token to compare with.
    pub compare_cas: u64,
    /// `E`: CAS token to store.
    pub new_cas: u64,
    /// `T`: time to live, as the client gave it.
    pub ttl: i64,
    /// `N`: time to live of an item created on a miss.
    pub vivify_ttl: i64,
    /// `R`: remaining time to live below which a reader wins the recache.
    pub recache_ttl: i64,
    /// `J`: initial number.
    pub initial: u64,
    /// `D`: amount to add or subtract, 1 by default.
    pub delta: u64,
    /// `M`: the mode's letter, the first character behind the flag; a space where there is none.
    pub mode: Option<u8>,
    /// `O`: the opaque token with its letter, to be copied back.
    pub opaque: &'a [u8],
}

impl<'a> Flags<'a> {
    /// Checks the flags behind the key (and length) of a command.
    ///
    /// # Errors
    /// The error that memcached reports: the first duplicate or unknown letter, else the last
    /// malformed number.
    pub fn parse(tokens: Tokens<'a>) -> Result<Self, FlagError> {
        let mut flags = Flags {
            tokens,
            letters: Letter::default(),
            client_flags: 0,
            compare_cas: 0,
            new_cas: 0,
            ttl: 0,
            vivify_ttl: 0,
            recache_ttl: 0,
            initial: 0,
            delta: 1,
            mode: None,
            opaque: &[],
        };
        let mut malformed = None;
        for token in tokens {
            let letter = Letter::of(token[0]);
            if token[0] >= 127 || (!letter.is_empty() && flags.letters.contains(letter)) {
                return Err(FlagError::Duplicate);
            }
            flags.letters = flags.letters.with(letter);
            match flags.take(token) {
                Ok(()) => {}
                Err(FlagError::Invalid) => return Err(FlagError::Invalid),
                // Malformed client flags leave the message to what else is wrong.
                Err(FlagError::BadClientFlags) if malformed.is_some() => {}
                Err(error) => malformed = Some(error),
            }
        }
        malformed.map_or(Ok(flags), Err)
    }

    fn take(&mut self, token: &'a [u8]) -> Result<(), FlagError> {
        let argument = &token[1..];
        let number = |error| given(argument).and_then(parse_u64).ok_or(error);
        let seconds = || {
            given(argument)
                .and_then(parse_i64)
                .ok_or(FlagError::BadToken)
        };
        match token[0] {
            b'b' | b'c' | b'f' | b'h' | b'k' | b'l' | b'q' | b's' | b't' | b'u' | b'v' | b'x'
            | b'I' | b'P' | b'L' => {}
            b'O' => self.opaque = token,
            b'N' => self.vivify_ttl = seconds()?,
            b'T' => self.ttl = seconds()?,
            b'R' => self.recache_ttl = seconds()?,
            b'F' => {
                let flags = given(argument).and_then(parse_u32);
                self.client_flags = flags.ok_or(FlagError::BadClientFlags)?;
            }
            b'C' => self.compare_cas = number(FlagError::BadToken)?,
            b'E' => self.new_cas = number(FlagError::BadToken)?,
            b'J' => self.initial = number(FlagError::BadInitial)?,
            b'D' => self.delta = number(FlagError::BadDelta)?,
            b'M' => self.mode = Some(argument.first().copied().unwrap_or(b' ')),
            _ => return Err(FlagError::Invalid),
        }
        Ok(())
    }

    /// Whether a letter was given.
    pub fn has(&self, letter: u8) -> bool {
        self.letters.contains(Letter::of(letter)) && !Letter::of(letter).is_empty()
    }

    /// The flags in the order given.
    pub fn tokens(&self) -> Tokens<'a> {
        self.tokens
    }

    /// The CAS token to compare with, if given.
    pub fn compare_cas(&self) -> Option<u64> {
        self.has(b'C').then_some(self.compare_cas)
    }

    /// The CAS token to store, if given.
    pub fn new_cas(&self) -> Option<u64> {
        self.has(b'E').then_some(self.new_cas)
    }
}

/// A flag's argument, which must not be empty.
fn given(argument: &[u8]) -> Option<&[u8]> {
    (!argument.is_empty()).then_some(argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &[u8]) -> Result<Flags<'_>, FlagError> {
        Flags::parse(Tokens::new(line))
    }

    #[test]
    fn takes_every_flag() {
        let flags = parse(b"b c f h k l q s t u v x I Opq N30 T-1 R5 F7 C9 E10 J3 D4 MS Pany Lany")
            .unwrap();
        assert!(
            b"bcfhklqstuvxIONTRFCEJDMPL"
                .iter()
                .all(|letter| flags.has(*letter))
        );
        assert_eq!(
            (flags.vivify_ttl, flags.ttl, flags.recache_ttl),
            (30, -1, 5)
        );
        assert_eq!(
            (flags.client_flags, flags.compare_cas(), flags.new_cas()),
            (7, Some(9), Some(10))
        );
        assert_eq!(
            (flags.initial, flags.delta, flags.mode, flags.opaque),
            (3, 4, Some(b'S'), &b"Opq"[..])
        );
    }

    #[test]
    fn defaults() {
        let flags = parse(b"").unwrap();
        assert_eq!((flags.delta, flags.initial, flags.mode), (1, 0, None));
        assert_eq!((flags.compare_cas(), flags.new_cas()), (None, None));
        assert!(!flags.has(b'v'));
    }

    #[test]
    fn a_mode_is_the_first_character() {
        assert_eq!(parse(b"MSS").unwrap().mode, Some(b'S'));
        assert_eq!(parse(b"M").unwrap().mode, Some(b' '));
    }

    #[test]
    fn refuses_as_memcached_does() {
        for (line, error) in [
            (&b"v v"[..], FlagError::Duplicate),
            (b"\xff", FlagError::Duplicate),
            (b"v Tx v", FlagError::Duplicate),
            (b"Tx !", FlagError::Invalid),
            (b"z", FlagError::Invalid),
            (b"Tx", FlagError::BadToken),
            (b"Tx Jx", FlagError::BadInitial),
            (b"Dx", FlagError::BadDelta),
            (b"Fx", FlagError::BadClientFlags),
            (b"F4294967296", FlagError::BadClientFlags),
            (b"Tx Fx", FlagError::BadToken),
            (b"C", FlagError::BadToken),
        ] {
            assert_eq!(parse(line).unwrap_err(), error, "{line:?}");
        }
    }
}
