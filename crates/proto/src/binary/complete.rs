//! What requests about versions, and their answers, tell of versions that are complete: that all
//! servers which are to have them have stored them. And what they want of older ones meanwhile.

use super::{Header, encode_head};
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

const VERSION_BYTES: usize = 8;

/// Takes the extras of a request about versions apart: its own, and the version that it tells to be
/// complete, 0 for none. `None` where the header promises more than there is.
pub fn split_complete<'a>(header: &Header, extras: &'a [u8]) -> Option<(&'a [u8], u64)> {
    if header.data_type & TELLS_COMPLETE == 0 {
        return Some((extras, 0));
    }
    let (own, version) = extras.split_last_chunk::<VERSION_BYTES>()?;
    Some((own, u64::from_be_bytes(*version)))
}

/// Appends a request about versions up to its value, as [`encode_head`] does, which tells that this
/// version is `complete`; 0 for none.
///
/// # Panics
/// As [`encode_head`].
pub fn encode_head_telling(
    header: Header,
    (extras, complete): (&[u8], u64),
    key: &[u8],
    value_len: usize,
    out: &mut Vec<u8>,
) {
    if complete == 0 {
        return encode_head(header, extras, key, value_len, out);
    }
    let header = Header {
        data_type: header.data_type | TELLS_COMPLETE,
        ..header
    };
    let mut all = [0; u8::MAX as usize];
    let (own, rest) = all.split_at_mut(extras.len());
    own.copy_from_slice(extras);
    rest[..VERSION_BYTES].copy_from_slice(&complete.to_be_bytes());
    let all = &all[..extras.len() + VERSION_BYTES];
    encode_head(header, all, key, value_len, out);
}
