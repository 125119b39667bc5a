//! The bytes of a manifest.
//!
//! All numbers are little-endian:
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 4 | `FCBM` |
//! | 4 | 1 | version of the format: 1, or 2 where a chunk has left its first place |
//! | 5 | 1 | kind of the checksums: 1, CRC-32C |
//! | 6 | 2 | 0 |
//! | 8 | 4 | bytes of a chunk: 1 to 2^30 |
//! | 12 | 4 | n, number of chunks: the length by the bytes of a chunk, rounded up |
//! | 16 | 8 | length of the blob in bytes |
//! | 24 | 16 | id of the write |
//! | 40 | 4 n | checksum of each chunk |
//! | 40 + 4 n | 4 n | version 2 alone: the place of each chunk, not all of them 0 |
//! | | 4 | CRC-32C of everything before |
//!
//! All chunks have the same length but the last, which has what is left.

use crate::WriteId;
use farcache_base::crc32c;
use std::fmt;

const MAGIC: [u8; 4] = *b"FCBM";
const VERSION: u8 = 1;
const VERSION_WITH_PLACES: u8 = 2;
const CRC_32C: u8 = 1;
const HEADER_BYTES: usize = 40;
/// Of a checksum, and of a place.
const NUMBER_BYTES: usize = 4;

/// Largest chunk, in bytes: the largest value that a server takes.
pub const CHUNK_BYTES_MAX: u32 = 1 << 30;

/// What a blob consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    chunk_bytes: u32,
    length: u64,
    write: WriteId,
    checksums: Vec<u32>,
    /// One for each chunk; none where all are at their first.
    places: Vec<u32>,
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
    /// It has places of chunks, and all of them are the first.
    Places,
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
            Fault::Places => "it has places where no chunk has left its own",
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
                places: Vec::new(),
            },
        )
    }

    /// Gives each chunk another place.
    ///
    /// # Panics
    /// There are more or fewer places than chunks.
    #[must_use]
    pub fn with_places(mut self, places: Vec<u32>) -> Self {
        assert_eq!(places.len(), self.checksums.len(), "a place for each chunk");
        let has_left = places.iter().any(|place| *place > 0);
        self.places = if has_left { places } else { Vec::new() };
        self
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

    /// Where the chunk with this index is: 0 is its first place. Where the servers of one place
    /// would not take it, it is at a later one.
    #[must_use]
    pub fn place_of(&self, index: u64) -> u32 {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        self.places.get(index).copied().unwrap_or(0)
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
        let numbers = self.checksums.len() + self.places.len() + 1;
        let mut manifest = Vec::with_capacity(HEADER_BYTES + NUMBER_BYTES * numbers);
        let version = match self.places.is_empty() {
            true => VERSION,
            false => VERSION_WITH_PLACES,
        };
        manifest.extend(MAGIC);
        manifest.extend([version, CRC_32C, 0, 0]);
        manifest.extend(self.chunk_bytes.to_le_bytes());
        manifest.extend((self.checksums.len() as u32).to_le_bytes());
        manifest.extend(self.length.to_le_bytes());
        manifest.extend(self.write.0);
        for number in self.checksums.iter().chain(&self.places) {
            manifest.extend(number.to_le_bytes());
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
        let (numbers, own) = rest.split_last_chunk().ok_or(Fault::Length)?;
        let has_places = check_form(header)?;
        let chunk_bytes = u32::from_le_bytes(field(header, 8));
        if !(1..=CHUNK_BYTES_MAX).contains(&chunk_bytes) {
            return Err(Fault::ChunkBytes);
        }
        let chunks = u32::from_le_bytes(field(header, 12));
        let of_chunk = NUMBER_BYTES as u64 * if has_places { 2 } else { 1 };
        if numbers.len() as u64 != u64::from(chunks) * of_chunk {
            return Err(Fault::Length);
        }
        if crc32c::crc32c(&bytes[..bytes.len() - NUMBER_BYTES]) != u32::from_le_bytes(*own) {
            return Err(Fault::Checksum);
        }
        let (numbers, _) = numbers.as_chunks::<NUMBER_BYTES>();
        let numbers = numbers.iter().map(|number| u32::from_le_bytes(*number));
        let mut checksums: Vec<u32> = numbers.collect();
        let places = checksums.split_off(chunks as usize);
        if has_places && places.iter().all(|place| *place == 0) {
            return Err(Fault::Places);
        }
        let length = u64::from_le_bytes(field(header, 16));
        let write = WriteId(field(header, 24));
        let manifest = Manifest::new(write, chunk_bytes, length, checksums);
        let manifest = manifest.ok_or(Fault::Chunks)?;
        Ok(match has_places {
            true => manifest.with_places(places),
            false => manifest,
        })
    }
}

/// Checks what is the same in all manifests; whether this one has places.
fn check_form(header: &[u8]) -> Result<bool, Fault> {
    if !header.starts_with(&MAGIC) {
        return Err(Fault::Magic);
    }
    let has_places = match header[4..6] {
        [VERSION, CRC_32C] => false,
        [VERSION_WITH_PLACES, CRC_32C] => true,
        _ => return Err(Fault::Version),
    };
    match header[6..8] {
        [0, 0] => Ok(has_places),
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
