//! Reed-Solomon erasure coding: a value becomes k data shards and m parity shards, any k of which
//! give it back.
//!
//! The code is systematic over GF(2^8) with the polynomial 0x11D and a Cauchy matrix, and its
//! shards equal those of Intel's ISA-L bit for bit: with two and more parity shards those of
//! `gf_gen_cauchy1_matrix` and `ec_encode_data`, with one those of `xor_gen`. ISA-L's other matrix,
//! of Vandermonde, can lose data: not every square part of it is regular (see `erasure_code.h`).
//!
//! ```
//! use farcache_erasure::{Coder, Scheme};
//!
//! let mut coder = Coder::new(Scheme::new(3, 2)?);
//! let value = b"seventeen bytes..";
//! let (mut parity, mut other) = ([0; 6], [0; 6]);
//! coder.encode_value(value, &mut [&mut parity, &mut other])?;
//!
//! // The servers with shards 0 and 2 are lost.
//! let (mut first, mut last) = ([0; 6], [0; 6]);
//! coder.reconstruct(
//!     &[(1, &value[6..12]), (3, &parity), (4, &other)],
//!     &mut [(0, &mut first), (2, &mut last)],
//! )?;
//! assert_eq!(first, value[..6]);
//! // The value was one byte short of three shards.
//! assert_eq!(last[..5], value[12..]);
//! # Ok::<(), farcache_erasure::Error>(())
//! ```
//!
//! It computes with what the processor has, see [`Kernel`]; `docs/design/erasure.md` says how.

mod cache;
mod coder;
mod error;
mod field;
mod kernel;
mod matrix;
mod operands;
mod scheme;

pub use coder::Coder;
pub use error::Error;
pub use kernel::Kernel;
pub use scheme::{SHARDS_MAX, Scheme};
