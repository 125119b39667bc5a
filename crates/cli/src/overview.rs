//! A cluster's map and what its servers tell, together.

use crate::ask::{Reports, report_of};
use crate::failure::Failure;
use crate::report::{Ends, Report};
use crate::source::Standing;
use farcache_cluster::map::{HashArc, Member, MemberState, Move, Phase};
use farcache_cluster::{ClusterMap, ServerId};
use serde::Serialize;

/// All of it. Its form in JSON is stable: fields are added, but keep names and meanings.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// Where the map stands.
    pub map: String,
    /// The cluster's name.
    pub cluster: String,
    /// The map's epoch.
    pub epoch: u64,
    /// `ketama`, `slots` or `client`.
    pub placement: &'static str,
    /// The servers, as the map lists them.
    pub servers: Vec<Server>,
    /// What moves.
    pub moves: Vec<Moving>,
    /// What is not as it should be, in words.
    pub problems: Vec<String>,
}

/// A server.
#[derive(Clone, Debug, Serialize)]
pub struct Server {
    /// Its number.
    pub number: u32,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// `joining`, `serving`, `draining` or `gone`.
    pub state: &'static str,
    /// Its share of the keys in proportion to others.
    pub weight: u32,
    /// What it may fail together with.
    pub zone: Option<String>,
    /// Of all keys that there may be, on how many it decides: 0 to 1.
    pub share: f64,
    /// What it told; none where it did not answer, or takes no part.
    pub told: Option<Told>,
    /// Why it did not answer.
    pub failure: Option<String>,
}

/// What a server told of itself.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// The epoch of its map.
    pub epoch: u64,
    /// Items that it holds.
    pub items: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Bytes that its memory has for them.
    pub bytes_max: u64,
    /// Reads that found something.
    pub hits: u64,
    /// Reads that found nothing.
    pub misses: u64,
    /// Whether it makes the cluster's maps.
    pub publisher: bool,
    /// Whether it answers for no key, as others may own them.
    pub cut_off: bool,
    /// Whether it may lack copies and shards that others have.
    pub catching_up: bool,
    /// Its version.
    pub version: String,
}

/// A move.
#[derive(Clone, Debug, Serialize)]
pub struct Moving {
    /// The old owner.
    pub from: u32,
    /// The new owner.
    pub to: u32,
    /// `handing-over` or `streaming`.
    pub phase: &'static str,
    /// The share of all keys that there may be, 0 to 1.
    pub share: f64,
    /// Items that have come.
    pub keys: u64,
    /// Their bytes.
    pub bytes: u64,
    /// An estimate of the items that are still to come.
    pub keys_left: u64,
    /// In the last seconds.
    pub bytes_per_second: u64,
    /// `waiting`, `moving`, `done` or `lost`; none where the new owner tells nothing of it.
    pub state: Option<String>,
}

impl Overview {
    /// The overview of a map and of what its servers tell.
    #[must_use]
    pub fn new(standing: &Standing, reports: &Reports, place: &str) -> Overview {
        let map = &*standing.map;
        let content = map.content();
        let servers = content.servers.iter();
        Overview {
            map: place.to_owned(),
            cluster: content.cluster.to_string(),
            epoch: map.epoch().0,
            placement: content.rule.word(),
            servers: servers.map(|it| server(it, map, reports)).collect(),
            moves: content.moves.iter().map(|it| moving(it, reports)).collect(),
            problems: problems(map, reports),
        }
    }

    /// # Errors
    /// [`Failure::Unwell`] where there are problems.
    pub fn verdict(&self) -> Result<(), Failure> {
        match self.problems.is_empty() {
            true => Ok(()),
            false => Err(Failure::Unwell(self.problems.join("; "))),
        }
    }
}

/// The share of all hashes that these arcs have.
fn share(arcs: &[HashArc]) -> f64 {
    let hashes: u64 = arcs.iter().map(HashArc::hashes).sum();
    hashes as f64 / (1_u64 << 32) as f64
}

