//! A client asks to be let in to the fabric.

use super::dispatch::Request;
use super::{Flow, State, reply};
use crate::host::{Networks, UpgradeRefusal, UpgradeRequest};
use farcache_proto::binary::Status;

/// Longest value, in bytes: a version and more networks than there are.
const VALUE_BYTES_MAX: usize = 16;

/// Answers with a grant, or as to a command that does not exist.
pub(super) fn run(request: Request<'_, '_>, state: &mut State) -> Flow {
    let head = request.head;
    let is_ours = head.extras.is_empty() && head.key.is_empty();
    if !is_ours || head.value_len > VALUE_BYTES_MAX {
        return request.unknown(state);
    }
    let Some(value) = request.value() else {
        return Flow::NeedInput;
    };
    let Some((&version, networks)) = value.split_first() else {
        return request.unknown(state);
    };
    let asked = request.context.host.upgrade(UpgradeRequest {
        version: version.into(),
        networks: Networks::Bytes(networks),
        asker: None,
    });
    match asked {
        Ok(grant) => reply::success(&head.header, 0, &grant, request.replies),
        Err(UpgradeRefusal::Off) => return request.unknown(state),
        Err(UpgradeRefusal::Bound) => {
            let text = UpgradeRefusal::BOUND_TEXT;
            reply::error_text(
                &head.header,
                Status::InvalidArguments,
                text,
                request.replies,
            );
        }
    }
    Flow::one(head.head_len() + head.value_len)
}
