//! What the tests from outside and the benchmarks share: servers as processes of their own, how to
//! reach them and ask them about themselves, and on which processor everything runs.
#![forbid(unsafe_code)]

pub mod closed_pipe;
pub mod control;
pub mod etcd;
pub mod pinning;
pub mod server_process;
pub mod target;
