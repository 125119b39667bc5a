//! Finds out what a request asks for, and whether it may.

use super::reply;
use super::{
    Context, Flow, State, administration, authenticate, delete, discovery, forward, get, listing,
    numbers, store, touch, upgrade, versioned,
};
use crate::Replies;
use crate::replies::ChangeError;
use farcache_base::limits::KEY_BYTES_MAX;
use farcache_base::version::Version;
use farcache_proto::binary::{
    ABOUT_OLDER, HEADER_BYTES, Head, Header, MAGIC_REQUEST, Opcode, SetExtras, Status,
};
use farcache_store::Suspended;

/// Handles the request at the start of `input`, or several gets in a row.
///
/// # Errors
/// [`Suspended`]: what has been replied since the call is to be taken back.
pub(super) fn next(
    state: &mut State,
    input: &[u8],
    requests_max: usize,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Result<Flow, Suspended> {
    let Some(bytes) = input.first_chunk::<HEADER_BYTES>() else {
        // Nothing of this protocol begins so, and the rest need not be waited for.
        let is_ours = input[0] == MAGIC_REQUEST;
        return Ok(if is_ours {
            Flow::NeedInput
        } else {
            Flow::Close { bytes: input.len() }
        });
    };
    let header = Header::decode(bytes);
    if header.magic != MAGIC_REQUEST {
        context.counters.protocol_errors.bump();
        return Ok(Flow::Close { bytes: input.len() });
    }
    if let Some(status) = refusal(state, &header, context) {
        return Ok(refuse(&header, status, input.len(), context, replies));
    }
    let Ok(Some(head)) = Head::decode(input) else {
        return Ok(Flow::NeedInput);
    };
    let mark = replies.mark();
    let request = Request {
        head,
        input,
        context,
        replies: &mut *replies,
    };
    let Some(opcode) = Opcode::from_byte(header.opcode) else {
        return Ok(request.unknown(state));
    };
    if let Some(owner) = forward::foreign_owner(&request, opcode.loud()) {
        return forward::run(request, opcode, owner, state);
    }
    forward::bring(&request, opcode.loud())?;
    state.has_changed |= may_change(opcode.loud());
    let flow = request.execute(opcode, state, requests_max)?;
    let is_done = matches!(flow, Flow::Done { .. }) && state.pending.is_none();
    if is_done && tells_of_change(opcode.loud()) {
        replies.note_change(mark, ChangeError::Packet(header));
    }
    Ok(flow)
}

/// Whether a command that has been carried out is answered with an error if what it changed does
/// not become durable, also where it is quiet.
fn tells_of_change(opcode: Opcode) -> bool {
    may_change(opcode)
        && !matches!(
            opcode,
            Opcode::Verbosity
                | Opcode::FabricUpgrade
                | Opcode::SaslList
                | Opcode::SaslAuth
                | Opcode::SaslStep
        )
}

/// Whether a command may change an item.
fn may_change(opcode: Opcode) -> bool {
    !matches!(
        opcode,
        Opcode::Get
            | Opcode::GetK
            | Opcode::GetVersioned
            | Opcode::TellComplete
            | Opcode::TellUsed
            | Opcode::ListParts
            // The parts are other requests' changes.
            | Opcode::SetSpread
            | Opcode::GetSpread
            | Opcode::Noop
            | Opcode::Version
            | Opcode::Stat
            | Opcode::Quit
            | Opcode::ConfigGet
            | Opcode::ClusterMap
    )
}

/// Why a request is answered with an error and the connection closed, as far as its header tells.
fn refusal(state: &State, header: &Header, context: &Context<'_>) -> Option<Status> {
    if header.value_len().is_none() {
        return Some(Status::UnknownCommand);
    }
    if !authenticate::may_use(state, header.opcode, context.service.auth) {
        return Some(Status::AuthenticationError);
    }
    (usize::from(header.key_len) > KEY_BYTES_MAX).then_some(Status::InvalidArguments)
}

fn refuse(
    header: &Header,
    status: Status,
    input_len: usize,
    context: &Context<'_>,
    replies: &mut Replies,
) -> Flow {
    context.counters.protocol_errors.bump();
    reply::error(header, status, replies);
    Flow::Close { bytes: input_len }
}

/// Bytes of extras that say how a value lies at several servers.
const SPREAD_BYTES: usize = 12;

/// The bit of a token that no version has: the write is to be done only while the promise of its
/// version stands.
pub(super) const PROMISED: u64 = 1 << 63;

/// A request whose head is there.
pub(super) struct Request<'r, 'c> {
    pub(super) head: Head<'r>,
    /// Everything from the head on.
    pub(super) input: &'r [u8],
    pub(super) context: &'r Context<'c>,
    pub(super) replies: &'r mut Replies,
}

impl Request<'_, '_> {
    fn execute(
        self,
        opcode: Opcode,
        state: &mut State,
        requests_max: usize,
    ) -> Result<Flow, Suspended> {
        Ok(match opcode.loud() {
            Opcode::FabricUpgrade => upgrade::run(self, state),
            Opcode::ConfigGet => discovery::run(self, state),
            Opcode::ClusterMap => discovery::map(self, state),
            _ if !self.is_well_formed(opcode.loud()) => self.malformed(),
            Opcode::SetVersioned | Opcode::DeleteVersioned | Opcode::GetVersioned => {
                versioned::run(self, opcode, state)?
            }
            Opcode::Get | Opcode::GetK => get::run(self, requests_max)?,
            Opcode::Set | Opcode::Add | Opcode::Replace | Opcode::Append | Opcode::Prepend => {
                store::run(self, opcode, state)?
            }
            Opcode::TellComplete => versioned::take_complete(&self),
            Opcode::TellUsed => versioned::take_use(&self),
            Opcode::ListParts => listing::run(self, state)?,
            Opcode::SetSpread | Opcode::GetSpread => forward::spread(self, state)?,
            Opcode::Delete => delete::run(self, opcode)?,
            Opcode::Increment | Opcode::Decrement => numbers::run(self, opcode)?,
            Opcode::Touch | Opcode::Gat | Opcode::GatK => touch::run(self, opcode)?,
            Opcode::SaslList => authenticate::list(self),
            Opcode::SaslAuth | Opcode::SaslStep => authenticate::run(self, opcode, state),
            _ => administration::run(self, opcode),
        })
    }

    /// Whether the packet has the parts that the command needs and no others.
    pub(super) fn is_well_formed(&self, command: Opcode) -> bool {
        let (extras, has_key) = (self.head.extras.len(), !self.head.key.is_empty());
        let has_value = self.head.value_len > 0;
        match command {
            Opcode::Set | Opcode::Add | Opcode::Replace => extras == 8 && has_key,
            Opcode::SetVersioned | Opcode::DeleteVersioned | Opcode::GetVersioned => {
                has_key && versioned::is_well_formed(self, command)
            }
            Opcode::TellComplete => {
                !has_key && !has_value && versioned::is_well_formed(self, command)
            }
            Opcode::SetSpread => extras == SetExtras::BYTES + SPREAD_BYTES && has_key,
            Opcode::GetSpread => extras == SPREAD_BYTES && has_key && !has_value,
            // Whether it is one at all depends on who asks.
            Opcode::ListParts => true,
            Opcode::Append | Opcode::Prepend => extras == 0 && has_key,
            Opcode::SaslAuth | Opcode::SaslStep => extras == 0 && has_key,
            Opcode::Get | Opcode::GetK | Opcode::Delete | Opcode::TellUsed => {
                extras == 0 && has_key && !has_value
            }
            Opcode::Increment | Opcode::Decrement => extras == 20 && has_key && !has_value,
            Opcode::Touch | Opcode::Gat | Opcode::GatK => extras == 4 && has_key && !has_value,
            Opcode::Flush => (extras == 0 || extras == 4) && !has_key && !has_value,
            Opcode::Verbosity => extras == 4 && !has_key && !has_value,
            Opcode::Stat => extras == 0 && !has_value,
            _ => extras == 0 && !has_key && !has_value,
        }
    }

    /// The version that the packet carries, where its CAS token can be one.
    pub(super) fn version(&self) -> Option<Version> {
        Version::from_bits(self.head.header.cas & !PROMISED)
    }

    /// Whether a write stands on a promise of its version.
    pub(super) fn is_promised(&self) -> bool {
        self.head.header.cas & PROMISED != 0
    }

    /// Whether a write wants what it takes the place of kept, or a get wants that.
    pub(super) fn is_about_older(&self) -> bool {
        self.head.header.data_type & ABOUT_OLDER != 0
    }

    /// Refuses a packet that makes no sense, and with it the rest of the stream.
    pub(super) fn malformed(self) -> Flow {
        refuse(
            &self.head.header,
            Status::InvalidArguments,
            self.input.len(),
            self.context,
            self.replies,
        )
    }

    /// Answers that there is no such command; its value is thrown away.
    pub(super) fn unknown(self, state: &mut State) -> Flow {
        state.swallow_bytes = self.head.value_len;
        self.error(Status::UnknownCommand)
    }

    /// Answers with an error; done with the head.
    pub(super) fn error(self, status: Status) -> Flow {
        reply::error(&self.head.header, status, self.replies);
        Flow::one(self.head.head_len())
    }

    /// Answers with success unless the request is quiet; done with the head.
    pub(super) fn success(self, opcode: Opcode, cas: u64) -> Flow {
        reply::success_unless_quiet(&self.head.header, opcode.is_quiet(), cas, self.replies);
        Flow::one(self.head.head_len())
    }

    /// The value, if all of it is there.
    pub(super) fn value(&self) -> Option<&[u8]> {
        self.input[self.head.head_len()..].get(..self.head.value_len)
    }
}
