//! What a worker's sessions see of the other servers: who owns a key, what was answered, and a
//! place to note what they ask for.

use crate::cluster::Place;
use crate::repair::owned::{self, Widest};
use farcache_cluster::map::Domain;
use farcache_cluster::{ClusterMap, ServerId};
use farcache_peers::listing::Entry;
use farcache_session::{FORWARDED_BYTES_MAX, Failure, Forward, Peer};
use farcache_store::Listed;
use std::cell::RefCell;
use std::sync::Arc;

/// A reply, or why there is none.
pub type Answer = Result<Vec<u8>, Failure>;

/// Who owns keys, for those whose requests are not passed on.
pub struct Owners {
    /// None before the map lists this server.
    me: Option<ServerId>,
    map: Arc<ClusterMap>,
    /// The keys that it owns.
    domain: Domain,
    widest: Widest,
}

impl Owners {
    fn new(place: &Place, map: Arc<ClusterMap>) -> Owners {
        let me = place.id(&map);
        Owners {
            domain: Domain::new(&map, me),
            me,
            map,
            widest: Widest::default(),
        }
    }
}

impl Forward for Owners {
    fn epoch(&self) -> u64 {
        self.map.epoch().0
    }

    fn owner(&self, key: &[u8]) -> Option<Peer> {
        if self.owns_every() {
            return None;
        }
        let owner = *self.map.locate(key, 1).first()?;
        (Some(owner) != self.me).then_some(Peer(owner.0))
    }

    fn owns_each(&self, keys: &[&[u8]]) -> bool {
        self.domain.has_each(keys)
    }

    fn owns_every(&self) -> bool {
        self.domain.is_all()
    }

    fn takes_value(&self, _bytes: usize) -> bool {
        false
    }

    fn ask(&self, _owner: Peer, _request: &[u8]) -> Option<Answer> {
        Some(Err(Failure::NotForwarded))
    }

    fn entry<'a>(&self, asker: Peer, item: &Listed<'a>) -> Option<Entry<'a>> {
        owned::entry(&self.map, ServerId(asker.0), item, &self.widest)
    }
}

/// The same for those whose requests are passed on.
pub struct Desk {
    /// Who owns keys.
    pub owners: Owners,
    place: Place,
    staged: RefCell<Vec<(Vec<u8>, Answer)>>,
    noted: RefCell<Vec<(Peer, Vec<u8>)>>,
}

impl Desk {
    /// That of the server at this place.
    pub fn new(place: Place, map: Arc<ClusterMap>) -> Desk {
        Desk {
            owners: Owners::new(&place, map),
            place,
            staged: RefCell::default(),
            noted: RefCell::default(),
        }
    }

    /// This server's name; none before the map lists it.
    pub fn me(&self) -> Option<ServerId> {
        self.owners.me
    }

    /// The map that counts.
    pub fn map(&self) -> Arc<ClusterMap> {
        Arc::clone(&self.owners.map)
    }

    /// Another map counts from now on.
    pub fn set_map(&mut self, map: Arc<ClusterMap>) {
        self.owners = Owners::new(&self.place, map);
    }

    /// Lets the session that runs next find these answers.
    pub fn stage(&mut self, answers: Vec<(Vec<u8>, Answer)>) {
        *self.staged.get_mut() = answers;
    }

    /// The answers that the session has not used.
    pub fn take_staged(&mut self) -> Vec<(Vec<u8>, Answer)> {
        std::mem::take(self.staged.get_mut())
    }

    /// What the session asks for.
    pub fn take_noted(&mut self) -> Vec<(Peer, Vec<u8>)> {
        std::mem::take(self.noted.get_mut())
    }
}

impl Forward for Desk {
    fn epoch(&self) -> u64 {
        self.owners.epoch()
    }

    fn owner(&self, key: &[u8]) -> Option<Peer> {
        self.owners.owner(key)
    }

    fn owns_each(&self, keys: &[&[u8]]) -> bool {
        self.owners.owns_each(keys)
    }

    fn owns_every(&self) -> bool {
        self.owners.owns_every()
    }

    fn takes_value(&self, bytes: usize) -> bool {
        bytes as u64 <= FORWARDED_BYTES_MAX
    }

    fn ask(&self, owner: Peer, request: &[u8]) -> Option<Answer> {
        let mut staged = self.staged.borrow_mut();
        if let Some(index) = staged.iter().position(|(asked, _)| asked == request) {
            return Some(staged.swap_remove(index).1);
        }
        let mut noted = self.noted.borrow_mut();
        if !noted.iter().any(|(_, asked)| asked == request) {
            noted.push((owner, request.to_vec()));
        }
        None
    }

    fn entry<'a>(&self, asker: Peer, item: &Listed<'a>) -> Option<Entry<'a>> {
        self.owners.entry(asker, item)
    }
}
