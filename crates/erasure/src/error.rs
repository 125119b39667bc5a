use std::{error, fmt};

/// Why a call was refused. Nothing has been written where an error is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A scheme needs at least one data shard, at least one parity shard and at most
    /// [`SHARDS_MAX`](crate::SHARDS_MAX) shards in all.
    Scheme {
        /// The data shards that were asked for.
        data: usize,
        /// The parity shards that were asked for.
        parity: usize,
    },
    /// The call got another number of data or parity shards than the scheme has.
    ShardCount {
        /// What the scheme has.
        expected: usize,
        /// What the call got.
        found: usize,
    },
    /// The lengths of the shards do not fit together; see [the rules](crate::Coder#lengths).
    ShardLength,
    /// No shard of the scheme has this number.
    NoSuchShard(usize),
    /// The same shard was given or asked for twice.
    RepeatedShard(usize),
    /// Fewer shards are present than the scheme has data shards: the value is lost.
    TooFewShards {
        /// The data shards of the scheme.
        needed: usize,
        /// The shards that were given.
        present: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme { data, parity } => {
                write!(f, "no scheme has {data} data and {parity} parity shards")
            }
            Self::ShardCount { expected, found } => {
                write!(f, "{found} shards were given instead of {expected}")
            }
            Self::ShardLength => f.write_str("the lengths of the shards do not fit together"),
            Self::NoSuchShard(number) => write!(f, "the scheme has no shard {number}"),
            Self::RepeatedShard(number) => write!(f, "shard {number} was given twice"),
            Self::TooFewShards { needed, present } => {
                write!(f, "{present} shards are present, {needed} are needed")
            }
        }
    }
}

impl error::Error for Error {}
