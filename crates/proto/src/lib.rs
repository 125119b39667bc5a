//! Codecs of the memcached protocols: text, meta and binary. No I/O, no clock.
#![forbid(unsafe_code)]

pub mod binary;
