//! What all threads know of the fabric.

use super::entrance::{Entrance, OpenPort, ServerPort};
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
    entrance: Mutex<Entrance>,
    /// Numbers of sessions in use.
    numbers: Mutex<Slab<()>>,
}

impl Place {
    /// A worker without sessions, whose port is opened when a client first asks for one.
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Place {
            entrance: Mutex::default(),
            mailbox,
            figures: Arc::default(),
            sessions: AtomicUsize::new(0),
            numbers: Mutex::default(),
        }
    }

    /// The port, for its worker, once it is open.
    pub fn take_port(&self) -> Option<Box<ServerPort>> {
        self.entrance().take_port()
    }

    /// The port says where it is; that changes when a client's death has made it start anew.
    pub fn note_address(&self, address: &[u8]) {
        self.entrance().note_address(address);
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

    fn entrance(&self) -> MutexGuard<'_, Entrance> {
        self.entrance.lock().expect("no panic while held")
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
    open_port: OpenPort,
    open_call_port: Option<OpenCallPort>,
}

/// Opens a port towards other servers.
pub type OpenCallPort = Box<dyn Fn() -> Result<Box<CallPort>, Error> + Send + Sync>;

impl Registry {
    /// A fabric over this network, with no port open yet.
    pub fn new(
        network: Network,
        places: Vec<Place>,
        open_port: OpenPort,
        open_call_port: Option<OpenCallPort>,
    ) -> Self {
        Registry {
            network,
            places,
            sessions_max: AtomicUsize::new(usize::MAX),
            grants: AtomicU64::new(0),
            grants_refused: AtomicU64::new(0),
            lanes: Mutex::default(),
            open_port,
            open_call_port,
        }
    }

    /// Opens the ports that are not open yet.
    ///
    /// # Errors
    /// Why one of them cannot be.
    pub fn open_all(&self) -> Result<(), Error> {
        let mut places = self.places.iter();
        places.try_for_each(|place| place.entrance().open(&self.open_port).map(drop))
    }

    /// Ports that are not open yet.
    pub fn unopened(&self) -> usize {
        let places = self.places.iter();
        places.filter(|place| !place.entrance().is_open()).count()
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

    /// The worker with the fewest sessions, and where clients find its port, which is opened if it
    /// is not yet; the next one where that cannot be.
    pub fn least_loaded(&self) -> Option<(&Place, Vec<u8>)> {
        let mut places: Vec<&Place> = self.places.iter().collect();
        places.sort_by_key(|place| place.sessions.load(Relaxed));
        let address = |place: &Place| place.entrance().open_if_due(&self.open_port);
        let mut open = places.into_iter();
        open.find_map(|place| Some((place, address(place)?)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_fabric::memory;

    /// Two workers, of whose ports the first `failing` cannot be opened.
    fn registry(failing: usize, opened: &Arc<AtomicUsize>) -> Registry {
        let (network, opened) = (memory::Network::new(), Arc::clone(opened));
        let open_port = move || {
            let port = network.port();
            match opened.fetch_add(1, Relaxed) < failing {
                true => Err(Error::Unavailable("no memory for a port".into())),
                false => Ok(Box::new(port) as Box<ServerPort>),
            }
        };
        let place = |_| Place::new(Arc::new(Mailbox::new().expect("a descriptor")));
        let places = (0..2).map(place).collect();
        Registry::new(Network::Memory, places, Box::new(open_port), None)
    }

    /// The number of the worker that the next client is sent to.
    fn next(registry: &Registry) -> Option<usize> {
        let (chosen, address) = registry.least_loaded()?;
        let mut places = registry.places.iter();
        let number = places.position(|place| std::ptr::eq(place, chosen));
        let port = chosen.take_port();
        assert!(port.is_none_or(|port| port.address() == address));
        number
    }

    #[test]
    fn a_port_is_opened_for_the_first_client_of_its_worker() {
        let opened = Arc::default();
        let registry = registry(0, &opened);
        assert_eq!((opened.load(Relaxed), registry.unopened()), (0, 2));
        assert_eq!((next(&registry), next(&registry)), (Some(0), Some(0)));
        assert_eq!((opened.load(Relaxed), registry.unopened()), (1, 1));
        registry.places[0].take_number();
        assert_eq!(next(&registry), Some(1));
        assert_eq!((opened.load(Relaxed), registry.unopened()), (2, 0));
        assert!(
            registry.places[1].take_port().is_none(),
            "it has been taken"
        );
    }

    #[test]
    fn all_ports_can_be_opened_at_once() {
        let opened = Arc::default();
        let all = registry(0, &opened);
        all.open_all().expect("memory for two");
        assert_eq!((opened.load(Relaxed), all.unopened()), (2, 0));
        assert!(registry(1, &Arc::default()).open_all().is_err());
    }

    #[test]
    fn where_a_port_cannot_be_opened_clients_go_to_others_and_no_attempt_follows_at_once() {
        let opened = Arc::default();
        let one = registry(1, &opened);
        assert_eq!((next(&one), next(&one)), (Some(1), Some(1)));
        assert_eq!(opened.load(Relaxed), 2);
        let opened = Arc::default();
        let none = registry(2, &opened);
        assert_eq!((next(&none), next(&none)), (None, None));
        assert_eq!(opened.load(Relaxed), 2, "each once");
    }
}
