//! What lies between the ports.

use super::faults::{Action, Rule, decide};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Length of an address in bytes.
const ADDRESS_BYTES: usize = 8;

/// One end of a connection: the connection's number, and which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct End {
    pub connection: u64,
    pub side: usize,
}

impl End {
    /// The other end.
    pub fn other(self) -> End {
        End {
            side: 1 - self.side,
            ..self
        }
    }
}

/// Counts one message for as long as it is on its way.
#[derive(Debug)]
pub(super) struct InFlight(Arc<AtomicUsize>);

impl InFlight {
    pub fn new(count: &Arc<AtomicUsize>) -> InFlight {
        count.fetch_add(1, Ordering::Relaxed);
        InFlight(count.clone())
    }
}

impl Clone for InFlight {
    fn clone(&self) -> Self {
        InFlight::new(&self.0)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body that is offered.
#[derive(Clone, Debug)]
pub(super) struct Rendezvous {
    /// Names it in the network.
    pub number: u64,
    /// Its sender's port.
    pub from: u64,
    /// Whether it does not move.
    pub is_held: Arc<AtomicBool>,
}

/// A message on its way.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// The end that it goes to; none for one that came from no port.
    pub to: Option<End>,
    /// Frame and head.
    pub front: Vec<u8>,
    pub body: Arc<[u8]>,
    /// Whether the body is offered.
    pub rendezvous: Option<Rendezvous>,
    /// Counted by the sender; a rendezvous is counted otherwise.
    #[expect(dead_code, reason = "it counts for as long as it lives")]
    pub in_flight: Option<InFlight>,
}

/// What a mailbox holds.
#[derive(Debug)]
pub(super) enum Delivery {
    Message(Message),
    /// The offered body of this number is done with.
    Taken(u64),
    /// The offered body of this number moves again.
    Released(u64),
    /// The other end of this one is gone.
    Lost(End),
    /// The port starts anew.
    Renewed,
}

#[derive(Debug)]
struct Mailbox {
    deliveries: VecDeque<Delivery>,
    is_armed: bool,
    wake: Arc<OwnedFd>,
}

/// Everything that ports share.
#[derive(Debug, Default)]
pub(super) struct Wire {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub rules: Vec<Rule>,
    mailboxes: BTreeMap<u64, Mailbox>,
    /// The ports at both ends of each connection.
    connections: HashMap<u64, [u64; 2]>,
    /// Messages held, and the ports that they go to.
    held: Vec<(u64, Message)>,
    /// Bodies held, and the ports that receive them.
    held_bodies: Vec<(u64, Rendezvous)>,
    last_number: u64,
}

impl Wire {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere is that test's failure; what lies here is whole between two calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A port's address.
pub(super) fn address(port: u64) -> [u8; ADDRESS_BYTES] {
    port.to_le_bytes()
}

fn port_at(address: &[u8]) -> Option<u64> {
    address.try_into().ok().map(u64::from_le_bytes)
}

impl State {
    /// A number that nothing else has.
    pub fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// A new port, and what becomes readable when it is to wake.
    pub fn add_port(&mut self) -> (u64, Arc<OwnedFd>) {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake = Arc::new(eventfd(0, flags).expect("a descriptor for an event"));
        let port = self.number();
        let mailbox = Mailbox {
            deliveries: VecDeque::new(),
            is_armed: false,
            wake: wake.clone(),
        };
        self.mailboxes.insert(port, mailbox);
        (port, wake)
    }

    /// Whether the port is neither dropped nor killed.
    pub fn is_alive(&self, port: u64) -> bool {
        self.mailboxes.contains_key(&port)
    }

    /// This end of a new connection, if there is a port at the address.
    pub fn connect(&mut self, from: u64, address: &[u8]) -> Option<End> {
        let to = port_at(address).filter(|port| self.is_alive(*port) && self.is_alive(from))?;
        let connection = self.number();
        self.connections.insert(connection, [from, to]);
        Some(End {
            connection,
            side: 0,
        })
    }

    /// Ends a connection: the other end is told, and what waits for this one is dropped.
    pub fn disconnect(&mut self, end: End) {
        let Some(ports) = self.connections.remove(&end.connection) else {
            return;
        };
        if let Some(mailbox) = self.mailboxes.get_mut(&ports[end.side]) {
            mailbox.deliveries.retain(|delivery| match delivery {
                Delivery::Message(message) => message.to != Some(end),
                _ => true,
            });
        }
        self.put(ports[end.other().side], Delivery::Lost(end.other()));
    }

