//! A client that reads one key, all at one moment, and finishes what it finds.

use super::server::{Fault, Server, item_of};
use super::writing::group;
use farcache_redundancy::plan::{
    Action, Answer, Event, Fencing, Found, Held, Part, Question, Read, ReadOutcome, Reply, Request,
};
use farcache_redundancy::stored::Piece;
use farcache_redundancy::{Redundancy, Version};

/// What a reader is shown: the version of a value or tombstone, or none where there is nothing.
pub enum Shown {
    Value(Version),
    Deleted(Version),
    Nothing,
    Unavailable,
}

pub fn read(
    redundancy: Redundancy,
    servers: &mut [Server],
    key: usize,
    first: usize,
    fault: Option<Fault>,
) -> Shown {
    let live: Vec<bool> = servers.iter().map(|server| server.is_alive).collect();
    let mut actions = Vec::new();
    let fencing = Fencing::None;
    let mut plan = Read::begin_among(redundancy, fencing, group(1, &live), first, 0, &mut actions);
    loop {
        let mut events = Vec::new();
        for action in std::mem::take(&mut actions) {
            match action {
                Action::Done(ReadOutcome::Unavailable | ReadOutcome::Refused { .. }) => {
                    return Shown::Unavailable;
                }
                Action::Done(ReadOutcome::Found(found)) => {
                    return match found {
                        Found::Value(version) => Shown::Value(version),
                        Found::Deleted(version) => Shown::Deleted(version),
                        Found::Nothing => Shown::Nothing,
                    };
                }
                Action::Encode => events.push(Event::Encoded),
                Action::Decode(..) => events.push(Event::Decoded),
                Action::Ask(request) => {
                    let asked = (redundancy, key);
                    events.push(answer(&request, servers, asked, fault));
                }
            }
        }
        for event in events {
            plan.handle(event, &mut actions);
        }
        if actions.is_empty() {
            return Shown::Unavailable;
        }
    }
}

fn answer(
    request: &Request,
    servers: &mut [Server],
    (redundancy, key): (Redundancy, usize),
    fault: Option<Fault>,
) -> Event {
    let server = &mut servers[request.to.0 as usize];
    if let Question::Store(version, part) = request.question {
        // What was found is finished first; something newer counts as stored.
        server.accept(key, item_of(redundancy, version, part));
        return Event::Reply(request.id, Reply::Stored { was_present: false });
    }
    let is_beneath = matches!(request.question, Question::Beneath(_));
    let item = server.items.get(&key).filter(|_| !is_beneath);
    let item = item.filter(|item| !server.is_unconfirmed(item.version));
    let mut answer = Answer::default();
    match item {
        Some(item) => {
            let (version, part) = (item.version, part_of(item.piece));
            answer.held.push(Held { version, part });
            let has_bytes = !matches!(part, Part::Tombstone | Part::Witness);
            answer.brought = has_bytes.then_some(version);
        }
        None => answer.dropped = server.told_horizon(fault),
    }
    Event::Reply(request.id, Reply::Answer(answer))
}

fn part_of(piece: Option<Piece>) -> Part {
    match piece {
        None => Part::Tombstone,
        Some(Piece::Copy(_)) => Part::Copy,
        Some(Piece::Witness(_)) => Part::Witness,
        Some(Piece::Shard { shard, .. }) => Part::Shard(shard),
    }
}
