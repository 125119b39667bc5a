//! The name of a write.

use std::{fmt, io};

/// Tells the chunks of one write from those of all others: 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct WriteId(pub [u8; 16]);

impl WriteId {
    /// An identifier that nobody else has.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(io::Error::other)?;
        Ok(WriteId(id))
    }
}

impl fmt::Display for WriteId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.0.iter();
        bytes.try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for WriteId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "WriteId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ() {
        assert_ne!(WriteId::random().unwrap(), WriteId::random().unwrap());
    }
}
