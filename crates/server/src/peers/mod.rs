//! The other servers of the cluster, as one worker reaches them: requests for keys that they own
//! are passed on to them, and their replies back.
//!
//! | part | what it does |
//! |---|---|
//! | [`desk`] | who owns a key; what sessions ask for, and what has been answered |
//! | `lane` | which way a request takes |
//! | `delayed` | requests that were refused, until they are made again |
//! | [`wire`], `outbox` | one worker's connection to one peer; what waits to be sent |
//! | `wires` | all of them |
//! | `attempt` | how such a connection is made, on a thread of its own |
//! | [`upgrade`] | asking for a session on the fabric beside it |
//! | [`calls`], `beside` | those sessions: a worker's all together, and that of one wire |
//! | `worker/forward.rs` | joins them with the worker's connections |

mod attempt;
mod beside;
pub mod calls;
mod delayed;
pub mod desk;
mod known;
mod lane;
mod outbox;
pub mod upgrade;
pub mod wire;
mod wires;

use crate::cluster::{Cluster, Follower, Gate};
use crate::coding::PartTag;
use crate::mailbox::Mailbox;
use crate::shared::Shared;
pub use crate::waiting::{Asker, Waiter};
use delayed::Delayed;
use desk::{Answer, Desk, Past, Question, To};
use farcache_cluster::ServerId;
use farcache_moving::patience::Patience;
use farcache_peers::frame::Kind;
use farcache_session::counters::Counters;
use farcache_session::{FORWARDED_BYTES_MAX, Failure, Forward, Peer};
use lane::{Carrier, Lane};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wires::Wires;

/// Whose request an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A session's.
    Session(Asker),
    /// That of a plan which this worker runs for a session.
    Plan(PartTag),
}

/// The questions of a connection, or a message, to other servers, all of which it waits for.
#[derive(Default)]
pub struct Asked {
    wait: u64,
    missing: usize,
    questions: Vec<(Question, Option<Answer>)>,
    /// Where some were refused, because maps differ: until when they are asked again.
    patience: Option<Patience>,
    /// They are to be asked again, and not before.
    is_delayed: bool,
}

impl Asked {
    /// Whether there is no reply to one of them yet.
    pub fn is_waiting(&self) -> bool {
        self.missing > 0 || self.is_delayed
    }

    fn bytes(&self) -> usize {
        let answers = self
            .questions
            .iter()
            .filter_map(|(_, answer)| answer.as_ref());
        answers
            .map(|answer| answer.as_ref().map_or(0, Vec::len))
            .sum()
    }

    /// Whether some were refused, because maps differ.
    pub fn is_refused(&self) -> bool {
        let mut questions = self.questions.iter();
        questions.any(|(_, answer)| matches!(answer, Some(Err(Failure::OtherMap))))
    }
}

/// One worker's part.
pub struct Peers {
    /// What its sessions see.
    pub desk: Desk,
    /// How they are reached.
    pub wires: Wires,
    next_wait: u64,
    /// Bytes of replies that wait for sessions.
    held_bytes: usize,
    /// Connections whose requests were refused, because maps differ.
    delayed: Delayed,
    /// Requests to all owners of a key, for which plans are to be begun, and who waits for them.
    wanted: Vec<(Asker, Vec<u8>)>,
    /// That of the session that runs.
    patience: Option<Patience>,
    /// The thread that brings maps waits for this worker to follow them.
    follower: Option<Arc<Follower>>,
    shared: Arc<Shared>,
}

impl Drop for Peers {
    fn drop(&mut self) {
        if let Some(follower) = &self.follower {
            follower.ends();
        }
    }
}

