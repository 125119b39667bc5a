//! Leads a change to its end: shows it, has it confirmed, writes the map, and follows what servers
//! do about it, phase by phase.

mod following;
mod told;

use crate::ask::{Asking, Reports};
use crate::change::{Change, Step};
use crate::estimate::{self, Moved};
use crate::failure::Failure;
use crate::options::How;
use crate::overview;
use crate::source::Source;
use crate::table::percent;
use farcache_cluster::map::{Move, Planned};
use farcache_cluster::{ClusterMap, ServerId};
use following::{Follower, Outcome};
use indicatif::{HumanBytes, HumanCount};
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Carries out a change.
///
/// # Errors
/// Why it was not begun, or how far it has come: what was begun stays in the map, and
/// `farcache cluster rebalance` goes on with it.
pub fn run(
    change: &Change,
    how: &How,
    source: &mut Source,
    asking: &Asking,
) -> Result<(), Failure> {
    let standing = source.read()?;
    let reports = asking.all(&standing.map);
    let step = change.begin(&standing, how.cold)?;
    let aim = change.aim(&standing)?;
    check(&standing.map, aim.as_ref(), &reports, how.cold, &step)?;
    if let Change::Remove(_, false) = change {
        refuse_while_others_lack(&standing.map, &reports)?;
    }
    let is_under_way = following::is_under_way(&standing.map);
    print!(
        "{}",
        plan(change, &standing.map, aim.as_ref(), &reports, how.cold)
    );
    io::stdout().flush()?;
    if how.dry_run {
        return Ok(());
    }
    if step.next.is_none() && step.awaited.is_none() && !is_under_way {
        return Ok(());
    }
    confirm(how, &standing.map)?;
    let mut follower = Follower::new(source, asking, how);
    let standing = follower.write(standing, step.next)?;
    if how.wait_seconds == 0 {
        return Ok(());
    }
    let Some(server) = step.awaited else {
        return follower.until(standing, Outcome::Settled).map(drop);
    };
    follower.say(&format!(
        "server {server} joins as soon as it answers with this map"
    ));
    let standing = follower.until(standing, Outcome::Answers(server))?;
    let step = Change::go_on(&standing.map, server, how.cold)?;
    let standing = follower.write(standing, step.next)?;
    follower.until(standing, Outcome::Settled).map(drop)
}

/// Refuses to begin where the map is not the servers' last one, and where those who would have to
/// give or take items do not answer.
fn check(
    map: &ClusterMap,
    aim: Option<&Planned>,
    reports: &Reports,
    cold: bool,
    step: &Step,
) -> Result<(), Failure> {
    let answering = reports
        .iter()
        .filter_map(|(id, report)| Some((id, report.as_ref().ok()?)));
    for (id, report) in answering {
        let is_older = report.epoch < map.epoch();
        if let Some(problem) = overview::problem(*id, report, map).filter(|_| !is_older) {
            let is_newer = report.epoch > map.epoch();
            let other = report.cluster.as_deref() != Some(map.content().cluster.as_str());
            if is_newer || other {
                return Err(Failure::Unwell(format!("{problem}; nothing was changed")));
            }
        }
    }
    let moves = aim.map(|planned| planned.map.content().moves.as_slice());
    let ends = moves
        .unwrap_or_default()
        .iter()
        .flat_map(|Move { from, to, .. }| [*from, *to]);
    for end in ends.filter(|end| !cold && Some(*end) != step.awaited) {
        if let Some(Err(reason)) = reports.get(&end) {
            return Err(Failure::Unwell(format!(
                "server {end} would have to move items, and does not answer: {reason}; nothing \
                 was changed (--cold moves nothing, 'remove' gives a dead server up)"
            )));
        }
    }
    Ok(())
}

/// Refuses to remove a server while others lack copies and shards that it may have.
fn refuse_while_others_lack(map: &ClusterMap, reports: &Reports) -> Result<(), Failure> {
    let behind = overview::catching_up(map, reports);
    match behind.is_empty() {
        true => Ok(()),
        false => Err(Failure::Refused(format!(
            "servers that may lack copies and shards have not caught up yet: {}; wait for them, or \
             remove it by --force",
            names(behind)
        ))),
    }
}

