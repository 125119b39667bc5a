//! Short forms of the two messages that a client which waits for each answer sends and gets: one
//! plain get, and the value that answers it.
//!
//! Within a host the time of a small message is that of its cache lines. So what is the same in all
//! such messages is left out, and the session is told by its key alone. A get with a key of 16
//! bytes then takes one line instead of two, and its answer with 64 bytes two instead of three.
//! Numbers of the packet stay as they are there; those of the frame are little-endian, as in
//! [`crate::frame`].
//!
//! A get, shorter by 36 bytes:
//!
//! | offset | bytes | field |
//! |---:|---:|---|
//! | 0 | 8 | key of the session |
//! | 8 | 4 | the packet's opaque |
//! | 12 | 1 to 250 | the item's key |
//!
//! A value, shorter by 26 bytes:
//!
//! | offset | bytes | field |
//! |---:|---:|---|
//! | 0 | 8 | key of the session |
//! | 8 | 2 | credits |
//! | 10 | 4 | the packet's opaque |
//! | 14 | 8 | the packet's CAS |
//! | 22 | 4 | the item's flags, which are the packet's extras |
//! | 26 | rest | the value |
//!
//! Only those understand them who say so: a network that has short forms puts [`UNDERSTOOD`] behind
//! the packets of its [`Kind::Welcome`], which others ignore. Whoever sends a short get understands
//! a short value.

use crate::error::Error;
use crate::frame::{Frame, Kind};

/// What stands behind a welcome of somebody who understands short forms.
pub const UNDERSTOOD: u8 = 1;

/// Bytes in front of the item's key.
pub const GET_FRONT_BYTES: usize = 12;

/// Bytes in front of the value.
pub const VALUE_FRONT_BYTES: usize = 26;

/// Longest packet that is sent in a short form, in bytes: beyond, a line more or less does not
/// count.
pub const PACKET_BYTES_MAX: usize = 192;

/// Longest key of an item in bytes, by memcached's protocol.
const ITEM_KEY_BYTES_MAX: usize = 250;

/// Length of a packet's header in memcached's binary protocol, and of flags.
const HEADER_BYTES: usize = 24;
const FLAGS_BYTES: usize = 4;

/// A value's packet without the value.
const VALUE_HEAD_BYTES: usize = HEADER_BYTES + FLAGS_BYTES;

/// The first bytes of a get but for the length of its key, and of a value, up to the length of the
/// body.
const GET: [u8; 8] = [0x80, 0, 0, 0, 0, 0, 0, 0];
const VALUE: [u8; 8] = [0x81, 0, 0, 0, FLAGS_BYTES as u8, 0, 0, 0];

/// What a short message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A get.
    Get,
    /// A value.
    Value,
}

/// Room for a message in a short form.
#[derive(Debug)]
pub struct Room([u8; PACKET_BYTES_MAX]);

impl Default for Room {
    #[inline]
    fn default() -> Self {
        Room([0; PACKET_BYTES_MAX])
    }
}

/// Puts a message in its short form into `room`, given what its frame says and its packets; none
/// where it has none.
#[inline]
pub fn encode<'r>(
    key: u64,
    credits: u16,
    packets: &[u8],
    room: &'r mut Room,
) -> Option<(Form, &'r [u8])> {
    if packets.len() > PACKET_BYTES_MAX {
        return None;
    }
    let (header, rest) = packets.split_first_chunk::<HEADER_BYTES>()?;
    let body_bytes = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    if body_bytes as usize != rest.len() {
        return None;
    }
    match header[0] {
        0x80 if credits == 0 => encode_get(key, header, rest, room),
        0x81 => encode_value(key, credits, header, packets, room),
        _ => None,
    }
}

#[inline]
fn encode_get<'r>(
    key: u64,
    header: &[u8; HEADER_BYTES],
    item_key: &[u8],
    room: &'r mut Room,
) -> Option<(Form, &'r [u8])> {
    let [high, low] = (item_key.len() as u16).to_be_bytes();
    let mut plain = GET;
    (plain[2], plain[3]) = (high, low);
    let is_plain = header[..8] == plain && header[16..] == [0; 8] && !item_key.is_empty();
    if !is_plain {
        return None;
    }
    let opaque = [header[12], header[13], header[14], header[15]];
    Some((Form::Get, write_get(key, opaque, item_key, room)))
}

/// Puts a get in its short form into `room`.
///
/// # Panics
/// Where its packet would be longer than [`PACKET_BYTES_MAX`].
#[inline]
pub fn write_get<'r>(key: u64, opaque: [u8; 4], item_key: &[u8], room: &'r mut Room) -> &'r [u8] {
    let message = &mut room.0[..GET_FRONT_BYTES + item_key.len()];
    let (front, rest) = message.split_at_mut(GET_FRONT_BYTES);
    front[..8].copy_from_slice(&key.to_le_bytes());
    front[8..].copy_from_slice(&opaque);
    rest.copy_from_slice(item_key);
    message
}

