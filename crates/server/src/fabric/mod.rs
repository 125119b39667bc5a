//! The fabric: clients that send messages instead of bytes over a socket. One file per event.
//!
//! | part | what it does |
//! |---|---|
//! | `upgrade` | a client on a socket asks to be let in, and is granted a session |
//! | `registry` | what all threads know: ports, sessions, grants |
//! | `life_line` | the client's TCP connection and its session end together |
//! | `engine` | one worker's port: moves it and hands out what happened |
//! | `conversation` | one session, as its worker keeps it |
//! | `reserve` | a grant arrives at its worker; one that is never used expires |
//! | `hello` | the client shows its token |
//! | `packets` | requests arrive |
//! | `solo` | the short way of a get that comes alone |
//! | `kept` | memory for messages that must wait |
//! | `device` | messages that wait for devices |
//! | `awaiting` | messages that wait for other servers |
//! | `offered` | a large value is offered, and has been received |
//! | `reply` | answers go out |
//! | `ending` | a session ends, for whatever reason |
//! | `open` | finds a network when the server starts |
//!
//! The wire format and the rules of the conversation are in `docs/design/fabric.md`.

mod awaiting;
mod conversation;
mod device;
mod ending;
pub mod engine;
pub mod figures;
mod hello;
mod kept;
pub mod life_line;
mod offered;
pub mod open;
mod packets;
pub mod registry;
mod reply;
mod reserve;
mod solo;
mod stalls;
#[cfg(test)]
mod tests;
pub mod upgrade;

use farcache_fabric::Port;
use farcache_store::{PinnedValue, Reservation};

/// A worker's end of the network: it sends values from where they lie in the store and receives
/// them into where they will.
pub type ServerPort = dyn Port<PinnedValue, Reservation>;

/// Messages that a client may have unanswered. With it a client can keep a network of 100 us busy
/// at a million messages a second.
pub const CREDITS: u16 = 128;

/// Most bytes of packets in a message from a client.
pub const MESSAGE_BYTES_MAX: usize = 64 << 10;
