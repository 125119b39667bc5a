//! What an operation must be like to be sent at all.

use super::encode;
use crate::Error;
use crate::operation::{Operation, VersionTerms};
use farcache_base::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use farcache_base::version::Version;

pub(crate) fn check_key(key: &[u8]) -> Result<(), Error> {
    match key.len() {
        1..=KEY_BYTES_MAX => Ok(()),
        _ => Err(Error::InvalidKey),
    }
}

/// An operation on one place of several.
pub(super) const SEVERAL_PLACES: Error =
    Error::InvalidArguments("a key that lies on several servers is not asked from one of them");

/// Whether it is a step of an operation on several servers.
pub(super) fn is_of_plan(operation: &Operation<'_>) -> bool {
    match operation {
        Operation::GetVersioned { .. }
        | Operation::GetPart { .. }
        | Operation::GetSpread { .. }
        | Operation::DeleteIfNewer { .. } => true,
        Operation::Store(store) => store.mode.is_of_plan(),
        _ => false,
    }
}

fn check_version(bits: u64) -> Result<(), Error> {
    match Version::from_bits(bits) {
        Some(_) => Ok(()),
        None => Err(Error::InvalidArguments("this number cannot be a version")),
    }
}

pub(crate) fn check(operation: &Operation<'_>) -> Result<(), Error> {
    if let Some(key) = encode::key(operation) {
        check_key(key)?;
    }
    match operation {
        Operation::Store(store) if store.value.as_slice().len() > VALUE_BYTES_MAX => {
            Err(Error::TooLarge)
        }
        Operation::Store(store) if store.mode.carries_version() => check_version(store.cas),
        Operation::GetVersioned { terms, .. } | Operation::GetPart { terms, .. }
            if *terms != VersionTerms::Newest =>
        {
            check_version(terms.token())
        }
        Operation::DeleteIfNewer { version, .. } => check_version(*version),
        Operation::Statistics { group } if group.len() > KEY_BYTES_MAX => Err(Error::InvalidKey),
        Operation::Arithmetic {
            initial: Some(initial),
            ..
        } if initial.expiry_s == farcache_proto::binary::NO_CREATE => {
            Err(Error::InvalidArguments("this expiry means not to create"))
        }
        _ => Ok(()),
    }
}
