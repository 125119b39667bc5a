//! One seed, from its start to its verdict.

use crate::clients::Clients;
use crate::etcd::Etcd;
use crate::faults::{Faults, World};
use crate::hosts::Hosts;
use crate::recording::Recording;
use crate::scenario::{ETCD_NODES, Kind, Scenario};
use crate::servers::{Plan, Servers};
use crate::{Outcome, now_ns};
use farcache_linearizability::{Answer, Deed, Operation, Verdict, check, print, shrink};
use rand::Rng;
use std::collections::BTreeMap;
use std::path::Path;

/// States that a search may visit before it gives up.
const STATES_MAX: usize = 1_000_000;

/// States for each part of a history that is looked at to make it shorter.
const SHRINK_STATES_MAX: usize = 200_000;

/// What a run has shown.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Of which it was made.
    pub seed: u64,
    /// What it was.
    pub title: String,
    /// How many faults of each sort there were.
    pub faults: BTreeMap<&'static str, usize>,
    /// How operations ended.
    pub ends: BTreeMap<String, usize>,
    /// What breaks the promise, for people to read.
    pub violations: Vec<String>,
    /// Keys that could not be read in the end, and need not be.
    pub unreadable: usize,
    /// Keys of which a write that was read, and never acknowledged, was lost with a server.
    pub undone: Vec<String>,
    /// Keys whose operations have too many orders to try them all.
    pub undecided: Vec<String>,
    /// What happened when.
    pub log: Vec<String>,
    /// All operations of each key.
    pub histories: BTreeMap<String, Vec<Operation>>,
    /// What each server has logged.
    pub server_logs: Vec<String>,
}

/// Runs a scenario.
///
/// # Errors
/// The run itself has failed: nothing is known of the promise.
pub fn run(farcached: &Path, scenario: &Scenario) -> Outcome<Report> {
    let hosts = match scenario.settings.faults.contains(&Kind::Cuts) {
        true => Hosts::in_namespaces(scenario.hosts())?,
        false => Hosts::Loopback,
    };
    let first = scenario.servers + scenario.settings.clients;
    let mut etcd = match scenario.settings.on_etcd {
        true => Some(Etcd::start(&hosts, first..first + ETCD_NODES)?),
        false => None,
    };
    let endpoints = etcd.as_ref().map(Etcd::endpoints);
    let plan = Plan::of(scenario, endpoints);
    let mut servers = Servers::start(farcached, &hosts, plan)?;
    let mut clients = Clients::start(&hosts, scenario, &servers.list())?;
    let mut faults = Faults::new(scenario);
    faults.run(&mut World {
        hosts: &hosts,
        servers: &mut servers,
        clients: &mut clients,
        etcd: etcd.as_mut(),
    })?;
    servers.await_repair(&hosts)?;
    clients.end()?;
    clients.read_all(&hosts)?;
    let ended = servers.ended();
    // What was shown when all were there is shown by those that may be left.
    let mut kills = std::mem::take(&mut faults.kills);
    let disturbances = std::mem::take(&mut faults.disturbances);
    for server in lost(scenario) {
        kills.push(now_ns());
        servers.kill(server)?;
    }
    clients.read_all(&hosts)?;
    let recording = Recording::of(clients.told())?;
    let mut report = Report {
        seed: scenario.seed,
        title: title(scenario),
        log: faults.log().to_vec(),
        faults: faults.counts,
        violations: ended,
        server_logs: (0..servers.count()).map(|at| servers.logged(at)).collect(),
        ..Report::default()
    };
    let mut judge = Judge {
        scenario,
        readers: clients.readers(),
        kills: &kills,
        disturbances: &disturbances,
        report: &mut report,
    };
    judge.all(recording);
    Ok(report)
}

fn title(scenario: &Scenario) -> String {
    let Scenario {
        policy,
        servers,
        keeps,
        network,
        placement,
        settings,
        ..
    } = scenario;
    let (clients, threads) = (settings.clients, settings.threads);
    let keeps = format!("{keeps:?}").to_lowercase();
    let placement = match policy.as_str() {
        "none" => String::new(),
        _ => format!(" {placement}"),
    };
    format!(
        "{policy}{placement} over {network}, {servers} servers that keep {keeps}, \
         {clients} clients of {threads} threads"
    )
}

/// Servers that are killed for good in the end: as many as the promise allows.
fn lost(scenario: &Scenario) -> Vec<usize> {
    let mut random = scenario.random(2);
    let mut left: Vec<usize> = (0..scenario.servers).collect();
    let mut lose = || left.swap_remove(random.random_range(0..left.len()));
    (0..scenario.lost_max).map(|_| lose()).collect()
}

