//! What servers have of keys whose values lie at several: which of these keys a server owns, and
//! what servers answer when they are asked for their parts.

pub mod owned;
pub mod placed;
pub mod replies;
