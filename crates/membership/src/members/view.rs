//! What the shared store holds, as far as this server has seen it.

use super::offer::Offer;
use farcache_cluster::ClusterMap;
use farcache_cluster::map::Name;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A key of the store, below the prefix of its cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `map`: the text of the map.
    Map,
    /// `publisher`: the session of the server that publishes.
    Publisher,
    /// `servers/ADDRESS`: the [`Offer`] of a server.
    Server(String),
    /// `lives/ADDRESS`: how many lives a server has had.
    Lives(String),
}

impl Key {
    /// The key with this name; none where it is not one of ours.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name.split_once('/') {
            None if name == "map" => Some(Self::Map),
            None if name == "publisher" => Some(Self::Publisher),
            Some(("servers", address)) => Some(Self::Server(address.to_owned())),
            Some(("lives", address)) => Some(Self::Lives(address.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Map => formatter.write_str("map"),
            Key::Publisher => formatter.write_str("publisher"),
            Key::Server(address) => write!(formatter, "servers/{address}"),
            Key::Lives(address) => write!(formatter, "lives/{address}"),
        }
    }
}

/// A value of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<T> {
    /// What it says.
    pub value: T,
    /// The lease that it lives by; 0 is none.
    pub lease: i64,
    /// The store's revision at which it was written.
    pub revision: i64,
}

/// What the store holds for one cluster.
#[derive(Clone, Debug)]
pub struct View {
    cluster: Name,
    /// The map, or what is wrong with the text that stands in its place.
    pub map: Option<Entry<Result<Arc<ClusterMap>, String>>>,
    /// The session of the server that publishes.
    pub publisher: Option<Entry<String>>,
    /// What running servers say, by their first addresses.
    pub offers: BTreeMap<String, Entry<Offer>>,
    /// How many lives servers have had, by their first addresses.
    pub lives: BTreeMap<String, Entry<u64>>,
    /// News up to this revision are old: all keys were read at it.
    read_at: i64,
}

impl View {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(cluster: Name) -> Self {
        Self {
            cluster,
            map: None,
            publisher: None,
            offers: BTreeMap::new(),
            lives: BTreeMap::new(),
            read_at: 0,
        }
    }

    /// Nothing is known any more.
    pub fn clear(&mut self) {
        *self = Self::new(self.cluster.clone());
    }

    /// All that the store held at this revision has been put.
    pub fn complete(&mut self, revision: i64) {
        self.read_at = revision;
    }

    /// A key was written. News that are older than what is known change nothing. An offer that
    /// cannot be read counts as none.
    pub fn put(&mut self, key: &Key, value: &[u8], lease: i64, revision: i64) {
        if self.is_known(key, revision) {
            return;
        }
        match key {
            Key::Map => {
                let value = self.read_map(value);
                self.map = Some(entry(value, lease, revision));
            }
            Key::Publisher => {
                let session = String::from_utf8_lossy(value).into_owned();
                self.publisher = Some(entry(session, lease, revision));
            }
            Key::Server(address) => match Offer::read(value) {
                Ok(offer) if offer.address.to_string() == *address => {
                    let entry = entry(offer, lease, revision);
                    self.offers.insert(address.clone(), entry);
                }
                _ => {
                    self.offers.remove(address);
                }
            },
            Key::Lives(address) => {
                let number = std::str::from_utf8(value).ok();
                let number = number.and_then(|text| text.parse().ok()).unwrap_or(0);
                let entry = entry(number, lease, revision);
                self.lives.insert(address.clone(), entry);
            }
        }
    }

    /// A key was deleted, or its lease has ended.
    pub fn delete(&mut self, key: &Key, revision: i64) {
        if self.is_known(key, revision) {
            return;
        }
        match key {
            Key::Map => self.map = None,
            Key::Publisher => self.publisher = None,
            Key::Server(address) => drop(self.offers.remove(address)),
            Key::Lives(address) => drop(self.lives.remove(address)),
        }
    }

    /// The map that can be read, where there is one.
    #[must_use]
    pub fn readable_map(&self) -> Option<&Arc<ClusterMap>> {
        self.map.as_ref()?.value.as_ref().ok()
    }

    /// The revision of the map's key; 0 where there is none.
    #[must_use]
    pub fn map_revision(&self) -> i64 {
        self.map.as_ref().map_or(0, |entry| entry.revision)
    }

    fn read_map(&self, text: &[u8]) -> Result<Arc<ClusterMap>, String> {
        let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
        let map: ClusterMap = text.parse().map_err(|error| format!("{error}"))?;
        let cluster = &map.content().cluster;
        if *cluster != self.cluster {
            return Err(format!("it is the map of cluster {cluster}"));
        }
        Ok(Arc::new(map))
    }

    /// Whether what happened to the key at this revision is no news.
    fn is_known(&self, key: &Key, revision: i64) -> bool {
        let known = self.revision_of(key).unwrap_or(0);
        revision <= known.max(self.read_at)
    }

    fn revision_of(&self, key: &Key) -> Option<i64> {
        match key {
            Key::Map => self.map.as_ref().map(|entry| entry.revision),
            Key::Publisher => self.publisher.as_ref().map(|entry| entry.revision),
            Key::Server(address) => self.offers.get(address).map(|entry| entry.revision),
            Key::Lives(address) => self.lives.get(address).map(|entry| entry.revision),
        }
    }
}

fn entry<T>(value: T, lease: i64, revision: i64) -> Entry<T> {
    Entry {
        value,
        lease,
        revision,
    }
}
