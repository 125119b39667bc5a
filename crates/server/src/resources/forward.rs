//! Messages on the fabric that wait for other servers.

use super::Resources;
use crate::peers::{Asked, Waiter};
use farcache_session::Status;
use farcache_store::Suspended;

/// Lets a message's session find the replies that it has waited for, once its reads have ended.
pub fn stage_message(asked: Asked, resources: &mut Resources) {
    if let Some(peers) = &mut resources.peers {
        peers.stage(asked);
    }
}

/// A message that has answers is not carried out any more.
pub fn forget_message(asked: &Asked, resources: &mut Resources) {
    if let Some(peers) = &mut resources.peers {
        peers.forget(asked);
    }
}

/// A message has been handled as far as that goes now: what it waits for, and what it may still
/// need.
#[inline]
pub fn settle_message(waiter: Waiter, status: Status, resources: &mut Resources) -> Asked {
    let Some(peers) = &mut resources.peers else {
        return Asked::default();
    };
    match status {
        Status::Suspended(Suspended::OnPeer) => {
            peers.take_asked(waiter, resources.turn_began, &resources.counters)
        }
        Status::Suspended(_) => {
            peers.desk.take_noted();
            peers.take_staged()
        }
        _ => {
            peers.desk.take_noted();
            peers.desk.take_staged();
            Asked::default()
        }
    }
}
