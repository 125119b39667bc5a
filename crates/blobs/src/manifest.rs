//! The bytes of a manifest.
//!
//! All numbers are little-endian:
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 4 | `FCBM` |
//! | 4 | 1 | version of the format: 1 |
//! | 5 | 1 | kind of the checksums: 1, CRC-32C |
//! | 6 | 2 | 0 |
//! | 8 | 4 | bytes of a chunk: 1 to 2^30 |
//! | 12 | 4 | n, number of chunks: the length by the bytes of a chunk, rounded up |
//! | 16 | 8 | length of the blob in bytes |
//! | 24 | 16 | id of the write |
//! | 40 | 4 n | checksum of each chunk |
//! | 40 + 4 n | 4 | CRC-32C of everything before |
//!
//! All chunks have the same length but the last, which has what is left.

use crate::WriteId;
use std::fmt;

const MAGIC: [u8; 4] = *b"FCBM";
const VERSION: u8 = 1;
const CRC_32C: u8 = 1;
const HEADER_BYTES: usize = 40;
const CHECKSUM_BYTES: usize = 4;

/// Largest chunk, in bytes: the largest value that a server takes.
pub const CHUNK_BYTES_MAX: u32 = 1 << 30;

/// What a blob consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    chunk_bytes: u32,
    length: u64,
    write: WriteId,
    checksums: Vec<u32>,
}

/// What is wrong with a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It has not as many bytes as it should, by what it says of itself.
    Length,
    /// It does not begin as manifests do.
    Magic,
    /// Its format is of another version, or has checksums of another kind.
    Version,
    /// What should be 0 is not.
    Reserved,
    /// No chunk has so many bytes.
    ChunkBytes,
    /// The blob's length makes another number of chunks.
    Chunks,
    /// Its checksum is wrong.
    Checksum,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Fault::Length => "it is too long or too short",
            Fault::Magic => "it does not begin as manifests do",
            Fault::Version => "it is of another version",
            Fault::Reserved => "what should be 0 is not",
            Fault::ChunkBytes => "no chunk has so many bytes",
            Fault::Chunks => "length and number of chunks do not fit together",
            Fault::Checksum => "its checksum is wrong",
        })
    }
}

impl Manifest {
    /// The manifest of a blob with these chunks; `None` where they cannot make up its length.
    #[must_use]
    pub fn new(write: WriteId, chunk_bytes: u32, length: u64, checksums: Vec<u32>) -> Option<Self> {
        let is_chunk = (1..=CHUNK_BYTES_MAX).contains(&chunk_bytes);
        let fits = is_chunk && u32::try_from(checksums.len()).is_ok();
        (fits && length.div_ceil(chunk_bytes.into()) == checksums.len() as u64).then_some(
            Manifest {
                chunk_bytes,
                length,
                write,
                checksums,
            },
        )
    }

    /// Length of the blob in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Bytes of all chunks but the last.
    #[must_use]
    pub fn chunk_bytes(&self) -> u32 {
        self.chunk_bytes
    }

    /// Whose chunks they are.
    #[must_use]
    pub fn write(&self) -> WriteId {
        self.write
    }

    /// The checksum of each chunk.
    #[must_use]
    pub fn checksums(&self) -> &[u32] {
        &self.checksums
    }

    /// Number of chunks.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.checksums.len() as u64
    }

    /// Bytes of the chunk with this index.
    ///
    /// # Panics
    /// There is no such chunk.
    #[must_use]
    pub fn bytes_of(&self, index: u64) -> usize {
        assert!(index < self.chunks(), "no such chunk");
        let start = index * u64::from(self.chunk_bytes);
        (self.length - start).min(self.chunk_bytes.into()) as usize
    }

    /// As bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = HEADER_BYTES + CHECKSUM_BYTES * (self.checksums.len() + 1);
        let mut manifest = Vec::with_capacity(bytes);
        manifest.extend(MAGIC);
        manifest.extend([VERSION, CRC_32C, 0, 0]);
        manifest.extend(self.chunk_bytes.to_le_bytes());
        manifest.extend((self.checksums.len() as u32).to_le_bytes());
        manifest.extend(self.length.to_le_bytes());
        manifest.extend(self.write.0);
        for checksum in &self.checksums {
            manifest.extend(checksum.to_le_bytes());
        }
        manifest.extend(crc32c::crc32c(&manifest).to_le_bytes());
        manifest
    }

    /// Reads one. Every byte counts: what is read is written back as it was.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or(Fault::Length)?;
        let (checksums, own) = rest.split_last_chunk().ok_or(Fault::Length)?;
        check_form(header)?;
        let chunk_bytes = u32::from_le_bytes(field(header, 8));
        if !(1..=CHUNK_BYTES_MAX).contains(&chunk_bytes) {
            return Err(Fault::ChunkBytes);
        }
        let chunks = u32::from_le_bytes(field(header, 12));
        if checksums.len() as u64 != u64::from(chunks) * CHECKSUM_BYTES as u64 {
            return Err(Fault::Length);
        }
        if crc32c::crc32c(&bytes[..bytes.len() - CHECKSUM_BYTES]) != u32::from_le_bytes(*own) {
            return Err(Fault::Checksum);
        }
        let (numbers, _) = checksums.as_chunks::<CHECKSUM_BYTES>();
        let numbers = numbers.iter().map(|number| u32::from_le_bytes(*number));
        let length = u64::from_le_bytes(field(header, 16));
        let write = WriteId(field(header, 24));
        Manifest::new(write, chunk_bytes, length, numbers.collect()).ok_or(Fault::Chunks)
    }
}

/// Checks what is the same in all manifests.
fn check_form(header: &[u8]) -> Result<(), Fault> {
    if !header.starts_with(&MAGIC) {
        return Err(Fault::Magic);
    }
    if header[4..6] != [VERSION, CRC_32C] {
        return Err(Fault::Version);
    }
    match header[6..8] {
        [0, 0] => Ok(()),
        _ => Err(Fault::Reserved),
    }
}

/// The bytes of a number that stands at this offset.
fn field<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let mut number = [0; N];
    number.copy_from_slice(&bytes[offset..offset + N]);
    number
}

#[cfg(test)]
mod tests;
