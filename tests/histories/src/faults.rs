//! Which fault comes next, and what is going on at a time.

use crate::clients::Clients;
use crate::etcd::Etcd;
use crate::hosts::{Host, Hosts};
use crate::scenario::{Kind, Scenario};
use crate::servers::{Return, Servers};
use crate::{Outcome, now_ns};
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, IteratorRandom};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time between two faults.
const PAUSE_MS: std::ops::Range<u64> = 10..120;

/// Time between two faults where what follows from one takes seconds.
const LONG_PAUSE_MS: std::ops::Range<u64> = 100..1500;

/// For how long a server is down, stopped or cut off. Less than what servers wait for others until
/// they take it that they have caught up: 10 s.
const LASTS_MS: std::ops::Range<u64> = 100..1500;

/// For how long a server is down, stopped or cut off where that may be longer than it is waited
/// for: a lease of 2 s, and 1 s.
const LONG_MS: std::ops::Range<u64> = 100..7000;

/// For how long a server sleeps: longer than it is waited for.
const SLEEPS_MS: std::ops::Range<u64> = 4000..6000;

/// Cuts at a time.
const CUTS_MAX: usize = 3;

/// Whom and what a fault needs.
pub struct World<'a> {
    /// Where all live.
    pub hosts: &'a Hosts,
    /// The servers.
    pub servers: &'a mut Servers,
    /// The clients.
    pub clients: &'a mut Clients,
    /// What keeps the map, if servers make it.
    pub etcd: Option<&'a mut Etcd>,
}

/// A fault that ends later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    Down(usize, Return),
    StoppedServer(usize),
    StoppedClient(usize),
    Cut(Host, Host),
    EtcdNode(usize),
    EtcdDown,
}

/// The faults of a run.
pub struct Faults<'a> {
    scenario: &'a Scenario,
    random: SmallRng,
    /// Which servers leave when.
    leaves: SmallRng,
    /// Which servers the map does not list while they are down.
    removals: SmallRng,
    lasting: Vec<(Instant, Lasting)>,
    log: Vec<String>,
    began: Instant,
    /// How many there were of each sort.
    pub counts: BTreeMap<&'static str, usize>,
    /// When servers were killed.
    pub kills: Vec<u64>,
    /// When anything happened for which keys may get other owners.
    pub disturbances: Vec<u64>,
}

