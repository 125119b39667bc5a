//! What a server has of values that lie on several: pages of a list, by which another owner finds
//! out what it lacks.
//!
//! A page is asked for by a packet of the binary protocol, [`OPCODE`], whose extras are an
//! [`Inquiry`]; the answer's value is a [`PageHead`], then as many entries as that says.

use std::error::Error;
use std::fmt;

/// The binary protocol's opcode for it.
pub const OPCODE: u8 = 0xf4;

/// Bytes of a cursor, which means something to the asked server only.
pub const CURSOR_BYTES: usize = 16;

/// Where a list goes on; zeros are its beginning.
pub type Cursor = [u8; CURSOR_BYTES];

/// Bytes of an [`Inquiry`].
pub const INQUIRY_BYTES: usize = 24;

/// Bytes of a [`PageHead`].
pub const PAGE_HEAD_BYTES: usize = 32;

/// Bytes of an entry before its key.
pub const ENTRY_BYTES: usize = 20;

/// Most entries that one page has room for.
pub const ENTRIES_MAX: u16 = 1024;

/// Only what was read since it was stored.
const USED_ONLY: u16 = 1;

/// Another page follows.
const GOES_ON: u32 = 1;
/// The server lacks nothing that its peers have.
const CAUGHT_UP: u32 = 2;

const KIND_PART: u8 = 0;
const KIND_TOMBSTONE: u8 = 1;

/// What is asked for.
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 16 | cursor |
/// | 16 | 4 | name of the server that asks: what it is an owner of is listed |
/// | 20 | 2 | entries at most, 0 to 1024: fewer or somewhat more may come |
/// | 22 | 2 | 1: only what was read since it was stored |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// Where the list goes on.
    pub cursor: Cursor,
    /// Whose keys are listed.
    pub asker: u32,
    /// About how many; with 0 only the head of a page comes.
    pub entries_max: u16,
    /// Whether only that is listed which was read since it was stored.
    pub used_only: bool,
}

/// What stands before the entries of a page.
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 16 | cursor of the next page |
/// | 16 | 8 | version that whatever the server has forgotten did not exceed, 0 for none |
/// | 24 | 4 | flags: 1 another page follows, 2 the server has caught up |
/// | 28 | 4 | entries |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHead {
    /// Where the next page begins.
    pub next: Cursor,
    /// Up to which version the server has forgotten keys; 0 for none.
    pub horizon: u64,
    /// Whether another page follows.
    pub goes_on: bool,
    /// Whether the server has caught up, so that what it lacks was deleted or evicted.
    pub is_caught_up: bool,
    /// Entries that follow.
    pub entries: u32,
}

/// What the server has of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartOfValue {
    /// Data shards, parity shards and number of the shard; 1, 0 and how many owners have one for a
    /// copy, 0, 0 and the same for an owner that has the version only.
    pub piece: [u8; 3],
    /// How many owners the value has; 0 where that is not known.
    pub owners: u8,
    /// Length of the whole value.
    pub value_bytes: u32,
}

/// An entry.
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 1 | bytes of the key, 1 to 250 |
/// | 1 | 1 | 0: a part of a value, 1: a tombstone |
/// | 2 | 2 | 0 |
/// | 4 | 8 | version |
/// | 12 | 3 | data shards, parity shards, number of the shard; zeros of a tombstone |
/// | 15 | 1 | owners; 0 of a tombstone |
/// | 16 | 4 | length of the value; 0 of a tombstone |
/// | 20 | | the key |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Bits of the version.
    pub version: u64,
    /// None of a tombstone.
    pub part: Option<PartOfValue>,
}

/// Bytes that are no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPage;

impl fmt::Display for NoPage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("bytes that are no page of a list")
    }
}

impl Error for NoPage {}

