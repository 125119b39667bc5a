//! Descriptors: how many files and sockets the server has open at most, and that the system lets
//! it.
//!
//! Running out of them at run time is no clean failure: clients wait to be accepted, and libraries
//! fail in their own ways. So all that the options may need is counted, and the soft limit raised,
//! before anybody is served.

use crate::metrics;
use crate::options::Plan;
use crate::settings::{FabricMode, IoUringMode, Settings};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io;

/// The accepting thread's: epoll, what wakes it, and the signals' two ends, of which one has a name
/// for each signal.
const ACCEPTING: usize = 7;

/// For what is open for a moment only: files that are read anew, a connection that is told that
/// there are too many.
const SPARE: usize = 16;

/// Each worker's: epoll and what wakes it.
const WORKER: usize = 2;

/// Each worker's for the SSD tier: its reads, and what tells of durability.
const WORKER_WITH_DEVICES: usize = 2;

/// The SSD tier's, beside one for each device: the ring of its writes, and another while it is
/// recovered.
const DEVICES: usize = 2;

/// Of UCX in all and for each worker, with the networks that a machine usually has (measured: 5 and
/// 7).
const FABRIC: usize = 16;
const WORKER_WITH_FABRIC: usize = 16;

/// What UCX opens for each session, at most: over its TCP a connection each way.
const SESSION: u64 = 2;

/// What hears of changes of the cluster's file, and what ends that, which has two names.
const CLUSTER_FILE: usize = 3;

/// Of the runtime that talks with etcd, its connection with another that is being opened, and the
/// file that keeps the map.
const CLUSTER_ETCD: usize = 10;

/// Fewest connections to which the default of `-c` is lowered.
const CONNECTIONS_MIN: usize = 16;

/// Makes sure, before anything is opened, that what the options ask for can be. The limit on
/// connections is lowered where it is the default and the system allows fewer.
///
/// # Errors
/// The system allows too few descriptors; the message says how many are needed for what.
pub fn prepare(plan: &mut Plan, has_metrics: bool) -> io::Result<()> {
    let own = open_now().unwrap_or(3) + own(plan, has_metrics);
    let limit = raise(own as u64 + for_clients(&plan.settings))?;
    let settings = &mut plan.settings;
    let connections = (limit as usize).saturating_sub(own);
    if connections >= settings.connections_max {
        return Ok(());
    }
    if plan.connections_given || connections < CONNECTIONS_MIN {
        return Err(too_few(limit, own, settings.connections_max));
    }
    tracing::warn!(
        limit,
        connections,
        "the system allows too few open files for {} connections; fewer are served",
        settings.connections_max
    );
    settings.connections_max = connections;
    Ok(())
}

/// Makes sure that all clients find descriptors, now that the server has opened its own, but for
/// `unopened` ports on the fabric; returns how many sessions on the fabric there may be.
///
/// # Errors
/// As [`prepare`].
pub fn check(settings: &Settings, has_metrics: bool, unopened: usize) -> io::Result<usize> {
    let endpoint = if has_metrics {
        metrics::CONNECTIONS_MAX
    } else {
        0
    };
    // Where the system does not tell, the count before must do.
    let Some(open) = open_now() else {
        return Ok(settings.connections_max);
    };
    let own = open + endpoint + SPARE + unopened * WORKER_WITH_FABRIC;
    let limit = raise(own as u64 + for_clients(settings))?;
    let rest = limit.checked_sub((own + settings.connections_max) as u64);
    let rest = rest.ok_or_else(|| too_few(limit, own, settings.connections_max))?;
    tracing::debug!(
        limit,
        own,
        connections = settings.connections_max,
        "descriptors"
    );
    Ok((rest / SESSION) as usize)
}

/// Descriptors of the server itself, beside those that are open at its start.
fn own(plan: &Plan, has_metrics: bool) -> usize {
    let settings = &plan.settings;
    let when = |condition: bool, count: usize| if condition { count } else { 0 };
    let has_fabric = settings.fabric_mode() != FabricMode::Off;
    let has_devices = !settings.devices.is_empty();
    let worker = WORKER
        + when(settings.io_uring != IoUringMode::Off, 1)
        + when(has_devices, WORKER_WITH_DEVICES)
        + when(has_fabric, WORKER_WITH_FABRIC);
    // A name may stand for several addresses; by default there are two, for both families.
    let listeners = 2 * plan.places.len().max(1) * (usize::from(plan.tcp) + usize::from(plan.udp));
    ACCEPTING
        + SPARE
        + settings.threads * worker
        + listeners
        + when(settings.unix_socket.is_some(), 1)
        + when(has_devices, settings.devices.len() + DEVICES)
        + when(has_fabric, FABRIC)
        + when(settings.cluster_file.is_some(), CLUSTER_FILE)
        + when(settings.cluster_etcd.is_some(), CLUSTER_ETCD)
        + when(has_metrics, metrics::DESCRIPTORS_MAX)
}

/// Descriptors of all clients, with sessions on the fabric where there may be any.
fn for_clients(settings: &Settings) -> u64 {
    let connections = settings.connections_max as u64;
    match settings.fabric_mode() {
        FabricMode::Off => connections,
        _ => connections.saturating_mul(1 + SESSION),
    }
}

/// Raises the soft limit to `wanted`, or as far as the system allows; returns what it is then.
fn raise(wanted: u64) -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= wanted {
        return Ok(soft);
    }
    // Only root may raise the hard limit.
    if setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted)).is_ok() {
        return Ok(wanted);
    }
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    Ok(hard)
}

fn too_few(limit: u64, own: usize, connections: usize) -> io::Error {
    let needed = own.saturating_add(connections);
    let message = format!(
        "{needed} descriptors are needed ({connections} for connections, {own} for the server itself), but the \
         system allows {limit}: raise the limit (ulimit -n, LimitNOFILE=) or choose fewer connections (-c)"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

/// Descriptors that are open now; none where the system does not tell.
fn open_now() -> Option<usize> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?.count();
    // The one by which they were counted is not open any more.
    Some(open.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_descriptors_are_told_with_what_they_are_needed_for() {
        let message = too_few(1024, 100, 1000).to_string();
        for named in [
            "1100",
            "1000 for connections",
            "100 for the server",
            "allows 1024",
            "-c",
        ] {
            assert!(message.contains(named), "{named}: {message}");
        }
    }

    #[test]
    fn more_than_the_system_has_is_not_granted() {
        let limit = raise(u64::MAX / 4).expect("a limit");
        assert!(limit < u64::MAX / 4);
        assert_eq!(raise(1).expect("a limit"), limit, "it is never lowered");
    }

    #[test]
    fn what_is_open_is_counted() {
        let before = open_now().expect("/proc is there");
        let file = std::fs::File::open("/dev/null").expect("a file");
        // Other tests open and close files meanwhile: what counts is that this one is among them.
        assert!(before > 0 && open_now().is_some());
        drop(file);
    }
}
