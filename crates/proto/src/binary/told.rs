//! What requests about versions tell besides: of versions that are complete, as all servers which
//! are to have them have stored them; and by which owners the client has placed the key. And what
//! they want of older versions meanwhile.

use super::{Header, encode_head};
use arrayvec::ArrayVec;
use farcache_base::version::Keeping;

/// Set in the data type of a request about versions whose extras end in a version, of whatever key,
/// that is complete.
const TELLS_COMPLETE: u8 = 1;

/// Set in the data type of a store or deletion where what it takes the place of is to be kept until
/// its version is complete; of a get that wants what was kept of the key when the version in its
/// token was stored.
pub const ABOUT_OLDER: u8 = 2;

/// Set beside [`ABOUT_OLDER`] in the data type of a store or deletion whose version others have
/// accepted: it is kept, too, where there is something newer that is not known to be complete.
pub const IS_ACCEPTED: u8 = 4;

/// What the data type of a store or deletion says of what is to be kept.
pub fn keeping_bits(keeping: Keeping) -> u8 {
    match keeping {
        Keeping::Nothing => 0,
        Keeping::Older => ABOUT_OLDER,
        Keeping::OlderAndThis => ABOUT_OLDER | IS_ACCEPTED,
    }
}

/// What a store or deletion says is to be kept.
pub fn keeping(header: &Header) -> Keeping {
    match header.data_type & (ABOUT_OLDER | IS_ACCEPTED) {
        ABOUT_OLDER => Keeping::Older,
        0 | IS_ACCEPTED => Keeping::Nothing,
        _ => Keeping::OlderAndThis,
    }
}

/// Set in the token of an answer to *get with version* where the server was not told that the
/// version is complete. A version has it never.
pub const INCOMPLETE: u64 = 1 << 63;

/// Set in the data type of the answer *promised* to a store or deletion that nothing but the
/// promise is in the way of: the server has nothing newer.
pub const ONLY_PROMISED: u8 = 1;

/// Set in the data type of a request about versions whose extras tell by which owners its client
/// has placed the key: see [`Placed`].
const TELLS_PLACE: u8 = 8;

const VERSION_BYTES: usize = 8;

/// By which owners a client has placed a key. A server that gives the key to others refuses the
/// request ([`Status::OtherOwners`](super::Status::OtherOwners)), so that no value lies by two
/// maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Edition of the cluster's map by which the client goes, 0 where it has its own list of
    /// servers. By the same map all place alike.
    pub edition: u64,
    /// How many owners the key has.
    pub owners: u8,
    /// A sum over them in their order, which says whether two maps name the same.
    pub sum: u32,
}

impl Placed {
    const BYTES: usize = 13;

    fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.edition.to_be_bytes());
        bytes[8] = self.owners;
        bytes[9..].copy_from_slice(&self.sum.to_be_bytes());
        bytes
    }

    fn decode([e0, e1, e2, e3, e4, e5, e6, e7, owners, s0, s1, s2, s3]: [u8; Self::BYTES]) -> Self {
        Placed {
            edition: u64::from_be_bytes([e0, e1, e2, e3, e4, e5, e6, e7]),
            owners,
            sum: u32::from_be_bytes([s0, s1, s2, s3]),
        }
    }
}

/// What a request about versions tells besides what it asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The version, of whatever key, that is complete; 0 for none.
    pub complete: u64,
    /// How the key was placed, where its client wants that to be checked.
    pub placed: Option<Placed>,
}

impl Told {
    /// Nothing but that this version is complete; 0 for none.
    pub fn complete(version: u64) -> Told {
        Told {
            complete: version,
            placed: None,
        }
    }
}

/// Takes the extras of a request about versions apart: its own, and what they tell besides. `None`
/// where the header promises more than there is.
pub fn split_told<'a>(header: &Header, extras: &'a [u8]) -> Option<(&'a [u8], Told)> {
    let (mut own, mut told) = (extras, Told::default());
    if header.data_type & TELLS_COMPLETE != 0 {
        let (rest, version) = own.split_last_chunk::<VERSION_BYTES>()?;
        (own, told.complete) = (rest, u64::from_be_bytes(*version));
    }
    if header.data_type & TELLS_PLACE != 0 {
        let (rest, placed) = own.split_last_chunk()?;
        (own, told.placed) = (rest, Some(Placed::decode(*placed)));
    }
    Some((own, told))
}

/// Appends a request about versions up to its value, as [`encode_head`] does, which tells this
/// besides.
///
/// # Panics
/// As [`encode_head`].
pub fn encode_head_telling(
    mut header: Header,
    (extras, told): (&[u8], Told),
    key: &[u8],
    value_len: usize,
    out: &mut Vec<u8>,
) {
    if told == Told::default() {
        return encode_head(header, extras, key, value_len, out);
    }
    let mut all = ArrayVec::<u8, { u8::MAX as usize }>::new();
    let mut push = |bytes: &[u8]| {
        let pushed = all.try_extend_from_slice(bytes);
        pushed.expect("extras are at most 255 bytes");
    };
    push(extras);
    if let Some(placed) = told.placed {
        header.data_type |= TELLS_PLACE;
        push(&placed.encode());
    }
    if told.complete != 0 {
        header.data_type |= TELLS_COMPLETE;
        push(&told.complete.to_be_bytes());
    }
    encode_head(header, &all, key, value_len, out);
}
