//! Groundwork of Farcache's client: how a key is hashed and on which server it lives. No I/O, no clock.
//!
//! Both agree bit for bit with libmemcached, so that a fleet in which some programs use libmemcached and some this
//! crate finds every key on the same server. Where libmemcached's documentation and its behaviour differ, the
//! behaviour counts; the reference is Debian 12's build, 1.1.4 on amd64, against which `tests/golden` compares.
#![forbid(unsafe_code)]

pub mod distribution;
pub mod hash;
