//! The binary protocol: packets of a 24-byte header, extras, key and value.
//!
//! Decoding borrows from the bytes given; encoding appends to a buffer. Over sockets packets follow
//! each other in a byte stream, over the fabric one message carries one or several of them.
//! Source: memcached's "BinaryProtocolRevamped", and memcached 1.6 where it differs.

mod extras;
mod header;
mod opcode;
mod packet;
mod status;
mod told;

pub use extras::{
    ArithmeticExtras, FRONT_BYTES_MAX, SetExtras, VersionedGetExtras, decode_u32, encode_u32,
};
pub use header::{HEADER_BYTES, Header, MAGIC_REQUEST, MAGIC_RESPONSE};
pub use opcode::Opcode;
pub use packet::{Head, Malformed, Packet, encode_head, whole_packets};
pub use status::Status;
pub use told::{
    ABOUT_OLDER, INCOMPLETE, IS_ACCEPTED, ONLY_PROMISED, Placed, Told, encode_head_telling,
    keeping, keeping_bits, split_told,
};

/// Expiration of an increment or decrement that must not create an absent key.
pub const NO_CREATE: u32 = 0xffff_ffff;
