//! What is asked of the endpoint, and what it answers.

use super::classic;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// The format of the figures for those who ask for it, as Prometheus does. Source: OpenMetrics 1.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What they say.
const OPEN_METRICS_TYPE: &str = "application/openmetrics-text";

/// Answers a request whose body, if there is one, nobody reads.
pub(super) fn to<B>(request: &Request<B>, registry: &Registry) -> Response<Full<Bytes>> {
    if !["/", "/metrics"].contains(&request.uri().path()) {
        return text(StatusCode::NOT_FOUND, "not found\n");
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let answer = text(StatusCode::METHOD_NOT_ALLOWED, "figures can only be read\n");
        return with(answer, ALLOW, "GET, HEAD");
    }
    page(registry, asks_for_open_metrics(request))
}

/// What a client is told when there are too many.
pub(super) fn busy() -> Response<Full<Bytes>> {
    let answer = text(StatusCode::SERVICE_UNAVAILABLE, "too many connections\n");
    with(answer, RETRY_AFTER, "10")
}

fn asks_for_open_metrics<B>(request: &Request<B>) -> bool {
    let mut accepted = request.headers().get_all(ACCEPT).iter();
    accepted.any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.contains(OPEN_METRICS_TYPE))
    })
}

fn page(registry: &Registry, is_open: bool) -> Response<Full<Bytes>> {
    let mut figures = String::new();
    let (encoded, format) = match encode(&mut figures, registry) {
        Ok(()) if is_open => (Ok(figures), OPEN_METRICS),
        Ok(()) => (
            Ok(classic::from_open_metrics(&figures)),
            classic::CONTENT_TYPE,
        ),
        Err(error) => (Err(error), classic::CONTENT_TYPE),
    };
    match encoded {
        Ok(figures) => with(text(StatusCode::OK, figures), CONTENT_TYPE, format),
        Err(_) => text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "cannot encode the metrics\n",
        ),
    }
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    with(answer, CONTENT_TYPE, "text/plain; charset=utf-8")
}

fn with(
    mut answer: Response<Full<Bytes>>,
    name: HeaderName,
    value: &'static str,
) -> Response<Full<Bytes>> {
    let value = HeaderValue::from_static(value);
    answer.headers_mut().insert(name, value);
    answer
}
