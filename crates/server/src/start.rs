//! From the command line to a running server, in the order that privileges and forks demand.

use crate::cluster;
use crate::connections::Address;
use crate::crew::{Crew, Threads};
use crate::descriptors;
use crate::fabric;
use crate::logging;
use crate::metrics::Endpoint;
use crate::moves::{Home, mover, standoff};
use crate::net::listen::{self, Listener};
use crate::net::tls::Tls;
use crate::options::{Options, Plan, Refusal};
use crate::panics;
use crate::process::{self, Identity, OwnedFile};
use crate::server::Server;
use crate::settings::Settings;
use crate::shared::{Epoch, Shared};
use crate::signals::Signals;
use crate::tier::{self, Devices, EventLog};
use crate::upgrade::registry::Registry;
use crate::users::Users;
use farcache_store::{KeyHash, Store, StoreConfig};
use socket2::Socket;
use std::fmt::Write;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

/// Handles of the store beside the workers': metrics, statistics, repair, moves and the like.
const EXTRA_HANDLES: usize = 6;

/// `EX_OSERR` of `sysexits.h`, which memcached ends with too.
const SYSTEM_FAILURE: u8 = 71;

/// `EX_NOUSER` of `sysexits.h`.
const NO_USER: u8 = 67;

/// Environment variable that names a file for the ports, as in memcached.
const PORT_FILE_VARIABLE: &str = "MEMCACHED_PORT_FILENAME";

fn system_failure(error: &dyn std::fmt::Display) -> Refusal {
    Refusal {
        message: error.to_string(),
        status: SYSTEM_FAILURE,
    }
}

/// Starts the server that the options describe and serves until it is told to stop.
///
/// # Errors
/// Why it cannot start.
pub fn run(options: &Options) -> Result<(), Refusal> {
    run_with(options, &Threads)
}

/// As [`run`], with workers that `crew` runs. A process may have several such servers at a time:
/// signals go to all of them, and the log, the user and the limits are the process's.
///
/// # Errors
/// Why it cannot start.
pub fn run_with(options: &Options, crew: &dyn Crew) -> Result<(), Refusal> {
    let mut plan = options.plan()?;
    let identity = find_identity(options)?;
    logging::start(options.log_format, options.verbose);
    panics::end_process_on_panic();
    report(options, &plan);
    let fail = |error: io::Error| system_failure(&error);
    descriptors::prepare(&mut plan, options.metrics.is_some()).map_err(fail)?;
    if options.core_dumps {
        process::raise_core_file().map_err(fail)?;
    }
    let mut sockets = bind_network(&mut plan).map_err(fail)?;
    sockets.metrics = bind_metrics(options).map_err(fail)?;
    if let Some(identity) = identity {
        identity.assume().map_err(fail)?;
    }
    let unix_file = bind_unix(&plan, &mut sockets).map_err(fail)?;
    load_users(&plan.settings).map_err(fail)?;
    let cluster = cluster::open(&plan.settings).map_err(fail)?;
    let devices = tier::open_devices(&plan.settings).map_err(fail)?;
    let tls = plan
        .settings
        .tls
        .clone()
        .map(Tls::new)
        .transpose()
        .map_err(fail)?;
    if options.daemon {
        process::daemonize(options.verbose > 0).map_err(fail)?;
    }
    let opened = Opened {
        tls,
        devices,
        cluster,
    };
    let served = serve(options, plan, sockets, opened, crew).map_err(fail);
    drop(unix_file);
    served
}

/// What was opened while somebody still saw the messages.
struct Opened {
    tls: Option<Tls>,
    devices: Devices,
    cluster: Option<cluster::Opened>,
}

