//! The map that an operator wants next: a function of the map that there is.

use crate::failure::Failure;
use crate::options::{NewMember, Weight, Which};
use crate::source::Standing;
use farcache_cluster::map::{
    Epoch, Incarnation, MapContent, Member, MemberState, Planned, Rule, SlotTable, planned,
};
use farcache_cluster::{ClusterMap, ServerId};

/// What an operator wants to change.
#[derive(Clone, Debug)]
pub enum Change {
    /// A server gets its share of the keys.
    Add(NewMember),
    /// A server's keys go to the others.
    Drain(Which),
    /// A server takes part no more; also where what it holds is lost.
    Remove(Which, bool),
    /// Other weights, and shares by them.
    Rebalance(Vec<Weight>),
}

/// A change of a map.
#[derive(Clone, Debug)]
pub struct Step {
    /// The map that follows; none where nothing changes.
    pub next: Option<Planned>,
    /// The server that has to answer before the change may go on ([`Change::go_on`]).
    pub awaited: Option<ServerId>,
}

fn refused<T>(reason: String) -> Result<T, Failure> {
    Err(Failure::Refused(reason))
}

impl Change {
    /// What follows at once.
    ///
    /// A server that is not listed yet is listed as `draining` first, as one that owns nothing: it
    /// can be started only when it is listed, and owns keys only when it answers.
    ///
    /// # Errors
    /// [`Failure::Refused`], with the reason.
    pub fn begin(&self, standing: &Standing, cold: bool) -> Result<Step, Failure> {
        let mut content = standing.map.content().clone();
        let mut awaited = None;
        match self {
            Change::Add(new) => awaited = Some(add(new, &mut content, standing)?),
            Change::Drain(which) => drain(which, &mut content)?,
            Change::Remove(which, force) => remove(which, *force, &mut content, standing)?,
            Change::Rebalance(weights) => weigh(weights, &mut content)?,
        }
        let next = following(&standing.map, content, cold)?;
        Ok(Step { next, awaited })
    }

    /// What follows once the awaited server answers.
    ///
    /// # Errors
    /// [`Failure::Refused`] where somebody has changed the server's state meanwhile.
    pub fn go_on(map: &ClusterMap, server: ServerId, cold: bool) -> Result<Step, Failure> {
        let mut content = map.content().clone();
        let found = content.servers.iter_mut().find(|it| it.id == server);
        match found {
            Some(found) if found.state == MemberState::Draining => {
                found.state = MemberState::Joining;
            }
            _ => return refused(format!("server {server} is not waiting to join any more")),
        }
        let next = following(map, content, cold)?;
        let awaited = None;
        Ok(Step { next, awaited })
    }

    /// The map to which the change leads, without what moves meanwhile: for an estimate.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn aim(&self, standing: &Standing) -> Result<Option<Planned>, Failure> {
        let step = self.begin(standing, false)?;
        let Some(server) = step.awaited else {
            return Ok(step.next);
        };
        let listed = step
            .next
            .map_or_else(|| (*standing.map).clone(), |planned| planned.map);
        Ok(Change::go_on(&listed, server, false)?.next)
    }
}

/// The server of which an operator speaks; of several with an address the one that takes part.
fn find(which: &Which, content: &MapContent) -> Result<usize, Failure> {
    let is_it = |server: &Member| match which {
        Which::Named(id) => server.id == *id,
        Which::Reached(address) => server.addresses.contains(address),
    };
    let found = content.servers.iter().enumerate();
    let found = found.filter(|(_, server)| is_it(server));
    let best = found.min_by_key(|(_, server)| server.state == MemberState::Gone);
    match best {
        Some((index, _)) => Ok(index),
        None => refused(format!("the cluster's map does not list {which}")),
    }
}

/// Lists the server, which is to be awaited.
fn add(
    new: &NewMember,
    content: &mut MapContent,
    standing: &Standing,
) -> Result<ServerId, Failure> {
    let by_number = new.number.map(|number| Which::Named(ServerId(number)));
    let by_address = || Which::Reached(new.addresses[0].clone());
    let found = find(&by_number.clone().unwrap_or_else(by_address), content).ok();
    let state = found.map(|index| content.servers[index].state);
    let id = match (found, state) {
        (Some(index), Some(MemberState::Draining)) => content.servers[index].id,
        (Some(index), Some(MemberState::Joining | MemberState::Serving)) => {
            let id = content.servers[index].id;
            return refused(format!("server {id} owns keys already"));
        }
        _ if standing.running.is_some() => {
            return refused(format!(
                "no server at {} is waiting: on etcd a server joins by itself when it starts \
                 (farcached --cluster-etcd)",
                new.addresses[0]
            ));
        }
        (Some(index), _) => {
            let server = &mut content.servers[index];
            server.state = MemberState::Draining;
            server.incarnation = Incarnation(server.incarnation.0 + 1);
            server.id
        }
        (None, _) => list(new, content),
    };
    let server = content.servers.iter_mut().find(|it| it.id == id);
    let server = server.expect("it was just found or listed");
    if standing.running.is_none() {
        server.addresses.clone_from(&new.addresses);
    }
    server.weight = new.weight.unwrap_or(server.weight);
    if new.zone.is_some() {
        server.zone.clone_from(&new.zone);
    }
    Ok(id)
}

