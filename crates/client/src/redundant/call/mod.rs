//! One plan: its requests go out together, what comes back goes in.

mod answered;

use super::cargo::Cargo;
use super::{Redundant, now};
use crate::connections::Submitted;
use crate::{Delivery, Error, Operation, Route};
use farcache_cluster::{OWNERS_MAX, ServerId};
use farcache_proto::binary::Placed;
use farcache_redundancy::Redundancy;
use farcache_redundancy::coding::{Parts, Pieces};
use farcache_redundancy::plan::{self, Action, Event, Group, KnownOwners, Question};
use std::cell::LazyCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Part of an operation's time after which a read does not wait for a server any more, and asks
/// another one.
pub(super) const READ_PART: u32 = 4;

/// Pause before a server is asked again that the client leaves alone after a failure.
pub(super) const REST_PAUSE: Duration = Duration::from_millis(20);

/// Whether a plan waits for what it has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    Waits,
    /// It takes what is there.
    Looks,
}

/// How far a plan has come.
#[derive(Debug)]
pub(super) enum Turn<O> {
    /// By one event.
    Goes,
    /// What it has asked for is not there yet.
    Waits,
    Ended(O),
}

/// At which owners that were down an operation looks before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// At each: one that is back and is not asked would lack what is written now.
    AtAll,
    /// Not at those that were down a moment ago, if the others are as many as a write must reach:
    /// they know all that was acknowledged.
    NotAgain,
}

/// A plan's request that is under way.
struct UnderWay {
    request: Submitted,
    asked: plan::Request,
    /// Over which connection.
    attempt: u64,
    /// By which owners.
    owners_sum: u32,
    /// How often it was made before, of a server that had not heard of these owners.
    repeated: u32,
}

/// A server that has accepted something, with the connection over which it has said so.
pub(super) type Acceptor = (ServerId, u64);

/// What a plan needs while it runs.
pub(super) struct Call {
    redundant: Arc<Redundant>,
    key: Box<[u8]>,
    redundancy: Redundancy,
    deadline: Instant,
    /// What servers are told of the owners.
    placed: Placed,
    owners: KnownOwners,
    under_way: Vec<UnderWay>,
    events: VecDeque<Event>,
    /// What it stores, and what it is brought.
    pub cargo: Cargo,
    accepted: arrayvec::ArrayVec<Acceptor, OWNERS_MAX>,
}

impl Call {
    /// A plan for a key. Of owners that were down it is found out whether they still are.
    pub fn new(
        redundant: &Arc<Redundant>,
        key: &[u8],
        deadline: Instant,
        look: Look,
    ) -> Result<Call, Error> {
        crate::engine::check_key(key)?;
        let redundancy = redundant.policy.of_key(key);
        let (owners, placed) = redundant.place(key, deadline)?;
        let mut call = Call {
            redundant: Arc::clone(redundant),
            key: key.into(),
            redundancy,
            deadline,
            placed,
            owners: KnownOwners::new(owners.iter().copied()),
            under_way: Vec::new(),
            events: VecDeque::new(),
            cargo: Cargo::new(redundancy, &redundant.workshop),
            accepted: arrayvec::ArrayVec::new(),
        };
        if look == Look::NotAgain {
            call.owners.leave_out(redundancy, |server| {
                redundant.availability.was_just_down(server)
            });
        }
        call.look_after_those_down();
        Ok(call)
    }

    /// Whether an owner was left out without a look at it.
    pub fn passes_over(&self) -> bool {
        self.owners.passes_over()
    }

    /// Whether fewer owners are live than it takes to make a value.
    pub fn has_too_few(&self) -> bool {
        self.group().live_count() < self.redundancy.needed()
    }

