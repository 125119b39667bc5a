//! The servers of a run: in one map, which names them 1 and up, at addresses that they keep.

mod plan;
mod stats;

pub use plan::{Plan, Return};

use crate::Outcome;
use crate::hosts::Hosts;
use crate::scenario::Keeps;
use farcache_harness::server_process::{kill_on_signals, spare_on_signals};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a server may take to listen, or to be repaired.
const PATIENCE: Duration = Duration::from_secs(300);

/// Lines of its log that are told of a server that has ended by itself.
const LAST_LINES: usize = 30;

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// All servers of a run.
pub struct Servers {
    program: PathBuf,
    addresses: Vec<SocketAddr>,
    processes: Vec<Option<Child>>,
    /// Those that were started, and have not yet told that they have caught up.
    catching_up: Vec<bool>,
    stopped: Vec<bool>,
    /// Of the map that they were given last.
    epoch: u64,
    /// Those that this map does not list.
    left_out: BTreeSet<usize>,
    plan: Plan,
    directory: TempDir,
}

impl Servers {
    /// Starts them, and waits until none has to catch up.
    ///
    /// # Errors
    /// One does not start.
    pub fn start(program: &Path, hosts: &Hosts, plan: Plan) -> Outcome<Servers> {
        let count = plan.count;
        let mut servers = Servers {
            program: program.to_owned(),
            addresses: (0..count).map(|host| hosts.address(host)).collect(),
            processes: (0..count).map(|_| None).collect(),
            catching_up: vec![true; count],
            stopped: vec![false; count],
            epoch: 0,
            left_out: BTreeSet::new(),
            plan,
            directory: tempfile::tempdir()?,
        };
        std::fs::write(servers.path("secret"), "a secret of these runs")?;
        servers.publish(hosts)?;
        for server in 0..count {
            servers.spawn(hosts, server)?;
        }
        servers.await_listening(hosts)?;
        servers.await_repair(hosts)?;
        Ok(servers)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Gives all servers a new map, and waits until those that answer go by it: one that misses a
    /// map counts as one that is away.
    fn publish(&mut self, hosts: &Hosts) -> Outcome<()> {
        self.epoch += 1;
        std::fs::write(self.path("next-map"), self.map()?)?;
        std::fs::rename(self.path("next-map"), self.path("map"))?;
        let epoch = self.epoch.to_string();
        for server in 0..self.count() {
            self.await_that(server, "follow the map", |servers, server| {
                let answers = servers.is_up(server) && !servers.is_stopped(server);
                let told = answers.then(|| servers.ask(hosts, server, "stats cluster").ok());
                let told = told.flatten().and_then(|told| told.get("epoch").cloned());
                told.is_none_or(|told| told == epoch)
            })?;
        }
        Ok(())
    }

    /// Gives the others a map that does not list this server, until it is started again.
    ///
    /// # Errors
    /// The map cannot be written, or a server does not follow it.
    pub fn leave_out(&mut self, hosts: &Hosts, server: usize) -> Outcome<()> {
        self.left_out.insert(server);
        self.publish(hosts)
    }

    /// Whether it can be started again now: while another one stands still, no server may be listed
    /// again, as that one would miss the map.
    #[must_use]
    pub fn may_return(&self, server: usize) -> bool {
        !self.left_out.contains(&server) || !self.is_one_stopped()
    }

    fn map(&self) -> Outcome<String> {
        let mut text = String::from("farcache-cluster-map 1\ncluster c\n");
        writeln!(text, "epoch {}\nplacement ketama", self.epoch)?;
        let listed = self.addresses.iter().enumerate();
        for (at, address) in listed.filter(|(at, _)| !self.left_out.contains(at)) {
            let state = "incarnation=1 weight=1 zone=- state=serving";
            writeln!(text, "server {} {state} addresses={address}", at + 1)?;
        }
        text += "end\n";
        Ok(text)
    }

    fn device(&self, server: usize) -> PathBuf {
        self.path(&format!("device-{server}"))
    }

    fn older(&self, server: usize) -> PathBuf {
        self.path(&format!("older-{server}"))
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.addresses.len()
    }

    /// As clients name them.
    #[must_use]
    pub fn list(&self) -> String {
        let addresses: Vec<String> = self.addresses.iter().map(SocketAddr::to_string).collect();
        addresses.join(",")
    }

    /// Whether its process is there.
    #[must_use]
    pub fn is_up(&self, server: usize) -> bool {
        self.processes[server].is_some()
    }

    /// Whether it listens. One that was started just now may not yet, nor take a signal to end.
    #[must_use]
    pub fn listens(&self, hosts: &Hosts, server: usize) -> bool {
        hosts.connect(server, self.addresses[server]).is_ok()
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_stopped(&self, server: usize) -> bool {
        self.stopped[server]
    }

    /// Whether any was stopped.
    #[must_use]
    pub fn is_one_stopped(&self) -> bool {
        self.stopped.contains(&true)
    }

    /// How many are down or catch up, as far as is known.
    #[must_use]
    pub fn missing(&self) -> usize {
        let is_missing = |at: &usize| !self.is_up(*at) || self.catching_up[*at];
        (0..self.count()).filter(is_missing).count()
    }

    fn spawn(&mut self, hosts: &Hosts, server: usize) -> Outcome<()> {
        let address = self.addresses[server];
        let log = File::options();
        let log = log
            .clone()
            .create(true)
            .append(true)
            .open(self.log(server))?;
        let mut command = hosts.command(server, &self.program);
        command
            .args(["-l", &address.ip().to_string()])
            .args(["-p", &address.port().to_string()])
            .args(["-U", "0", "-t", "1", "-u", "root", "-v"])
            .args(["-m", &self.plan.memory_mebibytes.to_string()])
            .arg("--cluster-secret-file")
            .arg(self.path("secret"))
            .args(&self.plan.options)
            .envs(self.plan.network.environment().iter().copied());
        match &self.plan.etcd {
            Some(endpoints) => command.args(["--cluster-etcd", endpoints]),
            None => command
                .args(["--cluster-self", &(server + 1).to_string()])
                .arg("--cluster-file")
                .arg(self.path("map")),
        };
        if let Keeps::Device { durability } = self.plan.keeps {
            let mebibytes = self.plan.device_mebibytes;
            let device = format!("{}:{mebibytes}m", self.device(server).display());
            command.args(["--ssd", &device, "--durability", durability]);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = command.spawn()?;
        kill_on_signals(Pid::from_child(&child));
        self.processes[server] = Some(child);
        self.catching_up[server] = true;
        Ok(())
    }

    fn log(&self, server: usize) -> PathBuf {
        self.path(&format!("log-{server}"))
    }

    /// What a server has logged.
    #[must_use]
    pub fn logged(&self, server: usize) -> String {
        std::fs::read_to_string(self.log(server)).unwrap_or_default()
    }

    fn await_listening(&mut self, hosts: &Hosts) -> Outcome<()> {
        for server in 0..self.count() {
            self.await_that(server, "listen", |servers, server| {
                servers.listens(hosts, server)
            })?;
        }
        Ok(())
    }

    /// Waits until all that are up have what they should have: of a map in etcd, until all of them
    /// are in it.
    ///
    /// # Errors
    /// One ends or takes too long.
    pub fn await_repair(&mut self, hosts: &Hosts) -> Outcome<()> {
        if self.plan.etcd.is_some() {
            self.await_that(0, "know the others", |servers, _| {
                let told = |server| servers.ask(hosts, server, "stats cluster");
                let told: Vec<_> = (0..servers.count())
                    .filter_map(|at| told(at).ok())
                    .collect();
                let is_whole = |stats: &BTreeMap<String, String>| {
                    let is =
                        |name: &str, value: &str| stats.get(name).is_some_and(|it| it == value);
                    let serving = servers.count().to_string();
                    is("servers_serving", &serving) && is("suspects", "none") && is("cut_off", "no")
                };
                let epochs = told.iter().filter_map(|stats| stats.get("epoch"));
                let epochs: BTreeSet<_> = epochs.collect();
                told.len() == servers.count() && epochs.len() == 1 && told.iter().all(is_whole)
            })?;
        }
        let is_repaired = |server: &usize| self.is_up(*server) && self.plan.is_redundant;
        for server in (0..self.count()).filter(is_repaired).collect::<Vec<_>>() {
            // A new map may have had it begin again.
            self.catching_up[server] = true;
            self.await_that(server, "be repaired", |servers, server| {
                servers.look(hosts, server);
                !servers.catching_up[server]
            })?;
        }
        Ok(())
    }

    fn await_that(
        &mut self,
        server: usize,
        what: &str,
        look: impl Fn(&mut Servers, usize) -> bool,
    ) -> Outcome<()> {
        let deadline = Instant::now() + PATIENCE;
        while !look(self, server) {
            let process = self.processes[server].as_mut();
            let ended = process.and_then(|child| child.try_wait().ok()).flatten();
            let log = || self.logged(server);
            if let Some(status) = ended {
                return Err(format!("server {server} has ended: {status}\n{}", log()).into());
            }
            if Instant::now() > deadline {
                return Err(format!("server {server} does not {what}:\n{}", log()).into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Looks which of those that are up and run have caught up.
    pub fn look_after_returned(&mut self, hosts: &Hosts) {
        for server in 0..self.count() {
            if self.is_up(server) && self.catching_up[server] && !self.stopped[server] {
                self.look(hosts, server);
            }
        }
    }

    fn look(&mut self, hosts: &Hosts, server: usize) {
        if !self.plan.is_redundant {
            self.catching_up[server] = false;
        }
        // Who does not answer yet has not caught up.
        if let Ok(stats) = self.stats(hosts, server) {
            let is = |name: &str, value: u64| stats.get(name) == Some(&value);
            self.catching_up[server] = !is("repair_catching_up", 0);
        }
    }

    /// `stats redundancy` of a server.
    ///
    /// # Errors
    /// It does not answer.
    pub fn stats(&self, hosts: &Hosts, server: usize) -> Outcome<BTreeMap<String, u64>> {
        let told = self.ask(hosts, server, "stats redundancy")?.into_iter();
        Ok(told
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
            .collect())
    }

    /// The lines of a command for statistics.
    fn ask(
        &self,
        hosts: &Hosts,
        server: usize,
        command: &str,
    ) -> Outcome<BTreeMap<String, String>> {
        stats::ask(hosts.connect(server, self.addresses[server])?, command)
    }

    /// Those that have ended though nobody has killed them, with the end of what they have logged.
    pub fn ended(&mut self) -> Vec<String> {
        let has_ended = |process: &mut Option<Child>| {
            let status = process.as_mut()?.try_wait().ok()??;
            Some(status.to_string())
        };
        let statuses: Vec<_> = self.processes.iter_mut().map(has_ended).collect();
        let ended = statuses.into_iter().enumerate();
        let ended = ended.filter_map(|(server, status)| Some((server, status?)));
        let tell = |(server, status)| {
            let log = self.logged(server);
            let last: Vec<&str> = log.lines().rev().take(LAST_LINES).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            format!(
                "server {server} has ended by itself: {status}\n{}",
                last.join("\n")
            )
        };
        ended.map(tell).collect()
    }

    /// Ends one as nothing else can.
    ///
    /// # Errors
    /// It has ended by itself.
    pub fn kill(&mut self, server: usize) -> Outcome<()> {
        let Some(mut child) = self.processes[server].take() else {
            return Ok(());
        };
        let pid = Pid::from_child(&child);
        let ended = child.try_wait()?;
        child.kill()?;
        child.wait()?;
        spare_on_signals(pid);
        self.stopped[server] = false;
        match ended {
            None => Ok(()),
            Some(status) => {
                let log = self.logged(server);
                Err(format!("server {server} has ended by itself: {status}\n{log}").into())
            }
        }
    }

    /// Ends one in good order.
    ///
    /// # Errors
    /// It has ended by itself, or does not end, or not in good order.
    pub fn end(&mut self, server: usize) -> Outcome<()> {
        self.signal(server, Signal::TERM)?;
        let deadline = Instant::now() + PATIENCE;
        let Some(child) = self.processes[server].as_mut() else {
            return Ok(());
        };
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() > deadline {
                let log = self.logged(server);
                return Err(format!("server {server} does not end:\n{log}").into());
            }
            std::thread::sleep(LOOK_EVERY);
        };
        spare_on_signals(Pid::from_child(child));
        self.processes[server] = None;
        match status.success() {
            true => Ok(()),
            false => {
                let log = self.logged(server);
                Err(format!("server {server} did not end in good order: {status}\n{log}").into())
            }
        }
    }

    /// Starts one that has been ended, with what it finds there.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_again(&mut self, hosts: &Hosts, server: usize, finds: Return) -> Outcome<()> {
        let (device, older) = (self.device(server), self.older(server));
        let has_device = device.exists();
        match finds {
            Return::Empty if has_device => std::fs::remove_file(&device)?,
            Return::Older if older.exists() => copy(&older, &device)?,
            // What it returns with now is what it will have had before.
            Return::Kept if has_device => {
                copy(&device, &older)?;
                if self.forgets_when_killed() {
                    std::fs::remove_file(&device)?;
                }
            }
            _ => {}
        }
        if self.left_out.remove(&server) {
            self.publish(hosts)?;
        }
        self.spawn(hosts, server)
    }

    /// Whether a killed server would return with older values than it has shown, as
    /// docs/design/tier.md says of what was not durable. Where keys have one place, nothing tells
    /// these from values that must not come back.
    fn forgets_when_killed(&self) -> bool {
        let keeps = self.plan.keeps;
        self.plan.etcd.is_some()
            && matches!(keeps, Keeps::Device { durability } if durability != "sync")
    }

    /// Stops one without ending it.
    ///
    /// # Errors
    /// It has ended.
    pub fn stop(&mut self, server: usize) -> Outcome<()> {
        self.signal(server, Signal::STOP)?;
        self.stopped[server] = true;
        Ok(())
    }

    /// Lets one go on that was stopped.
    ///
    /// # Errors
    /// It has ended.
    pub fn go_on(&mut self, server: usize) -> Outcome<()> {
        self.stopped[server] = false;
        self.signal(server, Signal::CONT)
    }

    fn signal(&self, server: usize, signal: Signal) -> Outcome<()> {
        match &self.processes[server] {
            Some(child) => Ok(kill_process(Pid::from_child(child), signal)?),
            None => Ok(()),
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in self.processes.iter_mut().flatten() {
            // It may have ended already.
            _ = child.kill();
            _ = child.wait();
            spare_on_signals(Pid::from_child(child));
        }
    }
}

/// Copies a file without its holes.
fn copy(from: &Path, to: &Path) -> Outcome<()> {
    let mut command = Command::new("cp");
    let status = command
        .args(["--sparse=always"])
        .arg(from)
        .arg(to)
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("cp: {status}").into()),
    }
}
