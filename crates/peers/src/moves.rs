//! Bodies of the frames by which keys move from their old owner to the new one, which asks.
//!
//! The new owner names the *instance* of the old one that has acknowledged the move: a random
//! number of each start. A server that was started anew may have lost what it had changed last, so
//! nothing more is taken from it.
//!
//! Numbers are big-endian.

/// Which run of a server's program it is.
pub type Instance = u64;

/// Where a giving server stands in what it holds; opaque to the taking one, but for its first bit
/// ([`goes_on`]). All zeros is the beginning.
pub type Place = [u8; 16];

/// The bit of a place's first byte that [`goes_on`] looks at.
const GOES_ON: u8 = 0x80;

/// Whether the server whose place this is remembers where its last answer on a connection ended, so
/// that the next question need not name it ([`Pull::place`]).
#[must_use]
pub fn goes_on(place: &Place) -> bool {
    place[0] & GOES_ON > 0
}

/// The place, marked so ([`goes_on`]).
#[must_use]
pub fn marked(mut place: Place) -> Place {
    place[0] |= GOES_ON;
    place
}

/// The place without the mark.
#[must_use]
pub fn unmarked(mut place: Place) -> Place {
    place[0] &= !GOES_ON;
    place
}

/// Bytes of [`Acknowledged`].
const ACKNOWLEDGED_BYTES: usize = 16;
/// Bytes of an item's head.
const ITEM_HEAD_BYTES: usize = 22;
/// Bytes before the items of [`Pulled`].
const PULLED_HEAD_BYTES: usize = 24;

/// Answers [`Kind::Acknowledge`](crate::frame::Kind::Acknowledge).
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 8 | instance |
/// | 8 | 8 | epoch: all workers go by the map of this epoch or a later one |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Which run of the program answers.
    pub instance: Instance,
    /// What all of its workers go by.
    pub epoch: u64,
}

impl Acknowledged {
    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; ACKNOWLEDGED_BYTES] {
        let mut bytes = [0; ACKNOWLEDGED_BYTES];
        bytes[..8].copy_from_slice(&self.instance.to_be_bytes());
        bytes[8..].copy_from_slice(&self.epoch.to_be_bytes());
        bytes
    }

    /// What was sent so.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Acknowledged> {
        let bytes: &[u8; ACKNOWLEDGED_BYTES] = bytes.try_into().ok()?;
        Some(Acknowledged {
            instance: number(&bytes[..8])?,
            epoch: number(&bytes[8..])?,
        })
    }
}

/// The body of [`Kind::Fetch`](crate::frame::Kind::Fetch): eight bytes, then the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch<'a> {
    /// The instance that has acknowledged.
    pub instance: Instance,
    /// Whose item.
    pub key: &'a [u8],
}

impl<'a> Fetch<'a> {
    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [&self.instance.to_be_bytes()[..], self.key].concat()
    }

    /// What was sent so.
    #[must_use]
    pub fn decode(bytes: &'a [u8]) -> Option<Fetch<'a>> {
        let (instance, key) = bytes.split_first_chunk::<8>()?;
        let is_key = (1..=KEY_BYTES_MAX).contains(&key.len());
        is_key.then_some(Fetch {
            instance: u64::from_be_bytes(*instance),
            key,
        })
    }
}

/// Longest key, in bytes. Source: memcached `KEY_MAX_LENGTH`.
const KEY_BYTES_MAX: usize = 250;

/// The body of [`Kind::Pull`](crate::frame::Kind::Pull): eight bytes, then the 16 of a place, if it
/// names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The instance that has acknowledged.
    pub instance: Instance,
    /// From where on; none is behind the last answer on this connection, which need not have come
    /// yet. Only servers that mark their places are asked so.
    pub place: Option<Place>,
}

impl Pull {
    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let place = self.place.as_ref().map_or(&[][..], |place| &place[..]);
        [&self.instance.to_be_bytes()[..], place].concat()
    }

    /// What was sent so.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Pull> {
        let (instance, rest) = bytes.split_first_chunk::<8>()?;
        let place = match rest {
            [] => None,
            place => Some(place.try_into().ok()?),
        };
        Some(Pull {
            instance: u64::from_be_bytes(*instance),
            place,
        })
    }
}

/// One item on its way.
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 1 | marks: 1 the key is shown in base64, 2 somebody recaches it, 4 the value is not here |
/// | 1 | 1 | length of the key |
/// | 2 | 4 | client flags |
/// | 6 | 4 | seconds until it expires; 0 is never |
/// | 10 | 8 | CAS token, if one was told to a client; else 0 |
/// | 18 | 4 | length of the value |
/// | 22 | | key, then value |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedItem<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its value; none where it is too large to come unasked.
    pub value: Option<&'a [u8]>,
    /// The client's flags.
    pub flags: u32,
    /// Seconds until it expires; none where it never does.
    pub expires_in_s: Option<u32>,
    /// Its CAS token, if a client knows it.
    pub cas: Option<u64>,
    /// The key is shown in base64.
    pub key_is_binary: bool,
    /// Some client has been told to recache it.
    pub is_win_sent: bool,
}

