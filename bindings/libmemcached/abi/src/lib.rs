//! libmemcached 1.1's types as C lays them out on 64-bit Linux, with the names and texts of its
//! constants.
//!
//! The C programs that the libraries serve allocate, read and write these structures themselves, so
//! every field is where libmemcached's headers put it; `tests/layout.rs` compares with the headers
//! that are installed. Names follow C's, without the prefix `memcached_` and in Rust's spelling.
#![forbid(unsafe_code)]

mod behavior;
mod handle;
mod hash;
mod returns;
mod server;
mod statistics;

pub use behavior::{Behavior, Callback, Distribution};
pub use handle::{
    Allocators, CallbackList, CleanupFunction, CloneFunction, Configure, DeleteFunction,
    ExecuteFunction, Handle, Ketama, MissFunction, ResultStructure, Sasl, StringStructure, flags,
    state,
};
pub use hash::{HashAlgorithm, HashFunction, HashReturn, Hashkit, HashkitFunction};
pub use returns::Return;
pub use server::{Connection, IoWaitCount, ServerState, ServerStructure};
pub use statistics::{Analysis, Statistics};

/// Room for a key with the byte that ends it, `MEMCACHED_MAX_KEY`.
pub const KEY_ROOM_BYTES: usize = 251;
/// Room for a namespace with the byte that ends it, `MEMCACHED_MAX_NAMESPACE`.
pub const NAMESPACE_ROOM_BYTES: usize = 128;
/// Room for a host's name with the byte that ends it, `NI_MAXHOST`.
pub const HOST_ROOM_BYTES: usize = 1025;
/// Room for a server's version, `MEMCACHED_VERSION_STRING_LENGTH`.
pub const VERSION_ROOM_BYTES: usize = 24;
/// `MEMCACHED_DEFAULT_PORT`.
pub const DEFAULT_PORT: u16 = 11211;
/// `MEMCACHED_EXPIRATION_NOT_ADD`: an expiry that means not to create a number.
pub const EXPIRATION_NOT_ADD: u32 = u32::MAX;

/// Something whose contents this library does not show to C.
#[repr(C)]
#[derive(Debug)]
pub struct Opaque {
    _private: [u8; 0],
}
