//! The C interface as an archive for the C compiler, which makes libfarcache.so.1 of it.
//!
//! Apart from the interface itself, as Rust optimises no archive across crates that is a Rust
//! library too; and `bindings/jni` is linked with that.
#![forbid(unsafe_code)]

pub use farcache_capi::*;