/// Whether the get of an item has a short form.
#[must_use]
#[inline]
pub fn has_short_get(item_key: &[u8]) -> bool {
    (1..=PACKET_BYTES_MAX - HEADER_BYTES).contains(&item_key.len())
}

#[inline]
fn encode_value<'r>(
    key: u64,
    credits: u16,
    header: &[u8; HEADER_BYTES],
    packet: &[u8],
    room: &'r mut Room,
) -> Option<(Form, &'r [u8])> {
    if header[..8] != VALUE || packet.len() < VALUE_HEAD_BYTES {
        return None;
    }
    let kept = &packet[12..];
    let message = &mut room.0[..10 + kept.len()];
    message[..8].copy_from_slice(&key.to_le_bytes());
    message[8..10].copy_from_slice(&credits.to_le_bytes());
    message[10..].copy_from_slice(kept);
    Some((Form::Value, message))
}

/// A get as its packet.
#[derive(Debug)]
pub struct Get {
    /// The session's key.
    pub key: u64,
    bytes: [u8; HEADER_BYTES + ITEM_KEY_BYTES_MAX],
    length: usize,
}

impl Get {
    /// Reads a message in this form.
    ///
    /// # Errors
    /// [`Error::Malformed`] names the rule that it breaks.
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Get, Error> {
        let parts = message.split_first_chunk::<GET_FRONT_BYTES>();
        let (front, item_key) = parts.ok_or(Error::Malformed("shorter than a short get"))?;
        if item_key.is_empty() || item_key.len() > ITEM_KEY_BYTES_MAX {
            return Err(Error::Malformed("a short get with a key of no length"));
        }
        let [k0, k1, k2, k3, k4, k5, k6, k7, o0, o1, o2, o3] = *front;
        let key = u64::from_le_bytes([k0, k1, k2, k3, k4, k5, k6, k7]);
        Ok(Get::new(key, [o0, o1, o2, o3], item_key))
    }

    /// A plain get with this opaque number, as it stands in packets.
    ///
    /// # Panics
    /// With a key of more than 250 bytes.
    #[must_use]
    #[inline]
    pub fn new(key: u64, opaque: [u8; 4], item_key: &[u8]) -> Get {
        let [o0, o1, o2, o3] = opaque;
        let [high, low] = (item_key.len() as u16).to_be_bytes();
        let mut bytes = [0; HEADER_BYTES + ITEM_KEY_BYTES_MAX];
        bytes[..16].copy_from_slice(&[
            GET[0], 0, high, low, 0, 0, 0, 0, 0, 0, high, low, o0, o1, o2, o3,
        ]);
        let length = HEADER_BYTES + item_key.len();
        bytes[HEADER_BYTES..length].copy_from_slice(item_key);
        Get { key, bytes, length }
    }

    /// The packet.
    #[must_use]
    #[inline]
    pub fn packet(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The frame that it would have come with.
    #[must_use]
    #[inline]
    pub fn frame(&self, session: u32) -> Frame {
        Frame {
            kind: Kind::Packets,
            session,
            key: self.key,
            credits: 0,
            head_bytes: 0,
            body_bytes: self.length as u32,
        }
    }
}

/// A value as its packet, in two parts.
#[derive(Debug)]
pub struct Value<'a> {
    /// The session's key.
    pub key: u64,
    /// See [`Frame::credits`].
    pub credits: u16,
    /// The packet up to the value.
    pub head: [u8; VALUE_HEAD_BYTES],
    /// The value.
    pub value: &'a [u8],
}

