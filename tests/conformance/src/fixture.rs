//! What the checks stand on: servers, and clients of them.

use super::caller::Caller;
use farcache_client::{ClientConfig, Error, Transport};
use farcache_harness::control::Control;
use farcache_harness::server_process::{Launcher, Product, ServerProcess};
use farcache_harness::target::Target;
use std::collections::BTreeMap;
use std::io;
use std::net::ToSocketAddrs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Memory of the servers that the checks start, in MiB.
const MEMORY_MB: &str = "768";

/// Their workers.
const WORKERS: &str = "2";

/// Limit of one operation and of connecting: an emulated machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Servers, and how clients reach them.
pub struct Fixture {
    /// The server of the checks that need nothing else: `host:port`.
    servers: String,
    /// What carries the operations.
    transport: Transport,
    /// Size of the largest values, in bytes.
    pub large_bytes: usize,
    launcher: Option<Launcher>,
    /// Kept running for `servers`.
    _server: Option<ServerProcess>,
    keys: AtomicU32,
}

impl Fixture {
    /// On a server that runs already.
    pub fn on_servers(servers: String, transport: Transport, large_bytes: usize) -> Self {
        Fixture {
            servers,
            transport,
            large_bytes,
            launcher: None,
            _server: None,
            keys: AtomicU32::new(0),
        }
    }

    /// On servers started for it.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn on_own(
        launcher: Launcher,
        transport: Transport,
        large_bytes: usize,
    ) -> io::Result<Self> {
        let server = start(
            &launcher,
            None,
            Product::Farcached,
            large_bytes,
            fabric_of(transport),
        )?;
        Ok(Fixture {
            servers: server.address().to_string(),
            transport,
            large_bytes,
            launcher: Some(launcher),
            _server: Some(server),
            keys: AtomicU32::new(0),
        })
    }

    /// Whether it starts servers.
    pub fn starts_servers(&self) -> bool {
        self.launcher.is_some()
    }

    /// The transport that is tested.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// A server of the check's own.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(&self, product: Product, options: &[&str]) -> io::Result<ServerProcess> {
        self.start_at(None, product, options)
    }

    /// Starts a server, on this port where one is named.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_at(
        &self,
        port: Option<u16>,
        product: Product,
        options: &[&str],
    ) -> io::Result<ServerProcess> {
        let launcher = self.launcher.as_ref();
        let launcher = launcher.ok_or_else(|| io::Error::other("starts no servers"))?;
        start(launcher, port, product, self.large_bytes, options)
    }

    /// A client over the transport that is tested.
    ///
    /// # Errors
    /// If the settings cannot work.
    pub fn client(&self) -> Result<Caller, Error> {
        self.client_of(&self.servers, self.transport)
    }

    /// A client over sockets, of the same server.
    ///
    /// # Errors
    /// If the settings cannot work.
    pub fn sockets_client(&self) -> Result<Caller, Error> {
        self.client_of(&self.servers, Transport::Tcp)
    }

    /// A client of any server.
    ///
    /// # Errors
    /// If the settings cannot work.
    pub fn client_of(&self, servers: &str, transport: Transport) -> Result<Caller, Error> {
        client_of(servers, transport)
    }

    /// Where the server listens that every check may use.
    pub fn servers(&self) -> &str {
        &self.servers
    }

    /// A key that no other check has.
    pub fn key(&self, name: &str) -> Vec<u8> {
        let number = self.keys.fetch_add(1, Ordering::Relaxed);
        format!("conformance:{}:{number}:{name}", std::process::id()).into_bytes()
    }
}

/// A client of any server, patient enough for an emulated machine.
///
/// # Errors
/// If the settings cannot work.
pub fn client_of(servers: &str, transport: Transport) -> Result<Caller, Error> {
    Caller::new(ClientConfig {
        transport,
        timeout: PATIENCE,
        connect_timeout: PATIENCE,
        ..ClientConfig::new(servers)?
    })
}

/// The server's options for a client with this transport.
fn fabric_of(transport: Transport) -> &'static [&'static str] {
    match transport {
        Transport::Fabric => &["--fabric", "require"],
        _ => &["--fabric", "auto"],
    }
}

/// Starts a server, on a free port unless one is named.
fn start(
    launcher: &Launcher,
    port: Option<u16>,
    product: Product,
    large_bytes: usize,
    options: &[&str],
) -> io::Result<ServerProcess> {
    // An item is its key and header too.
    let item_bytes_max = (large_bytes + (1 << 20)).to_string();
    let mut all = vec!["-t", WORKERS, "-m", MEMORY_MB, "-I", &item_bytes_max];
    all.extend(options);
    match port {
        Some(port) => launcher.start_on(port, product, &all, &[]),
        None => launcher.start(product, &all),
    }
}

/// The figures of `stats` with this argument, asked over a socket in text.
///
/// # Errors
/// Those of the connection, and an answer of another form.
pub fn statistics(servers: &str, argument: &str) -> io::Result<BTreeMap<String, String>> {
    let address = servers.to_socket_addrs()?.next();
    let address = address.ok_or_else(|| io::Error::other(format!("no address: {servers}")))?;
    Control::connect(&Target::Tcp(address))?.stats(argument)
}
