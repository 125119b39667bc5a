//! Connections of the endpoint: how many there may be, and for how long.

use super::answer;
use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::registry::Registry;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

/// Connections that are served at once. Prometheus makes one for each scrape.
const SERVED_MAX: usize = 8;

/// Connections above these that are told at once that the endpoint is busy. Further ones are closed
/// without a word.
const REFUSED_MAX: usize = 8;

/// Connections that are open at once at most; one has been accepted before it is closed.
pub const CONNECTIONS_MAX: usize = SERVED_MAX + REFUSED_MAX + 1;

/// How long a client may take to send its request.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(5);

/// How long a connection may last in all, whether its client does not send, or does not read.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(10);

/// Most bytes of a request without its body, which nobody reads. The least that the library allows.
const REQUEST_BYTES_MAX: usize = 8 << 10;

/// How long accepting rests after it has failed, as for want of descriptors.
const REST: Duration = Duration::from_secs(1);

/// Accepts and serves connections for ever.
pub(super) async fn serve(listener: TcpListener, registry: Arc<Registry>) {
    let served = Arc::new(Semaphore::new(SERVED_MAX));
    let refused = Arc::new(Semaphore::new(REFUSED_MAX));
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the metrics endpoint cannot accept connections for now");
                sleep(REST).await;
                continue;
            }
        };
        if let Ok(place) = Arc::clone(&served).try_acquire_owned() {
            tokio::spawn(converse(stream, Some(Arc::clone(&registry)), place));
        } else if let Ok(place) = Arc::clone(&refused).try_acquire_owned() {
            tokio::spawn(converse(stream, None, place));
        }
    }
}

/// Answers the one request of a connection: with the figures in `registry`, or, where there is
/// none, that the endpoint is busy.
async fn converse(
    stream: TcpStream,
    registry: Option<Arc<Registry>>,
    _place: OwnedSemaphorePermit,
) {
    let service = service_fn(|request| {
        let answer: Response<Full<Bytes>> = match &registry {
            Some(registry) => answer::to(&request, registry),
            None => answer::busy(),
        };
        async { Ok::<_, Infallible>(answer) }
    });
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIME_MAX)
        .max_buf_size(REQUEST_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    match timeout(CONNECTION_TIME_MAX, conversation).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection of the metrics endpoint failed"),
        Err(_) => tracing::debug!("a connection of the metrics endpoint took too long"),
    }
}