impl Inquiry {
    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; INQUIRY_BYTES] {
        let mut bytes = [0; INQUIRY_BYTES];
        bytes[..CURSOR_BYTES].copy_from_slice(&self.cursor);
        bytes[16..20].copy_from_slice(&self.asker.to_be_bytes());
        bytes[20..22].copy_from_slice(&self.entries_max.to_be_bytes());
        bytes[22..].copy_from_slice(&u16::from(self.used_only).to_be_bytes());
        bytes
    }

    /// What was sent so; none where that makes no sense.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Inquiry> {
        let bytes: &[u8; INQUIRY_BYTES] = bytes.try_into().ok()?;
        let flags = u16::from_be_bytes([bytes[22], bytes[23]]);
        let entries_max = u16::from_be_bytes([bytes[20], bytes[21]]);
        if flags > USED_ONLY || entries_max > ENTRIES_MAX {
            return None;
        }
        Some(Inquiry {
            cursor: array(bytes, 0),
            asker: u32::from_be_bytes(array(bytes, 16)),
            entries_max,
            used_only: flags == USED_ONLY,
        })
    }
}

impl PageHead {
    /// As it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; PAGE_HEAD_BYTES] {
        let flag = |flag, is_set| if is_set { flag } else { 0 };
        let flags = flag(GOES_ON, self.goes_on) | flag(CAUGHT_UP, self.is_caught_up);
        let mut bytes = [0; PAGE_HEAD_BYTES];
        bytes[..CURSOR_BYTES].copy_from_slice(&self.next);
        bytes[16..24].copy_from_slice(&self.horizon.to_be_bytes());
        bytes[24..28].copy_from_slice(&flags.to_be_bytes());
        bytes[28..].copy_from_slice(&self.entries.to_be_bytes());
        bytes
    }

    /// What was sent so, and what follows it.
    ///
    /// # Errors
    /// [`NoPage`]
    pub fn decode(bytes: &[u8]) -> Result<(PageHead, &[u8]), NoPage> {
        let (head, rest) = bytes.split_first_chunk().ok_or(NoPage)?;
        let head: &[u8; PAGE_HEAD_BYTES] = head;
        let flags = u32::from_be_bytes(array(head, 24));
        if flags > GOES_ON | CAUGHT_UP {
            return Err(NoPage);
        }
        let head = PageHead {
            next: array(head, 0),
            horizon: u64::from_be_bytes(array(head, 16)),
            goes_on: flags & GOES_ON != 0,
            is_caught_up: flags & CAUGHT_UP != 0,
            entries: u32::from_be_bytes(array(head, 28)),
        };
        Ok((head, rest))
    }
}

impl Entry<'_> {
    /// Appends it as it is sent.
    ///
    /// # Panics
    /// The key is longer than 255 bytes.
    pub fn encode_to(&self, out: &mut Vec<u8>) {
        let key_bytes = u8::try_from(self.key.len()).expect("keys have at most 250 bytes");
        let kind = match self.part {
            Some(_) => KIND_PART,
            None => KIND_TOMBSTONE,
        };
        out.extend_from_slice(&[key_bytes, kind, 0, 0]);
        out.extend_from_slice(&self.version.to_be_bytes());
        let part = self.part.unwrap_or(PartOfValue {
            piece: [0; 3],
            owners: 0,
            value_bytes: 0,
        });
        out.extend_from_slice(&part.piece);
        out.push(part.owners);
        out.extend_from_slice(&part.value_bytes.to_be_bytes());
        out.extend_from_slice(self.key);
    }
}

/// Takes a page apart.
///
/// # Errors
/// [`NoPage`]
pub fn read_page(bytes: &[u8]) -> Result<(PageHead, Vec<Entry<'_>>), NoPage> {
    let (head, mut rest) = PageHead::decode(bytes)?;
    // What it says of itself is not believed before it is there.
    let most = rest.len() / ENTRY_BYTES;
    if head.entries as usize > most {
        return Err(NoPage);
    }
    let mut entries = Vec::with_capacity(head.entries as usize);
    for _ in 0..head.entries {
        entries.push(read_entry(&mut rest)?);
    }
    rest.is_empty().then_some((head, entries)).ok_or(NoPage)
}

fn read_entry<'a>(rest: &mut &'a [u8]) -> Result<Entry<'a>, NoPage> {
    let (fixed, behind) = rest.split_first_chunk().ok_or(NoPage)?;
    let fixed: &[u8; ENTRY_BYTES] = fixed;
    let [key_bytes, kind, 0, 0, ..] = *fixed else {
        return Err(NoPage);
    };
    let (key, behind) = behind
        .split_at_checked(key_bytes.into())
        .filter(|(key, _)| !key.is_empty())
        .ok_or(NoPage)?;
    *rest = behind;
    let part = match kind {
        KIND_PART => Some(PartOfValue {
            piece: array(fixed, 12),
            owners: fixed[15],
            value_bytes: u32::from_be_bytes(array(fixed, 16)),
        }),
        KIND_TOMBSTONE if fixed[12..] == [0; 8] => None,
        _ => return Err(NoPage),
    };
    Ok(Entry {
        key,
        version: u64::from_be_bytes(array(fixed, 4)),
        part,
    })
}

