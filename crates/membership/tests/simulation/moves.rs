//! What must hold of the moves of a map that follows another one.

use crate::store::Store;
use farcache_cluster::ClusterMap;
use farcache_cluster::ServerId;
use farcache_cluster::map::{Member, MemberState, Move, Phase};
use farcache_membership::members::{Key, Offer};

/// Hashes from everywhere.
fn hashes() -> impl Iterator<Item = u32> {
    (0..64_u32).map(|number| number.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15))
}

/// The move on which a hash is.
fn of_hash(map: &ClusterMap, hash: u32) -> Option<&Move> {
    let mut moves = map.content().moves.iter();
    moves.find(|moved| moved.arcs.iter().any(|arc| arc.contains(hash)))
}

/// Compares a map with the one right before. What the servers have told stands in the store.
pub fn check(before: &ClusterMap, next: &ClusterMap, store: &Store) {
    for hash in hashes() {
        let was = before.locate_hash(hash, 1)[0];
        let (moved_before, moved) = (of_hash(before, hash), of_hash(next, hash));
        match moved {
            Some(moved) if moved.phase == Phase::HandingOver => {
                assert_eq!(
                    moved.from, was,
                    "who decided goes on until it has handed over"
                );
            }
            Some(moved) => check_streaming(moved, moved_before, (before, next), store),
            None => {}
        }
        if let Some(moved_before) = moved_before
            && moved_before.phase == Phase::Streaming
            && moved.is_none_or(|moved| moved.from != moved_before.from)
        {
            check_ended(moved_before, (before, next), store);
        }
    }
    for server in &next.content().servers {
        let is_awaiting = next
            .content()
            .moves
            .iter()
            .any(|moved| moved.to == server.id);
        assert!(
            server.state != MemberState::Joining || is_awaiting,
            "it joins for ever"
        );
    }
}

fn is_acknowledged(server: ServerId, map: &ClusterMap, store: &Store) -> bool {
    offer(server, map, store).is_some_and(|offer| offer.done.epoch >= map.epoch())
}

/// What a server offers in the life that the map knows.
fn offer(server: ServerId, map: &ClusterMap, store: &Store) -> Option<Offer> {
    let server = map.server(server)?;
    let text = store.value(&Key::Server(server.addresses[0].to_string()))?;
    let offer = Offer::read(text).expect("an offer");
    (offer.life >= server.incarnation).then_some(offer)
}

/// The new owner decides only after the old one has said that it does no more.
fn check_streaming(
    moved: &Move,
    before: Option<&Move>,
    (map, next): (&ClusterMap, &ClusterMap),
    store: &Store,
) {
    let before = before.expect("nothing streams that was not handed over");
    assert_eq!((before.from, before.to), (moved.from, moved.to));
    let life = |map: &ClusterMap| map.server(moved.to).map(|server| server.incarnation);
    match before.phase {
        Phase::Streaming => assert_eq!(life(map), life(next), "it began without what it had"),
        Phase::HandingOver => {
            // An offer that was there when the publisher looked may have ended since.
            let is_told =
                |server| offer(server, map, store).is_none() || is_acknowledged(server, map, store);
            assert!(
                is_told(moved.from) && is_told(moved.to),
                "nobody has handed over"
            );
        }
    }
}

/// A stream ends when all has come, or when one of its ends, or who else owned keys, has gone.
fn check_ended(moved: &Move, (map, next): (&ClusterMap, &ClusterMap), store: &Store) {
    let told = offer(moved.to, map, store);
    let is_done = told.is_none_or(|offer| {
        offer.done.epoch > map.epoch()
            || offer.done.epoch == map.epoch() && offer.done.received.contains(&moved.from)
    });
    let is_other = |server: &Member| {
        next.server(server.id).is_none_or(|now| {
            now.state == MemberState::Gone && server.state != MemberState::Gone
                || now.incarnation != server.incarnation
        })
    };
    let has_lost = map.content().servers.iter().any(is_other);
    assert!(
        is_done || has_lost,
        "a stream was cut short for somebody who could have waited"
    );
}
