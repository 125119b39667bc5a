//! What all threads know of the fabric.

use super::figures::Figures;
use super::name_of;
use crate::dial::CallPort;
use crate::mailbox::Mailbox;
use farcache_fabric::Error;
use farcache_fabric::grant::Network;
use slab::Slab;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// One worker's place in the fabric, as others see it.
pub struct Place {
    /// Where it is told of grants.
    pub mailbox: Arc<Mailbox>,
    /// What it counts.
    pub figures: Arc<Figures>,
    /// Sessions granted or open, to choose the worker with the fewest.
    pub sessions: AtomicUsize,
    /// Where clients find its port.
    address: Mutex<Vec<u8>>,
    /// Numbers of sessions in use.
    numbers: Mutex<Slab<()>>,
}

impl Place {
    /// A worker without sessions.
    pub fn new(address: Vec<u8>, mailbox: Arc<Mailbox>) -> Self {
        Place {
            address: Mutex::new(address),
            mailbox,
            figures: Arc::default(),
            sessions: AtomicUsize::new(0),
            numbers: Mutex::default(),
        }
    }

    /// Where clients find its port.
    pub fn address(&self) -> Vec<u8> {
        self.address.lock().expect("no panic while held").clone()
    }

    /// The port says where it is; that changes when a client's death has made it start anew.
    pub fn note_address(&self, address: &[u8]) {
        let mut known = self.address.lock().expect("no panic while held");
        if *known != address {
            tracing::warn!(
                "a client's death has blocked shared memory: a worker's fabric starts anew"
            );
            *known = address.to_vec();
        }
    }

    /// Takes a number for a session that is being granted.
    pub fn take_number(&self) -> u32 {
        self.sessions.fetch_add(1, Relaxed);
        self.numbers().insert(()) as u32
    }

    /// Gives the number of a session that has ended back.
    pub fn give_number(&self, number: u32) {
        self.numbers().remove(number as usize);
        self.sessions.fetch_sub(1, Relaxed);
    }

    fn numbers(&self) -> MutexGuard<'_, Slab<()>> {
        self.numbers.lock().expect("no panic while held")
    }
}

/// The fabric of a server.
pub struct Registry {
    /// What carries the messages.
    pub network: Network,
    /// Every worker's place.
    pub places: Vec<Place>,
    /// Sessions that there may be, granted or open.
    pub sessions_max: AtomicUsize,
    /// Sessions granted.
    pub grants: AtomicU64,
    /// Requests for a session that were refused: nothing in common, no trust, no room, or a session
    /// already.
    pub grants_refused: AtomicU64,
    lanes: Mutex<BTreeMap<String, u64>>,
    open_call_port: Option<OpenCallPort>,
}

/// Opens a port towards other servers.
pub type OpenCallPort = Box<dyn Fn() -> Result<Box<CallPort>, Error> + Send + Sync>;

impl Registry {
    /// A fabric over this network.
    pub fn new(network: Network, places: Vec<Place>, open: Option<OpenCallPort>) -> Self {
        Registry {
            network,
            places,
            sessions_max: AtomicUsize::new(usize::MAX),
            grants: AtomicU64::new(0),
            grants_refused: AtomicU64::new(0),
            lanes: Mutex::default(),
            open_call_port: open,
        }
    }

    /// A port towards other servers; none where they are not asked over this network.
    pub fn call_port(&self) -> Option<Result<Box<CallPort>, Error>> {
        self.open_call_port.as_ref().map(|open| open())
    }

    /// The network's name.
    pub fn name(&self) -> &'static str {
        name_of(self.network)
    }

    /// Whether there may be no further session.
    pub fn is_full(&self) -> bool {
        let sessions = self.places.iter().map(|place| place.sessions.load(Relaxed));
        sessions.sum::<usize>() >= self.sessions_max.load(Relaxed)
    }

    /// The worker with the fewest sessions.
    pub fn least_loaded(&self) -> &Place {
        self.places
            .iter()
            .min_by_key(|place| place.sessions.load(Relaxed))
            .expect("there is a worker")
    }

    /// A session uses these networks.
    pub fn use_lanes(&self, lanes: &str) {
        *self.lanes_map().entry(lanes.to_owned()).or_default() += 1;
    }

    /// A session has used them.
    pub fn leave_lanes(&self, lanes: &str) {
        let mut map = self.lanes_map();
        if let Some(sessions) = map.get_mut(lanes) {
            *sessions -= 1;
            if *sessions == 0 {
                map.remove(lanes);
            }
        }
    }

    /// The networks in use, for people, and how many sessions use each.
    pub fn lanes(&self) -> Vec<(String, u64)> {
        let map = self.lanes_map();
        map.iter()
            .map(|(lanes, sessions)| (lanes.clone(), *sessions))
            .collect()
    }

    fn lanes_map(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.lanes.lock().expect("no panic while held")
    }
}