    fn look_after_those_down(&mut self) {
        let (owners, redundant) = (&self.owners, &self.redundant);
        let down = owners.iter().filter(|server| {
            let is_left_out = owners.is_down(*server);
            !is_left_out && redundant.availability.is_down(*server)
        });
        let delivery = |server: ServerId| Delivery {
            route: Route::Server(server.0 as usize),
            timeout: Some(self.deadline.saturating_duration_since(Instant::now()) / READ_PART),
        };
        let asked: Vec<_> = down
            .map(|server| {
                // A server that is back and is not asked would lack what is written now.
                redundant.connections.end_rest(server);
                let noop = Operation::Noop;
                let request = redundant.connections.submit(noop, delivery(server));
                (server, request)
            })
            .collect();
        for (server, request) in asked {
            match request.wait() {
                Err(error) if self.redundant.availability.is_gone(server, &error) => {
                    self.owners.begin_without(server);
                    self.redundant.availability.note_down(server, true);
                }
                _ => self.redundant.availability.note_down(server, false),
            }
        }
    }

    /// The position of the owner that a read asks first: where copies still follow, one that has
    /// what this client has written.
    pub fn first(&self) -> usize {
        let first = self.redundant.first_of(self.redundancy);
        if !self.redundancy.is_async() {
            return first;
        }
        let waiting = self.redundant.following.of_key(&self.key);
        let owners: arrayvec::ArrayVec<ServerId, OWNERS_MAX> = self.owners.iter().collect();
        let mut turned = (0..owners.len()).map(|offset| (first + offset) % owners.len());
        let has_all = |server| !self.owners.is_down(server) && !waiting.contains(&server);
        let found = turned.find(|position| has_all(owners[*position]));
        found.unwrap_or_default()
    }

    /// Whether fewer owners are live than a write must reach.
    pub fn has_too_few_for_a_write(&self) -> bool {
        self.group().live_count() < self.redundancy.stored_min()
    }

    /// In how many places the key's values lie.
    pub fn redundancy(&self) -> Redundancy {
        self.redundancy
    }

    /// Until when the operation may take.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The servers among these of which it is known which process has accepted the version.
    pub fn acceptors(&self, of: impl Iterator<Item = ServerId>) -> Vec<Acceptor> {
        let known = |server| self.accepted.iter().find(|one| one.0 == server).copied();
        of.filter_map(known).collect()
    }

    /// What is needed to ask after the same key once more.
    pub fn place(&self) -> (&Arc<Redundant>, &[u8]) {
        (&self.redundant, &self.key)
    }

    /// Another plan follows, for the same owners, with this to be stored.
    pub fn begin_next(&mut self, parts: Option<Parts>) {
        self.under_way.clear();
        self.events.clear();
        self.owners.begin_next();
        self.cargo.give(parts);
        self.accepted.clear();
    }

    /// What servers have brought.
    pub fn take_pieces(&mut self) -> Pieces {
        self.cargo.take_pieces(&self.redundant.workshop)
    }

    /// The owners as they are known now.
    pub fn group(&self) -> Group {
        self.owners.group()
    }

    /// Carries out what the plan wants, and gives it what happens next.
    ///
    /// # Errors
    /// The time is up, or a server has refused in a way that ends the operation.
    pub fn go_on<O>(
        &mut self,
        actions: &mut Vec<Action<O>>,
        patience: Patience,
        mut step: impl FnMut(Event, &mut Vec<Action<O>>),
    ) -> Result<Turn<O>, Error> {
        let (mut coding, mut ended) = (Vec::new(), None);
        let has_actions = !actions.is_empty();
        let left = LazyCell::new(self.time_left());
        for action in actions.drain(..) {
            match action {
                Action::Ask(request) => self.ask(request, *left),
                Action::Done(outcome) => ended = Some(outcome),
                other => coding.push(other),
            }
        }
        if has_actions {
            self.redundant.connections.flush();
        }
        if let Some(outcome) = ended {
            return Ok(Turn::Ended(outcome));
        }
        // While the requests travel.
        for action in coding {
            self.code(action);
        }
        let event = match self.events.pop_front() {
            Some(event) => event,
            None => match self.next_event(patience)? {
                Some(event) => event,
                None => return Ok(Turn::Waits),
            },
        };
        step(event, actions);
        Ok(Turn::Goes)
    }

