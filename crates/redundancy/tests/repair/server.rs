//! A server with the items of a few keys, as far as repair is concerned.

use farcache_redundancy::plan::repair::{HeldPart, PartInfo, Repair};
use farcache_redundancy::plan::{Part, Reply};
use farcache_redundancy::stored::Piece;
use farcache_redundancy::{Redundancy, Version};
use std::collections::BTreeMap;

/// Keys that there are.
pub const KEYS: usize = 3;

/// What is wrong with all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What a repair has made replaces whatever is there.
    StoresUnasked,
    /// Of all owners one is heard.
    AsksOneOnly,
    /// What a server has from before it was away is taken for right.
    TrustsOldContent,
    /// Servers count as caught up when they return.
    CatchesUpAtOnce,
    /// Whatever shard is wanted, the first is made.
    MakesShardZero,
    /// Nobody tells what it has forgotten.
    HorizonsAreNotTold,
}

/// What a server has of a key: a version of a part, or (none) a tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    pub version: Version,
    pub piece: Option<Piece>,
}

#[derive(Default)]
pub struct Server {
    pub is_alive: bool,
    pub is_catching_up: bool,
    /// Up to which version what it has is from before it was away.
    pub unconfirmed: Option<Version>,
    pub items: BTreeMap<usize, Item>,
    pub horizon: Option<Version>,
    /// Up to which version something was forgotten since the server began to catch up.
    pub forgotten: Option<Version>,
    pub newest: Option<Version>,
    /// Writers of versions up to this one had ended when it came back.
    pub ended_at_return: Option<Version>,
    pub repair: Option<Repair>,
    pub passes: u32,
    /// Whether the server has caught up when the pass has ended.
    pub pass_counts: bool,
}

impl Server {
    /// What others are told of what it has forgotten.
    pub fn told_horizon(&self, fault: Option<Fault>) -> Option<Version> {
        match fault {
            Some(Fault::HorizonsAreNotTold) => None,
            _ if self.is_catching_up => None,
            _ => self.horizon,
        }
    }

    pub fn is_unconfirmed(&self, version: Version) -> bool {
        self.is_catching_up && Some(version) <= self.unconfirmed
    }

    /// Stores what a client sends, if it is newer.
    pub fn accept(&mut self, key: usize, item: Item) -> Reply {
        let known = self.items.get(&key).copied();
        self.newest = self.newest.max(Some(item.version));
        match known {
            Some(known) if known == item => return Reply::Stored { was_present: false },
            Some(known) if known.version >= item.version => {
                let current = known.version;
                return Reply::Refused { current };
            }
            None if self.horizon >= Some(item.version) => {
                let current = self.horizon.expect("one that is newer");
                return Reply::Refused { current };
            }
            _ => {}
        }
        self.items.insert(key, item);
        let was_present = known.is_some_and(|known| known.piece.is_some());
        Reply::Stored { was_present }
    }

    /// Stores what a repair has made; `asked` is what had been forgotten before the others were
    /// asked. Whether it is there, or something newer.
    pub fn restore(
        &mut self,
        key: usize,
        item: Item,
        asked: Option<Version>,
        fault: Option<Fault>,
    ) -> bool {
        let horizon = match self.forgotten == asked {
            true => None,
            false => self.forgotten,
        };
        let is_newer = match self.items.get(&key) {
            Some(known) => known.version < item.version,
            None => horizon < Some(item.version),
        };
        if is_newer || fault == Some(Fault::StoresUnasked) {
            self.newest = self.newest.max(Some(item.version));
            self.items.insert(key, item);
        }
        self.items
            .get(&key)
            .is_some_and(|known| known.version >= item.version)
    }

    /// A tombstone goes that is older than this, and the horizon speaks for it.
    pub fn forget(&mut self, key: usize, before: Option<Version>) {
        let is_tombstone =
            |item: &Item| item.piece.is_none() && before.is_none_or(|before| item.version < before);
        if self.items.get(&key).is_some_and(is_tombstone) {
            let version = self.items.remove(&key).map(|item| item.version);
            self.horizon = self.horizon.max(version);
            self.forgotten = self.forgotten.max(version);
        }
    }

    /// What it has of a key, as other servers see it.
    pub fn held(&self, key: usize, redundancy: Redundancy) -> Option<HeldPart> {
        let item = self.items.get(&key)?;
        let part = item.piece.map(|piece| PartInfo {
            piece,
            owners: redundancy.owners() as u8,
            value_bytes: 100,
        });
        let version = item.version;
        Some(HeldPart { version, part })
    }

    /// Its process ends. With a device what it had then is there when it returns, but for what was
    /// not durable.
    pub fn crash(&mut self, keeps: impl Fn(usize) -> bool, has_device: bool) {
        if !has_device {
            *self = Server::default();
            return;
        }
        self.items
            .retain(|key, item| item.piece.is_some() && keeps(*key));
        self.horizon = self.newest;
        (self.is_alive, self.is_catching_up) = (false, false);
        (self.forgotten, self.repair) = (None, None);
    }

    pub fn restart(&mut self, ended: Version, fault: Option<Fault>) {
        self.is_alive = true;
        self.ended_at_return = Some(ended);
        self.is_catching_up = fault != Some(Fault::CatchesUpAtOnce);
        self.unconfirmed = self.newest;
        self.forgotten = None;
        self.passes = 0;
    }
}

/// What a server stores of a write.
pub fn item_of(redundancy: Redundancy, version: Version, part: Part) -> Item {
    let piece = match (part, redundancy) {
        (Part::Tombstone, _) => None,
        (Part::Shard(shard), Redundancy::Erasure(scheme)) => Some(Piece::Shard { scheme, shard }),
        (Part::Witness, _) => Some(Piece::Witness(redundancy.holders())),
        _ => Some(Piece::Copy(redundancy.holders())),
    };
    Item { version, piece }
}
