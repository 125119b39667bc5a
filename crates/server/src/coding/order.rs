//! What a client has asked for, and what it is told.

use super::unix_time;
use crate::parts::placed::place;
use farcache_cluster::{ClusterMap, Owners};
use farcache_proto::binary::{
    Header, MAGIC_RESPONSE, Opcode, Packet, Placed, SetExtras, Status, encode_head, encode_u32,
};
use farcache_redundancy::plan::WriteOutcome;
use farcache_redundancy::spread::{SPREAD_BYTES, Spread};

/// Seconds up to which an expiry counts from now, as in memcached.
const RELATIVE_EXPIRY_MAX_S: u32 = 60 * 60 * 24 * 30;

/// A client's request.
pub struct Order<'a> {
    /// Of the packet, which the answer repeats.
    pub header: Header,
    /// The key.
    pub key: &'a [u8],
    /// How the value lies at the owners.
    pub spread: Spread,
    /// Where it lies.
    pub owners: Owners,
    /// What owners are told of that.
    pub placed: Placed,
    /// Flags and value to be stored, and the expiry as Unix time; none for a read.
    pub store: Option<(SetExtras, &'a [u8])>,
}

impl<'a> Order<'a> {
    /// Takes a request apart, whose key this map places.
    ///
    /// # Errors
    /// The packet that tells its client why nothing comes of it.
    pub fn read(request: &'a [u8], map: &ClusterMap) -> Result<Order<'a>, Vec<u8>> {
        let decoded = Packet::decode(request).ok().flatten();
        let (packet, _) = decoded.expect("the session has looked at it");
        let header = packet.header;
        let is_store = header.opcode == Opcode::SetSpread as u8;
        let set_bytes = if is_store { SetExtras::BYTES } else { 0 };
        let (set, spread) = packet.extras.split_at(set_bytes);
        debug_assert_eq!(spread.len(), SPREAD_BYTES);
        let Some(spread) = Spread::decode(spread) else {
            let status = Status::InvalidArguments;
            return Err(refusal(&header, status, status.text()));
        };
        let count = spread.redundancy.owners() as u8;
        let (owners, placed) = place(map, packet.key, count);
        if placed.sum != spread.owners_sum {
            let status = Status::OtherOwners;
            return Err(refusal(&header, status, status.text()));
        }
        let store = SetExtras::decode(set).map(|set| {
            let expiration = absolute(set.expiration);
            (SetExtras { expiration, ..set }, packet.value)
        });
        Ok(Order {
            header,
            key: packet.key,
            spread,
            owners,
            placed,
            store,
        })
    }
}

/// An expiry as Unix time, which is one time for all servers; 0 for never.
fn absolute(expiration: u32) -> u32 {
    match expiration {
        1..=RELATIVE_EXPIRY_MAX_S => {
            let unix = unix_time().as_secs() + u64::from(expiration);
            u32::try_from(unix).unwrap_or(u32::MAX)
        }
        _ => expiration,
    }
}

fn response(request: &Header, status: Status, cas: u64) -> Header {
    Header {
        magic: MAGIC_RESPONSE,
        opcode: request.opcode,
        opaque: request.opaque,
        status: status as u16,
        cas,
        ..Header::default()
    }
}

/// The response that nothing has come of a request.
pub fn refusal(request: &Header, status: Status, text: &str) -> Vec<u8> {
    let mut packet = Vec::new();
    let header = response(request, status, 0);
    encode_head(header, &[], &[], text.len(), &mut packet);
    packet.extend_from_slice(text.as_bytes());
    packet
}

/// A value.
pub fn value(request: &Header, cas: u64, flags: u32, value: &[u8]) -> Vec<u8> {
    let mut packet = Vec::with_capacity(64 + value.len());
    let header = response(request, Status::Success, cas);
    encode_head(header, &encode_u32(flags), &[], value.len(), &mut packet);
    packet.extend_from_slice(value);
    packet
}

/// How a write has ended; `refused` is why a server has not taken it, if one has said so.
pub fn written(request: &Header, outcome: WriteOutcome, refused: Option<Status>) -> Vec<u8> {
    let failure = Status::TemporaryFailure;
    let (status, text) = match outcome {
        WriteOutcome::Written { version, .. } => {
            let header = response(request, Status::Success, version.bits());
            let mut packet = Vec::new();
            encode_head(header, &[], &[], 0, &mut packet);
            return packet;
        }
        WriteOutcome::TooFewLive => (failure, "too many of the key's servers are down"),
        WriteOutcome::Unavailable => match refused {
            Some(status) => (status, status.text()),
            None => (failure, "none of the key's servers can be reached"),
        },
        WriteOutcome::Skewed(_) => (
            failure,
            "a clock is wrong: the key has a version of the future",
        ),
        WriteOutcome::Refused { .. } => (failure, "somebody else writes the key all the time"),
        WriteOutcome::Unknown | WriteOutcome::Overtaken { .. } => {
            (Status::InDoubt, Status::InDoubt.text())
        }
    };
    refusal(request, status, text)
}
