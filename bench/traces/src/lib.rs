//! Readers of cache traces, in the formats in which they are published: bytes go in, records come
//! out. They know neither files nor the sizes of memory for which a trace is replayed.
#![forbid(unsafe_code)]

mod binary;
mod delimited;
mod lines;

use std::io::{self, BufRead};
use std::ops::ControlFlow;

/// What a line or record of a trace says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The key, or a hash of it.
    pub key: u64,
    /// Size of the value, where it is told.
    pub value_bytes: Option<u32>,
    /// Whether it asks for the value; other records only tell its size.
    pub is_read: bool,
}

impl Record {
    /// A record that asks for the value.
    pub fn read(key: u64, value_bytes: Option<u32>) -> Record {
        Record {
            key,
            value_bytes,
            is_read: true,
        }
    }
}

/// A published format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// libCacheSim's oracleGeneral: records of 24 bytes, little-endian: time (4), key (8), size
    /// (4), next use (8).
    OracleGeneral,
    /// Columns divided by commas, blanks or tabs; which hold key and size is an option.
    Csv,
    /// Twitter's cache traces: time, key, key size, value size, client, operation, TTL.
    Twitter,
    /// ARC's: first block, number of blocks, two numbers that are not used.
    Arc,
    /// LIRS's: a block number a line; lines that begin with `*` are marks.
    Lirs,
    /// A key a line, whatever it looks like.
    Keys,
    /// Keys of 4 bytes.
    U32,
    /// Keys of 8 bytes.
    U64,
}

/// Columns of a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Holds the key.
    pub key: usize,
    /// Holds the size of the value in bytes, if any does.
    pub value_bytes: Option<usize>,
}

/// What is done with each record; it may end the reading.
pub type Visit<'v> = &'v mut dyn FnMut(Record) -> ControlFlow<()>;

/// Reads a trace to its end, or until the visitor has enough.
///
/// # Errors
/// Those of the input; `InvalidData` with the line or the place where it does not fit the format.
pub fn read(
    format: Format,
    columns: Columns,
    input: &mut dyn BufRead,
    visit: Visit<'_>,
) -> io::Result<()> {
    match format {
        Format::OracleGeneral => binary::read_oracle_general(input, visit),
        Format::Csv => delimited::read_csv(columns, input, visit),
        Format::Twitter => delimited::read_twitter(input, visit),
        Format::Arc => lines::read_arc(input, visit),
        Format::Lirs => lines::read_lirs(input, visit),
        Format::Keys => lines::read_keys(input, visit),
        Format::U32 => binary::read_u32(input, visit),
        Format::U64 => binary::read_u64(input, visit),
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests;
