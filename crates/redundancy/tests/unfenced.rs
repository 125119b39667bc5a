//! Reads among servers that nobody fences: one that was away may answer with what it had.

use farcache_cluster::ServerId;
use farcache_redundancy::plan::{
    Action, Answer, Event, Fencing, Found, Group, Held, Part, Question, Read, ReadOutcome, Reply,
    Request,
};
use farcache_redundancy::{Redundancy, Version};
use std::collections::HashSet;

const OLD: u64 = 0x2_8000_0001;
const NEW: u64 = 0x2_8000_0002;

fn version(bits: u64) -> Version {
    Version::from_bits(bits).unwrap()
}

/// Nothing there; whatever was forgotten was not newer than this.
fn dropped(bits: u64) -> Answer {
    Answer {
        dropped: Version::from_bits(bits),
        ..Answer::default()
    }
}

fn held(bits: u64, part: Part, is_brought: bool) -> Answer {
    let version = version(bits);
    let mut answer = Answer {
        brought: is_brought.then_some(version),
        ..Answer::default()
    };
    answer.held.push(Held { version, part });
    answer
}

fn copy(bits: u64) -> Answer {
    held(bits, Part::Copy, true)
}

/// Runs a read of servers that always answer the same, and take everything that they are sent;
/// returns how it ended and who was sent something.
fn read(redundancy: &str, servers: &[Option<Answer>]) -> (ReadOutcome, Vec<u32>) {
    read_beside(redundancy, servers, &[])
}

/// Runs a read where some servers have something newer by the time that they are sent something,
/// which they tell from then on.
fn read_beside(
    redundancy: &str,
    servers: &[Option<Answer>],
    overtaken: &[u32],
) -> (ReadOutcome, Vec<u32>) {
    read_of(redundancy, servers, overtaken, &mut |_| {
        Reply::Answer(Answer::default())
    })
}

/// Runs a read where servers answer so when they are asked what they have beneath a version.
fn read_of(
    redundancy: &str,
    servers: &[Option<Answer>],
    overtaken: &[u32],
    beneath: &mut dyn FnMut(u32) -> Reply,
) -> (ReadOutcome, Vec<u32>) {
    let (outcome, sent) = read_sending(redundancy, servers, overtaken, beneath);
    (
        outcome,
        sent.into_iter().map(|(server, _)| server).collect(),
    )
}

/// The same, with what each was sent.
fn read_sending(
    redundancy: &str,
    servers: &[Option<Answer>],
    overtaken: &[u32],
    beneath: &mut dyn FnMut(u32) -> Reply,
) -> (ReadOutcome, Vec<(u32, Question)>) {
    let mut servers = servers.to_vec();
    let (mut actions, mut sent) = (Vec::new(), Vec::new());
    let mut read = begin(redundancy, &servers, 0, &mut actions);
    while !actions.is_empty() {
        for action in std::mem::take(&mut actions) {
            let event = match action {
                Action::Done(outcome) => return (outcome, sent),
                Action::Encode => Event::Encoded,
                Action::Decode(_, from) => {
                    assert_are_apart(&servers, &from);
                    Event::Decoded
                }
                Action::Ask(Request {
                    id, to, question, ..
                }) => {
                    let server = &mut servers[to.0 as usize];
                    let answer = server.clone().expect("only the live are asked");
                    let reply = match question {
                        Question::Read(_) => Reply::Answer(answer),
                        Question::Beneath(_) => beneath(to.0),
                        _ if overtaken.contains(&to.0) => {
                            *server = Some(copy(NEW));
                            let current = version(NEW);
                            Reply::Refused { current }
                        }
                        _ => {
                            sent.push((to.0, question));
                            let was_present = false;
                            Reply::Stored { was_present }
                        }
                    };
                    Event::Reply(id, reply)
                }
            };
            read.handle(event, &mut actions);
        }
    }
    panic!("it waits for nothing");
}

/// Begins a read, at this owner, among servers of which some are down.
fn begin(
    redundancy: &str,
    servers: &[Option<Answer>],
    first: usize,
    actions: &mut Vec<Action<ReadOutcome>>,
) -> Read {
    let redundancy: Redundancy = redundancy.parse().unwrap();
    let owners = servers.iter().zip(0..);
    let owners = owners.map(|(server, id)| (ServerId(id), server.is_some()));
    let group = Group::new(1, owners);
    Read::begin_among(redundancy, Fencing::None, group, first, 0, actions)
}

