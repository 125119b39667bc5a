//! What sessions see of this server: [`ServerHost`].

mod cluster;
mod connections;
mod fabric;
mod redundancy;
mod settings;

use crate::connections::{Address, State};
use crate::dial::nonce;
use crate::mailbox::life_line::Caller;
use crate::shared::Shared;
use crate::test_clock;
use crate::upgrade;
use crate::users::Users;
use farcache_base::time::Clock;
use farcache_fabric::grant::Network;
use farcache_peers::moves::Acknowledged;
use farcache_proto::text::TimeChange;
use farcache_session::counters::Totals;
use farcache_session::stats::Report;
use farcache_session::watch::EventKind;
use farcache_session::{
    Configuration, Host, HostTopic, Networks, Overview, Peering, ProcessorTime, Reload,
    UpgradeRefusal, UpgradeRequest,
};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The server, as seen from one connection.
pub struct ServerHost<'a> {
    /// The server.
    pub shared: &'a Shared,
    /// The connection, where it may become the life line of a session on the fabric.
    pub caller: Option<Caller<'a>>,
}

impl Host for ServerHost<'_> {
    fn is_user(&self, name: &[u8], password: &[u8]) -> bool {
        let is_password = |users: &Users| users.check(name, password);
        self.shared.users.as_ref().is_some_and(is_password)
    }

    fn note_failed_login(&self) {
        let peer = self.caller.map(|caller| &caller.info.peer);
        let now_s = self.shared.seconds_now();
        self.shared.refusals.login_failed(peer, now_s);
    }

    fn publish(&self, kind: EventKind, event: fmt::Arguments<'_>) {
        self.shared.watch.publish(kind, event);
    }

    fn totals(&self) -> Totals {
        self.shared.totals()
    }

    fn reset_totals(&self) {
        self.shared.reset_totals();
    }

    fn overview(&self) -> Overview {
        overview(self.shared)
    }

    fn report(&self, topic: HostTopic, clock: Clock, report: &mut Report<'_>) {
        match topic {
            HostTopic::Cluster => cluster::collect(self.shared, report),
            HostTopic::Connections => connections::collect(self.shared, clock.now, report),
            HostTopic::Fabric => fabric::collect(self.shared, report),
            HostTopic::Redundancy => redundancy::collect(self.shared, report),
            HostTopic::Settings => settings::collect(self.shared, report),
        }
    }

    fn upgrade(&self, request: UpgradeRequest<'_>) -> Result<Vec<u8>, UpgradeRefusal> {
        let (version, shared, caller) = (request.version, self.shared, self.caller);
        let asker = request.asker;
        let grant = match request.networks {
            Networks::Bytes(bytes) => {
                let networks = bytes.iter().filter_map(|byte| Network::from_byte(*byte));
                shared.grant_session(version, networks, caller, asker)
            }
            Networks::Names(names) => {
                let networks = names.filter_map(upgrade::network_named);
                shared.grant_session(version, networks, caller, asker)
            }
        };
        grant.map(|grant| grant.encode())
    }

    fn configuration(&self) -> Option<Arc<Configuration>> {
        let cluster = self.shared.cluster.as_ref();
        cluster?.configuration()
    }

    fn peering(&self) -> Option<Peering<'_>> {
        // Over anything but a connection no peer comes.
        let (cluster, caller) = (self.shared.cluster.as_ref()?, self.caller?);
        let (member, map) = (cluster.member()?, cluster.map());
        Some(Peering {
            cluster: map.content().cluster.to_string(),
            server: member.place.id(&map)?.0,
            epoch: map.epoch().0,
            secret: member.secret.as_ref(),
            is_near: is_near(&caller.info.peer),
            nonce: nonce(),
        })
    }

    fn acknowledged(&self) -> Option<Acknowledged> {
        self.shared.cluster.as_ref()?.acknowledged()
    }

    fn void_moves(&self) {
        let cluster = self.shared.cluster.as_ref();
        if let Some(moves) = cluster.and_then(|cluster| cluster.moves()) {
            moves.taking.void();
        }
    }

    fn reload_certificates(&self) -> Reload {
        match self.shared.reload_certificates() {
            Some(Ok(())) => Reload::Done,
            Some(Err(_)) => Reload::Failed,
            None => Reload::NoTls,
        }
    }

    fn repair(&self) -> bool {
        let repairs = self.shared.repairs();
        if repairs {
            self.shared.repairs.demand();
        }
        repairs
    }

    fn set_verbosity(&self, level: u32) {
        self.shared.set_verbosity(level);
    }

    fn change_time(&self, change: TimeChange) -> bool {
        let clock = &self.shared.test_clock;
        if test_clock::IS_BUILT_IN {
            match change {
                TimeChange::Advance(seconds) => clock.advance(u64::from(seconds)),
                TimeChange::Pause => clock.pause(self.shared.real_seconds(Instant::now())),
                TimeChange::Resume => clock.resume(),
            }
        }
        test_clock::IS_BUILT_IN
    }

    fn stop(&self) {
        self.shared.stop("a client's command");
    }
}

/// Whether this is an address on the same machine.
fn is_near(peer: &Address) -> bool {
    match peer {
        Address::Unix(_) => true,
        Address::Tcp(peer) | Address::Udp(peer) => peer.ip().to_canonical().is_loopback(),
    }
}

fn overview(shared: &Shared) -> Overview {
    let (settings, clients) = (&shared.settings, shared.connections.clients());
    let connections = shared.connections.all();
    let count = |state| {
        connections
            .iter()
            .filter(|one| one.state() == state)
            .count() as u64
    };
    let (_, watch_lines_sent, watch_lines_skipped) = shared.watch.figures();
    let is_full = clients >= settings.connections_max;
    let tls = shared.tls.as_ref();
    Overview {
        process_id: std::process::id(),
        processor_time: processor_time(),
        clients_max: settings.connections_max as u64,
        clients: clients as u64,
        listeners: count(State::Listening),
        watchers: count(State::Watching),
        watch_lines_sent,
        watch_lines_skipped,
        accepts_connections: settings.connections_refused_fast || !is_full,
        threads: settings.threads as u64,
        certificate_age_s: tls.map(|tls| tls.loaded_at().elapsed().as_secs()),
    }
}

fn processor_time() -> Option<ProcessorTime> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let duration = |time: TimeVal| {
        Duration::from_secs(time.tv_sec() as u64) + Duration::from_micros(time.tv_usec() as u64)
    };
    Some(ProcessorTime {
        user: duration(usage.user_time()),
        system: duration(usage.system_time()),
    })
}
