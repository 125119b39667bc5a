//! A client asks which servers the cluster has, or for its map.

use super::dispatch::Request;
use super::{Flow, State};
use crate::discovery::KEY;
use farcache_proto::binary::{Opcode, Status, encode_head};

/// The flags before a configuration.
const FLAGS: [u8; 4] = [0; 4];

/// Answers with the configuration, or, outside of a cluster, as to a command that does not exist.
pub(super) fn run(request: Request<'_, '_>, state: &mut State) -> Flow {
    let head = request.head;
    let Some(configuration) = request.context.host.configuration() else {
        return request.unknown(state);
    };
    if !head.extras.is_empty() || head.value_len > 0 {
        return request.malformed();
    }
    if head.key != KEY {
        return request.error(Status::NotFound);
    }
    let (payload, buffer) = (configuration.payload(), request.replies.buffer());
    let header = super::reply::header(&head.header, Status::Success, 0);
    encode_head(header, &FLAGS, &[], payload.len(), buffer);
    buffer.extend_from_slice(payload);
    Flow::one(head.head_len())
}

/// Answers with the cluster's map, or with nothing to who knows it; outside of a cluster, as to a
/// command that does not exist.
pub(super) fn map(request: Request<'_, '_>, state: &mut State) -> Flow {
    let head = request.head;
    let Some(configuration) = request.context.host.configuration() else {
        return request.unknown(state);
    };
    if !request.is_well_formed(Opcode::ClusterMap) {
        return request.malformed();
    }
    let map = configuration.map_unless(head.header.cas);
    super::reply::success(&head.header, configuration.edition(), map, request.replies);
    Flow::one(head.head_len())
}