impl<'a> MovedItem<'a> {
    /// Appends it as it is sent.
    ///
    /// # Panics
    /// If the key or the value is longer than any item's.
    pub fn push(&self, bytes: &mut Vec<u8>) {
        let value = self.value.unwrap_or_default();
        let marks = u8::from(self.key_is_binary)
            | u8::from(self.is_win_sent) << 1
            | u8::from(self.value.is_none()) << 2;
        bytes.push(marks);
        bytes.push(u8::try_from(self.key.len()).expect("an item's key"));
        bytes.extend_from_slice(&self.flags.to_be_bytes());
        bytes.extend_from_slice(&self.expires_in_s.unwrap_or(0).to_be_bytes());
        bytes.extend_from_slice(&self.cas.unwrap_or(0).to_be_bytes());
        let value_bytes = u32::try_from(value.len()).expect("an item's value");
        bytes.extend_from_slice(&value_bytes.to_be_bytes());
        bytes.extend_from_slice(self.key);
        bytes.extend_from_slice(value);
    }

    /// Takes the first of the items sent so.
    fn take(bytes: &mut &'a [u8]) -> Option<MovedItem<'a>> {
        let (head, rest) = bytes.split_first_chunk::<ITEM_HEAD_BYTES>()?;
        let [marks @ 0..=7, key_bytes, ..] = *head else {
            return None;
        };
        let (key, rest) = rest.split_at_checked(usize::from(key_bytes))?;
        let value_bytes: u32 = number32(&head[18..22])?;
        let (value, rest) = rest.split_at_checked(value_bytes as usize)?;
        let has_value = marks & 4 == 0;
        if !(1..=KEY_BYTES_MAX).contains(&key.len()) || !has_value && !value.is_empty() {
            return None;
        }
        *bytes = rest;
        Some(MovedItem {
            key,
            value: has_value.then_some(value),
            flags: number32(&head[2..6])?,
            expires_in_s: Some(number32(&head[6..10])?).filter(|seconds| *seconds > 0),
            cas: Some(number(&head[10..18])?).filter(|cas| *cas > 0),
            key_is_binary: marks & 1 > 0,
            is_win_sent: marks & 2 > 0,
        })
    }

    /// Bytes of key and value.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.key.len() + self.value.map_or(0, <[u8]>::len)
    }
}

/// Answers [`Kind::Fetch`](crate::frame::Kind::Fetch): a byte, then the item where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched<'a> {
    /// The server was started anew meanwhile.
    OtherInstance,
    /// The server has no such item.
    Nothing,
    /// The server has this item.
    Item(MovedItem<'a>),
}

impl<'a> Fetched<'a> {
    /// Appends it as it is sent.
    pub fn push(&self, bytes: &mut Vec<u8>) {
        match self {
            Fetched::OtherInstance => bytes.push(0),
            Fetched::Nothing => bytes.push(1),
            Fetched::Item(item) => {
                bytes.push(2);
                item.push(bytes);
            }
        }
    }

    /// What was sent so.
    #[must_use]
    pub fn decode(bytes: &'a [u8]) -> Option<Fetched<'a>> {
        let (&kind, mut rest) = bytes.split_first()?;
        let fetched = match kind {
            0 => Fetched::OtherInstance,
            1 => Fetched::Nothing,
            2 => Fetched::Item(MovedItem::take(&mut rest).filter(|item| item.value.is_some())?),
            _ => return None,
        };
        rest.is_empty().then_some(fetched)
    }
}

/// What stands before the items in the answer to [`Kind::Pull`](crate::frame::Kind::Pull).
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 1 | 0: started anew meanwhile; 1: items follow; 2: the last items follow |
/// | 1 | 3 | 0 |
/// | 4 | 4 | how far this is, in parts of 2^32 |
/// | 8 | 16 | place to go on from |
/// | 24 | | items |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PulledHead {
    /// The server was started anew meanwhile.
    OtherInstance,
    /// Items follow.
    Items {
        /// Where to go on; none behind the last.
        next: Option<Place>,
        /// How far this is, in parts of 2^32.
        progress: u32,
    },
}

impl PulledHead {
    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; PULLED_HEAD_BYTES] {
        let mut bytes = [0; PULLED_HEAD_BYTES];
        if let PulledHead::Items { next, progress } = self {
            bytes[0] = if next.is_some() { 1 } else { 2 };
            bytes[4..8].copy_from_slice(&progress.to_be_bytes());
            bytes[8..].copy_from_slice(&next.unwrap_or_default());
        }
        bytes
    }
}

/// The answer to [`Kind::Pull`](crate::frame::Kind::Pull).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled<'a> {
    /// How it goes on.
    pub head: PulledHead,
    /// What has come.
    pub items: Vec<MovedItem<'a>>,
}

impl<'a> Pulled<'a> {
    /// What was sent so.
    #[must_use]
    pub fn decode(bytes: &'a [u8]) -> Option<Pulled<'a>> {
        let (head, mut rest) = bytes.split_first_chunk::<PULLED_HEAD_BYTES>()?;
        let mut place = Place::default();
        place.copy_from_slice(&head[8..]);
        let progress = number32(&head[4..8])?;
        let head = match head {
            [kind @ (1 | 2), 0, 0, 0, ..] if *kind == 1 || place == Place::default() => {
                let next = (*kind == 1).then_some(place);
                PulledHead::Items { next, progress }
            }
            [0, others @ ..] if others.iter().all(|byte| *byte == 0) => PulledHead::OtherInstance,
            _ => return None,
        };
        let mut items = Vec::new();
        while !rest.is_empty() {
            items.push(MovedItem::take(&mut rest)?);
        }
        let has_items = matches!(head, PulledHead::Items { .. });
        (has_items || items.is_empty()).then_some(Pulled { head, items })
    }
}

fn number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_be_bytes)
}

fn number32(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests;
