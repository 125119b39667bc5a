//! What is on a device, cheap to copy: copies share what neither has written.

use std::sync::Arc;

/// Size of what copies share, in bytes.
const CHUNK_BYTES: usize = 16 << 10;

/// The bytes of a device.
#[derive(Clone)]
pub struct Image {
    chunks: Vec<Arc<Vec<u8>>>,
}

impl Image {
    /// Zeros; `bytes` is a multiple of the size of a chunk.
    pub fn zeros(bytes: u64) -> Image {
        assert_eq!(bytes % CHUNK_BYTES as u64, 0);
        let chunk = Arc::new(vec![0; CHUNK_BYTES]);
        Image {
            chunks: vec![chunk; bytes as usize / CHUNK_BYTES],
        }
    }

    pub fn bytes(&self) -> u64 {
        (self.chunks.len() * CHUNK_BYTES) as u64
    }

    pub fn read(&self, buffer: &mut [u8], offset: u64) {
        let mut at = offset as usize;
        let mut rest = buffer;
        while !rest.is_empty() {
            let (chunk, start) = (&self.chunks[at / CHUNK_BYTES], at % CHUNK_BYTES);
            let (part, later) = rest.split_at_mut(rest.len().min(CHUNK_BYTES - start));
            part.copy_from_slice(&chunk[start..start + part.len()]);
            at += part.len();
            rest = later;
        }
    }

    pub fn write(&mut self, buffer: &[u8], offset: u64) {
        let mut at = offset as usize;
        let mut rest = buffer;
        while !rest.is_empty() {
            let start = at % CHUNK_BYTES;
            let (part, later) = rest.split_at(rest.len().min(CHUNK_BYTES - start));
            let chunk = Arc::make_mut(&mut self.chunks[at / CHUNK_BYTES]);
            chunk[start..start + part.len()].copy_from_slice(part);
            at += part.len();
            rest = later;
        }
    }

    /// All of it, one chunk after the other.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        self.chunks.iter().map(|chunk| &chunk[..])
    }
}
