//! Operations that cannot end yet.

use crate::options::StoreError;
use std::error::Error;
use std::fmt;

/// What an operation has to wait for before it can have a result.
///
/// There is no result to use: the whole request is to be given up without a trace, and replayed
/// when the wait is over. A caller passes this on with `?` to whoever can suspend the request.
///
/// Another thing to wait for is another variant here: the compiler then asks whoever starts the
/// wait how it does so, and nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the request is to wait and to be replayed, or its reads are to be forgotten"]
pub enum Suspended {
    /// A device: items are to be read from it, or it has to make room in memory. The wait begins
    /// with [`crate::StoreHandle::start_reads`]; where the request is not to be replayed,
    /// [`crate::StoreHandle::forget_reads`] gives it up.
    OnDevice,
    /// The answer of another server. The store itself never waits for one: this is for whoever
    /// carries requests out by means of the store and of other servers.
    OnPeer,
    /// Others' values that are arriving: they take the memory that there is for such values. The
    /// store never waits for them either.
    OnArrivals,
}

impl fmt::Display for Suspended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suspended::OnDevice => out.write_str("the request has to wait for a device"),
            Suspended::OnPeer => out.write_str("the request has to wait for another server"),
            Suspended::OnArrivals => out.write_str("the request has to wait for others' values"),
        }
    }
}

impl Error for Suspended {}

/// Why an operation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// It has none yet.
    Suspended(Suspended),
    /// It has failed, and nothing has changed.
    Failed(StoreError),
}

impl From<Suspended> for Interrupt {
    fn from(suspended: Suspended) -> Interrupt {
        Interrupt::Suspended(suspended)
    }
}

impl From<StoreError> for Interrupt {
    fn from(error: StoreError) -> Interrupt {
        Interrupt::Failed(error)
    }
}

impl fmt::Display for Interrupt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interrupt::Suspended(suspended) => suspended.fmt(out),
            Interrupt::Failed(error) => error.fmt(out),
        }
    }
}

impl Error for Interrupt {}

/// How an operation has ended, failure included, for whoever answers both: `let outcome =
/// settled(store.set(...))?;`
///
/// # Errors
/// [`Suspended`], where it has not ended.
#[inline]
pub fn settled<T>(result: Result<T, Interrupt>) -> Result<Result<T, StoreError>, Suspended> {
    match result {
        Ok(outcome) => Ok(Ok(outcome)),
        Err(Interrupt::Failed(error)) => Ok(Err(error)),
        Err(Interrupt::Suspended(suspended)) => Err(suspended),
    }
}