/// What is about to change, in words.
fn plan(
    change: &Change,
    map: &ClusterMap,
    aim: Option<&Planned>,
    reports: &Reports,
    cold: bool,
) -> String {
    let mut text = format!(
        "cluster {}, epoch {}\n",
        map.content().cluster,
        map.epoch().0
    );
    let _ = writeln!(text, "{}", what(change));
    let Some(planned) = aim else {
        text.push_str(match following::is_under_way(map) {
            true => "the map stays; what is under way goes on\n",
            false => "nothing changes\n",
        });
        return text;
    };
    let moved = estimate::moved(map, &planned.map, reports);
    for one in &moved {
        let _ = writeln!(text, "  {}", told(one, cold));
    }
    let _ = writeln!(text, "{}", sum(&moved, cold));
    if planned.cuts_short {
        text.push_str("items that are on their way now and have not come yet will be missed\n");
    }
    text
}

fn what(change: &Change) -> String {
    match change {
        Change::Add(new) => format!("add the server at {}", new.addresses[0]),
        Change::Drain(which) => format!("drain {which}"),
        Change::Remove(which, _) => format!("remove {which}"),
        Change::Rebalance(weights) if weights.is_empty() => "share the keys out anew".to_owned(),
        Change::Rebalance(_) => "share the keys out by other weights".to_owned(),
    }
}

fn told(moved: &Moved, cold: bool) -> String {
    let (from, share) = (moved.from, percent(moved.share));
    let held = match moved.held {
        Some((keys, bytes)) => {
            format!("about {} items, {}", HumanCount(keys), HumanBytes(bytes))
        }
        None => "nobody knows how many items".to_owned(),
    };
    match moved.to {
        Some(to) if cold => {
            format!("server {from} to server {to}, which begins empty: {share} of all keys, {held}")
        }
        Some(to) => format!("server {from} to server {to}: {share} of all keys, {held}"),
        None => format!("lost with server {from}: {share} of all keys, {held}"),
    }
}

fn sum(moved: &[Moved], cold: bool) -> String {
    let total = |of: &dyn Fn(&(u64, u64)) -> u64, kind: &dyn Fn(&&Moved) -> bool| {
        let held = moved
            .iter()
            .filter(kind)
            .filter_map(|one| one.held.as_ref());
        held.map(of).sum::<u64>()
    };
    let line = |is_lost: bool, word: &str| {
        let kind = |one: &&Moved| (one.to.is_none() || cold) == is_lost;
        let (keys, bytes) = (total(&|held| held.0, &kind), total(&|held| held.1, &kind));
        format!(
            "{word}: about {} items, {}",
            HumanCount(keys),
            HumanBytes(bytes)
        )
    };
    let is_lost = |one: &Moved| one.to.is_none() || cold;
    match moved.iter().any(is_lost) {
        true if moved.iter().all(is_lost) => line(true, "will be missed"),
        true => format!(
            "{}\n{}",
            line(false, "will move"),
            line(true, "will be missed")
        ),
        false => line(false, "will move"),
    }
}

/// # Errors
/// The operator does not want it, or nobody is there to ask.
fn confirm(how: &How, map: &ClusterMap) -> Result<(), Failure> {
    if how.yes {
        return Ok(());
    }
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        let reason = "nobody is there to confirm the change; --yes goes without";
        return Err(Failure::NotConfirmed(reason.to_owned()));
    }
    print!(
        "Change the map of the cluster {}? [y/N] ",
        map.content().cluster
    );
    io::stdout().flush()?;
    let mut answer = String::new();
    stdin.read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::NotConfirmed("nothing was changed".to_owned())),
    }
}

/// How long to wait between two looks at the servers.
const INTERVAL: Duration = Duration::from_millis(200);

/// The servers that the text names.
fn names(servers: impl IntoIterator<Item = ServerId>) -> String {
    let names = servers.into_iter().map(|id| id.to_string());
    names.collect::<Vec<_>>().join(", ")
}
