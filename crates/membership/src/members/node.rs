//! One server's part: what it does about what it sees, one step at a time.

use super::absence::Absences;
use super::action::{Action, given_up};
use super::identity::{Identity, Timing};
use super::lives::{Known, Lives};
use super::offer::{Done, Offer};
use super::publication::Publication;
use super::succession::{Situation, founded, successor};
use super::view::View;
use farcache_cluster::map::{Epoch, Incarnation, InvalidMap, MapContent, Member, MemberState};
use farcache_cluster::{Address, ClusterMap};
use std::sync::Arc;
use std::time::Duration;

/// One server's part in the membership of its cluster.
#[derive(Debug)]
pub struct Node {
    identity: Identity,
    timing: Timing,
    /// The map in force here.
    held: Option<Arc<ClusterMap>>,
    lives: Lives,
    absences: Absences,
    is_leaving: bool,
    /// What this server has done about moves.
    done: Done,
    publication: Publication,
    /// Since when the store's map has been older than the one in force here.
    regressed_since: Option<Duration>,
}

impl Node {
    /// A server that starts, with the map that it had in force last.
    #[must_use]
    pub fn new(identity: Identity, timing: Timing, held: Option<Arc<ClusterMap>>) -> Self {
        Self {
            identity,
            timing,
            held,
            lives: Lives::default(),
            absences: Absences::default(),
            is_leaving: false,
            done: Done::default(),
            publication: Publication::default(),
            regressed_since: None,
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
        self.lives.settle(offer.life);
    }

    /// What to do next; `None` until something changes or [`wake_at`](Self::wake_at). `lease` is
    /// the server's, where it has one.
    pub fn step(&mut self, view: &View, lease: Option<i64>, now: Duration) -> Option<Action> {
        self.observe(view, now);
        if let Some(action) = self.adopt(view) {
            return Some(action);
        }
        if self.is_regressed(view) && !self.is_replaced() {
            return self.restore(view, now);
        }
        self.regressed_since = None;
        let lease = lease.filter(|_| !self.is_replaced())?;
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
        let publisher = self.publication.since();
        [
            self.regressed_since.map(|since| since + patience),
            publisher.map(|since| since + patience),
            publisher.and_then(|_| self.absences.next_end(grace)),
            self.publication.next(spacing),
        ]
        .into_iter()
        .flatten()
        .filter(|at| *at > now)
        .min()
    }

    /// Which life of the server this is, once that is settled.
    #[must_use]
    pub fn life(&self) -> Option<Incarnation> {
        self.lives.current()
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
        self.publication.since().is_some()
    }

    /// Whether another process has taken this server's address. It takes no part any more.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.lives.is_replaced()
    }

    /// Whether the server should have a lease. One that it has otherwise is to be ended, and with
    /// it that it publishes.
    #[must_use]
    pub fn wants_lease(&self) -> bool {
        !self.is_replaced()
    }

    /// Why the next map cannot be made, where this server publishes.
    #[must_use]
    pub fn problem(&self) -> Option<&InvalidMap> {
        self.publication.problem()
    }

    /// Whether the map in force lists this server in its present life, taking part.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        let listed = self.held.as_deref().and_then(|map| self.listed(map));
        listed.is_some_and(|member| {
            member.state != MemberState::Gone && Some(member.incarnation) == self.life()
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
        self.is_leaving && (self.is_replaced() || !self.is_listed() || is_last())
    }

    /// Learns from the view who is absent, who publishes and whether this server was replaced.
    fn observe(&mut self, view: &View, now: Duration) {
        if let Some(map) = view.readable_map() {
            self.absences.observe(map, view, now);
        }
        let session = &self.identity.session;
        let publisher = view.publisher.as_ref().map(|entry| &entry.value);
        self.publication.observe(publisher == Some(session), now);
        if let Some(own) = view.offers.get(&self.name()) {
            let is_own = own.value.session == *session;
            self.lives.observe(own.value.life, is_own);
        }
    }

    fn name(&self) -> String {
        self.identity.address.to_string()
    }

    fn listed<'m>(&self, map: &'m ClusterMap) -> Option<&'m Member> {
        listed(map, &self.identity.address)
    }

    fn held_epoch(&self) -> Epoch {
        self.held.as_ref().map_or(Epoch(0), |map| map.epoch())
    }

    fn adopt(&mut self, view: &View) -> Option<Action> {
        if self.is_listed() && self.lives.forgets_on_entry() {
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
        if !self.is_leaving {
            let address = &self.identity.address;
            let listed = self.held.as_deref().and_then(|map| listed(map, address));
            self.lives.end_if_given_up(listed);
        }
        if self.lives.forgets_before_offer() {
            return Some(Action::Forget);
        }
        let name = self.name();
        let present = view.offers.get(&name);
        if self.is_leaving && present.is_none() {
            return None;
        }
        let lives = view.lives.get(&name);
        let listed = self.held.as_deref().and_then(|map| self.listed(map));
        let life = self.lives.to_offer(Known {
            counted: lives.map(|entry| entry.value),
            offered: present.map(|entry| entry.value.life),
            listed: listed.map(|member| member.incarnation),
        });
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
        if self.lives.forgets_before_trying(life) {
            return Some(Action::Forget);
        }
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

    fn campaign(&self, view: &View) -> Option<Action> {
        let may = view.publisher.is_none() && !self.is_leaving;
        may.then_some(Action::Campaign)
    }

    fn publish(&mut self, view: &View, now: Duration) -> Option<Action> {
        let since = self.publication.may_publish(now, self.timing.spacing)?;
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
        let map = Arc::new(self.publication.publish(map, now)?);
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

/// The server with this address, as a map lists it.
fn listed<'m>(map: &'m ClusterMap, address: &Address) -> Option<&'m Member> {
    let servers = map.content().servers.iter();
    let named = servers.filter(|server| server.addresses[0] == *address);
    // Of several only one is not gone, or the latest counts.
    named.max_by_key(|server| (server.state != MemberState::Gone, server.id))
}
