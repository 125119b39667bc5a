//! One server's part: what it does about what it sees, one step at a time.

use super::absence::Absences;
use super::offer::{Done, Offer};
use super::succession::{Situation, founded, successor};
use super::view::{Key, View};
use farcache_cluster::map::{
    Epoch, Incarnation, InvalidMap, MapContent, Member, MemberState, Name,
};
use farcache_cluster::{Address, ClusterMap};
use std::sync::Arc;
use std::time::Duration;

/// Which server this is, and how it wants to stand in the map.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The cluster that it belongs to.
    pub cluster: Name,
    /// Where others reach it. The map knows it again by this address.
    pub address: Address,
    /// The share of the keys that it wants, at least 1.
    pub weight: u32,
    /// What it may fail together with.
    pub zone: Option<Name>,
    /// A random word: which process this is.
    pub session: String,
    /// Whether keys that get other owners move there, in the maps that this server makes; otherwise
    /// new owners begin empty.
    pub moves_items: bool,
}

/// The times of a cluster, the same for all of its servers.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// For how long a server may be absent before it is gone.
    pub grace: Duration,
    /// For how long a server waits for others who may know better: before a publisher founds a
    /// cluster, and before a server that does not publish writes a lost map back.
    pub patience: Duration,
    /// The least time between two maps of one publisher, so that servers that come together make
    /// one map.
    pub spacing: Duration,
}

/// What a server does next. Those that write are conditional: where the store has changed
/// meanwhile, nothing is written, and the server looks again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put this map in force.
    Adopt(Arc<ClusterMap>),
    /// Drop all items: others owned the server's keys meanwhile.
    Forget,
    /// Write the offer under the server's lease, and its life under the key of its lives, if that
    /// key still has this revision (0: there is none).
    Offer {
        /// What to write.
        offer: Offer,
        /// The revision of the key of its lives.
        lives_revision: i64,
    },
    /// Become the publisher if there is none.
    Campaign,
    /// Write the map if its key still has this revision (0: there is none).
    Write {
        /// What to write.
        map: Arc<ClusterMap>,
        /// The revision of the map's key.
        map_revision: i64,
        /// Only as long as this server is the publisher.
        as_publisher: bool,
        /// Only as long as these keys have these revisions (0: there is none): what tells of the
        /// servers that are given up. A publisher that slept has not seen that they are back, or
        /// were back for a while.
        given_up: Vec<(Key, i64)>,
    },
}

/// One server's part in the membership of its cluster.
#[derive(Debug)]
pub struct Node {
    identity: Identity,
    timing: Timing,
    /// The map in force here.
    held: Option<Arc<ClusterMap>>,
    /// Which life this is, once that is settled.
    life: Option<Incarnation>,
    /// The latest life that was given up.
    given_up: Incarnation,
    /// The life that was offered last. Where the reply was lost, others may have known this server
    /// by it, and have given it up, before the next one is offered.
    tried: Option<Incarnation>,
    absences: Absences,
    is_leaving: bool,
    /// What this server has done about moves.
    done: Done,
    /// Another process has taken this server's address.
    is_replaced: bool,
    /// Items are to be dropped before the next offer.
    must_forget: bool,
    /// Items are to be dropped when a map lists this life, too: clients with older maps may have
    /// stored some in between.
    must_forget_on_entry: bool,
    /// Since when this server has seen itself as the publisher.
    publisher_since: Option<Duration>,
    /// Since when the store's map has been older than the one in force here.
    regressed_since: Option<Duration>,
    published_at: Option<Duration>,
    /// Why the next map cannot be made.
    problem: Option<InvalidMap>,
}

impl Node {
    /// A server that starts, with the map that it had in force last.
    #[must_use]
    pub fn new(identity: Identity, timing: Timing, held: Option<Arc<ClusterMap>>) -> Self {
        Self {
            identity,
            timing,
            held,
            life: None,
            given_up: Incarnation(0),
            tried: None,
            absences: Absences::default(),
            is_leaving: false,
            done: Done::default(),
            is_replaced: false,
            must_forget: false,
            must_forget_on_entry: false,
            publisher_since: None,
            regressed_since: None,
            published_at: None,
            problem: None,
        }
    }