fn serve(
    options: &Options,
    plan: Plan,
    mut sockets: Sockets,
    opened: Opened,
    crew: &dyn Crew,
) -> io::Result<()> {
    let _pid_file = options
        .pid_file
        .as_deref()
        .map(OwnedFile::with_process_number)
        .transpose()?;
    let signals = Signals::take_over()?;
    // The store has threads.
    let network = fabric::open::find(&plan.settings)?;
    let epoch = Epoch::now();
    let store = tier::open_store(
        store_config(&plan),
        opened.devices,
        &plan.settings,
        epoch.unix,
    )?;
    if options.lock_memory
        && let Err(error) = process::lock_memory()
    {
        tracing::warn!(%error, "cannot lock memory (-k)");
    }
    let measured = sockets
        .metrics
        .as_ref()
        .map_or(0, |_| plan.settings.threads);
    let latencies = (0..measured).map(|_| Arc::default()).collect();
    let cluster = opened.cluster;
    let cluster = cluster.map(|cluster| cluster::start(cluster, &store));
    let shared = Arc::new(Shared {
        tls: opened.tls,
        cluster: cluster.transpose()?,
        latencies,
        ..Shared::since(epoch, Arc::clone(&store), plan.settings)
    });
    shared.verbosity.store(options.verbose, Relaxed);
    shared.service.track_sizes(plan.track_sizes);
    let fabric = network.map(|network| fabric::open::prepare(&shared, network));
    let told = match &fabric {
        Ok(opened) => opened.description.clone(),
        Err(reason) => reason.clone(),
    };
    let server = Server::start(
        Arc::clone(&shared),
        sockets.datagrams.clone(),
        fabric.ok(),
        crew,
    )?;
    let movers = start_movers(&shared)?;
    let metrics = sockets
        .metrics
        .as_ref()
        .map(|listener| Endpoint::start(listener.try_clone()?, Arc::clone(&shared)))
        .transpose()?;
    let unopened = shared.fabric.get().map_or(0, Registry::unopened);
    let sessions_max = descriptors::check(&shared.settings, metrics.is_some(), unopened)?;
    if let Some(fabric) = shared.fabric.get() {
        fabric.sessions_max.store(sessions_max, Relaxed);
    }
    announce(options, &shared, &sockets)?;
    tell_of_start(&shared, &sockets, &told);
    let started = shared.started;
    drop((sockets.metrics.take(), shared));
    let event_log = EventLog::start(&store)?;
    // Starting took far more of it than serving does.
    farcache_code::give_back_code();
    let served = server.serve(sockets.listeners, signals);
    if let Some(endpoint) = metrics {
        endpoint.stop();
    }
    // Nothing is stored any more once what is in memory is written out.
    for mover in movers {
        if mover.join().is_err() {
            return Err(io::Error::other("the mover has failed"));
        }
    }
    if let Some(event_log) = event_log {
        event_log.stop();
    }
    tier::write_out(&store);
    tracing::info!(target: logging::EVENTS, seconds = started.elapsed().as_secs(), "stopped");
    served
}

/// Starts what moves keys; nothing where the server takes no part in forwarding.
fn start_movers(shared: &Arc<Shared>) -> io::Result<Vec<JoinHandle<()>>> {
    let cluster = shared.cluster.as_ref();
    if cluster.is_none_or(|cluster| cluster.member().is_none()) {
        return Ok(Vec::new());
    }
    let home = || Arc::clone(shared) as Arc<dyn Home>;
    Ok(vec![mover::start(home())?, standoff::start(home())?])
}

/// The one line that tells an operator what has been started.
fn tell_of_start(shared: &Shared, sockets: &Sockets, fabric: &str) {
    let settings = &shared.settings;
    let datagrams = sockets.datagrams.iter();
    let datagrams = datagrams.filter_map(|socket| listen::bound_to(socket).ok());
    let listeners = sockets.listeners.iter().map(|listener| match listener.tls {
        true => format!("{} (TLS)", listener.address),
        false => listener.address.to_string(),
    });
    let addresses = listeners.chain(datagrams.map(|address| Address::Udp(address).to_string()));
    let addresses: Vec<String> = addresses.collect();
    tracing::info!(
        target: logging::EVENTS,
        version = env!("CARGO_PKG_VERSION"),
        pid = std::process::id(),
        memory_mebibytes = settings.memory_bytes >> 20,
        threads = settings.threads,
        addresses = addresses.join(", "),
        fabric,
        ssd = described_devices(&shared.store, settings),
        "started"
    );
}

/// The SSD tier's devices and how much they hold.
fn described_devices(store: &Store, settings: &Settings) -> String {
    let Some(stats) = store.tier_stats() else {
        return "none".into();
    };
    let paths = settings.devices.iter();
    let paths: Vec<String> = paths
        .map(|device| device.path.display().to_string())
        .collect();
    let mebibytes = stats.device_bytes >> 20;
    format!(
        "{}: {mebibytes} MiB, {} items",
        paths.join(", "),
        stats.items
    )
}

/// Finds out whether the users can be read while somebody still sees the message.
fn load_users(settings: &Settings) -> io::Result<()> {
    let file = settings.auth_file.as_deref().unwrap_or(Path::new(""));
    if settings.sasl && file.as_os_str().is_empty() {
        return Err(io::Error::other(
            "-S needs the environment variable MEMCACHED_SASL_PWDB",
        ));
    }
    let Some(users) = settings.users_file().map(Users::new) else {
        return Ok(());
    };
    users.load().map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("cannot use the users in {}: {error}", file.display()),
        )
    })
}

