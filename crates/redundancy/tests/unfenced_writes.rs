//! Writes among servers that nobody fences: one that was away accepts what it should refuse.

use farcache_cluster::ServerId;
use farcache_redundancy::plan::{
    Action, Event, Fencing, Form, Group, Question, Reply, Request, Write, WriteOutcome,
};
use farcache_redundancy::{Clock, Redundancy, SKEW_MAX, Version, Writer};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

const NOW: Duration = Duration::from_secs(1_800_000_000);

/// What a server has of the key, in this test: the newest version, as a reading of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Nothing,
    /// What another writer's clock, a second ahead, has made.
    Newer,
    /// What another writer's clock, a second ahead, has made; the server does not know whether it
    /// has had the version before that.
    Unsure,
    /// Requests to it are lost.
    IsSilent,
    /// Nobody listens there.
    IsDown,
}
use Has::*;

struct Written {
    outcome: WriteOutcome,
    first: Version,
    asked: Vec<(u32, Question)>,
}

impl Written {
    /// Servers that were asked to store what had been accepted.
    fn told_to_store(&self) -> Vec<u32> {
        let is_store = |(_, question): &&(u32, Question)| matches!(question, Question::Store(..));
        let told = self.asked.iter().filter(is_store);
        told.map(|(server, _)| *server).collect()
    }

    fn version(&self) -> Version {
        match self.outcome {
            WriteOutcome::Written { version, .. } => version,
            other => panic!("{other:?}"),
        }
    }
}

fn newer() -> Version {
    let mut clock = Clock::new(Writer::new(9).unwrap(), SKEW_MAX);
    clock.next(NOW + Duration::from_secs(1))
}

/// Writes once; events come in the order of the requests.
fn write(redundancy: &str, servers: &[Has]) -> Written {
    let redundancy: Redundancy = redundancy.parse().unwrap();
    let owners = servers.iter().zip(0..);
    let group = Group::new(1, owners.map(|(_, id)| (ServerId(id), true)));
    let mut clock = Clock::new(Writer::new(1).unwrap(), SKEW_MAX);
    let (mut actions, mut asked) = (Vec::new(), Vec::new());
    let form = Form::of_value(redundancy, false);
    let (fencing, time) = (Fencing::None, (&mut clock, NOW));
    let mut write = Write::begin_among(redundancy, fencing, form, group, time, &mut actions);
    let first = write.version();
    while !actions.is_empty() {
        for action in std::mem::take(&mut actions) {
            let event = match action {
                Action::Done(outcome) => {
                    return Written {
                        outcome,
                        first,
                        asked,
                    };
                }
                Action::Encode => Event::Encoded,
                Action::Decode(..) => panic!("a write decodes"),
                Action::Ask(Request {
                    id, to, question, ..
                }) => {
                    asked.push((to.0, question));
                    answer(servers[to.0 as usize], question)
                        .map_or(Event::Lost(id), |reply| Event::Reply(id, reply))
                }
            };
            write.handle(event, |current| clock.above(current, NOW), &mut actions);
        }
    }
    panic!("it waits for nothing");
}

fn answer(server: Has, question: Question) -> Option<Reply> {
    let was_present = false;
    match (server, question) {
        (IsSilent, _) => None,
        (IsDown, _) => Some(Reply::NotReady),
        (Newer, Question::Accept(version, _)) if version < newer() => {
            let current = newer();
            Some(Reply::Refused { current })
        }
        (Unsure, Question::Accept(version, _)) if version < newer() => {
            let current = newer();
            Some(Reply::Unsure { current })
        }
        _ => Some(Reply::Stored { was_present }),
    }
}

#[test]
fn what_all_accept_is_stored_in_one_round() {
    for (redundancy, owners) in [("replicate:3", 3), ("ec:3,2", 5)] {
        let written = write(redundancy, &vec![Nothing; owners]);
        assert_eq!(written.version(), written.first);
        assert_eq!(written.asked.len(), owners);
        assert_eq!(written.told_to_store(), []);
    }
}

/// Somebody may read it: it is not written a second time, above what one server has refused it for.
#[test]
fn what_a_quorum_accepts_stays_and_is_stored_by_those_who_have_refused_it() {
    for (redundancy, servers) in [
        ("replicate:3", &[Newer, Nothing, Nothing][..]),
        ("ec:3,2", &[Newer, Nothing, Newer, Nothing, Nothing]),
        ("ec:2,3", &[Newer, Nothing, Newer, Newer, Nothing]),
    ] {
        let written = write(redundancy, servers);
        assert_eq!(written.version(), written.first, "{redundancy}");
        let refusers = (0..).zip(servers).filter(|(_, has)| **has == Newer);
        let refusers: Vec<u32> = refusers.map(|(server, _)| server).collect();
        assert_eq!(written.told_to_store(), refusers, "{redundancy}");
    }
}

/// A server that has come back with nothing accepts everything. What was acknowledged before is at
/// the others, and the write goes above it.
#[test]
fn what_too_few_accept_is_written_above_what_the_others_have() {
    for (redundancy, servers) in [
        ("replicate:2", &[Nothing, Newer][..]),
        ("replicate:3", &[Nothing, Newer, Newer]),
        ("ec:3,2", &[Nothing, Newer, Newer, Nothing, Newer]),
        ("ec:2,3", &[Newer, Newer, Newer, Nothing, Newer]),
        ("ec:3,2", &[Newer; 5]),
    ] {
        let written = write(redundancy, servers);
        assert!(written.version() > newer(), "{redundancy}");
        assert_eq!(written.told_to_store(), [], "{redundancy}");
    }
}

