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
        let network = ucx::Network::open(ucx::Settings::default())?;
        Ok(Box::new(network.port()?))
    }
}
