//! What joins the index with the log on the devices: what leaves memory stays a hit, and is there
//! again after a restart.
//!
//! The log itself is a crate of its own, which does not know the index (`farcache-log`); here
//! stands what the store does for it and with it. `docs/design/tier.md` says how it works and what
//! it guarantees.

mod intake;
mod owner;
mod persist;
mod spill;
#[cfg(test)]
mod waits;

pub(crate) use owner::Removed;
pub(crate) use spill::{Copied, PROGRESS_WAIT, Spilled};