impl Peers {
    /// The part of a worker; none where the server does not forward.
    pub fn new(shared: &Arc<Shared>, mailbox: &Arc<Mailbox>) -> Option<Box<Peers>> {
        let cluster = shared.cluster.as_ref()?;
        let member = cluster.member()?;
        let past = Past {
            moves: Arc::clone(cluster.moves()?),
            earlier: cluster.earlier().cloned(),
        };
        let gate = Gate::of(Some(cluster));
        let desk = Desk::new(member.place.clone(), cluster.map(), past, gate);
        Some(Box::new(Peers {
            follower: cluster.join(desk.epoch(), mailbox),
            desk,
            wires: Wires::new(shared, mailbox),
            next_wait: 0,
            held_bytes: 0,
            delayed: Delayed::default(),
            wanted: Vec::new(),
            patience: None,
            shared: Arc::clone(shared),
        }))
    }

    fn cluster(&self) -> &Cluster {
        let cluster = self.shared.cluster.as_ref();
        cluster.expect("whoever has peers is in a cluster")
    }

    fn timeout(&self) -> Duration {
        self.shared.settings.forward_timeout
    }

    /// Lets a connection's session find what it has asked for.
    pub fn stage(&mut self, asked: Asked) {
        self.held_bytes -= asked.bytes();
        self.patience = asked.patience;
        let questions = asked.questions.into_iter();
        let answered = questions.filter_map(|(question, answer)| Some((question, answer?)));
        self.desk.stage(answered.collect());
    }

    /// What a session has noted, to be asked for now, and what it has not used of the answers.
    pub fn take_asked(&mut self, waiter: Waiter, now: Instant, counters: &Counters) -> Asked {
        let mut asked = self.take_staged();
        asked.wait = self.next_wait;
        asked.patience = self.patience.take();
        self.next_wait += 1;
        for mut question in self.desk.take_noted() {
            let tag = Asker {
                waiter,
                wait: asked.wait,
                index: asked.questions.len(),
            };
            let sent = match question.to {
                To::Peer(peer, kind) => self.send(peer, kind, &question.body, tag, now),
                To::Owners => {
                    self.wanted.push((tag, question.leave_header()));
                    Ok(Carrier::Connection)
                }
            };
            asked.missing += usize::from(sent.is_ok());
            match sent {
                Ok(carrier) if matches!(question.to, To::Peer(_, Kind::Request)) => {
                    counters.forwarded.bump();
                    if carrier == Carrier::Fabric {
                        counters.forwarded_over_fabric.bump();
                    }
                }
                Ok(_) | Err(Failure::OtherMap) => {}
                Err(_) => counters.forward_errors.bump(),
            }
            asked.questions.push((question, sent.err().map(Err)));
        }
        let is_refused = !asked.is_waiting() && asked.is_refused();
        if !asked.is_waiting() && !self.delay(&mut asked, waiter, now) && is_refused {
            counters.forward_errors.bump();
        }
        asked
    }

    /// Where questions were refused, because maps differ, has them asked again a little later,
    /// unless that has lasted too long. False where all answers are there.
    fn delay(&mut self, asked: &mut Asked, waiter: Waiter, now: Instant) -> bool {
        if !asked.is_refused() {
            asked.patience = None;
            return false;
        }
        let began = self.shared.started;
        let now_ms = now.saturating_duration_since(began).as_millis() as u64;
        let timeout_ms = self.timeout().as_millis() as u64;
        let patience = asked
            .patience
            .get_or_insert(Patience::new(now_ms, timeout_ms));
        let Some(at_ms) = patience.next_try_ms(now_ms) else {
            asked.patience = None;
            return false;
        };
        let is_kept = |answer: &Option<Answer>| !matches!(answer, Some(Err(Failure::OtherMap)));
        asked.questions.retain(|(_, answer)| is_kept(answer));
        asked.is_delayed = true;
        let tag = Asker {
            waiter,
            wait: asked.wait,
            index: 0,
        };
        let at = began + Duration::from_millis(at_ms);
        self.delayed.add(at, tag);
        true
    }

    /// The connections whose requests are to be made again now.
    pub fn take_delayed(&mut self, now: Instant) -> Vec<Asker> {
        self.delayed.take(now, self.desk.decisions())
    }

