//! Finds a network when the server starts.

use super::ServerPort;
use crate::settings::{FabricMode, Settings};
use crate::shared::Shared;
use farcache_fabric::Error;
use farcache_fabric::grant::Network;
use farcache_fabric::ucx;
use rustix::process::DumpableBehavior;
use std::io;
use std::sync::Arc;

/// A network, with a port for each worker.
pub struct Opened {
    /// What carries the messages.
    pub network: Network,
    /// The workers' ports, in order.
    pub ports: Vec<Box<ServerPort>>,
}

/// Finds the network that the operator's choice allows; none where there is to be none, or where there is none and need not
/// be, which is logged.
///
/// To be called before the process has further threads: UCX puts jumps into the C library's functions for memory (`mmap`, `munmap` and
/// others) when it is opened, and a thread that calls one of them meanwhile may run into half of a jump.
///
/// # Errors
/// There is no network, and the operator requires one.
pub fn find(settings: &Settings) -> io::Result<Option<Arc<ucx::Network>>> {
    let mode = settings.fabric_mode();
    if mode == FabricMode::Off {
        if settings.fabric != FabricMode::Off {
            tracing::info!(
                "no fabric: it does not encrypt; with TLS (-Z) it takes --fabric-with-tls"
            );
        }
        return Ok(None);
    }
    allowed(mode, ucx::Network::open(ucx::Settings::default()))
}

/// Opens a port of the network for each worker; none where that cannot be and need not be, which is logged.
///
/// # Errors
/// There are none, and the operator requires a network.
pub fn open(shared: &Shared, network: Option<Arc<ucx::Network>>) -> io::Result<Option<Opened>> {
    let Some(network) = network else {
        return Ok(None);
    };
    let opened = allowed(shared.settings.fabric, open_ports(shared, &network))?;
    if opened.is_some() {
        allow_shared_memory();
    }
    Ok(opened)
}

/// Clients of this host that run as the same user share memory with the server: UCX opens it by /proc, which the system
/// refuses with a process that has changed its user (-u) and has not said this. It opens /proc for debuggers, too, so it is not
/// said where there is no fabric.
fn allow_shared_memory() {
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable);
}

/// Without a network the server starts only if none is required.
fn allowed<T>(mode: FabricMode, found: Result<T, Error>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if mode == FabricMode::Require => {
            Err(io::Error::other(format!("--fabric require: {error}")))
        }
        Err(error) => {
            tracing::info!(%error, "no fabric: clients are served over sockets only");
            Ok(None)
        }
    }
}

fn open_ports(shared: &Shared, network: &ucx::Network) -> Result<Opened, Error> {
    let (start, bytes) = shared.store.lend_memory();
    if let Err(error) = network.register(start, bytes, Arc::clone(&shared.store) as _) {
        // Values are then registered piece by piece, as they are sent and received.
        tracing::warn!(%error, "the memory cannot be registered with the network at once");
    }
    let port = |_| Ok(Box::new(network.port()?) as Box<ServerPort>);
    let ports = (0..shared.settings.threads).map(port);
    let ports = ports.collect::<Result<Vec<_>, Error>>()?;
    let (major, minor, release) = network.version();
    tracing::info!("clients may come over the fabric, by UCX {major}.{minor}.{release}");
    Ok(Opened {
        network: Network::Ucx,
        ports,
    })
}