    /// Sends a message, as far as the rules allow.
    pub fn send(&mut self, mut message: Message) {
        let Some(end) = message.to else { return };
        let Some(ports) = self.connections.get(&end.connection) else {
            return;
        };
        let (from, to) = (ports[end.other().side], ports[end.side]);
        if !self.is_alive(from) {
            return;
        }
        match decide(&mut self.rules, &address(from), &address(to)) {
            Some(Action::Drop) => return,
            Some(Action::Hold) => return self.held.push((to, message)),
            Some(Action::Fail) => return self.fail(end.connection),
            Some(Action::Duplicate) => self.put(to, Delivery::Message(message.clone())),
            Some(Action::TruncateBody(bytes)) => {
                let kept = bytes.min(message.body.len());
                message.body = message.body[..kept].into();
            }
            Some(Action::TruncateFront(bytes)) => message.front.truncate(bytes),
            Some(Action::HoldBody) => self.hold_body(to, &message),
            None => {}
        }
        self.put(to, Delivery::Message(message));
    }

    fn hold_body(&mut self, to: u64, message: &Message) {
        if let Some(rendezvous) = &message.rendezvous {
            rendezvous.is_held.store(true, Ordering::Relaxed);
            self.held_bodies.push((to, rendezvous.clone()));
        }
    }

    fn fail(&mut self, connection: u64) {
        if let Some(ports) = self.connections.remove(&connection) {
            for (side, port) in ports.into_iter().enumerate() {
                self.put(port, Delivery::Lost(End { connection, side }));
            }
        }
    }

    /// See [`super::Network::deliver_raw`].
    pub fn deliver_raw(&mut self, address: &[u8], front: &[u8], body: &[u8]) {
        let message = Message {
            to: None,
            front: front.to_vec(),
            body: body.into(),
            rendezvous: None,
            in_flight: None,
        };
        if let Some(to) = port_at(address) {
            self.put(to, Delivery::Message(message));
        }
    }

    /// See [`super::Network::release`].
    pub fn release(&mut self) {
        for (to, message) in std::mem::take(&mut self.held) {
            self.put(to, Delivery::Message(message));
        }
        for (to, rendezvous) in std::mem::take(&mut self.held_bodies) {
            rendezvous.is_held.store(false, Ordering::Relaxed);
            self.put(to, Delivery::Released(rendezvous.number));
        }
    }

    /// See [`super::Network::kill`].
    pub fn kill(&mut self, address: &[u8], is_reported: bool) {
        let Some(port) = port_at(address) else { return };
        if self.mailboxes.remove(&port).is_none() || !is_reported {
            return;
        }
        let mut ended: Vec<u64> = self.connections.iter().filter_map(has_end(port)).collect();
        ended.sort_unstable();
        for connection in ended {
            self.fail(connection);
        }
    }

    /// Gives a port another number; what has come to the old one is dropped.
    pub fn renumber(&mut self, port: u64) -> u64 {
        let number = self.number();
        if let Some(mut mailbox) = self.mailboxes.remove(&port) {
            mailbox.deliveries.clear();
            self.mailboxes.insert(number, mailbox);
        }
        number
    }

    /// See [`super::Network::renew`].
    pub fn renew(&mut self, address: &[u8]) {
        if let Some(port) = port_at(address) {
            self.put(port, Delivery::Renewed);
        }
    }

    /// Puts something into a port's mailbox, and wakes it where it sleeps.
    pub fn put(&mut self, port: u64, delivery: Delivery) {
        let Some(mailbox) = self.mailboxes.get_mut(&port) else {
            return;
        };
        mailbox.deliveries.push_back(delivery);
        if std::mem::take(&mut mailbox.is_armed) {
            rustix::io::write(&mailbox.wake, &1_u64.to_ne_bytes()).expect("an event is counted");
        }
    }

    /// All that has come for the port.
    pub fn take(&mut self, port: u64) -> VecDeque<Delivery> {
        let mailbox = self.mailboxes.get_mut(&port);
        mailbox.map_or_else(VecDeque::new, |mailbox| {
            std::mem::take(&mut mailbox.deliveries)
        })
    }

    /// Has the next delivery wake the port; not where there is one already.
    pub fn arm(&mut self, port: u64) -> bool {
        let Some(mailbox) = self.mailboxes.get_mut(&port) else {
            return true;
        };
        if !mailbox.deliveries.is_empty() {
            return false;
        }
        // An error means that there was no event to forget.
        let _ = rustix::io::read(&mailbox.wake, &mut [0; 8]);
        mailbox.is_armed = true;
        true
    }
}

fn has_end(port: u64) -> impl Fn((&u64, &[u64; 2])) -> Option<u64> {
    move |(connection, ports)| ports.contains(&port).then_some(*connection)
}
