//! What a worker's sessions see of the other servers: who owns a key, what was answered, and a
//! place to note what they ask for.

mod owners;
mod question;

pub use owners::{Owners, Past};
pub use question::{Answer, Question, To};

use crate::cluster::{Gate, Place};
use farcache_cluster::hash::HashAlgorithm;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_peers::frame::Kind;
use farcache_peers::listing::Entry;
use farcache_peers::moves::Fetch;
use farcache_proto::binary::Placed;
use farcache_session::{FORWARDED_BYTES_MAX, Failure, Forward, Moves, Peer, Source};
use farcache_store::Listed;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// What a session asks of other servers, where its requests are passed on.
///
/// A request that was passed on is decided once: whoever was asked has answered, or may have
/// carried it out without an answer. So its key counts as that server's until the session has taken
/// the answer, also where another map has given the key to this server meanwhile, or this server
/// has been cut off.
pub struct Desk {
    /// Who owns keys.
    pub owners: Owners,
    place: Place,
    past: Past,
    gate: Option<Gate>,
    /// Others may own this server's keys: nothing but answers is to be had.
    is_shut: Cell<bool>,
    staged: RefCell<Vec<(Question, Answer)>>,
    noted: RefCell<Vec<Question>>,
    /// Mark of the key whose owner was told last: the next question is about it.
    key_mark: Cell<u32>,
}

/// What is kept of a key. Two keys with one mark are asked for at one server for a moment, which
/// refuses the one that is not its own.
fn mark_of(key: &[u8]) -> u32 {
    HashAlgorithm::Fnv1a64.digest(key)
}

impl Desk {
    /// That of the server at this place.
    pub fn new(place: Place, map: Arc<ClusterMap>, past: Past, gate: Option<Gate>) -> Desk {
        Desk {
            owners: Owners::new(&place, map, &past),
            place,
            past,
            gate,
            is_shut: Cell::new(false),
            staged: RefCell::default(),
            noted: RefCell::default(),
            key_mark: Cell::new(0),
        }
    }

    /// What the next session sees. To be asked when its requests have arrived.
    #[inline]
    pub fn for_session(&self) -> &dyn Forward {
        let shut = self.gate.as_ref().filter(|gate| gate.is_shut());
        self.is_shut.set(shut.is_some());
        match shut {
            Some(gate) if self.staged.borrow().is_empty() => gate,
            _ => self,
        }
    }

    /// Who has been asked about a key, and has answered.
    fn answered(&self, key: &[u8]) -> Option<Peer> {
        let staged = self.staged.borrow();
        if staged.is_empty() {
            return None;
        }
        let mark = mark_of(key);
        staged.iter().find_map(|(question, _)| match question.to {
            To::Peer(peer, Kind::Request) if question.key_mark == mark => Some(peer),
            _ => None,
        })
    }

    fn has_answers(&self) -> bool {
        !self.staged.borrow().is_empty()
    }

    /// Refuses while others may own this server's keys.
    fn refused(&self) -> Option<Answer> {
        let gate = self.gate.as_ref().filter(|_| self.is_shut.get())?;
        Some(Err(gate.refusal()))
    }

    /// This server's name; none before the map lists it.
    pub fn me(&self) -> Option<ServerId> {
        self.owners.me
    }

    /// How often this server has begun to decide on keys for which requests may wait.
    pub fn decisions(&self) -> u64 {
        self.past.moves.decisions()
    }

    /// The map that counts.
    pub fn map(&self) -> Arc<ClusterMap> {
        Arc::clone(&self.owners.map)
    }

    /// Another map counts from now on.
    pub fn set_map(&mut self, map: Arc<ClusterMap>) {
        self.owners = Owners::new(&self.place, map, &self.past);
    }

    /// Lets the session that runs next find these answers.
    pub fn stage(&mut self, answers: Vec<(Question, Answer)>) {
        *self.staged.get_mut() = answers;
    }

    /// The answers that the session has not used.
    pub fn take_staged(&mut self) -> Vec<(Question, Answer)> {
        std::mem::take(self.staged.get_mut())
    }

    /// What the session asks for.
    pub fn take_noted(&mut self) -> Vec<Question> {
        std::mem::take(self.noted.get_mut())
    }

    /// What has been answered, once; notes the question where nothing has yet.
    fn put(&self, to: To, pieces: &[&[u8]]) -> Option<Answer> {
        let is_it = |asked: &Question| asked.is(to, pieces[0]);
        let mut staged = self.staged.borrow_mut();
        if let Some(index) = staged.iter().position(|(asked, _)| is_it(asked)) {
            return Some(staged.swap_remove(index).1);
        }
        if let Some(refused) = self.refused() {
            return Some(refused);
        }
        let mut noted = self.noted.borrow_mut();
        if !noted.iter().any(is_it) {
            let body = pieces.concat();
            let key_mark = self.key_mark.get();
            noted.push(Question { to, body, key_mark });
        }
        None
    }
}

