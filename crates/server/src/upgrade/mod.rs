//! The way from a socket to the fabric: what all threads know of the fabric, and how a client on a
//! socket is granted a session. Both protocols come here, after authentication.
//!
//! | part | what it does |
//! |---|---|
//! | [`ask`] | a client on a socket asks to be let in, and is granted a session |
//! | [`entrance`] | a worker's port, which is opened when a client first asks |
//! | [`registry`] | what all threads know: ports, sessions, grants |
//! | [`figures`] | what a worker counts of its sessions |
//!
//! The sessions themselves are [`crate::fabric`]'s.

pub mod entrance;
pub mod figures;
pub mod registry;

use crate::mailbox::life_line::{Caller, Mail, Reserved};
use farcache_fabric::frame::VERSION;
use farcache_fabric::grant::{Grant, Network};
use farcache_session::{Peer, UpgradeRefusal};
use registry::Registry;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Messages that a client may have unanswered. With it a client can keep a network of 100 us busy
/// at a million messages a second.
pub const CREDITS: u16 = 128;

/// Most bytes of packets in a message from a client.
pub const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Whether clients without TLS may have a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Clients without TLS may have a session.
    Optional,
    /// Clients without TLS may have none: the server serves some of its clients over TLS.
    Required,
}

/// The name of a network in the text protocol and in statistics.
pub fn name_of(network: Network) -> &'static str {
    match network {
        Network::Ucx => "ucx",
        Network::Memory => "memory",
    }
}

/// The network of this name.
pub fn network_named(name: &[u8]) -> Option<Network> {
    [Network::Ucx, Network::Memory]
        .into_iter()
        .find(|network| name_of(*network).as_bytes() == name)
}

/// Grants a session to the client of this connection, or to the server `asker`, at the worker with
/// the fewest.
///
/// # Errors
/// [`UpgradeRefusal`].
pub fn ask(
    version: u32,
    mut networks: impl Iterator<Item = Network>,
    fabric: &Registry,
    encryption: Encryption,
    caller: Option<Caller<'_>>,
    asker: Option<Peer>,
) -> Result<Grant, UpgradeRefusal> {
    let has_common = version == u32::from(VERSION) && networks.any(|one| one == fabric.network);
    let granted = match caller.filter(|_| has_common) {
        None => Err(UpgradeRefusal::Off),
        Some(caller) if caller.is_bound() => Err(UpgradeRefusal::Bound),
        // Where there is TLS, nobody gets around it; and whoever has no room stays on sockets.
        Some(caller) if encryption == Encryption::Required && !caller.is_encrypted => {
            Err(UpgradeRefusal::Off)
        }
        Some(_) if fabric.is_full() => Err(UpgradeRefusal::Off),
        Some(caller) => grant(fabric, &caller, asker),
    };
    let count = if granted.is_ok() {
        &fabric.grants
    } else {
        &fabric.grants_refused
    };
    count.fetch_add(1, Relaxed);
    granted
}

fn grant(
    fabric: &Registry,
    caller: &Caller<'_>,
    asker: Option<Peer>,
) -> Result<Grant, UpgradeRefusal> {
    let (token, key) = (secret()?, secret()?);
    let (place, address) = fabric.least_loaded().ok_or(UpgradeRefusal::Off)?;
    let session = place.take_number();
    let bond = caller.bind(&place.mailbox, session, key);
    // Before the client hears of it, so that its worker knows when the client comes.
    place.mailbox.post(Mail::Reserve(Reserved {
        session,
        key,
        token,
        bond: Arc::clone(&bond),
        asker,
    }));
    Ok(Grant {
        network: fabric.network,
        credits: CREDITS,
        session,
        token,
        key,
        message_bytes_max: MESSAGE_BYTES_MAX as u32,
        address,
    })
}

/// A number that nobody can guess; none where the system has no randomness, and then nobody is let
/// in.
fn secret() -> Result<u64, UpgradeRefusal> {
    getrandom::u64().map_err(|error| {
        tracing::error!(%error, "no randomness for a token");
        UpgradeRefusal::Off
    })
}