/// No two of these servers hold the same part, as a value cannot be made of that.
fn assert_are_apart(servers: &[Option<Answer>], from: &[ServerId]) {
    let part = |id: &ServerId| servers[id.0 as usize].as_ref().unwrap().held[0].part;
    let parts: HashSet<Part> = from.iter().map(part).collect();
    assert_eq!(parts.len(), from.len(), "{parts:?}");
}

fn found(bits: u64) -> ReadOutcome {
    ReadOutcome::Found(Found::Value(version(bits)))
}

const NOTHING: ReadOutcome = ReadOutcome::Found(Found::Nothing);

#[test]
fn an_old_copy_that_answers_first_is_not_shown_and_is_brought_up_to_date() {
    let servers = [Some(copy(OLD)), Some(copy(NEW)), Some(copy(NEW))];
    let (outcome, sent) = read("replicate:3", &servers);
    assert_eq!(outcome, found(NEW));
    assert!(sent.contains(&0), "{sent:?}");
}

#[test]
fn what_a_quorum_holds_is_shown_without_being_stored_again() {
    let servers = [Some(copy(NEW)), Some(copy(NEW)), Some(copy(NEW))];
    assert_eq!(read("replicate:3", &servers), (found(NEW), vec![]));
    let shard = |number| Some(held(NEW, Part::Shard(number), true));
    let servers = [shard(0), shard(1), shard(2), shard(3), shard(4)];
    assert_eq!(read("ec:3,2", &servers), (found(NEW), vec![]));
}

/// A copy of which its server was not told that it is complete.
fn untold(bits: u64) -> Answer {
    Answer {
        incomplete: Some(version(bits)),
        ..copy(bits)
    }
}

#[test]
fn what_a_quorum_holds_and_nobody_was_told_of_is_shown_when_all_have_it() {
    let all = |third| [Some(untold(NEW)), Some(untold(NEW)), Some(third)];
    assert_eq!(read("replicate:3", &all(copy(OLD))), (found(NEW), vec![2]));
    assert_eq!(read("replicate:3", &all(untold(NEW))), (found(NEW), vec![]));
    let two = [Some(untold(NEW)), Some(untold(NEW)), None];
    assert_eq!(
        read("replicate:3", &two),
        (found(NEW), vec![]),
        "all that live"
    );
}

#[test]
fn what_one_was_told_of_is_shown_without_a_question_to_the_others() {
    let servers = [Some(untold(NEW)), Some(copy(NEW)), Some(copy(OLD))];
    assert_eq!(read("replicate:3", &servers), (found(NEW), vec![]));
}

/// Its writer, who has been refused there, may be writing it anew.
#[test]
fn what_was_overtaken_before_a_quorum_had_it_is_not_shown() {
    let servers = [Some(copy(OLD)), Some(Answer::default()), Some(copy(OLD))];
    let (outcome, _) = read_beside("replicate:3", &servers[..2], &[1]);
    assert_eq!(outcome, found(NEW));
    // The first two are a quorum, whatever the third has.
    let servers = [Some(copy(OLD)), Some(Answer::default()), Some(copy(OLD))];
    let (outcome, _) = read_beside("replicate:3", &servers, &[2]);
    assert_eq!(outcome, found(OLD));
}

#[test]
fn the_last_copy_suffices_where_the_others_are_gone() {
    assert_eq!(
        read("replicate:3", &[None, None, Some(copy(NEW))]).0,
        found(NEW)
    );
}

#[test]
fn empty_servers_do_not_outvote_the_one_that_has_the_value() {
    let empty = || Some(Answer::default());
    let (outcome, _) = read("replicate:3", &[empty(), empty(), Some(copy(NEW))]);
    assert_eq!(outcome, found(NEW));
    assert_eq!(read("replicate:3", &[empty(), empty(), empty()]).0, NOTHING);
}

