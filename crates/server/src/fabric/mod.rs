//! The fabric: clients that send messages instead of bytes over a socket. One file per event.
//!
//! | part | what it does |
//! |---|---|
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
//! | `open` | finds a network when the server starts; opens ports on it |
//!
//! How a client on a socket is granted a session is in [`crate::upgrade`], how its TCP connection
//! and its session end together in [`crate::mailbox::life_line`].
//!
//! The wire format and the rules of the conversation are in `docs/design/fabric.md`.

mod awaiting;
mod conversation;
mod device;
mod ending;
pub mod engine;
mod hello;
mod kept;
mod offered;
pub mod open;
mod packets;
mod reply;
mod reserve;
mod solo;
mod stalls;
#[cfg(test)]
mod tests;

use crate::mailbox::life_line;
use crate::upgrade::entrance::ServerPort;
use crate::upgrade::{CREDITS, MESSAGE_BYTES_MAX, figures, registry};
