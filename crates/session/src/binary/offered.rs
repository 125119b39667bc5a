//! Values that are with their sender: the head of a packet comes first, its value later, straight
//! into its place in the store.

use super::dispatch::Request;
use super::{Context, State, authenticate, store, versioned};
use crate::Replies;
use crate::arriving::Promise;
use crate::others::Failure;
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_proto::binary::{Head, Header, MAGIC_REQUEST, Opcode};
use farcache_store::{Reservation, Suspended, Uncommitted};

/// What to do with a value that is offered.
#[expect(clippy::large_enum_variant, reason = "moved once for each large value")]
pub enum Offered {
    /// Fill the room, then hand both to [`crate::received`].
    Wanted(Reservation, Expected),
    /// It is not wanted; that has been answered.
    Refused,
    /// There will be room for it: as after [`crate::Status::Suspended`].
    Suspended(Suspended),
    /// This is not the head of a packet that stores such a value.
    Malformed,
}

/// A value that is on its way into its room.
pub struct Expected {
    header: Header,
    aim: Aim,
}

/// What becomes of the value.
enum Aim {
    /// It stays in its room.
    Item(Promise),
    /// It goes to several servers, behind this head; until then it counts as arriving.
    Owners(Box<(Promise, Vec<u8>)>),
}

/// Looks at the head of a packet whose value, of so many bytes, its sender offers.
pub(crate) fn offered(
    state: &State,
    head: &[u8],
    value_bytes: usize,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Offered {
    let Some((opcode, decoded)) = storing(head, value_bytes) else {
        return Offered::Malformed;
    };
    let header = decoded.header;
    let request = Request {
        head: decoded,
        input: head,
        context,
        replies,
    };
    let may_use = authenticate::may_use(state, header.opcode, context.service.auth);
    if !may_use || !request.is_well_formed(opcode.loud()) {
        return Offered::Malformed;
    }
    if super::forward::foreign_owner(&request, opcode.loud()).is_some() {
        super::forward::refuse(&header, Failure::NotForwarded, request.replies);
        return Offered::Refused;
    }
    if let Err(suspended) = super::forward::bring(&request, opcode.loud()) {
        return Offered::Suspended(suspended);
    }
    if opcode == Opcode::SetVersioned {
        versioned::note_complete(&request);
        if versioned::lies_elsewhere(&request) {
            versioned::refuse_place(request);
            return Offered::Refused;
        }
    }
    match store::expect(request, opcode) {
        Ok(Some((room, promise))) => {
            let aim = match opcode {
                Opcode::SetSpread => Aim::Owners(Box::new((promise, head.to_vec()))),
                _ => Aim::Item(promise),
            };
            Offered::Wanted(room, Expected { header, aim })
        }
        Ok(None) => Offered::Refused,
        Err(suspended) => Offered::Suspended(suspended),
    }
}

/// The command and the head, where this is all of the head of a packet that stores such a value.
fn storing(bytes: &[u8], value_bytes: usize) -> Option<(Opcode, Head<'_>)> {
    let head = Head::decode(bytes).ok()??;
    let is_whole = head.head_len() == bytes.len() && head.value_len == value_bytes;
    let opcode = Opcode::from_byte(head.header.opcode)?;
    let stores = matches!(
        opcode.loud(),
        Opcode::Set
            | Opcode::Add
            | Opcode::Replace
            | Opcode::Append
            | Opcode::Prepend
            | Opcode::SetVersioned
            | Opcode::SetSpread
    );
    let is_request = head.header.magic == MAGIC_REQUEST && head.key.len() <= KEY_BYTES_MAX;
    (is_whole && stores && is_request).then_some((opcode, head))
}

/// Stores a value that has arrived in its room, and answers; gives the room back where something
/// must be waited for first.
pub fn received(
    room: Reservation,
    expected: &Expected,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Result<(), Uncommitted> {
    let head = match &expected.aim {
        Aim::Item(promise) => {
            return store::commit(&expected.header, room, promise, context, replies);
        }
        Aim::Owners(owned) => &owned.1,
    };
    let Some(answer) = context.spread(head, &room) else {
        return Err(Uncommitted {
            suspended: Suspended::OnPeer,
            reservation: room,
        });
    };
    super::forward::push_answer(&expected.header, answer, replies);
    Ok(())
}