    /// The server stops in order: it offers itself no more.
    pub fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// This is what the server has done about the moves of the map in force.
    pub fn note_done(&mut self, done: Done) {
        self.done = done;
    }

    /// The store was out of sight for so long that what has been seen of absences is too old, or it
    /// is not the store that it was.
    pub fn forget_absences(&mut self) {
        self.absences.clear();
    }

    /// The store has taken the offer.
    pub fn offered(&mut self, offer: &Offer) {
        self.life = Some(offer.life);
    }

    /// What to do next; `None` until something changes or [`wake_at`](Self::wake_at). `lease` is
    /// the server's, where it has one.
    pub fn step(&mut self, view: &View, lease: Option<i64>, now: Duration) -> Option<Action> {
        self.observe(view, now);
        if let Some(action) = self.adopt(view) {
            return Some(action);
        }
        if self.is_regressed(view) && !self.is_replaced {
            return self.restore(view, now);
        }
        self.regressed_since = None;
        let lease = lease.filter(|_| !self.is_replaced)?;
        let own = self.offer(view, lease);
        own.or_else(|| self.campaign(view))
            .or_else(|| self.publish(view, now))
    }

    /// When after `now` the next step is due although nothing has changed.
    #[must_use]
    pub fn wake_at(&self, now: Duration) -> Option<Duration> {
        let Timing {
            grace,
            patience,
            spacing,
        } = self.timing;
        let publisher = self.publisher_since;
        [
            self.regressed_since.map(|since| since + patience),
            publisher.map(|since| since + patience),
            publisher.and_then(|_| self.absences.next_end(grace)),
            publisher.and_then(|_| self.published_at.map(|at| at + spacing)),
        ]
        .into_iter()
        .flatten()
        .filter(|at| *at > now)
        .min()
    }

    /// Which life of the server this is, once that is settled.
    #[must_use]
    pub fn life(&self) -> Option<Incarnation> {
        self.life
    }

    /// The map in force here.
    #[must_use]
    pub fn held(&self) -> Option<&Arc<ClusterMap>> {
        self.held.as_ref()
    }

    /// Servers of the map without a lease.
    #[must_use]
    pub fn absences(&self) -> &Absences {
        &self.absences
    }

    /// Whether this server publishes the maps.
    #[must_use]
    pub fn is_publisher(&self) -> bool {
        self.publisher_since.is_some()
    }