impl<'a> Value<'a> {
    /// Reads a message in this form.
    ///
    /// # Errors
    /// [`Error::Malformed`] names the rule that it breaks.
    #[inline]
    pub fn decode(message: &'a [u8]) -> Result<Value<'a>, Error> {
        let parts = message.split_first_chunk::<VALUE_FRONT_BYTES>();
        let (front, value) = parts.ok_or(Error::Malformed("shorter than a short value"))?;
        let body_bytes = u32::try_from(FLAGS_BYTES + value.len());
        let body_bytes = body_bytes.map_err(|_| Error::Malformed("a value that is too long"))?;
        let mut head = [0; VALUE_HEAD_BYTES];
        head[..8].copy_from_slice(&VALUE);
        head[8..12].copy_from_slice(&body_bytes.to_be_bytes());
        head[12..].copy_from_slice(&front[10..]);
        let [k0, k1, k2, k3, k4, k5, k6, k7, c0, c1, ..] = *front;
        Ok(Value {
            key: u64::from_le_bytes([k0, k1, k2, k3, k4, k5, k6, k7]),
            credits: u16::from_le_bytes([c0, c1]),
            head,
            value,
        })
    }

    /// The frame that it would have come with.
    #[must_use]
    #[inline]
    pub fn frame(&self, session: u32) -> Frame {
        Frame {
            kind: Kind::Packets,
            session,
            key: self.key,
            credits: self.credits,
            head_bytes: VALUE_HEAD_BYTES as u16,
            body_bytes: self.value.len() as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u64 = 0x1817_1615_1413_1211;

    /// Magic, opcode, length of the key, no extras; length of the body; opaque; no CAS; the key.
    const GET_PACKET: [u8; 27] = [
        0x80, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, b'k', b'e', b'y',
    ];

    /// Magic, opcode, no key, 4 bytes of extras, success; length of the body; opaque; CAS; flags;
    /// the value.
    const VALUE_PACKET: [u8; 33] = [
        0x81, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 9, 1, 2, 3, 4, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32,
        33, 34, b'v', b'a', b'l', b'u', b'e',
    ];

    /// Each field at the offset of the tables above.
    const SHORT_GET: [u8; 15] = [
        0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 1, 2, 3, 4, b'k', b'e', b'y',
    ];
    const SHORT_VALUE: [u8; 31] = [
        0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x22, 0x21, 1, 2, 3, 4, 21, 22, 23, 24, 25,
        26, 27, 28, 31, 32, 33, 34, b'v', b'a', b'l', b'u', b'e',
    ];

    #[test]
    fn short_forms_have_their_golden_bytes() {
        let mut room = Room::default();
        let get = encode(KEY, 0, &GET_PACKET, &mut room);
        assert_eq!(get, Some((Form::Get, &SHORT_GET[..])));
        let value = encode(KEY, 0x2122, &VALUE_PACKET, &mut room);
        assert_eq!(value, Some((Form::Value, &SHORT_VALUE[..])));
    }

    #[test]
    fn short_forms_are_read_as_the_packets_that_they_stand_for() {
        let get = Get::decode(&SHORT_GET).expect("a get");
        assert_eq!(get.packet(), GET_PACKET);
        let frame = get.frame(7);
        assert_eq!(
            (frame.kind, frame.session, frame.key),
            (Kind::Packets, 7, KEY)
        );
        assert_eq!((frame.head_bytes, frame.body_bytes), (0, 27));
        let value = Value::decode(&SHORT_VALUE).expect("a value");
        assert_eq!([&value.head, value.value].concat(), VALUE_PACKET);
        let frame = value.frame(7);
        assert_eq!(
            (frame.kind, frame.session, frame.key),
            (Kind::Packets, 7, KEY)
        );
        assert_eq!(frame.credits, 0x2122);
        assert_eq!((frame.head_bytes, frame.body_bytes), (28, 5));
    }

    #[test]
    fn packets_that_say_more_have_no_short_form() {
        let mut room = Room::default();
        assert_eq!(encode(KEY, 1, &GET_PACKET, &mut room), None);
        let two = [GET_PACKET, GET_PACKET].concat();
        let without_key = [&GET_PACKET[..3], &[0; 21]].concat();
        for packets in [&two[..], &without_key, &GET_PACKET[..26], &[], &[0; 192]] {
            assert_eq!(encode(KEY, 0, packets, &mut room), None, "{packets:?}");
        }
        // Whatever does not come back from the short form must be as it is in plain packets.
        let said = |packet: &[u8], place: usize| {
            let mut other = packet.to_vec();
            other[place] ^= 1;
            encode(KEY, 0, &other, &mut Room::default()).is_some()
        };
        let is_kept = |place: usize| said(&GET_PACKET, place);
        assert!((0..24).filter(|place| is_kept(*place)).eq(12..16));
        let is_kept = |place: usize| said(&VALUE_PACKET, place);
        assert!((0..28).filter(|place| is_kept(*place)).eq(12..28));
    }

    #[test]
    fn only_small_packets_are_shortened() {
        let mut packet = VALUE_PACKET[..28].to_vec();
        packet.resize(PACKET_BYTES_MAX, b'v');
        packet[11] = (PACKET_BYTES_MAX - 24) as u8;
        let mut room = Room::default();
        assert!(encode(KEY, 0, &packet, &mut room).is_some());
        packet.push(b'v');
        packet[11] += 1;
        assert_eq!(encode(KEY, 0, &packet, &mut room), None);
    }

    #[test]
    fn what_breaks_a_rule_is_refused() {
        for bytes in [0, 1, GET_FRONT_BYTES, GET_FRONT_BYTES + 251] {
            assert!(Get::decode(&vec![1; bytes]).is_err(), "{bytes}");
        }
        assert!(Get::decode(&[1; GET_FRONT_BYTES + 250]).is_ok());
        for bytes in [0, VALUE_FRONT_BYTES - 1] {
            assert!(Value::decode(&vec![1; bytes]).is_err(), "{bytes}");
        }
        assert!(Value::decode(&[1; VALUE_FRONT_BYTES]).is_ok());
    }
}
