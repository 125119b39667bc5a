//! Files in Farcache: chunks with a manifest.
//!
//! A *blob* has a name and any number of bytes. [`Blobs::create`] gives a [`Writer`], which cuts
//! what it is given into chunks and stores them behind the caller's back; [`Writer::close`] stores
//! the manifest last, and with that the blob is there, whole. [`Blobs::open`] gives a [`Reader`].
//!
//! ```no_run
//! use farcache_blobs::{Blobs, Settings};
//! use farcache_client::{Client, ClientConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(&ClientConfig::new("127.0.0.1:11211")?)?;
//! let blobs = Blobs::new(client, Settings::default())?;
//! let mut writer = blobs.create("logs/today")?;
//! writer.write(b"a line\n")?;
//! writer.close()?;
//! let mut reader = blobs.open("logs/today")?;
//! let mut line = [0; 7];
//! reader.read_at(0, &mut line)?;
//! # Ok(())
//! # }
//! ```
//!
//! No bytes are ever made up or mixed: each write has an id of its own in the keys of its chunks,
//! and each chunk a checksum in the manifest. A chunk that is gone or damaged is an error that
//! names it.
//!
//! | file | what it does |
//! |---|---|
//! | `blobs` | the handle: creating, opening, removing |
//! | `access` | what a handle shares with its writers and readers |
//! | `writer` | cutting into chunks, the manifest once they are stored |
//! | `stores` | the window of stores under way, another place for what is not taken |
//! | `patience` | how long a chunk is tried to be stored |
//! | `publish` | putting a manifest into its place |
//! | `expiry` | making a cached copy of a blob, which servers may evict |
//! | `reader` | reading at any place, chunks that are held |
//! | `pattern` | how far to read ahead |
//! | `manifest` | the bytes of a manifest |
//! | `keys` | under which keys chunks and manifests stand |
//! | `policy` | on how many servers chunks and manifests lie |
//! | `budget` | bytes in flight of all streams together |
//!
//! The format and the rules: `docs/design/burst-buffer.md`.
#![forbid(unsafe_code)]

mod access;
mod blobs;
mod budget;
pub mod error;
mod expiry;
mod keys;
pub mod manifest;
mod patience;
mod pattern;
mod policy;
mod publish;
mod reader;
mod stores;
mod write_id;
mod writer;

pub use access::Settings;
pub use blobs::Blobs;
pub use error::Error;
pub use keys::NAME_BYTES_MAX;
pub use manifest::Manifest;
pub use policy::policy;
pub use reader::{Part, Reader};
pub use write_id::WriteId;
pub use writer::Writer;
