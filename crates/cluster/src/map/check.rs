//! What must hold of a map's content.

use super::content::{HashArc, MapContent, Member, MemberState, Move, Rule};
use super::routes::Routes;
use super::slots::SlotTable;
use crate::{Address, ServerId};
use std::collections::HashMap;
use std::fmt;

/// A part of a map's content, by indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A server.
    Server(usize),
    /// A slot.
    Slot(usize),
    /// A move.
    Move(usize),
    /// An arc of a move.
    Arc {
        /// The move.
        of_move: usize,
        /// The arc among its arcs.
        arc: usize,
    },
}

/// What is wrong with a map's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMap {
    /// Where.
    pub place: Place,
    /// What, in words.
    pub reason: String,
}

impl fmt::Display for InvalidMap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}

impl std::error::Error for InvalidMap {}

type Checked = Result<(), InvalidMap>;

fn require(holds: bool, place: Place, reason: impl FnOnce() -> String) -> Checked {
    match holds {
        true => Ok(()),
        false => Err(InvalidMap {
            place,
            reason: reason(),
        }),
    }
}

/// Checks what does not depend on who owns which hash.
pub(super) fn check_servers(content: &MapContent) -> Checked {
    let mut addresses = HashMap::new();
    let mut before = None;
    for (index, server) in content.servers.iter().enumerate() {
        let place = Place::Server(index);
        let id = server.id;
        require(before < Some(id), place, || {
            format!("server {id} is out of order: servers have ascending names")
        })?;
        before = Some(id);
        require(server.weight > 0, place, || {
            format!("server {id} has weight 0")
        })?;
        check_addresses(server, place, &mut addresses)?;
    }
    match &content.rule {
        Rule::Slots(table) => check_slots(content, table),
        Rule::Ketama | Rule::Client => Ok(()),
    }
}

/// An address is written as it was read, and leads to one server only, unless others are gone.
fn check_addresses<'c>(
    server: &'c Member,
    place: Place,
    known: &mut HashMap<&'c Address, ServerId>,
) -> Checked {
    let id = server.id;
    require(!server.addresses.is_empty(), place, || {
        format!("server {id} has no address")
    })?;
    for address in &server.addresses {
        let text = address.to_string();
        let is_word = text
            .chars()
            .all(|letter| letter.is_ascii_graphic() && letter != ',');
        let is_read = text.parse().as_ref() == Ok(address);
        require(is_word && is_read, place, || {
            format!("server {id} has an address that cannot be written: {text:?}")
        })?;
        if server.state == MemberState::Gone {
            continue;
        }
        if let Some(other) = known.insert(address, id) {
            let reason = format!("server {id} has the address {text} of server {other}");
            return Err(InvalidMap { place, reason });
        }
    }
    Ok(())
}

fn check_slots(content: &MapContent, table: &SlotTable) -> Checked {
    let mut first = 0;
    for run in table.owners().chunk_by(PartialEq::eq) {
        let owner = content.position(run[0]);
        let owns = owner.is_some_and(|index| content.servers[index].state.owns_keys());
        require(owns, Place::Slot(first), || {
            format!(
                "server {} owns slots, but is not joining or serving",
                run[0]
            )
        })?;
        first += run.len();
    }
    Ok(())
}

/// Checks the moves against who owns which hash.
pub(super) fn check_moves(content: &MapContent, routes: &Routes) -> Checked {
    let mut before = None;
    let mut arcs = Vec::new();
    for (index, moved) in content.moves.iter().enumerate() {
        let place = Place::Move(index);
        let order = (moved.from, moved.to, moved.phase);
        require(before < Some(order), place, || {
            "moves are out of order, or one is listed twice: they ascend by from, to and phase"
                .to_owned()
        })?;
        before = Some(order);
        check_ends(content, moved, place)?;
        for (number, &arc) in moved.arcs.iter().enumerate() {
            let place = Place::Arc {
                of_move: index,
                arc: number,
            };
            let before = number.checked_sub(1).map(|before| moved.arcs[before]);
            check_arc(arc, before, moved.to, place, routes)?;
            arcs.push((arc, place));
        }
    }
    arcs.sort_unstable_by_key(|(arc, _)| *arc);
    for pair in arcs.windows(2) {
        let [(low, _), (high, place)] = pair else {
            continue;
        };
        require(low.last < high.first, *place, || {
            format!("hash {:08x} is moved twice", high.first)
        })?;
    }
    Ok(())
}

fn check_ends(content: &MapContent, moved: &Move, place: Place) -> Checked {
    let (from, to) = (moved.from, moved.to);
    require(from != to, place, || {
        format!("server {from} is both ends of a move")
    })?;
    require(!moved.arcs.is_empty(), place, || {
        format!("nothing moves from server {from} to server {to}")
    })?;
    let old = content.position(from).map(|index| &content.servers[index]);
    let is_there = old.is_some_and(|old| old.state != MemberState::Gone);
    require(is_there, place, || {
        format!("server {from} is gone or unknown: nothing moves from there")
    })
}

fn check_arc(
    arc: HashArc,
    before: Option<HashArc>,
    to: ServerId,
    place: Place,
    routes: &Routes,
) -> Checked {
    require(arc.first <= arc.last, place, || {
        "the arc ends before it begins".to_owned()
    })?;
    require(
        before.is_none_or(|before| before.last < arc.first),
        place,
        || "arcs are out of order: they ascend".to_owned(),
    )?;
    let mut hash = arc.first;
    loop {
        let owned = routes.stretch(hash).filter(|&(owner, _)| owner == to);
        let Some((_, last)) = owned else {
            let reason = format!("hash {hash:08x} moves to server {to}, which does not own it");
            return Err(InvalidMap { place, reason });
        };
        if last >= arc.last {
            return Ok(());
        }
        hash = last + 1;
    }
}