fn word<T: PartialEq>(value: T, words: &[(T, &'static str)]) -> &'static str {
    let found = words.iter().find(|(known, _)| *known == value);
    found.map_or("", |(_, word)| word)
}

fn server(member: &Member, map: &ClusterMap, reports: &Reports) -> Server {
    let report = reports.get(&member.id);
    Server {
        number: member.id.0,
        addresses: member.addresses.iter().map(ToString::to_string).collect(),
        state: word(member.state, &MemberState::ALL),
        weight: member.weight,
        zone: member.zone.as_ref().map(ToString::to_string),
        share: share(&map.arcs_of(member.id)),
        told: report_of(reports, member.id).map(told),
        failure: report.and_then(|report| report.as_ref().err()).cloned(),
    }
}

fn told(report: &Report) -> Told {
    Told {
        epoch: report.epoch.0,
        items: report.items,
        bytes: report.bytes,
        bytes_max: report.bytes_max,
        hits: report.hits,
        misses: report.misses,
        publisher: report.is_publisher,
        cut_off: report.is_cut_off,
        catching_up: report.is_catching_up,
        version: report.version.clone(),
    }
}

fn moving(moved: &Move, reports: &Reports) -> Moving {
    let ends = Ends::of(moved);
    let taking = report_of(reports, moved.to);
    let end = taking.and_then(|report| report.moves.get(&ends));
    Moving {
        from: moved.from.0,
        to: moved.to.0,
        phase: word(moved.phase, &Phase::ALL),
        share: share(&moved.arcs),
        keys: end.map_or(0, |end| end.keys),
        bytes: end.map_or(0, |end| end.bytes),
        keys_left: end.map_or(0, |end| end.keys_left),
        bytes_per_second: end.map_or(0, |end| end.bytes_per_second),
        state: end.map(|end| end.state.clone()),
    }
}

/// The servers that own keys and may lack copies and shards that others have, as far as they
/// answer.
#[must_use]
pub fn catching_up(map: &ClusterMap, reports: &Reports) -> Vec<ServerId> {
    let owning = map.content().servers.iter();
    let owning = owning.filter(|server| server.state.owns_keys());
    let catches_up =
        |server: &&Member| report_of(reports, server.id).is_some_and(|it| it.is_catching_up);
    owning.filter(catches_up).map(|server| server.id).collect()
}

/// What is not as it should be.
fn problems(map: &ClusterMap, reports: &Reports) -> Vec<String> {
    let mut problems = Vec::new();
    for (id, report) in reports {
        problems.extend(match report {
            Ok(report) => problem(*id, report, map),
            Err(reason) => Some(format!("server {id} does not answer: {reason}")),
        });
    }
    for moved in &map.content().moves {
        let moving = moving(moved, reports);
        if moving.state.as_deref() == Some("lost") {
            problems.push(format!(
                "what had not come yet from server {} to server {} is lost",
                moved.from, moved.to
            ));
        }
    }
    problems
}

/// What is not as it should be with a server that answers.
#[must_use]
pub fn problem(id: ServerId, report: &Report, map: &ClusterMap) -> Option<String> {
    let cluster = &map.content().cluster;
    let epoch = map.epoch();
    match &report.cluster {
        None => return Some(format!("server {id} is in no cluster")),
        Some(other) if other != cluster.as_str() => {
            return Some(format!("server {id} is in the cluster {other}"));
        }
        Some(_) => {}
    }
    match () {
        () if report.epoch < epoch => Some(format!(
            "server {id} has an older map, of epoch {}",
            report.epoch.0
        )),
        () if report.epoch > epoch => Some(format!(
            "server {id} has a newer map, of epoch {}",
            report.epoch.0
        )),
        () if report.is_cut_off => Some(format!(
            "server {id} answers for no key: it was cut off from etcd"
        )),
        () if report.is_listed == Some(false) => Some(format!(
            "server {id} does not find itself in the map at its own address"
        )),
        () => None,
    }
}
