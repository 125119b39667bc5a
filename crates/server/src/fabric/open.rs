//! Finds a network when the server starts, and opens ports on it.

use super::registry::{OpenCallPort, Registry};
use crate::dial::CallPort;
use crate::settings::{FabricMode, Settings};
use crate::shared::Shared;
use crate::upgrade::entrance::{OpenPort, ServerPort};
use farcache_fabric::Error;
use farcache_fabric::grant::Network;
use farcache_fabric::ucx;
use rustix::process::DumpableBehavior;
use std::io;
use std::sync::Arc;

/// A network on which ports can be opened.
pub struct Opened {
    /// What carries the messages.
    pub network: Network,
    /// Opens a worker's port.
    pub open_port: OpenPort,
    /// Opens one towards other servers.
    pub open_call_port: OpenCallPort,
    /// What it is, for people.
    pub description: String,
}

/// A network, or why there is none.
pub type Found<T> = Result<T, String>;

/// Finds the network that the operator's choice allows; the reason where there is to be none, or
/// where there is none and need not be, which is logged.
///
/// To be called before the process has further threads: UCX puts jumps into the C library's
/// functions for memory (`mmap`, `munmap` and others) when it is opened, and a thread that calls
/// one of them meanwhile may run into half of a jump.
///
/// # Errors
/// There is no network, and the operator requires one.
pub fn find(settings: &Settings) -> io::Result<Found<Arc<ucx::Network>>> {
    match (settings.fabric_mode(), settings.fabric) {
        (FabricMode::Off, FabricMode::Off) => Ok(Err("off (--fabric off)".into())),
        (FabricMode::Off, _) => Ok(Err(
            "off: it does not encrypt; with TLS (-Z) it takes --fabric-with-tls".into(),
        )),
        (mode, _) => allowed(mode, ucx::Network::open(ucx::Settings::default())),
    }
}

/// Gets the network ready for the workers' ports, which are opened when clients ask for them.
pub fn prepare(shared: &Shared, network: Arc<ucx::Network>) -> Opened {
    let (start, bytes) = shared.store.lend_memory();
    if let Err(error) = network.register(start, bytes, Arc::clone(&shared.store) as _) {
        // Values are then registered piece by piece, as they are sent and received.
        tracing::warn!(%error, "the memory cannot be registered with the network at once");
    }
    Opened {
        network: Network::Ucx,
        description: description(&network),
        open_port: {
            let network = Arc::clone(&network);
            Box::new(move || {
                let port = Box::new(network.port()?) as Box<ServerPort>;
                allow_shared_memory();
                Ok(port)
            })
        },
        open_call_port: Box::new(move || Ok(Box::new(network.port()?) as Box<CallPort>)),
    }
}

/// Opens all ports at the start where the operator requires the fabric.
///
/// # Errors
/// One cannot be opened.
pub fn open_required(mode: FabricMode, registry: &Registry) -> io::Result<()> {
    match mode {
        FabricMode::Require => registry.open_all().map_err(|error| unmet(&error)),
        FabricMode::Auto | FabricMode::Off => Ok(()),
    }
}

fn unmet(error: &Error) -> io::Error {
    io::Error::other(format!("--fabric require: {error}"))
}

/// Clients of this host that run as the same user share memory with the server: UCX opens it by
/// /proc, which the system refuses with a process that has changed its user (-u) and has not said
/// this. It opens /proc for debuggers, too, so it is not said before a client asks for the
/// fabric.
fn allow_shared_memory() {
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable);
}

/// Without a network the server starts only if none is required.
fn allowed<T>(mode: FabricMode, found: Result<T, Error>) -> io::Result<Found<T>> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(error) if mode == FabricMode::Require => Err(unmet(&error)),
        Err(error) => {
            tracing::warn!(
                %error,
                "no fabric: clients are served over sockets only (--fabric off, if that is meant)"
            );
            Ok(Err(format!("none: {error}")))
        }
    }
}

/// UCX's version, and what it may use here: shared memory, devices for RDMA, the operator's own
/// choice.
fn description(network: &ucx::Network) -> String {
    let (major, minor, release) = network.version();
    let mut ways = Vec::new();
    if network.shares_memory() {
        ways.push("shared memory".to_owned());
    }
    let devices = ucx::rdma_devices();
    ways.push(match devices.is_empty() {
        true => "no RDMA device".to_owned(),
        false => format!("RDMA devices {}", devices.join(", ")),
    });
    if let Ok(transports) = std::env::var("UCX_TLS") {
        ways.push(format!("UCX_TLS={transports}"));
    }
    format!("UCX {major}.{minor}.{release}: {}", ways.join("; "))
}