#[test]
fn a_copy_below_what_others_have_forgotten_is_not_shown() {
    // The others may have had a tombstone, and dropped it.
    let servers = [Some(copy(OLD)), Some(dropped(NEW)), Some(dropped(NEW))];
    assert_eq!(read("replicate:3", &servers).0, NOTHING);
    // A write that was acknowledged would be at two of them.
    let servers = [Some(copy(OLD)), Some(dropped(NEW)), Some(copy(OLD))];
    assert_eq!(read("replicate:3", &servers).0, found(OLD));
    let servers = [Some(copy(NEW)), Some(dropped(OLD)), Some(Answer::default())];
    assert_eq!(read("replicate:3", &servers).0, found(NEW));
}

#[test]
fn a_tombstone_hides_older_copies() {
    let tombstone = || Some(held(NEW, Part::Tombstone, false));
    let servers = [Some(copy(OLD)), tombstone(), tombstone()];
    let deleted = ReadOutcome::Found(Found::Deleted(version(NEW)));
    assert_eq!(read("replicate:3", &servers).0, deleted);
}

#[test]
fn shards_of_two_writes_are_not_mixed() {
    let shard = |number, bits| Some(held(bits, Part::Shard(number), true));
    // A writer has come as far as two servers.
    let servers = [
        shard(0, NEW),
        shard(1, NEW),
        shard(2, OLD),
        shard(3, OLD),
        shard(4, OLD),
    ];
    assert_eq!(read("ec:3,2", &servers).0, found(OLD));
    let servers = [
        shard(0, NEW),
        shard(1, NEW),
        shard(2, OLD),
        shard(3, OLD),
        None,
    ];
    assert_eq!(read("ec:3,2", &servers).0, ReadOutcome::Unavailable);
    let forgotten = || Some(dropped(NEW));
    let servers = [
        shard(0, NEW),
        shard(1, NEW),
        forgotten(),
        forgotten(),
        forgotten(),
    ];
    assert_eq!(read("ec:3,2", &servers).0, NOTHING);
}

/// What was acknowledged is on all servers but those that have lost something.
#[test]
fn a_value_that_has_lost_too_many_shards_is_a_miss() {
    let shard = |number, bits| Some(held(bits, Part::Shard(number), true));
    let empty = || Some(Answer::default());
    let servers = [shard(0, NEW), shard(1, NEW), empty(), empty(), empty()];
    assert_eq!(read("ec:3,2", &servers).0, NOTHING);
    let servers = [None, shard(1, NEW), empty(), shard(3, NEW), empty()];
    assert_eq!(read("ec:3,2", &servers).0, NOTHING);
    // A write is under way: what was acknowledged before may be the older or the newer one.
    let servers = [shard(0, NEW), shard(1, OLD), empty(), empty(), empty()];
    assert_eq!(read("ec:3,2", &servers).0, ReadOutcome::Unavailable);
    let servers = [
        shard(0, NEW),
        shard(1, NEW),
        empty(),
        empty(),
        shard(4, NEW),
    ];
    assert_eq!(read("ec:3,2", &servers).0, found(NEW));
}

const OLDER: u64 = OLD - 1;

fn shard(number: u8, bits: u64) -> Option<Answer> {
    Some(held(bits, Part::Shard(number), true))
}

/// A writer has come as far as three of six servers.
fn half_written() -> [Option<Answer>; 6] {
    let all = [NEW, NEW, NEW, OLD, OLD, OLD].into_iter().zip(0..);
    let all: Vec<_> = all.map(|(bits, number)| shard(number, bits)).collect();
    all.try_into().expect("six")
}

#[test]
fn what_lies_beneath_a_version_that_too_few_have_is_shown() {
    let mut asked = Vec::new();
    let (outcome, sent) = read_of("ec:4,2", &half_written(), &[], &mut |server| {
        asked.push(server);
        Reply::Answer(held(OLD, Part::Shard(server as u8), true))
    });
    assert_eq!((outcome, &asked[..]), (found(OLD), &[0, 1, 2][..]));
    assert!(sent.is_empty(), "all have it: {sent:?}");
}

/// What others have beneath is looked for step by step, so that nothing between is passed over.
#[test]
fn the_newest_that_enough_have_is_shown_however_deep_it_lies() {
    let mut servers = half_written();
    servers[5] = shard(5, OLDER);
    let mut depth = [0; 6];
    let (outcome, _) = read_of("ec:4,2", &servers, &[], &mut |server| {
        let place = &mut depth[server as usize];
        *place += 1;
        let bits = match (server, *place) {
            (0..=2, 1) => OLD,
            _ => OLDER,
        };
        Reply::Answer(held(bits, Part::Shard(server as u8), true))
    });
    assert_eq!(outcome, found(OLD));
    assert_eq!(depth, [1, 1, 1, 0, 0, 0]);
}