impl Forward for Desk {
    fn epoch(&self) -> u64 {
        self.owners.epoch()
    }

    fn owner(&self, key: &[u8]) -> Option<Peer> {
        let owner = self.answered(key).or_else(|| match self.is_shut.get() {
            true => Some(Peer(u32::MAX)),
            false => self.owners.owner(key),
        });
        if owner.is_some() {
            self.key_mark.set(mark_of(key));
        }
        owner
    }

    fn owns_each(&self, keys: &[&[u8]]) -> bool {
        let may = !self.is_shut.get() && !self.has_answers();
        keys.is_empty() || may && self.owners.owns_each(keys)
    }

    fn owns_every(&self) -> bool {
        !self.is_shut.get() && !self.has_answers() && self.owners.owns_every()
    }

    fn takes_value(&self, bytes: usize) -> bool {
        !self.is_shut.get() && bytes as u64 <= FORWARDED_BYTES_MAX
    }

    fn refusal(&self) -> Failure {
        match self.refused() {
            Some(Err(failure)) => failure,
            _ => Failure::TooMuch,
        }
    }

    fn ask(&self, owner: Peer, request: &[u8]) -> Option<Answer> {
        self.put(To::Peer(owner, Kind::Request), &[request])
    }

    fn spread(&self, head: &[u8], value: &[u8]) -> Option<Answer> {
        self.put(To::Owners, &[head, value])
    }

    fn moves(&self) -> Option<&dyn Moves> {
        (!self.is_shut.get() && self.owners.moving.is_any()).then_some(self)
    }

    fn entry<'a>(&self, asker: Peer, item: &Listed<'a>) -> Option<Entry<'a>> {
        self.owners.entry(asker, item)
    }

    fn has_owned(&self, item: &Listed<'_>) -> bool {
        self.owners.has_owned(item)
    }

    fn was_owner(&self, key: &[u8]) -> bool {
        self.owners.was_owner(key)
    }

    fn is_placed(&self, key: &[u8], placed: Placed) -> bool {
        self.owners.is_placed(key, placed)
    }
}

/// What a session asks of other servers, where its requests come in messages: they are not passed
/// on, but may be for all owners of a key.
pub struct ForMessages<'a>(pub &'a Desk);

impl Forward for ForMessages<'_> {
    fn epoch(&self) -> u64 {
        self.0.owners.epoch()
    }

    fn owner(&self, key: &[u8]) -> Option<Peer> {
        self.0.owners.owner(key)
    }

    fn owns_each(&self, keys: &[&[u8]]) -> bool {
        self.0.owners.owns_each(keys)
    }

    fn owns_every(&self) -> bool {
        self.0.owners.owns_every()
    }

    fn takes_value(&self, bytes: usize) -> bool {
        self.0.owners.takes_value(bytes)
    }

    fn ask(&self, owner: Peer, request: &[u8]) -> Option<Answer> {
        self.0.owners.ask(owner, request)
    }

    fn spread(&self, head: &[u8], value: &[u8]) -> Option<Answer> {
        self.0.spread(head, value)
    }

    fn has_owned(&self, item: &Listed<'_>) -> bool {
        self.0.owners.has_owned(item)
    }

    fn was_owner(&self, key: &[u8]) -> bool {
        self.0.owners.was_owner(key)
    }

    fn is_placed(&self, key: &[u8], placed: Placed) -> bool {
        self.0.owners.is_placed(key, placed)
    }

    fn moves(&self) -> Option<&dyn Moves> {
        self.0.owners.moves()
    }
}

impl Moves for Desk {
    fn source(&self, key: &[u8]) -> Option<Source> {
        self.owners.moving.source(key)
    }

    fn fetch(&self, source: Source, key: &[u8]) -> Option<Answer> {
        let instance = source.instance;
        let body = Fetch { instance, key }.encode();
        self.put(To::Peer(source.peer, Kind::Fetch), &[&body])
    }

    fn settle(&self, key: &[u8]) {
        self.owners.moving.settle(key);
    }

    fn admit(&self, source: Source, key: &[u8], bytes: usize, store: &mut dyn FnMut() -> bool) {
        self.owners.moving.admit(source, key, bytes, store);
    }

    fn lose(&self, source: Source) {
        self.owners.moving.lose(source);
    }

    fn gives(&self, key: &[u8], to: Peer) -> bool {
        self.owners.moving.gives(key, to)
    }

    fn gives_any(&self, to: Peer) -> bool {
        self.owners.moving.gives_any(to)
    }

    fn note_given(&self, to: Peer, is_asked_for: bool, bytes: usize) {
        self.owners.moving.note_given(to, is_asked_for, bytes);
    }

    fn note_progress(&self, to: Peer, progress: Option<u32>) {
        self.owners.moving.note_progress(to, progress);
    }
}