/// Lists a server that is not known, as one that owns nothing.
fn list(new: &NewMember, content: &mut MapContent) -> ServerId {
    let highest = content.servers.last().map_or(0, |server| server.id.0);
    let id = ServerId(new.number.unwrap_or(highest + 1));
    let index = content.servers.partition_point(|server| server.id < id);
    let server = Member {
        id,
        incarnation: Incarnation(1),
        weight: 1,
        zone: None,
        state: MemberState::Draining,
        addresses: new.addresses.clone(),
    };
    content.servers.insert(index, server);
    id
}

fn drain(which: &Which, content: &mut MapContent) -> Result<(), Failure> {
    let index = find(which, content)?;
    let server = &mut content.servers[index];
    match server.state {
        MemberState::Gone => return refused(format!("server {} is gone", server.id)),
        MemberState::Draining => {
            let id = server.id;
            return refused(format!(
                "server {id} drains already; 'rebalance' goes on where that was interrupted"
            ));
        }
        MemberState::Joining | MemberState::Serving => server.state = MemberState::Draining,
    }
    leave_owners(content)
}

fn remove(
    which: &Which,
    force: bool,
    content: &mut MapContent,
    standing: &Standing,
) -> Result<(), Failure> {
    let index = find(which, content)?;
    let server = &mut content.servers[index];
    let id = server.id;
    let runs = |running: &Vec<String>| running.contains(&server.addresses[0].to_string());
    if server.state == MemberState::Gone {
        return refused(format!("server {id} is gone already"));
    }
    if standing.running.as_ref().is_some_and(runs) {
        return refused(format!(
            "server {id} runs, and would join again at once; stop it, and it leaves by itself"
        ));
    }
    let gives = content.moves.iter().any(|moved| moved.from == id);
    if !force && (server.state.owns_keys() || gives) {
        return refused(format!(
            "server {id} still has what others have not: 'drain' it first, or lose it by --force"
        ));
    }
    server.state = MemberState::Gone;
    leave_owners(content)
}

fn leave_owners(content: &MapContent) -> Result<(), Failure> {
    match content
        .servers
        .iter()
        .any(|server| server.state.owns_keys())
    {
        true => Ok(()),
        false => refused("nobody would own keys any more: add another server first".to_owned()),
    }
}

fn weigh(weights: &[Weight], content: &mut MapContent) -> Result<(), Failure> {
    for weight in weights {
        let index = find(&weight.server, content)?;
        content.servers[index].weight = weight.weight;
    }
    Ok(())
}

/// The map that follows; none where it would say what `before` does. Without moves if `cold`:
/// whoever joins serves at once.
fn following(
    before: &ClusterMap,
    mut content: MapContent,
    cold: bool,
) -> Result<Option<Planned>, Failure> {
    let invalid = |reason: &dyn std::fmt::Display| {
        Failure::Refused(format!("the map would make no sense: {reason}"))
    };
    if let Rule::Slots(table) = &content.rule
        && let Some(table) = SlotTable::rebalanced(table, &content.shares())
    {
        content.rule = Rule::Slots(table);
    }
    let epoch = before.epoch().0.checked_add(1);
    let epoch = epoch.ok_or_else(|| invalid(&"its epoch would be too high"))?;
    let mut planned = planned(before, content).map_err(|error| invalid(&error))?;
    let mut content = planned.map.into_content();
    if cold {
        content.moves.clear();
        for server in &mut content.servers {
            if server.state == MemberState::Joining {
                server.state = MemberState::Serving;
            }
        }
    }
    if content == *before.content() {
        return Ok(None);
    }
    content.epoch = Epoch(epoch);
    planned.map = ClusterMap::new(content).map_err(|error| invalid(&error))?;
    Ok(Some(planned))
}

#[cfg(test)]
mod tests;
