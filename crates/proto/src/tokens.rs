//! Splitting a command line into tokens.

/// The tokens of a line: separated by any number of spaces. Control characters belong to tokens,
/// as in memcached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    /// The tokens of a line without its line ending.
    pub fn new(line: &'a [u8]) -> Self {
        Tokens { rest: line }
    }

    /// What has not been split yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The last of the tokens not yet taken.
    pub fn last_token(self) -> Option<&'a [u8]> {
        self.last()
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let mut rest = self.rest;
        while let [b' ', tail @ ..] = rest {
            rest = tail;
        }
        let end = rest
            .iter()
            .position(|byte| *byte == b' ')
            .unwrap_or(rest.len());
        let (token, tail) = rest.split_at(end);
        self.rest = match tail {
            [b' ', tail @ ..] => tail,
            _ => &[],
        };
        (!token.is_empty()).then_some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &[u8]) -> Vec<&[u8]> {
        Tokens::new(line).collect()
    }

    #[test]
    fn splits_at_spaces_only() {
        assert_eq!(split(b"get a  bc "), [&b"get"[..], b"a", b"bc"]);
        assert_eq!(split(b"  get\ta"), [&b"get\ta"[..]]);
        assert_eq!(split(b""), Vec::<&[u8]>::new());
        assert_eq!(split(b"   "), Vec::<&[u8]>::new());
    }

    #[test]
    fn a_nul_belongs_to_its_token() {
        assert_eq!(split(b"get a\0b c"), [&b"get"[..], b"a\0b", b"c"]);
    }
}
