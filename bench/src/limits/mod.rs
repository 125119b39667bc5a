//! What UCX itself allows: requests and replies as bare active messages between two processes.
//!
//! The fabric's figures are judged by these, measured in the same run on the same cores. A request
//! carries as many bytes as the fabric's would and the reply too; no key is looked up, nothing is
//! parsed, and no buffer is allocated. Large bodies are left to UCX, which moves them by
//! rendezvous; the receiver's buffer is there already.

mod arena;
pub mod client;
pub mod message;
mod partner;
mod raw;
pub mod scenario;
pub mod server;

pub use client::{Figures, Limits, LimitsPlan, measure};
pub use scenario::{Operation, Scenario};

use farcache_bare_ucx::Worker;
use farcache_ucx_sys::{Context, Library};
use std::io;

/// A worker over the networks chosen (`UCX_TLS`), or those that UCX or the environment chooses.
fn open_worker(networks: Option<&str>) -> io::Result<(Worker, &'static Library)> {
    let library = Library::load().map_err(io::Error::other)?;
    let settings: Vec<_> = networks.iter().map(|names| ("TLS", *names)).collect();
    let context = Context::new(library, &settings).map_err(io::Error::other)?;
    let worker = Worker::new(&context).map_err(io::Error::other)?;
    Ok((worker, library))
}
