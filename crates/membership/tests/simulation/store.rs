//! A store with leases, conditional writes and a feed of changes, as etcd is one.

use farcache_membership::members::{Key, Offer, View};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a key holds.
#[derive(Clone)]
struct Held {
    value: Vec<u8>,
    lease: i64,
    revision: i64,
}

/// One change: a key was written, or deleted.
#[derive(Clone)]
struct Change {
    revision: i64,
    key: Key,
    written: Option<(Vec<u8>, i64)>,
}

/// The store.
#[derive(Clone)]
pub struct Store {
    /// Grows when it is made anew or restored.
    pub generation: u64,
    pub is_up: bool,
    pub revision: i64,
    keys: BTreeMap<Key, Held>,
    /// When each lease ends.
    leases: BTreeMap<i64, Duration>,
    next_lease: i64,
    changes: Vec<Change>,
    /// When the offer of an address and life was there for the last time.
    last_seen: BTreeMap<(String, u64), Duration>,
    now: Duration,
    ttl: Duration,
}

impl Store {
    pub fn new(ttl: Duration) -> Self {
        Self {
            generation: 0,
            is_up: true,
            revision: 1,
            keys: BTreeMap::new(),
            leases: BTreeMap::new(),
            next_lease: 1,
            changes: Vec::new(),
            last_seen: BTreeMap::new(),
            now: Duration::ZERO,
            ttl,
        }
    }

    /// Ends leases.
    pub fn tick(&mut self, now: Duration) {
        self.now = now;
        if !self.is_up {
            return;
        }
        let ended: Vec<i64> = (self.leases.iter())
            .filter(|(_, end)| **end <= now)
            .map(|(lease, _)| *lease)
            .collect();
        ended.into_iter().for_each(|lease| self.revoke(lease));
    }

    /// Comes back after an outage: leases get their whole time again.
    pub fn come_up(&mut self, now: Duration) {
        self.is_up = true;
        let end = now + self.ttl;
        self.leases.values_mut().for_each(|it| *it = end);
    }

    /// Goes on from an older copy, or from nothing.
    pub fn restore(&mut self, copy: Option<&Store>, now: Duration) {
        let empty = Store::new(self.ttl);
        let copy = copy.unwrap_or(&empty);
        let names: Vec<Key> = self.keys.keys().cloned().collect();
        names.iter().for_each(|key| self.note_seen(key));
        *self = Store {
            generation: self.generation + 1,
            last_seen: std::mem::take(&mut self.last_seen),
            now,
            ..copy.clone()
        };
        self.come_up(now);
    }

    pub fn grant(&mut self, now: Duration) -> i64 {
        let lease = self.next_lease + 1000 * self.generation.cast_signed();
        self.next_lease += 1;
        self.leases.insert(lease, now + self.ttl);
        lease
    }

    /// False where the lease has ended.
    pub fn beat(&mut self, lease: i64, now: Duration) -> bool {
        let end = self.leases.get_mut(&lease);
        end.map(|end| *end = now + self.ttl).is_some()
    }

    pub fn revoke(&mut self, lease: i64) {
        self.leases.remove(&lease);
        let bound = self.keys.iter().filter(|(_, held)| held.lease == lease);
        let bound: Vec<Key> = bound.map(|(key, _)| key.clone()).collect();
        if !bound.is_empty() {
            self.revision += 1;
        }
        for key in bound {
            self.note_seen(&key);
            self.keys.remove(&key);
            let revision = self.revision;
            self.changes.push(Change {
                revision,
                key,
                written: None,
            });
        }
    }

    pub fn revision_of(&self, key: &Key) -> i64 {
        self.keys.get(key).map_or(0, |held| held.revision)
    }

    pub fn value(&self, key: &Key) -> Option<&[u8]> {
        self.keys.get(key).map(|held| held.value.as_slice())
    }

    /// Writes all of it at one revision. None where a lease has ended.
    pub fn write(&mut self, writes: &[(Key, String, i64)]) -> Option<i64> {
        let is_alive = |lease: i64| lease == 0 || self.leases.contains_key(&lease);
        if !writes.iter().all(|(_, _, lease)| is_alive(*lease)) {
            return None;
        }
        self.revision += 1;
        for (key, value, lease) in writes {
            let (value, revision) = (value.clone().into_bytes(), self.revision);
            self.note_seen(key);
            let held = Held {
                value: value.clone(),
                lease: *lease,
                revision,
            };
            self.keys.insert(key.clone(), held);
            self.changes.push(Change {
                revision,
                key: key.clone(),
                written: Some((value, *lease)),
            });
        }
        Some(self.revision)
    }

    /// What a key holds is about to be replaced or deleted.
    fn note_seen(&mut self, key: &Key) {
        let (Key::Server(name), Some(held)) = (key, self.keys.get(key)) else {
            return;
        };
        let offer = Offer::read(&held.value).expect("an offer");
        self.last_seen
            .insert((name.clone(), offer.life.0), self.now);
    }

    /// A server has left in order: it may be given up at once.
    pub fn note_left(&mut self, name: &str) {
        self.last_seen.retain(|(of, _), _| of != name);
    }

    /// When an offer of this address and of this life, or a later one, was there for the last time;
    /// none where its server has left.
    pub fn last_seen(&self, name: &str, life: u64) -> Option<Duration> {
        let lives = (name.to_owned(), life)..=(name.to_owned(), u64::MAX);
        self.last_seen.range(lives).map(|(_, at)| *at).max()
    }

    /// Puts all there is into the view; returns where the feed goes on.
    pub fn read_all(&self, view: &mut View) -> usize {
        view.clear();
        for (key, held) in &self.keys {
            view.put(key, &held.value, held.lease, held.revision);
        }
        view.complete(self.revision);
        self.changes.len()
    }

    /// Tells the view of the changes from `from` on, at most `most`; returns where it goes on.
    pub fn feed(&self, view: &mut View, from: usize, most: usize) -> usize {
        let to = self.changes.len().min(from + most);
        for change in &self.changes[from..to] {
            match &change.written {
                Some((value, lease)) => view.put(&change.key, value, *lease, change.revision),
                None => view.delete(&change.key, change.revision),
            }
        }
        to
    }
}