    /// The wait of a connection whose request was refused is over; false where it waits for
    /// something else.
    pub fn end_delay(&self, asked: &mut Asked, tag: Asker) -> bool {
        asked.wait == tag.wait && std::mem::take(&mut asked.is_delayed)
    }

    /// What a session has not used of the answers, for a request that waits for something else.
    pub fn take_staged(&mut self) -> Asked {
        let staged = self.desk.take_staged().into_iter();
        let questions = staged.map(|(question, answer)| (question, Some(answer)));
        let asked = Asked {
            questions: questions.collect(),
            ..Asked::default()
        };
        self.held_bytes += asked.bytes();
        asked
    }

    /// A connection closes that waits.
    pub fn forget(&mut self, asked: &Asked) {
        self.held_bytes -= asked.bytes();
    }

    fn send(
        &mut self,
        peer: Peer,
        kind: Kind,
        body: &[u8],
        tag: Asker,
        now: Instant,
    ) -> Result<Carrier, Failure> {
        if self.held_bytes as u64 > FORWARDED_BYTES_MAX {
            return Err(Failure::TooMuch);
        }
        let me = self.desk.me().ok_or(Failure::NoPlace)?;
        let peer = ServerId(peer.0);
        if peer == me {
            // Nobody decides on the key yet.
            return Err(Failure::OtherMap);
        }
        let index = self.wires.to(peer, Lane::of(kind));
        let (frame, map) = ((kind, &[body][..]), self.desk.map());
        self.wires
            .ask(index, Tag::Session(tag), frame, (me, &map), now)
    }

    /// Sends a plan's request, which is made of these pieces, to an owner of its key. That may be
    /// this server itself, where its part has to wait for a device.
    ///
    /// # Errors
    /// Nothing can be sent.
    pub fn send_part(
        &mut self,
        to: ServerId,
        tag: PartTag,
        pieces: &[&[u8]],
        now: Instant,
    ) -> Result<(), Failure> {
        let index = self.wires.to(to, Lane::Parts);
        // A server that is back and is not asked would lack what is written now.
        self.wires.end_rest(index, now);
        let me = self.desk.me().ok_or(Failure::NoPlace)?;
        let (frame, map) = ((Kind::OnBehalf, pieces), self.desk.map());
        let sent = self
            .wires
            .ask(index, Tag::Plan(tag), frame, (me, &map), now);
        sent.map(drop)
    }

    /// Requests to all owners of a key for which plans are to be begun.
    pub fn take_wanted(&mut self) -> Vec<(Asker, Vec<u8>)> {
        std::mem::take(&mut self.wanted)
    }

    /// When the next request will be late.
    pub fn next_deadline(&self) -> Option<Instant> {
        let delayed = self.delayed.next().into_iter();
        delayed.chain(self.wires.next_deadline()).min()
    }

    /// Follows the map; adds requests to `failed` whose servers have other addresses now.
    pub fn follow_map(&mut self, now: Instant, failed: &mut Vec<Tag>) {
        if self.cluster().epoch() == self.desk.epoch() {
            return;
        }
        let (old, new) = (self.desk.map(), self.cluster().map());
        self.wires.follow((&old, &new), now, failed);
        self.desk.set_map(Arc::clone(&new));
        if let Some(me) = self.desk.me() {
            self.wires.connect_ahead(me, &new, now);
        }
        // A request that waits for this map need not wait any longer.
        self.delayed.hurry(now);
        if let Some(follower) = &self.follower {
            follower.follows(self.desk.epoch());
        }
    }

    /// Notes the answer to a question of a connection; whether that has all of them now.
    pub fn answer(&mut self, asked: &mut Asked, tag: Asker, answer: Answer, now: Instant) -> bool {
        if asked.wait != tag.wait || asked.missing == 0 {
            return false;
        }
        self.held_bytes += answer.as_ref().map_or(0, Vec::len);
        asked.questions[tag.index].1 = Some(answer);
        asked.missing -= 1;
        asked.missing == 0 && !self.delay(asked, tag.waiter, now)
    }
}
