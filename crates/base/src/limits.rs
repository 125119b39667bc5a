//! Limits that memcached's protocol fixes for every client and server.

/// Longest key in bytes, after base64 decoding where the client sent it encoded.
/// Source: memcached `doc/protocol.txt`, "Keys".
pub const KEY_BYTES_MAX: usize = 250;

/// Largest value that any configuration may allow (`-I`), in bytes: 1 GiB.
pub const VALUE_BYTES_MAX: usize = 1 << 30;

/// Default of `-I`, in bytes: the largest item, by memcached's own accounting.
pub const ITEM_BYTES_DEFAULT: usize = 1 << 20;
