//! Messages in their short form ([`crate::short`]), to peers that understand it, where UCX takes
//! them at once.

use super::arrivals::{SHORT_GET, SHORT_VALUE};
use super::links::Link;
use super::sending::send_at_once;
use super::worker::Worker;
use crate::short::{self, Form};
use farcache_ucx_sys::raw::ucs_status_t;

/// Sends packets, if they have a short form.
#[inline]
pub(super) fn send(
    worker: &mut Worker,
    link: &Link,
    credits: u16,
    packets: &[u8],
) -> Option<ucs_status_t> {
    let endpoint = link.short_endpoint()?;
    let mut room = short::Room::default();
    let (form, message) = short::encode(link.key, credits, packets, &mut room)?;
    let number = match form {
        Form::Get => SHORT_GET,
        Form::Value => SHORT_VALUE,
    };
    send_at_once(worker, endpoint, number, &[], message)
}

/// Sends a get, if its key is short enough.
#[inline]
pub(super) fn send_get(
    worker: &mut Worker,
    link: &Link,
    opaque: [u8; 4],
    item_key: &[u8],
) -> Option<ucs_status_t> {
    let endpoint = link.short_endpoint()?;
    if !short::has_short_get(item_key) {
        return None;
    }
    let mut room = short::Room::default();
    let message = short::write_get(link.key, opaque, item_key, &mut room);
    send_at_once(worker, endpoint, SHORT_GET, &[], message)
}
