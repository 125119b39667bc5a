//! Questions of a peer that are no client's requests: the server answers them itself.

use super::{Flow, Stage, close};
use crate::host::{Networks, UpgradeRequest};
use crate::others::Peer;
use crate::{Context, Replies, Status, moving};
use farcache_peers::frame::{Head, Kind};
use farcache_peers::moves::{Fetch, Place, Pull};
use farcache_store::Suspended;

/// Longest body of a question that is no client's request.
pub(super) const BODY_BYTES_MAX: u32 = 512;

/// Who asks.
#[derive(Default)]
pub(super) struct Asker {
    pub(super) peer: Peer,
    /// Where the last answer to a pull ended.
    pulled_to: Option<Place>,
}

impl Asker {
    pub(super) fn new(peer: Peer) -> Asker {
        Asker {
            peer,
            pulled_to: None,
        }
    }

    /// Answers a question for the next items; none where it makes no sense.
    fn pull(
        &mut self,
        body: &[u8],
        context: &Context<'_>,
        bytes: &mut Vec<u8>,
    ) -> Option<Result<bool, Suspended>> {
        let pull = Pull::decode(body)?;
        let place = self.pulled_to.insert(pull.place.or(self.pulled_to)?);
        Some(moving::give_next(
            pull.instance,
            place,
            self.peer,
            context,
            bytes,
        ))
    }
}

/// Answers a question that is no client's request, if all of it is there.
pub(super) fn answer(
    input: &[u8],
    head: Head,
    asker: &mut Asker,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Flow {
    let Some(body) = input.get(..head.body_bytes as usize) else {
        return Flow::Stop(0, Status::NeedInput);
    };
    let Some(forward) = context.forward else {
        return close(context);
    };
    let mut bytes = Vec::new();
    let given = match head.kind {
        Kind::Acknowledge => {
            let Some(said) = context.host.acknowledged() else {
                return close(context);
            };
            bytes.extend_from_slice(&said.encode());
            Ok(true)
        }
        Kind::Fabric => Ok(grant(body, asker.peer, context, &mut bytes)),
        Kind::Fetch => match Fetch::decode(body) {
            Some(fetch) => moving::give(&fetch, asker.peer, context, &mut bytes),
            None => return close(context),
        },
        _ => match asker.pull(body, context, &mut bytes) {
            Some(given) => given,
            None => return close(context),
        },
    };
    let kind = match given {
        Ok(true) => Kind::Reply,
        Ok(false) => Kind::NotOwner,
        Err(suspended) => return Flow::Stop(0, Status::Suspended(suspended)),
    };
    let reply = Head {
        kind,
        number: head.number,
        epoch: forward.epoch(),
        body_bytes: bytes.len() as u32,
    };
    replies.buffer().extend_from_slice(&reply.encode());
    replies.buffer().append(&mut bytes);
    Flow::Enter(body.len(), Stage::Head)
}

/// Grants a peer a session on the fabric; false where it gets none.
fn grant(body: &[u8], from: Peer, context: &Context<'_>, bytes: &mut Vec<u8>) -> bool {
    let Some((&version, networks)) = body.split_first() else {
        return false;
    };
    let asked = context.host.upgrade(UpgradeRequest {
        version: version.into(),
        networks: Networks::Bytes(networks),
        asker: Some(from),
    });
    let is_granted = asked.is_ok();
    bytes.extend(asked.unwrap_or_default());
    is_granted
}
