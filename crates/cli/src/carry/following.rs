//! Follows what servers do about a map, and makes the next one where that is due.

use super::told::Told;
use super::{INTERVAL, names};
use crate::ask::{Asking, Reports, report_of};
use crate::failure::Failure;
use crate::options::How;
use crate::overview;
use crate::progress::Bar;
use crate::source::{Source, Standing};
use farcache_cluster::map::{Epoch, Member, MemberState, Planned, advanced};
use farcache_cluster::{ClusterMap, ServerId};
use std::thread;
use std::time::{Duration, Instant};

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    /// This server answers with the map.
    Answers(ServerId),
    /// Nothing is under way, and whoever answers has the map, and the copies and shards that it
    /// should have by it.
    Settled,
}

/// Follows a change.
pub(super) struct Follower<'a> {
    source: &'a mut Source,
    asking: &'a Asking,
    patience: Duration,
    bar: Bar,
}

/// What tells that something goes on.
type Signs = (Epoch, Vec<Epoch>, u64, u64);

impl<'a> Follower<'a> {
    pub(super) fn new(source: &'a mut Source, asking: &'a Asking, how: &How) -> Follower<'a> {
        Follower {
            source,
            asking,
            patience: Duration::from_secs(how.wait_seconds),
            bar: Bar::new(),
        }
    }

    /// Tells the operator something.
    pub(super) fn say(&self, line: &str) {
        self.bar.say(line);
    }

    /// Writes the next map, where there is one, and returns what stands there then.
    ///
    /// # Errors
    /// Somebody else was quicker, or it cannot be written.
    pub(super) fn write(
        &mut self,
        standing: Standing,
        next: Option<Planned>,
    ) -> Result<Standing, Failure> {
        let Some(planned) = next else {
            return Ok(standing);
        };
        self.source.replace(&standing, &planned.map)?;
        self.bar.wrote(&planned.map);
        self.read_after(planned.map.epoch())
    }

    /// What stands there now, of this epoch or a later one that servers have made of it.
    fn read_after(&mut self, epoch: Epoch) -> Result<Standing, Failure> {
        let standing = self.source.read()?;
        let is_ours = standing.map.epoch() == epoch
            || self.source.has_publishers() && standing.map.epoch() > epoch;
        match is_ours {
            true => Ok(standing),
            false => Err(Failure::Overtaken(format!(
                "somebody else has changed the cluster's map meanwhile: epoch {} stands where {} \
                 was written",
                standing.map.epoch().0,
                epoch.0
            ))),
        }
    }

    /// Waits, and leads moves on meanwhile.
    ///
    /// # Errors
    /// Nothing has gone on for too long, or somebody else has changed the map.
    pub(super) fn until(
        &mut self,
        mut standing: Standing,
        outcome: Outcome,
    ) -> Result<Standing, Failure> {
        let mut last = (None, Instant::now());
        loop {
            let reports = self.asking.all(&standing.map);
            self.bar.show(&standing.map, &reports);
            if is_reached(outcome, &standing.map, &reports) {
                self.bar.end(&standing.map, &reports);
                return Ok(standing);
            }
            let signs = signs(&standing.map, &reports);
            if last.0.as_ref() != Some(&signs) {
                last = (Some(signs), Instant::now());
            }
            if last.1.elapsed() > self.patience {
                return Err(stuck(outcome, &standing.map, &reports, self.patience));
            }
            standing = self.go_on(standing, &reports)?;
        }
    }

    /// Makes the map that is due, or waits for the next look.
    fn go_on(&mut self, standing: Standing, reports: &Reports) -> Result<Standing, Failure> {
        let epoch = standing.map.epoch();
        let next = advanced(&standing.map, &Told(reports)).map(ClusterMap::new);
        let Some(Ok(map)) = next else {
            thread::sleep(INTERVAL);
            return self.read_after(epoch);
        };
        match self.source.replace(&standing, &map) {
            // A publisher was quicker, with the same.
            Err(Failure::Overtaken(_)) if self.source.has_publishers() => self.read_after(epoch),
            Err(failure) => Err(failure),
            Ok(()) => {
                self.bar.wrote(&map);
                self.read_after(map.epoch())
            }
        }
    }
}

