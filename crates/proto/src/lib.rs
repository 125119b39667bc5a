//! Codecs of the memcached protocols: text, meta and binary. No I/O, no clock.
#![forbid(unsafe_code)]

pub mod base64;
pub mod binary;
pub mod meta;
pub mod number;
mod peek;
pub mod percent;
pub mod text;
mod tokens;

pub use peek::peek_key;
