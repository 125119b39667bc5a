//! The fabric over UCX.

use super::{ClientPort, Fabric};
use farcache_fabric::Error;
use farcache_fabric::grant::Network;
use farcache_fabric::ucx;

/// UCX, with the user's own `UCX_*` settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ucx;

impl Fabric for Ucx {
    fn network(&self) -> Network {
        Network::Ucx
    }

    fn open(&self) -> Result<ClientPort, Error> {
        // Which transports are used is for the server to say: one that names TCP is to be reached
        // by clients that name nothing.
        let network = ucx::Network::open(ucx::Settings::new(&[("TLS", "all")]))?;
        Ok(Box::new(network.port()?))
    }
}
