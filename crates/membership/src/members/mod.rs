//! Membership without I/O: who is suspect, who is gone, what the next map is and who publishes it.
//!
//! Every server of a cluster runs a [`Node`]. It is given what a shared store holds ([`View`]) and
//! the time, and says what to do ([`Action`]). The store must offer three things: leases, writes on
//! condition that a key has not changed, and a feed of changes. What joins it with etcd is a thin
//! driver; the tests join it with a simulated store and a simulated time.
//!
//! | file | what it does |
//! |---|---|
//! | `offer` | what a running server says of itself |
//! | `view` | what the store holds, as far as this server has seen it |
//! | `absence` | since when servers of the map have no lease |
//! | `succession` | the map that follows, a pure function |
//! | `identity`, `action` | who a server is, and what it may do |
//! | `lives` | which life of the server this is, and when its items are void |
//! | `publication` | whether it publishes maps, and when the next |
//! | `node` | one server's part |
//!
//! `docs/design/membership.md` has the reasons.

mod absence;
mod action;
mod identity;
mod lives;
mod node;
mod offer;
mod publication;
mod succession;
mod view;

pub use absence::Absences;
pub use action::Action;
pub use identity::{Identity, Timing};
pub use node::Node;
pub use offer::{Done, InvalidOffer, OFFER_BYTES_MAX, Offer};
pub use succession::{Situation, successor};
pub use view::{Entry, Key, View};