/// Whether a map has anything that is not at its end.
pub(super) fn is_under_way(map: &ClusterMap) -> bool {
    let content = map.content();
    let mut servers = content.servers.iter();
    !content.moves.is_empty() || servers.any(|server| server.state == MemberState::Joining)
}

fn is_reached(outcome: Outcome, map: &ClusterMap, reports: &Reports) -> bool {
    let has_map = |report: &Result<_, String>| {
        let report: &Result<crate::report::Report, String> = report;
        report
            .as_ref()
            .map_or(true, |report| report.epoch >= map.epoch())
    };
    match outcome {
        Outcome::Answers(server) => {
            let report = report_of(reports, server);
            report.is_some_and(|report| overview::problem(server, report, map).is_none())
        }
        Outcome::Settled => {
            let is_whole = || overview::catching_up(map, reports).is_empty();
            !is_under_way(map) && reports.values().all(has_map) && is_whole()
        }
    }
}

fn signs(map: &ClusterMap, reports: &Reports) -> Signs {
    let answering = || reports.values().filter_map(|report| report.as_ref().ok());
    let keys = answering().flat_map(|report| report.moves.values().map(|end| end.keys));
    let examined = answering().map(|report| report.keys_examined);
    (
        map.epoch(),
        answering().map(|report| report.epoch).collect(),
        keys.sum(),
        examined.sum(),
    )
}

/// Why nothing goes on, as far as that can be told.
fn stuck(outcome: Outcome, map: &ClusterMap, reports: &Reports, patience: Duration) -> Failure {
    let problem = |(id, report): (&ServerId, &Result<_, String>)| match report {
        Ok(report) => overview::problem(*id, report, map),
        Err(reason) => Some(format!("server {id} does not answer: {reason}")),
    };
    let mut reasons: Vec<String> = reports.iter().filter_map(problem).collect();
    let silent = silent(map, reports);
    if !silent.is_empty() {
        reasons.push(format!(
            "tell nothing of what they have to move: {} ('rebalance --cold' moves it no more)",
            names(silent)
        ));
    }
    let behind = overview::catching_up(map, reports);
    if !behind.is_empty() {
        reasons.push(format!(
            "still fetch copies and shards: {} ('stats redundancy' of each tells how far)",
            names(behind)
        ));
    }
    let hint = match outcome {
        Outcome::Answers(server) => format!(
            "server {server} is listed and owns nothing yet: start it (--cluster-self {server}), \
             then 'add' it again"
        ),
        Outcome::Settled => "'rebalance' goes on with it".to_owned(),
    };
    Failure::Unwell(format!(
        "nothing has gone on for {} s at epoch {}: {}; {hint}",
        patience.as_secs(),
        map.epoch().0,
        if reasons.is_empty() {
            "items are still to come".to_owned()
        } else {
            reasons.join("; ")
        },
    ))
}

/// Ends of moves that have the map and say nothing of them.
fn silent(map: &ClusterMap, reports: &Reports) -> Vec<ServerId> {
    let servers = map.content().servers.iter();
    let is_silent = |server: &&Member| {
        let moves = map.content().moves.iter();
        let mut moves = moves.filter(|moved| moved.from == server.id || moved.to == server.id);
        let report = report_of(reports, server.id);
        let report = report.filter(|report| report.epoch >= map.epoch());
        let tells =
            |moved| report.is_some_and(|it| it.moves.contains_key(&crate::report::Ends::of(moved)));
        report.is_some() && moves.any(|moved| !tells(moved))
    };
    servers.filter(is_silent).map(|server| server.id).collect()
}