fn find_identity(options: &Options) -> Result<Option<Identity>, Refusal> {
    let Some(name) = options.user.as_deref().filter(|_| process::is_root()) else {
        return Ok(None);
    };
    let identity = Identity::find(name).map_err(|error| Refusal {
        message: error.to_string(),
        status: NO_USER,
    })?;
    Ok(Some(identity))
}

fn report(options: &Options, plan: &Plan) {
    if process::is_root() && options.user.is_none() {
        tracing::warn!("running as root; choose a user with -u");
    }
    if !plan.tcp && !plan.udp && plan.settings.unix_socket.is_none() {
        tracing::warn!("no client can connect: TCP is off (-p 0), and there is nothing else");
    }
    for option in &plan.not_applicable {
        tracing::warn!(option, "accepted, but not applicable to this server");
    }
}

/// Where clients reach the server.
#[derive(Default)]
struct Sockets {
    listeners: Vec<Listener>,
    datagrams: Vec<Arc<Socket>>,
    metrics: Option<TcpListener>,
}

fn bind_network(plan: &mut Plan) -> io::Result<Sockets> {
    let settings = &mut plan.settings;
    let mut sockets = Sockets::default();
    if plan.tcp {
        let tls = settings.tls.is_some();
        sockets.listeners =
            listen::bind_tcp(&plan.places, settings.tcp_port, settings.backlog, tls)?;
    }
    if plan.udp {
        let bound = listen::bind_udp(&plan.places, settings.udp_port)?;
        sockets.datagrams = bound.into_iter().map(Arc::new).collect();
    }
    if let Some(first) = sockets.listeners.first() {
        settings.tcp_port = listen::bound_to(&first.socket)?.port();
    }
    if let Some(first) = sockets.datagrams.first() {
        settings.udp_port = listen::bound_to(first)?.port();
    }
    Ok(sockets)
}

fn bind_metrics(options: &Options) -> io::Result<Option<TcpListener>> {
    let bind = |address: SocketAddr| {
        TcpListener::bind(address).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!("cannot serve metrics at {address}: {error}"),
            )
        })
    };
    options.metrics.map(bind).transpose()
}

fn bind_unix(plan: &Plan, sockets: &mut Sockets) -> io::Result<Option<OwnedFile>> {
    let settings = &plan.settings;
    let Some(path) = &settings.unix_socket else {
        return Ok(None);
    };
    let listener = listen::bind_unix(path, settings.unix_mask, settings.backlog)?;
    sockets.listeners.push(listener);
    Ok(Some(OwnedFile::owning(path)))
}

fn store_config(plan: &Plan) -> StoreConfig {
    let settings = &plan.settings;
    StoreConfig {
        memory_bytes: settings.memory_bytes,
        segment_bytes: StoreConfig::segment_bytes_for(settings.memory_bytes),
        item_bytes_max: settings.item_bytes_max,
        evict: settings.evictions,
        evict_expiring: settings.evict_expiring,
        cas: settings.cas,
        handles_max: settings.threads + EXTRA_HANDLES,
        key_hash: Some(KeyHash(cluster::hash_of_key)),
        ..StoreConfig::default()
    }
}

/// Tells where clients can connect, in the log and in the files asked for.
fn announce(options: &Options, shared: &Shared, sockets: &Sockets) -> io::Result<()> {
    for listener in &sockets.listeners {
        tracing::info!(address = %listener.address, tls = listener.tls, "listening");
    }
    for socket in &sockets.datagrams {
        let address = Address::Udp(listen::bound_to(socket)?);
        tracing::info!(%address, "listening");
    }
    if let Some(listener) = &sockets.metrics {
        tracing::info!(address = %listener.local_addr()?, "serving metrics");
    }
    if let Some(path) = &options.port_file {
        process::write_whole(path, &format!("{}\n", shared.settings.tcp_port))?;
    }
    let port_lines_file = std::env::var_os(PORT_FILE_VARIABLE);
    if let Some(path) = port_lines_file.filter(|_| shared.settings.unix_socket.is_none()) {
        process::write_whole(path.as_ref(), &port_lines(sockets)?)?;
    }
    Ok(())
}

/// The ports in the form that memcached's own tests read.
fn port_lines(sockets: &Sockets) -> io::Result<String> {
    let mut lines = String::new();
    let tcp = sockets
        .listeners
        .iter()
        .map(|listener| ("TCP", &listener.socket));
    let udp = sockets.datagrams.iter().map(|socket| ("UDP", &**socket));
    for (protocol, socket) in tcp.chain(udp) {
        let Ok(address) = listen::bound_to(socket) else {
            continue;
        };
        let family = if address.is_ipv6() { "INET6" } else { "INET" };
        writeln!(lines, "{protocol} {family}: {}", address.port()).map_err(io::Error::other)?;
    }
    Ok(lines)
}
