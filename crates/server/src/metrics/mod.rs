//! The Prometheus endpoint (`--metrics`): on a thread of its own, it only reads what the workers
//! write.
//!
//! Its clients cost the server little: few connections at once, each for one request and for a
//! short time. A failure there ends the connection, or the endpoint, and nothing else.

mod answer;
mod classic;
mod cluster;
mod collector;
mod fabric;
mod latency;
mod page;
mod serve;
mod store;
mod tier;

use crate::panics;
use crate::shared::Shared;
use collector::ServerCollector;
use prometheus_client::registry::Registry;
pub use serve::CONNECTIONS_MAX;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot::{self, Sender};

/// Descriptors of the runtime: epoll, its second name, and what wakes it.
const RUNTIME_DESCRIPTORS: usize = 3;

/// Descriptors that the endpoint has open at most, with its connections'.
pub const DESCRIPTORS_MAX: usize = 1 + RUNTIME_DESCRIPTORS + CONNECTIONS_MAX;

/// The endpoint while it runs.
pub struct Endpoint {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Endpoint {
    /// Serves the figures of `shared` at `listener`.
    ///
    /// # Errors
    /// When descriptors or threads are exhausted.
    pub fn start(listener: TcpListener, shared: Arc<Shared>) -> io::Result<Self> {
        let mut registry = Registry::with_prefix("farcache");
        registry.register_collector(Box::new(ServerCollector(shared)));
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let listener = watched(&runtime, listener)?;
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            // Its tasks end with the runtime.
            runtime.spawn(serve::serve(listener, Arc::new(registry)));
            // An end of the other side is told as an error, and ends the endpoint as well.
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                panics::contain(serve);
            })?;
        Ok(Endpoint { stop, thread })
    }

    /// Ends it.
    pub fn stop(self) {
        drop(self.stop);
        // A panic there has been reported, and has ended the thread in order.
        let _ = self.thread.join();
    }
}

/// The listener, watched by the runtime.
fn watched(runtime: &Runtime, listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    let _inside = runtime.enter();
    tokio::net::TcpListener::from_std(listener)
}