    /// Whether another process has taken this server's address. It takes no part any more.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.is_replaced
    }

    /// Whether the server should have a lease. One that it has otherwise is to be ended, and with
    /// it that it publishes.
    #[must_use]
    pub fn wants_lease(&self) -> bool {
        !self.is_replaced
    }

    /// Why the next map cannot be made, where this server publishes.
    #[must_use]
    pub fn problem(&self) -> Option<&InvalidMap> {
        self.problem.as_ref()
    }

    /// Whether the map in force lists this server in its present life, taking part.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        let listed = self.held.as_deref().and_then(|map| self.listed(map));
        listed.is_some_and(|member| {
            member.state != MemberState::Gone && Some(member.incarnation) == self.life
        })
    }

    /// Whether a server that leaves has nothing to wait for any more.
    #[must_use]
    pub fn has_left(&self) -> bool {
        let is_last = || {
            let map = self.held.as_deref();
            let mut owners = map.into_iter().flat_map(|map| &map.content().servers);
            !owners.any(|server| {
                server.state.owns_keys() && server.addresses[0] != self.identity.address
            })
        };
        self.is_leaving && (self.is_replaced || !self.is_listed() || is_last())
    }

    /// Learns from the view who is absent, who publishes and whether this server was replaced.
    fn observe(&mut self, view: &View, now: Duration) {
        if let Some(map) = view.readable_map() {
            self.absences.observe(map, view, now);
        }
        let session = &self.identity.session;
        let publisher = view.publisher.as_ref().map(|entry| &entry.value);
        self.publisher_since = match publisher == Some(session) {
            true => self.publisher_since.or(Some(now)),
            false => None,
        };
        let Some(own) = view.offers.get(&self.name()) else {
            return;
        };
        let known = self.life.unwrap_or(self.given_up);
        if own.value.life <= known {
            return;
        }
        match own.value.session == *session {
            // The reply to the offer was lost.
            true => self.life = Some(own.value.life),
            // At first, whoever has the address is the one before.
            false => self.is_replaced |= known != Incarnation(0),
        }
    }

    fn name(&self) -> String {
        self.identity.address.to_string()
    }

    /// This server as a map lists it.
    fn listed<'m>(&self, map: &'m ClusterMap) -> Option<&'m Member> {
        let servers = map.content().servers.iter();
        let named = servers.filter(|server| server.addresses[0] == self.identity.address);
        // Of several only one is not gone, or the latest counts.
        named.max_by_key(|server| (server.state != MemberState::Gone, server.id))
    }

    fn held_epoch(&self) -> Epoch {
        self.held.as_ref().map_or(Epoch(0), |map| map.epoch())
    }

    fn adopt(&mut self, view: &View) -> Option<Action> {
        if self.must_forget_on_entry && self.is_listed() {
            self.must_forget_on_entry = false;
            return Some(Action::Forget);
        }
        let map = view.readable_map()?;
        if self.held.is_some() && map.epoch() <= self.held_epoch() {
            return None;
        }
        self.held = Some(Arc::clone(map));
        Some(Action::Adopt(Arc::clone(map)))
    }

    /// Whether the store has lost the map in force here: it was restored from an older copy, or
    /// made anew.
    fn is_regressed(&self, view: &View) -> bool {
        let Some(held) = &self.held else {
            return false;
        };
        match &view.map {
            None => true,
            Some(entry) => entry.value.as_ref().is_ok_and(|map| {
                map.epoch() < held.epoch() || map.epoch() == held.epoch() && map != held
            }),
        }
    }

    /// Writes the map in force back. Where another one has its epoch, that one is published again
    /// with the next epoch: both were in force, and neither may be taken for the other.
    fn restore(&mut self, view: &View, now: Duration) -> Option<Action> {
        let held = self.held.as_ref()?;
        let since = *self.regressed_since.get_or_insert(now);
        // All servers see it at once; one is enough.
        if !self.is_publisher() && now.saturating_sub(since) < self.timing.patience {
            return None;
        }
        let map = match view.readable_map() {
            Some(other) if other.epoch() == held.epoch() => {
                let mut content = other.content().clone();
                content.epoch = Epoch(content.epoch.0 + 1);
                Arc::new(ClusterMap::new(content).ok()?)
            }
            _ => Arc::clone(held),
        };
        Some(Action::Write {
            map,
            map_revision: view.map_revision(),
            as_publisher: false,
            given_up: Vec::new(),
        })
    }

    /// Offers this server, unless the store has its offer under its lease.
    fn offer(&mut self, view: &View, lease: i64) -> Option<Action> {
        self.end_life_that_was_given_up();
        if self.must_forget {
            self.must_forget = false;
            self.must_forget_on_entry = true;
            return Some(Action::Forget);
        }
        let name = self.name();
        let present = view.offers.get(&name);
        if self.is_leaving && present.is_none() {
            return None;
        }
        let lives = view.lives.get(&name);
        let life = self.life.unwrap_or_else(|| self.next_life(view));
        let is_there = present.is_some_and(|entry| {
            let offer = &entry.value;
            entry.lease == lease
                && offer.session == self.identity.session
                && (offer.life, offer.is_leaving) == (life, self.is_leaving)
                && (!self.tells_of_moves() || offer.done == self.done)
        });
        if is_there {
            return None;
        }
        if self.tried.is_some_and(|tried| tried < life) && !self.must_forget_on_entry {
            self.must_forget_on_entry = true;
            return Some(Action::Forget);
        }
        self.tried = Some(life);
        Some(Action::Offer {
            offer: Offer {
                session: self.identity.session.clone(),
                life,
                address: self.identity.address.clone(),
                weight: self.identity.weight,
                zone: self.identity.zone.clone(),
                held: self.held_epoch(),
                is_leaving: self.is_leaving,
                done: self.done.clone(),
            },
            lives_revision: lives.map_or(0, |entry| entry.revision),
        })
    }

    /// Whether somebody waits to hear what this server has done about moves.
    #[must_use]
    pub fn tells_of_moves(&self) -> bool {
        let moves = self.held.iter().flat_map(|map| &map.content().moves);
        let own = self.held.as_deref().and_then(|map| self.listed(map));
        let own = own.map(|member| member.id);
        moves
            .into_iter()
            .any(|it| Some(it.from) == own || Some(it.to) == own)
    }

    /// Others may own this server's keys if the map lists it as gone, or in a later life.
    fn end_life_that_was_given_up(&mut self) {
        let Some(life) = self.life.filter(|_| !self.is_leaving) else {
            return;
        };
        let listed = self.held.as_deref().and_then(|map| self.listed(map));
        let is_given_up = listed.is_some_and(|member| {
            let is_gone = member.state == MemberState::Gone;
            member.incarnation > life || member.incarnation == life && is_gone
        });
        if is_given_up {
            self.life = None;
            self.given_up = life;
            self.must_forget = true;
        }
    }

    /// A life later than any that is known of this server.
    fn next_life(&self, view: &View) -> Incarnation {
        let counted = view.lives.get(&self.name()).map(|entry| entry.value);
        let offered = view.offers.get(&self.name());
        let listed = self.held.as_deref().and_then(|map| self.listed(map));
        let latest = [
            counted,
            offered.map(|entry| entry.value.life.0),
            listed.map(|member| member.incarnation.0),
            Some(self.given_up.0),
        ];
        Incarnation(latest.into_iter().flatten().max().unwrap_or(0) + 1)
    }

    fn campaign(&self, view: &View) -> Option<Action> {
        let may = view.publisher.is_none() && !self.is_leaving;
        may.then_some(Action::Campaign)
    }

    fn publish(&mut self, view: &View, now: Duration) -> Option<Action> {
        let since = self.publisher_since?;
        let spaced = self.published_at.map(|at| at + self.timing.spacing);
        if spaced.is_some_and(|from| now < from) {
            return None;
        }
        let next = match &view.map {
            Some(entry) => {
                let situation = Situation {
                    view,
                    absences: &self.absences,
                    grace: self.timing.grace,
                    now,
                    moves_items: self.identity.moves_items,
                };
                successor(entry.value.as_ref().ok()?, situation)
            }
            None => self.found(view, now.saturating_sub(since)),
        };
        let map = next.and_then(|content| content.map(ClusterMap::new).transpose());
        self.problem = map.as_ref().err().cloned();
        let map = Arc::new(map.ok()??);
        self.published_at = Some(now);
        Some(Action::Write {
            given_up: given_up(view, &map),
            map,
            map_revision: view.map_revision(),
            as_publisher: true,
        })
    }

    /// The first map; or the first after all of the store was lost, where those who hold the last
    /// one get time to write it back.
    fn found(&self, view: &View, waited: Duration) -> Result<Option<MapContent>, InvalidMap> {
        let held = view.offers.values().map(|entry| entry.value.held);
        let held = held.max().unwrap_or_default();
        let patience = match held {
            Epoch(0) => self.timing.patience,
            _ => self.timing.grace.max(self.timing.patience),
        };
        if waited < patience {
            return Ok(None);
        }
        founded(self.identity.cluster.clone(), view, Epoch(held.0 + 1))
    }
}

/// What tells of the servers that take part no more with this map: the offer of one that leaves,
/// the lives of one that is absent, since each return writes them.
fn given_up(view: &View, map: &ClusterMap) -> Vec<(Key, i64)> {
    let before = view.readable_map();
    let is_news = |server: &&Member| {
        let was = before.and_then(|before| before.server(server.id));
        let took_part = was.is_some_and(|was| was.state != MemberState::Gone);
        took_part && server.state == MemberState::Gone
    };
    let servers = map.content().servers.iter().filter(is_news);
    servers
        .map(|server| {
            let name = server.addresses[0].to_string();
            let offer = view.offers.get(&name);
            let offer = offer.filter(|entry| entry.value.life >= server.incarnation);
            match (offer, view.lives.get(&name)) {
                (Some(offer), _) => (Key::Server(name), offer.revision),
                (None, lives) => (Key::Lives(name), lives.map_or(0, |entry| entry.revision)),
            }
        })
        .collect()
}