impl<'a> Faults<'a> {
    /// Those of a scenario.
    #[must_use]
    pub fn new(scenario: &'a Scenario) -> Faults<'a> {
        Faults {
            scenario,
            random: scenario.random(1),
            leaves: scenario.random(4),
            removals: scenario.random(5),
            lasting: Vec::new(),
            log: Vec::new(),
            began: Instant::now(),
            counts: BTreeMap::new(),
            kills: Vec::new(),
            disturbances: Vec::new(),
        }
    }

    /// One fault after the other for as long as the scenario says, and the end of all.
    ///
    /// # Errors
    /// One cannot be made, or a process ends by itself.
    pub fn run(&mut self, world: &mut World<'_>) -> Outcome<()> {
        let end = Instant::now() + self.scenario.settings.time;
        while Instant::now() < end {
            self.end_those_due(world, Instant::now())?;
            world.servers.look_after_returned(world.hosts);
            self.begin_one(world)?;
            let pause = match self.scenario.settings.on_etcd {
                true => LONG_PAUSE_MS,
                false => PAUSE_MS,
            };
            let pause = self.random.random_range(pause);
            std::thread::sleep(Duration::from_millis(pause));
        }
        let far = Instant::now() + Duration::from_secs(3600);
        self.end_those_due(world, far)
    }

    /// What was done, line by line, with the milliseconds since the beginning.
    #[must_use]
    pub fn log(&self) -> &[String] {
        &self.log
    }

    fn note(&mut self, count: &'static str, what: String) {
        self.disturbances.push(now_ns());
        self.tell(count, &what);
    }

    /// Notes something by which nothing may be lost.
    fn tell(&mut self, count: &'static str, what: &str) {
        *self.counts.entry(count).or_default() += 1;
        let since = self.began.elapsed().as_millis();
        self.log.push(format!("{since} ms: {what}"));
    }

    fn end_those_due(&mut self, world: &mut World<'_>, now: Instant) -> Outcome<()> {
        let is_due = |one: &mut (Instant, Lasting)| one.0 <= now;
        let mut due: Vec<_> = self.lasting.extract_if(.., is_due).collect();
        // Some return only when nobody stands still.
        due.sort_by_key(|one| matches!(one.1, Lasting::Down(..)));
        for (_, lasting) in due {
            match lasting {
                Lasting::Down(server, _) if !world.servers.may_return(server) => {
                    self.last_for(PAUSE_MS.end, lasting);
                }
                Lasting::Down(server, finds) => {
                    world.servers.start_again(world.hosts, server, finds)?;
                    let (count, what) = match finds {
                        Return::Empty => ("returns empty", "with nothing"),
                        Return::Kept => ("returns with content", "with what it had"),
                        Return::Older => ("returns with older content", "with older content"),
                        Return::All => ("returns in good order", "in good order"),
                    };
                    let what = format!("server {server} returns {what}");
                    match finds {
                        Return::All if !self.scenario.leaving_loses() => self.tell(count, &what),
                        _ => self.note(count, what),
                    }
                }
                Lasting::StoppedServer(server) => world.servers.go_on(server)?,
                Lasting::StoppedClient(client) => world.clients.go_on(client)?,
                Lasting::Cut(from, to) => world.hosts.mend(from, to)?,
                Lasting::EtcdNode(node) => {
                    if let Some(etcd) = &mut world.etcd {
                        etcd.signal(node, Signal::CONT)?;
                    }
                }
                Lasting::EtcdDown => {
                    if let Some(etcd) = &mut world.etcd {
                        etcd.start_again(world.hosts)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn begin_one(&mut self, world: &mut World<'_>) -> Outcome<()> {
        let faults = &self.scenario.settings.faults;
        // By chances of their own: what else a seed stands for does not depend on these two.
        let kinds = faults.iter().filter(|kind| **kind != Kind::Removals);
        let kinds = kinds.count() as u32;
        if faults.contains(&Kind::Leaves) && self.leaves.random_ratio(1, kinds) {
            return self.leave(world);
        }
        let is_other = |kind: &&Kind| !matches!(kind, Kind::Leaves | Kind::Removals);
        let others = faults.iter().filter(is_other);
        let others: Vec<Kind> = others.copied().collect();
        let Some(kind) = others.choose(&mut self.random) else {
            return Ok(());
        };
        match kind {
            Kind::Kills => self.kill(world),
            Kind::ClientKills => self.kill_client(world),
            Kind::Stops if self.random.random_bool(0.5) => self.stop_server(world),
            Kind::Stops => self.stop_client(world),
            Kind::Cuts => self.cut(world),
            Kind::Sleeps => self.sleep(world),
            Kind::Etcd => self.disturb_etcd(world),
            // Not among the others.
            Kind::Leaves | Kind::Removals => Ok(()),
        }
    }

    fn last(&mut self, lasting: Lasting) {
        let lasts = self.random.random_range(self.lasts_ms());
        self.last_for(lasts, lasting);
    }

    fn lasts_ms(&self) -> std::ops::Range<u64> {
        match self.scenario.settings.on_etcd {
            true => LONG_MS,
            false => LASTS_MS,
        }
    }

    fn last_for(&mut self, ms: u64, lasting: Lasting) {
        let end = Instant::now() + Duration::from_millis(ms);
        self.lasting.push((end, lasting));
    }

    fn kill(&mut self, world: &mut World<'_>) -> Outcome<()> {
        if world.servers.missing() >= self.scenario.away_max {
            return Ok(());
        }
        let up = (0..world.servers.count()).filter(|server| world.servers.is_up(*server));
        let Some(server) = up.choose(&mut self.random) else {
            return Ok(());
        };
        self.lasting
            .retain(|one| one.1 != Lasting::StoppedServer(server));
        self.kills.push(now_ns());
        world.servers.kill(server)?;
        self.note("servers killed", format!("server {server} is killed"));
        self.remove(world, server)?;
        let finds = [Return::Empty, Return::Kept, Return::Kept, Return::Older];
        let finds = finds.choose(&mut self.random).copied();
        self.last(Lasting::Down(server, finds.unwrap_or(Return::Empty)));
        Ok(())
    }

    /// Some servers that are killed are taken out of the map, so that others own their keys. None
    /// is while another one stands still: it would miss that map, and count for nothing for some
    /// time, as one that is away.
    fn remove(&mut self, world: &mut World<'_>, server: usize) -> Outcome<()> {
        let servers = &mut world.servers;
        if self.scenario.settings.faults.contains(&Kind::Removals)
            && self.removals.random_bool(0.5)
            && !servers.is_one_stopped()
        {
            servers.leave_out(world.hosts, server)?;
            self.note(
                "servers removed",
                format!("the map is without server {server}"),
            );
        }
        Ok(())
    }

    /// A server is ended in good order, and returns. All that it was asked it has answered then,
    /// and what it had is on its SSD: no write may be lost, neither one that was acknowledged nor
    /// one that was read.
    fn leave(&mut self, world: &mut World<'_>) -> Outcome<()> {
        if world.servers.missing() >= self.scenario.away_max {
            return Ok(());
        }
        let servers = &world.servers;
        let runs = |server: &usize| servers.is_up(*server) && !servers.is_stopped(*server);
        let running = (0..servers.count()).filter(runs);
        let chosen = running.choose(&mut self.leaves);
        let Some(server) = chosen.filter(|server| servers.listens(world.hosts, *server)) else {
            return Ok(());
        };
        let (count, what) = (
            "servers ended",
            format!("server {server} is ended in good order"),
        );
        match self.scenario.leaving_loses() {
            true => {
                self.kills.push(now_ns());
                self.note(count, what);
            }
            false => self.tell(count, &what),
        }
        world.servers.end(server)?;
        let lasts = self.leaves.random_range(self.lasts_ms());
        self.last_for(lasts, Lasting::Down(server, Return::All));
        Ok(())
    }

    fn kill_client(&mut self, world: &mut World<'_>) -> Outcome<()> {
        // Starting one takes as long as many operations.
        if self.random.random_bool(0.5) {
            return Ok(());
        }
        let client = self.random.random_range(0..world.clients.count());
        self.lasting
            .retain(|one| one.1 != Lasting::StoppedClient(client));
        world.clients.replace(world.hosts, client)?;
        self.note(
            "clients killed",
            format!("client {client} is killed, and another starts"),
        );
        Ok(())
    }

    fn stop_server(&mut self, world: &mut World<'_>) -> Outcome<()> {
        let servers = &world.servers;
        let up = (0..servers.count()).filter(|server| servers.is_up(*server));
        let Some(server) = up
            .choose(&mut self.random)
            .filter(|_| !servers.is_one_stopped())
        else {
            return Ok(());
        };
        world.servers.stop(server)?;
        self.note(
            "servers stopped",
            format!("server {server} is stopped for a while"),
        );
        self.last(Lasting::StoppedServer(server));
        Ok(())
    }

    fn stop_client(&mut self, world: &mut World<'_>) -> Outcome<()> {
        let clients = &world.clients;
        let going = (0..clients.count()).filter(|client| !clients.is_stopped(*client));
        let Some(client) = going.choose(&mut self.random) else {
            return Ok(());
        };
        world.clients.stop(client)?;
        self.note(
            "clients stopped",
            format!("client {client} is stopped for a while"),
        );
        self.last(Lasting::StoppedClient(client));
        Ok(())
    }

    fn cut(&mut self, world: &mut World<'_>) -> Outcome<()> {
        let is_cut = |one: &&(Instant, Lasting)| matches!(one.1, Lasting::Cut(..));
        if !world.hosts.can_be_cut() || self.lasting.iter().filter(is_cut).count() >= CUTS_MAX {
            return Ok(());
        }
        let server = self.random.random_range(0..world.servers.count());
        let clients = (0..world.clients.count()).map(|client| world.clients.host(client));
        let nodes = world.etcd.iter();
        let nodes = nodes.flat_map(|etcd| (0..etcd.count()).map(|node| etcd.host(node)));
        let others = (0..world.servers.count()).chain(clients).chain(nodes);
        let other = others
            .filter(|other| *other != server)
            .choose(&mut self.random);
        let other = other.unwrap_or_default();
        let ways = match self.random.random_range(0..4) {
            0 => vec![(server, other)],
            1 => vec![(other, server)],
            _ => vec![(server, other), (other, server)],
        };
        let count = if ways.len() == 1 {
            "cuts one way"
        } else {
            "cuts both ways"
        };
        for (from, to) in ways {
            world.hosts.cut(from, to)?;
            self.last(Lasting::Cut(from, to));
        }
        self.note(count, format!("{count}: hosts {server} and {other}"));
        Ok(())
    }

    /// A server is stopped until others own its keys.
    fn sleep(&mut self, world: &mut World<'_>) -> Outcome<()> {
        let servers = &world.servers;
        let is_away = |server: &usize| !servers.is_up(*server) || servers.is_stopped(*server);
        let away = (0..servers.count()).filter(is_away).count();
        let up = (0..servers.count()).filter(|server| !is_away(server));
        let Some(server) = up.choose(&mut self.random).filter(|_| away == 0) else {
            return Ok(());
        };
        world.servers.stop(server)?;
        self.note("servers asleep", format!("server {server} sleeps"));
        let lasts = Duration::from_millis(self.random.random_range(SLEEPS_MS));
        self.lasting
            .push((Instant::now() + lasts, Lasting::StoppedServer(server)));
        Ok(())
    }

    /// Something happens to etcd, unless something is happening.
    fn disturb_etcd(&mut self, world: &mut World<'_>) -> Outcome<()> {
        let is_of_etcd =
            |one: &(Instant, Lasting)| matches!(one.1, Lasting::EtcdNode(_) | Lasting::EtcdDown);
        // Often enough: most of what follows takes seconds.
        if self.lasting.iter().any(is_of_etcd) || self.random.random_bool(0.7) {
            return Ok(());
        }
        let Some(etcd) = &mut world.etcd else {
            return Ok(());
        };
        let leader = etcd.leader(world.hosts);
        let (count, lasting) = match (self.random.random_range(0..4), leader) {
            (0, Some(leader)) => {
                etcd.kill(leader)?;
                ("etcd's leader killed", Lasting::EtcdDown)
            }
            (1, Some(leader)) => {
                etcd.signal(leader, Signal::STOP)?;
                ("etcd's leader stopped", Lasting::EtcdNode(leader))
            }
            (2, _) => {
                etcd.lose_all(false)?;
                ("etcd down", Lasting::EtcdDown)
            }
            _ => {
                etcd.lose_all(true)?;
                ("etcd down and back older", Lasting::EtcdDown)
            }
        };
        self.note(count, count.to_owned());
        self.last(lasting);
        Ok(())
    }
}