    /// Asks what the plan wants asked first, each server once its part of this value has been
    /// copied; the other actions stay.
    pub fn send_first<O>(&mut self, actions: &mut Vec<Action<O>>, value: &[u8]) {
        let left = LazyCell::new(self.time_left());
        for action in std::mem::take(actions) {
            match action {
                Action::Ask(request) => {
                    let travels = self.cargo.copy(request.question, value);
                    self.ask(request, *left);
                    if travels {
                        self.redundant.connections.flush();
                    }
                }
                other => actions.push(other),
            }
        }
        self.redundant.connections.flush();
        // Of owners that are down, too: their shards are needed for parity.
        self.cargo.copy_all(value);
    }

    /// Requests of which one must end before the plan goes on.
    pub fn under_way(&self) -> impl Iterator<Item = &Submitted> + Clone {
        self.under_way.iter().map(|one| &one.request)
    }

    fn code<O>(&mut self, action: Action<O>) {
        match action {
            Action::Encode => {
                self.cargo.encode(&self.redundant.workshop);
                self.events.push_back(Event::Encoded);
            }
            Action::Decode(version, from) => {
                let workshop = &self.redundant.workshop;
                self.cargo.decode(workshop, version, &from);
                self.events.push_back(Event::Decoded);
            }
            Action::Ask(_) | Action::Done(_) => {}
        }
    }

    /// Has owners told, now and then, that the key is in use, of whose value they were not asked.
    pub fn tell_used(&self, owners: impl Iterator<Item = ServerId>) {
        let Redundant {
            uses, connections, ..
        } = &*self.redundant;
        if let Some(owners) = uses.owners_to_tell(owners, &self.key, now()) {
            connections.tell_used(owners, &self.key);
        }
    }

    /// Tells how much time is left of the operation: read once for requests that go out together.
    fn time_left(&self) -> impl FnOnce() -> Duration + use<> {
        let deadline = self.deadline;
        move || deadline.saturating_duration_since(Instant::now())
    }

    fn ask(&mut self, asked: plan::Request, left: Duration) {
        self.ask_again(asked, left, 0);
    }

    /// The same, where it was asked so often before.
    fn ask_again(&mut self, asked: plan::Request, left: Duration, repeated: u32) {
        if let Question::Complete(version) = asked.question {
            return self.redundant.connections.tell_complete(asked.to, version);
        }
        if self.owners.is_down(asked.to) {
            return self.events.push_back(self.owners.event_of_down(&asked));
        }
        let Some(request) = self.submit(&asked, left) else {
            // It is about bytes that are not at hand.
            return self.events.push_back(Event::Lost(asked.id));
        };
        let attempt = self.redundant.connections.attempt(asked.to);
        self.under_way.push(UnderWay {
            request,
            asked,
            attempt,
            owners_sum: self.placed.sum,
            repeated,
        });
    }

    /// Begins a request, if the bytes are at hand that it is about.
    fn submit(&mut self, asked: &plan::Request, left: Duration) -> Option<Submitted> {
        let (workshop, key) = (&self.redundant.workshop, &self.key);
        let operation = self.cargo.operation(workshop, key, asked.question)?;
        let timeout = match asked.question.is_read() {
            true => self.redundant.read_time(left),
            false => left,
        };
        let server = asked.to.0 as usize;
        let route = match self.redundant.follows_map {
            true => Route::Owner(server, self.placed),
            false => Route::Server(server),
        };
        let delivery = Delivery {
            route,
            timeout: Some(timeout),
        };
        Some(self.redundant.connections.submit(operation, delivery))
    }
}

impl Drop for Call {
    /// Copies of an acknowledged write may be on their way.
    fn drop(&mut self) {
        if !self.redundancy.is_async() {
            return;
        }
        let under_way = self.under_way.drain(..);
        let writes = under_way.filter(|one| !one.asked.question.is_read());
        let requests = writes.map(|one| (one.asked.to, one.request));
        self.redundant.following.add(&self.key, requests);
    }
}
