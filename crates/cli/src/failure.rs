//! What can go wrong, and what the program ends with.

use std::{fmt, io};

/// Why a command was not carried out, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A file or a terminal failed, or the map cannot be used.
    Broken(String),
    /// The change makes no sense in this cluster, or would lose items.
    Refused(String),
    /// The operator did not confirm the change.
    NotConfirmed(String),
    /// Somebody else has changed the map meanwhile.
    Overtaken(String),
    /// Servers do not answer, have other maps, or do not go on.
    Unwell(String),
}

impl Failure {
    /// The exit status. 2 is the command line's ([`clap`]'s).
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Failure::Broken(_) => 1,
            Failure::Refused(_) => 3,
            Failure::NotConfirmed(_) => 4,
            Failure::Overtaken(_) => 5,
            Failure::Unwell(_) => 6,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Broken(reason)
        | Failure::Refused(reason)
        | Failure::NotConfirmed(reason)
        | Failure::Overtaken(reason)
        | Failure::Unwell(reason)) = self;
        formatter.write_str(reason)
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Broken(error.to_string())
    }
}
