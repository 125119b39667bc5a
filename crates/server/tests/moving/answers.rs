//! What an old owner answers to a new one that asks for the next items.

use crate::fleet::{Fleet, hello};
use farcache_cluster::map::Phase;
use farcache_peers::frame::Kind;
use farcache_peers::greeting::{CHALLENGE_BYTES, Verdict};
use farcache_peers::link::{Answer, Limits, Link};
use farcache_peers::moves::{Acknowledged, Place, Pull, Pulled, PulledHead};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

const ITEMS: usize = 20_000;

/// Server 2, as server 1 sees it.
struct Taker {
    stream: UnixStream,
    link: Link<()>,
}

impl Taker {
    fn connect(fleet: &Fleet) -> Taker {
        let mut stream = UnixStream::connect(fleet.socket(1)).expect("a connection");
        stream.write_all(&hello(4).encode()).expect("sent");
        let mut challenge = [0; CHALLENGE_BYTES];
        stream.read_exact(&mut challenge).expect("an answer");
        assert_eq!(challenge[2], Verdict::Welcome as u8);
        let limits = Limits {
            requests_max: 1 << 10,
            request_bytes_max: 1 << 20,
            reply_bytes_max: 1 << 20,
        };
        Taker {
            stream,
            link: Link::new(limits),
        }
    }

    fn send(&mut self, kind: Kind, body: &[u8]) {
        let asked = self.link.ask(kind, (), 4, body.len(), u64::MAX);
        let head = asked.expect("room for a question");
        self.stream.write_all(&head).expect("sent");
        self.stream.write_all(body).expect("sent");
    }

    /// The answers to all that has been asked.
    fn answers(&mut self) -> Vec<Vec<u8>> {
        let (mut bodies, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
        while self.link.outstanding() > 0 {
            let count = self.stream.read(&mut buffer).expect("answers");
            assert!(count > 0, "the connection has ended");
            let received = self
                .link
                .receive(&buffer[..count], |(), answer| match answer {
                    Answer::Reply(body) => bodies.push(body),
                    other => panic!("{other:?}"),
                });
            received.expect("frames");
        }
        bodies
    }

    fn instance(&mut self) -> u64 {
        self.send(Kind::Acknowledge, &[]);
        let said = Acknowledged::decode(&self.answers()[0]).expect("an answer");
        said.instance
    }

    /// Asks from a place on, and then so often for what is behind the answer before.
    fn pull(&mut self, instance: u64, place: Place, more: usize) -> Vec<Vec<u8>> {
        let places = std::iter::once(Some(place)).chain(std::iter::repeat_n(None, more));
        for place in places {
            self.send(Kind::Pull, &Pull { instance, place }.encode());
        }
        self.answers()
    }
}

/// A server that has items which nobody has read, and gives them to another one.
fn giving() -> Fleet {
    let fleet = Fleet::start(2, &[]);
    fleet.publish(2, &[1]);
    fleet.wait_for_epoch_of(&[1, 2], 2);
    let mut client = fleet.connect(1);
    let keys = (0..ITEMS).map(|number| format!("item:{number}"));
    for chunk in keys.collect::<Vec<_>>().chunks(500) {
        let sets = chunk
            .iter()
            .map(|key| format!("set {key} 0 0 1 noreply\r\nv\r\n"));
        client.send(sets.collect::<String>().as_bytes());
        assert!(client.ask("mn").is_some());
    }
    let moves = fleet.moves(&[1], &[2]);
    // The new owner hears of nothing, so that it does not ask as well.
    for (epoch, phase) in (3..).zip([Phase::HandingOver, Phase::Streaming]) {
        fleet.publish_text(1, &fleet.moving_map(epoch, &[2], &moves, phase));
        fleet.wait_for_epoch_of(&[1], epoch);
    }
    fleet
}

fn head_and_keys(body: &[u8]) -> (PulledHead, Vec<String>) {
    let pulled = Pulled::decode(body).expect("an answer");
    let keys = pulled
        .items
        .iter()
        .map(|item| String::from_utf8_lossy(item.key).into_owned());
    (pulled.head, keys.collect())
}

#[test]
fn an_answer_does_not_wait_until_items_are_found() {
    let fleet = giving();
    let mut taker = Taker::connect(&fleet);
    let instance = taker.instance();
    let answers = taker.pull(instance, Place::default(), 0);
    let (head, keys) = head_and_keys(&answers[0]);
    assert_eq!(keys, [""; 0], "no item has been used, and these come first");
    let PulledHead::Items { next, progress } = head else {
        panic!("another instance");
    };
    assert!(next.is_some() && progress < 1 << 31, "{progress}");
}

#[test]
fn questions_that_name_no_place_go_on_behind_the_answer_before() {
    let fleet = giving();
    let (mut place, mut came) = (Some(Place::default()), BTreeSet::new());
    let mut count = 0;
    while let Some(from) = place {
        // Each time on another connection.
        let mut taker = Taker::connect(&fleet);
        let instance = taker.instance();
        for body in taker.pull(instance, from, 30) {
            let (head, keys) = head_and_keys(&body);
            assert!(place.is_some() || keys.is_empty(), "items behind the last");
            if let PulledHead::Items { next, .. } = head {
                place = next;
            }
            count += keys.len();
            came.extend(keys);
        }
    }
    assert_eq!((count, came.len()), (ITEMS, ITEMS), "each has come once");
}

#[test]
fn who_goes_on_behind_nothing_is_cut_off() {
    let fleet = giving();
    let mut taker = Taker::connect(&fleet);
    let instance = taker.instance();
    let place = None;
    taker.send(Kind::Pull, &Pull { instance, place }.encode());
    assert_eq!(taker.stream.read(&mut [0; 99]).expect("an end"), 0);
}
