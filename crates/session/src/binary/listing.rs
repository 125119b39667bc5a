//! A page of what the server has of values that lie on several; for peers only, who find out by it
//! what they lack.

use super::dispatch::Request;
use super::{Flow, State, reply};
use crate::others::Peer;
use farcache_peers::listing::{Inquiry, PageHead};
use farcache_store::{ScanCursor, Suspended};

/// Answers with a page.
///
/// # Errors
/// [`Suspended`], where items must be read from a device first.
pub(super) fn run(request: Request<'_, '_>, state: &mut State) -> Result<Flow, Suspended> {
    let (head, context) = (request.head, request.context);
    let forward = context.forward.filter(|forward| forward.is_for_peer());
    let forward = forward.filter(|_| head.key.is_empty() && head.value_len == 0);
    let (Some(forward), Some(inquiry)) = (forward, Inquiry::decode(head.extras)) else {
        // To clients there is no such command.
        return Ok(request.unknown(state));
    };
    let Some(mut cursor) = ScanCursor::decode(inquiry.cursor) else {
        return Ok(request.malformed());
    };
    let (mut entries, mut count, mut goes_on) = (Vec::new(), 0, true);
    if inquiry.entries_max > 0 {
        let most = usize::from(inquiry.entries_max);
        goes_on = context
            .store
            .scan_versions(&mut cursor, most, &mut |item| {
                if inquiry.used_only && !item.is_used {
                    return;
                }
                if let Some(entry) = forward.entry(Peer(inquiry.asker), item) {
                    entry.encode_to(&mut entries);
                    count += 1;
                }
            })?;
    }
    let store = context.store.store();
    let page = PageHead {
        next: cursor.encode(),
        horizon: store.horizon().map_or(0, |horizon| horizon.bits()),
        goes_on,
        is_caught_up: !store.is_catching_up(),
        entries: count,
    };
    let value = [&page.encode()[..], &entries].concat();
    reply::success(&head.header, 0, &value, request.replies);
    Ok(Flow::one_with_copy(head.head_len(), value.len()))
}