#[test]
fn nothing_is_shown_below_what_a_server_may_have_dropped_or_does_not_tell() {
    let shown = |third: Reply| {
        let (outcome, _) = read_of("ec:4,2", &half_written(), &[], &mut |server| match server {
            2 => third.clone(),
            _ => Reply::Answer(held(OLD, Part::Shard(server as u8), true)),
        });
        outcome
    };
    // Two more than the three that have nothing else are enough.
    assert_eq!(shown(Reply::Answer(Answer::default())), found(OLD));
    assert_eq!(shown(Reply::Answer(dropped(OLDER))), found(OLD));
    // The third may have had something between, with others that told of nothing else.
    let servers = [
        shard(0, NEW),
        shard(1, NEW),
        shard(2, NEW),
        shard(3, OLD),
        shard(4, OLD),
        None,
    ];
    let (outcome, _) = read_of("ec:4,2", &servers, &[], &mut |server| {
        Reply::Answer(match server {
            2 => dropped(NEW),
            _ => held(OLD, Part::Shard(server as u8), true),
        })
    });
    assert_eq!(outcome, ReadOutcome::Unavailable);
    let (outcome, _) = read_of("ec:4,2", &servers, &[], &mut |_| Reply::NotReady);
    assert_eq!(outcome, ReadOutcome::Unavailable);
}

#[test]
fn of_copies_nobody_asks_what_lies_beneath() {
    let servers = [Some(copy(NEW)), Some(copy(OLD)), Some(copy(OLD))];
    let (outcome, _) = read_of("replicate:3", &servers, &[], &mut |_| {
        panic!("one copy is enough");
    });
    assert_eq!(outcome, found(NEW));
}

#[test]
fn members_that_are_not_asked_are_known() {
    let mut servers = [0, 1, 2, 3, 4].map(|shard| Some(held(NEW, Part::Shard(shard), true)));
    servers[3] = None;
    let mut actions = Vec::new();
    let mut read = begin("ec:3,2", &servers, 1, &mut actions);
    for action in std::mem::take(&mut actions) {
        let Action::Ask(Request { id, to, .. }) = action else {
            panic!("{action:?}");
        };
        let answer = servers[to.0 as usize].clone().unwrap();
        read.handle(Event::Reply(id, Reply::Answer(answer)), &mut actions);
    }
    assert_eq!(read.unasked().collect::<Vec<_>>(), [ServerId(0)]);
}

/// An owner that has moved up by a place holds the shard of its former one.
#[test]
fn a_value_is_made_of_shards_that_are_not_the_same() {
    let servers =
        |numbers: [u8; 5]| numbers.map(|number| Some(held(NEW, Part::Shard(number), true)));
    for numbers in [
        [0, 1, 1, 3, 4],
        [0, 0, 0, 0, 0],
        [0, 0, 1, 1, 1],
        [4, 4, 4, 1, 0],
    ] {
        let (outcome, _) = read("ec:3,2", &servers(numbers));
        let apart = HashSet::from(numbers).len();
        let wanted = match apart {
            3.. => found(NEW),
            _ => ReadOutcome::Unavailable,
        };
        assert_eq!(outcome, wanted, "{numbers:?}");
    }
}

/// Two servers have left the map before the writer had told anybody that all have the value.
#[test]
fn who_finishes_a_write_stores_the_shards_that_are_missing() {
    let unfinished = |shard| Some(held(NEW, Part::Shard(shard), true).marked(true));
    let nothing = || Some(Answer::default());
    let servers = [
        unfinished(0),
        unfinished(3),
        unfinished(4),
        nothing(),
        nothing(),
    ];
    let (outcome, sent) = read_sending("ec:3,2", &servers, &[], &mut |server| {
        panic!("{server} is asked what lies beneath")
    });
    assert_eq!(outcome, found(NEW));
    let stored = |(server, shard)| (server, Question::Store(version(NEW), Part::Shard(shard)));
    assert_eq!(sent, [(3, 1), (4, 2)].map(stored));
}
