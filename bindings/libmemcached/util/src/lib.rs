//! A drop-in for libmemcachedutil.so.2 of libmemcached 1.1: pools of handles, and questions to
//! single servers.
//!
//! It stands on the functions of libmemcached.so.11, which the loader finds beside it. C's contract
//! holds for every function: a pointer points to what its type says or, where the function takes
//! it, is null.

mod library;
mod pool;
mod questions;
