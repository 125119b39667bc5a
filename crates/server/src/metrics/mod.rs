//! The Prometheus endpoint (`--metrics`): on a thread of its own, it only reads what the workers
//! write.

mod collector;
pub mod latency;

use crate::shared::Shared;
use collector::ServerCollector;
use prometheus_client::registry::Registry;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use tiny_http::{Header, Method, Request, Response, Server};

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The endpoint while it runs.
pub struct Endpoint {
    server: Arc<Server>,
    thread: JoinHandle<()>,
}

impl Endpoint {
    /// Serves the figures of `shared` at `listener`.
    ///
    /// # Errors
    /// When descriptors or threads are exhausted.
    pub fn start(listener: TcpListener, shared: Arc<Shared>) -> io::Result<Self> {
        let server = Arc::new(Server::from_listener(listener, None).map_err(io::Error::other)?);
        let mut registry = Registry::with_prefix("farcache");
        registry.register_collector(Box::new(ServerCollector(shared)));
        let serving = Arc::clone(&server);
        let thread = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || {
                for request in serving.incoming_requests() {
                    answer(request, &registry);
                }
            })?;
        Ok(Endpoint { server, thread })
    }

    /// Ends it.
    pub fn stop(self) {
        self.server.unblock();
        // A panic there has been reported by its own thread already.
        let _ = self.thread.join();
    }
}

fn answer(request: Request, registry: &Registry) {
    let sent = match (request.method(), request.url()) {
        (Method::Get, "/metrics" | "/") => request.respond(page(registry)),
        _ => request.respond(Response::from_string("not found\n").with_status_code(404)),
    };
    if let Err(error) = sent {
        tracing::debug!(%error, "a metrics reader has gone");
    }
}

fn page(registry: &Registry) -> Response<io::Cursor<Vec<u8>>> {
    let mut text = String::new();
    if prometheus_client::encoding::text::encode(&mut text, registry).is_err() {
        return Response::from_string("cannot encode the metrics\n").with_status_code(500);
    }
    let header = Header::from_bytes("Content-Type", CONTENT_TYPE).expect("a valid header");
    Response::from_string(text).with_header(header)
}