/// The bytes from an offset on.
fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    bytes[offset..offset + N].try_into().expect("so many bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Derived by hand from the table.
    #[test]
    fn an_inquiry_has_these_bytes() {
        let inquiry = Inquiry {
            cursor: [7; CURSOR_BYTES],
            asker: 0x102,
            entries_max: 512,
            used_only: true,
        };
        #[rustfmt::skip]
        let golden = [
            7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, // cursor
            0, 0, 1, 2, // asker
            2, 0, // entries
            0, 1, // used only
        ];
        assert_eq!(inquiry.encode(), golden);
        assert_eq!(Inquiry::decode(&golden), Some(inquiry));
        for (at, byte) in [(20, 5), (22, 1), (23, 2)] {
            let mut bytes = golden;
            bytes[at] = byte;
            assert_eq!(Inquiry::decode(&bytes), None, "{byte} at {at}");
        }
        assert_eq!(Inquiry::decode(&golden[1..]), None);
    }

    fn page() -> (PageHead, Vec<Entry<'static>>, Vec<u8>) {
        let head = PageHead {
            next: [9; CURSOR_BYTES],
            horizon: 0x1_0000_0002,
            goes_on: true,
            is_caught_up: true,
            entries: 2,
        };
        let part = PartOfValue {
            piece: [3, 2, 4],
            owners: 5,
            value_bytes: 0x1_0000,
        };
        let entry = |key, part| Entry {
            key,
            version: 0x2_8000_0003,
            part,
        };
        let entries = vec![entry(&b"shard"[..], Some(part)), entry(b"gone", None)];
        #[rustfmt::skip]
        let golden = [
            &[9; 16][..],
            &[0, 0, 0, 1, 0, 0, 0, 2], // horizon
            &[0, 0, 0, 3], // goes on, caught up
            &[0, 0, 0, 2], // entries
            &[5, 0, 0, 0], // a part, its key has 5 bytes
            &[0, 0, 0, 2, 0x80, 0, 0, 3], // version
            &[3, 2, 4, 5], // shard 4 of ec(3, 2), 5 owners
            &[0, 1, 0, 0], // of 65,536 bytes
            b"shard",
            &[4, 1, 0, 0], // a tombstone, its key has 4 bytes
            &[0, 0, 0, 2, 0x80, 0, 0, 3],
            &[0; 8],
            b"gone",
        ];
        (head, entries, golden.concat())
    }

    #[test]
    fn a_page_has_these_bytes() {
        let (head, entries, golden) = page();
        let mut bytes = head.encode().to_vec();
        entries.iter().for_each(|entry| entry.encode_to(&mut bytes));
        assert_eq!(bytes, golden);
        assert_eq!(read_page(&golden), Ok((head, entries)));
    }

    #[test]
    fn what_is_no_page_is_refused() {
        let golden = page().2;
        for end in 0..golden.len() {
            assert_eq!(read_page(&golden[..end]), Err(NoPage), "cut at {end}");
        }
        let longer = [&golden[..], &[0]].concat();
        assert_eq!(read_page(&longer), Err(NoPage));
        // More flags and entries than there are, another kind, no key, a tombstone with a length.
        for (at, byte) in [
            (27, 4),
            (28, 1),
            (31, 3),
            (33, 2),
            (34, 1),
            (32, 0),
            (76, 1),
        ] {
            let mut bytes = golden.clone();
            bytes[at] = byte;
            assert_eq!(read_page(&bytes), Err(NoPage), "{byte} at {at}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_to_the_same_bytes(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Ok((head, entries)) = read_page(&bytes) {
                let mut written = head.encode().to_vec();
                entries.iter().for_each(|entry| entry.encode_to(&mut written));
                prop_assert_eq!(written, bytes);
            }
        }
    }
}