/// Judges what was recorded.
struct Judge<'a> {
    scenario: &'a Scenario,
    readers: &'a [u32],
    kills: &'a [u64],
    disturbances: &'a [u64],
    report: &'a mut Report,
}

impl Judge<'_> {
    fn all(&mut self, recording: Recording) {
        for key in &self.scenario.settings.keys {
            let history = recording.histories.get(key).map_or(&[][..], Vec::as_slice);
            let history = match self.scenario.policy.as_str() {
                "none" => self.with_losses(history),
                _ => self.as_promised(history),
            };
            self.history(key, &history);
            for (at, reader) in self.readers.iter().enumerate() {
                if !history.iter().any(|one| one.client == *reader) {
                    let why = recording.failures.get(&(*reader, key.clone()));
                    let why = why.map_or("no answer", String::as_str);
                    self.unreadable(format!("{key}: cannot be read in the end ({at}): {why}"));
                }
            }
            self.report.histories.insert(key.clone(), history);
        }
        let (operations, told) = (recording.operations(), recording.told());
        // A server that is cut off from its cluster refuses at once, again and again.
        let told_min = match self.scenario.settings.on_etcd {
            true => operations / 20,
            false => operations / 2,
        };
        if told < told_min {
            let what = format!("only {told} of {operations} operations have ended");
            self.report.violations.push(what);
        }
        self.report.ends = recording.ends;
    }

    /// What has one place is lost when that is, or when its key gets another owner: to one for each
    /// fault, and back. It is lost for good.
    fn with_losses(&self, history: &[Operation]) -> Vec<Operation> {
        let twice = self.disturbances.iter().flat_map(|time| [*time; 2]);
        let losses = twice.map(|called| unasked(Deed::Clear, called));
        history.iter().cloned().chain(losses).collect()
    }

    /// Whether a DELETE has found something is told by any one server, which beside another write
    /// may be wrong: docs/design/redundancy.md promises nothing else.
    fn as_promised(&self, history: &[Operation]) -> Vec<Operation> {
        let promised = history.iter().map(|one| match (&one.deed, &one.answer) {
            (Deed::Delete, Answer::Done | Answer::NotFound) => Operation {
                deed: Deed::Clear,
                answer: Answer::Done,
                ..one.clone()
            },
            _ => one.clone(),
        });
        promised.collect()
    }

    fn history(&mut self, key: &str, history: &[Operation]) {
        let mut verdict = check(history, STATES_MAX);
        if verdict == Verdict::Refused && self.scenario.policy != "none" {
            verdict = check(&self.with_undoes(history), STATES_MAX);
            if verdict == Verdict::Linearizable {
                let shown = print(&shrink(history, SHRINK_STATES_MAX));
                self.report.undone.push(format!("{key}: {shown}"));
            }
        }
        let violation = match verdict {
            Verdict::Linearizable => return,
            Verdict::Undecided => {
                self.report.undecided.push(key.to_owned());
                return;
            }
            Verdict::Refused => {
                let shown = print(&shrink(history, SHRINK_STATES_MAX));
                format!("{key}: no order explains this:\n{shown}")
            }
        };
        self.report.violations.push(violation);
    }

    /// With each server that is killed a write may be lost that was read but never acknowledged, as
    /// docs/design/redundancy.md says.
    fn with_undoes(&self, history: &[Operation]) -> Vec<Operation> {
        let undoes = self.kills.iter();
        let undoes = undoes.map(|&called| unasked(Deed::Undo, called));
        history.iter().cloned().chain(undoes).collect()
    }

    /// A writer of shards that dies may leave too few of either version, as
    /// docs/design/redundancy.md says; otherwise all must be there.
    fn unreadable(&mut self, what: String) {
        let faults = &self.scenario.settings.faults;
        let writers_die = faults.contains(&Kind::ClientKills) || faults.contains(&Kind::Stops);
        if self.scenario.policy.starts_with("ec") && writers_die {
            self.report.unreadable += 1;
            self.report.log.push(what);
            return;
        }
        self.report.violations.push(what);
    }
}

/// What nobody asks for, and what may happen from this time on.
fn unasked(deed: Deed, called: u64) -> Operation {
    Operation {
        client: 0,
        deed,
        answer: Answer::Unknown,
        called,
        returned: None,
    }
}
