//! From the command line to a running server, in the order that privileges and forks demand.

use crate::logging;
use crate::net::listen::{self, Listener};
use crate::net::tls::Tls;
use crate::options::{Options, Plan, Refusal};
use crate::process::{self, Identity, OwnedFile};
use crate::server::Server;
use crate::shared::Shared;
use crate::signals::Signals;
use farcache_store::{Store, StoreConfig};
use std::fmt::Write;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Handles of the store beside the workers': metrics, statistics and the like.
const EXTRA_HANDLES: usize = 4;

/// `EX_OSERR` of `sysexits.h`, which memcached ends with too.
const SYSTEM_FAILURE: u8 = 71;

/// `EX_NOUSER` of `sysexits.h`.
const NO_USER: u8 = 67;

/// Environment variable that names a file for the ports, as in memcached.
const PORT_FILE_VARIABLE: &str = "MEMCACHED_PORT_FILENAME";

fn system_failure(error: &dyn std::fmt::Display) -> Refusal {
    Refusal { message: error.to_string(), status: SYSTEM_FAILURE }
}

/// Starts the server that the options describe and serves until it is told to stop.
///
/// # Errors
/// Why it cannot start.
pub fn run(options: &Options) -> Result<(), Refusal> {
    let mut plan = options.plan()?;
    let identity = find_identity(options)?;
    logging::start(options.log_format, options.verbose);
    report(options, &plan);
    let fail = |error: io::Error| system_failure(&error);
    process::raise_open_files(plan.settings.connections_max).map_err(fail)?;
    if options.core_dumps {
        process::raise_core_file().map_err(fail)?;
    }
    let mut sockets = bind_network(&mut plan).map_err(fail)?;
    if let Some(identity) = identity {
        identity.assume().map_err(fail)?;
    }
    let unix_file = bind_unix(&plan, &mut sockets).map_err(fail)?;
    if options.daemon {
        process::daemonize(options.verbose > 0).map_err(fail)?;
    }
    let served = serve(options, plan, sockets).map_err(fail);
    drop(unix_file);
    served
}

fn serve(options: &Options, plan: Plan, sockets: Vec<Listener>) -> io::Result<()> {
    let _pid_file =
        options.pid_file.as_deref().map(OwnedFile::with_process_number).transpose()?;
    let signals = Signals::take_over()?;
    let store = Store::new(store_config(&plan))?;
    if options.lock_memory
        && let Err(error) = process::lock_memory()
    {
        tracing::warn!(%error, "cannot lock memory (-k)");
    }
    let tls = plan.settings.tls.clone().map(Tls::new).transpose()?;
    let shared = Arc::new(Shared { tls, ..Shared::new(store, plan.settings) });
    shared.verbosity.store(options.verbose, Relaxed);
    shared.sizes_on.store(plan.track_sizes, Relaxed);
    shared.auth.load()?;
    let server = Server::start(Arc::clone(&shared))?;
    announce(options, &shared, &sockets)?;
    server.serve(sockets, signals)
}

fn find_identity(options: &Options) -> Result<Option<Identity>, Refusal> {
    let Some(name) = options.user.as_deref().filter(|_| process::is_root()) else {
        return Ok(None);
    };
    let identity = Identity::find(name)
        .map_err(|error| Refusal { message: error.to_string(), status: NO_USER })?;
    Ok(Some(identity))
}

fn report(options: &Options, plan: &Plan) {
    if process::is_root() && options.user.is_none() {
        tracing::warn!("running as root; choose a user with -u");
    }
    for option in &plan.not_applicable {
        tracing::warn!(option, "accepted, but not applicable to this server");
    }
}

fn bind_network(plan: &mut Plan) -> io::Result<Vec<Listener>> {
    let settings = &mut plan.settings;
    if !plan.tcp {
        return Ok(Vec::new());
    }
    let tls = settings.tls.is_some();
    let listeners = listen::bind_tcp(&plan.places, settings.tcp_port, settings.backlog, tls)?;
    if let Some(first) = listeners.first() {
        settings.tcp_port = listen::bound_to(&first.socket)?.port();
    }
    Ok(listeners)
}

fn bind_unix(plan: &Plan, listeners: &mut Vec<Listener>) -> io::Result<Option<OwnedFile>> {
    let settings = &plan.settings;
    let Some(path) = &settings.unix_socket else { return Ok(None) };
    listeners.push(listen::bind_unix(path, settings.unix_mask, settings.backlog)?);
    Ok(Some(OwnedFile::owning(path)))
}

fn store_config(plan: &Plan) -> StoreConfig {
    let settings = &plan.settings;
    StoreConfig {
        memory_bytes: settings.memory_bytes,
        item_bytes_max: settings.item_bytes_max,
        evict: settings.evictions,
        cas: settings.cas,
        handles_max: settings.threads + EXTRA_HANDLES,
        ..StoreConfig::default()
    }
}

/// Tells where clients can connect, in the log and in the files asked for.
fn announce(options: &Options, shared: &Shared, listeners: &[Listener]) -> io::Result<()> {
    for listener in listeners {
        tracing::info!(address = %listener.address, tls = listener.tls, "listening");
    }
    if let Some(path) = &options.port_file {
        process::write_whole(path, &format!("{}\n", shared.settings.tcp_port))?;
    }
    if let Some(path) = std::env::var_os(PORT_FILE_VARIABLE) {
        process::write_whole(path.as_ref(), &port_lines(listeners)?)?;
    }
    Ok(())
}

/// The ports in the form that memcached's own tests read.
fn port_lines(listeners: &[Listener]) -> io::Result<String> {
    let mut lines = String::new();
    for listener in listeners {
        let Ok(address) = listen::bound_to(&listener.socket) else { continue };
        let family = if address.is_ipv6() { "INET6" } else { "INET" };
        writeln!(lines, "TCP {family}: {}", address.port()).map_err(io::Error::other)?;
    }
    Ok(lines)
}
