//! Finds a network when the server starts.

use super::ServerPort;
use crate::settings::FabricMode;
use crate::shared::Shared;
use farcache_fabric::Error;
use farcache_fabric::grant::Network;
use std::io;

/// A network, with a port for each worker.
pub struct Opened {
    /// What carries the messages.
    pub network: Network,
    /// The workers' ports, in order.
    pub ports: Vec<Box<ServerPort>>,
}

/// Opens the network that the operator's choice allows; none where there is to be none, or where
/// there is none and need not be, which is logged.
///
/// # Errors
/// There is no network, and the operator requires one.
pub fn open(shared: &Shared) -> io::Result<Option<Opened>> {
    let mode = shared.settings.fabric;
    if mode == FabricMode::Off {
        return Ok(None);
    }
    match open_ucx(shared) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if mode == FabricMode::Require => {
            Err(io::Error::other(format!("--fabric require: {error}")))
        }
        Err(error) => {
            tracing::info!(%error, "no fabric: clients are served over sockets only");
            Ok(None)
        }
    }
}

fn open_ucx(_shared: &Shared) -> Result<Opened, Error> {
    Err(Error::Unavailable("no network has been built in".into()))
}