/// The silent server may have accepted it, and then too many have.
#[test]
fn what_may_have_been_accepted_is_not_written_above() {
    let written = write("replicate:3", &[Nothing, IsSilent, Newer]);
    assert_eq!(written.outcome, WriteOutcome::Unknown);
    let written = write("replicate:3", &[Nothing, IsDown, IsDown]);
    assert_eq!(written.outcome, WriteOutcome::Unknown);
}

/// If they have had it, a reader may have shown it.
#[test]
fn what_a_quorum_may_have_had_is_not_written_above() {
    let written = write("replicate:3", &[Nothing, Unsure, Newer]);
    assert_eq!(written.outcome, WriteOutcome::Unknown);
    // Of five, two are no quorum.
    let written = write("replicate:5", &[Nothing, Unsure, Newer, Newer, Newer]);
    assert!(written.version() > newer());
    // Too few to read it.
    let written = write("ec:3,2", &[Nothing, Unsure, Newer, Newer, Newer]);
    assert!(written.version() > newer());
    // Nobody has it whom somebody could have read.
    let written = write("replicate:3", &[Unsure, Unsure, Newer]);
    assert!(written.version() > newer());
}

#[test]
fn what_nobody_takes_is_not_written() {
    let written = write("replicate:3", &[IsDown; 3]);
    assert_eq!(written.outcome, WriteOutcome::Unavailable);
}

/// Those who have accepted are told by their names: by the newer map others are at their positions,
/// or nobody is.
#[test]
fn who_has_accepted_is_told_when_the_owners_have_changed() {
    let redundancy: Redundancy = "replicate:3".parse().unwrap();
    let group = |epoch, servers: &[u32]| {
        let owners = servers.iter().map(|id| (ServerId(*id), true));
        Group::new(epoch, owners)
    };
    let mut clock = Clock::new(Writer::new(1).unwrap(), SKEW_MAX);
    let mut actions = Vec::new();
    let form = Form::of_value(redundancy, false);
    let (begun, time) = (group(1, &[7, 8, 9]), (&mut clock, NOW));
    let mut write = Write::begin_among(redundancy, Fencing::None, form, begun, time, &mut actions);
    let mut newer_map = Some(Event::Map(group(2, &[9, 8])));
    let outcome = loop {
        let Some(action) = actions.pop() else {
            let event = newer_map.take().expect("it waits for nothing");
            write.handle(event, |current| clock.above(current, NOW), &mut actions);
            continue;
        };
        let request = match action {
            Action::Done(outcome) => break outcome,
            Action::Ask(request) => request,
            other => panic!("{other:?}"),
        };
        let reply = match request.to {
            ServerId(9) if newer_map.is_some() && request.question != accept(&write) => continue,
            ServerId(9) => Reply::Promised {
                current: newer(),
                has_newer: false,
            },
            _ => Reply::Stored { was_present: false },
        };
        let event = Event::Reply(request.id, reply);
        write.handle(event, |current| clock.above(current, NOW), &mut actions);
    };
    assert!(
        matches!(outcome, WriteOutcome::Overtaken { .. }),
        "{outcome:?}"
    );
    let mut accepted: Vec<_> = write.acceptors().map(|server| server.0).collect();
    accepted.sort_unstable();
    assert_eq!(accepted, [7, 8]);
}

fn accept(write: &Write) -> Question {
    Question::Accept(write.version(), farcache_redundancy::plan::Part::Copy)
}

/// The key's owners have been asked to accept their shards. Then a map comes in which the second
/// one has left, so that those behind it have moved up by a place.
#[test]
fn by_a_newer_map_each_server_is_sent_the_shard_that_it_has() {
    let group = |epoch, ids: [u32; 5]| Group::new(epoch, ids.map(|id| (ServerId(id), true)));
    let newer = [10, 12, 13, 14, 15];
    // Before the version is accepted, and after.
    for answered in [2, 4] {
        let redundancy: Redundancy = "ec:3,2".parse().unwrap();
        let mut clock = Clock::new(Writer::new(1).unwrap(), SKEW_MAX);
        let (mut actions, time) = (Vec::new(), (&mut clock, NOW));
        let form = Form::of_value(redundancy, false);
        let first = group(1, [10, 11, 12, 13, 14]);
        let fencing = Fencing::None;
        let mut write = Write::begin_among(redundancy, fencing, form, first, time, &mut actions);
        let (mut sent, mut answers) = (BTreeMap::new(), 0);
        let mut outcome = None;
        while outcome.is_none() {
            assert!(!actions.is_empty(), "it waits for nothing");
            for action in std::mem::take(&mut actions) {
                let event = match action {
                    Action::Done(done) => {
                        outcome = Some(done);
                        continue;
                    }
                    Action::Encode => Event::Encoded,
                    Action::Decode(..) => panic!("a write decodes"),
                    Action::Ask(Request {
                        id, to, question, ..
                    }) => {
                        let (Question::Accept(_, part) | Question::Store(_, part)) = question
                        else {
                            continue;
                        };
                        let before = *sent.entry(to.0).or_insert(part);
                        assert_eq!(before, part, "to {to:?}, which has another part");
                        answers += 1;
                        let was_present = false;
                        match answers {
                            _ if answers == answered + 1 => Event::Map(group(2, newer)),
                            _ if answers > answered && !newer.contains(&to.0) => continue,
                            _ => Event::Reply(id, Reply::Stored { was_present }),
                        }
                    }
                };
                write.handle(event, |current| clock.above(current, NOW), &mut actions);
            }
        }
        assert!(
            matches!(outcome, Some(WriteOutcome::Written { .. })),
            "{outcome:?}"
        );
        let parts: HashSet<_> = newer.iter().map(|server| sent[server]).collect();
        assert_eq!(parts.len(), newer.len(), "{sent:?}");
    }
}
