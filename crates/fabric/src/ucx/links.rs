//! The connections of a port.

use super::address;
use super::arrivals::Greeting;
use super::endpoint::{Endpoint, EndpointId};
use super::finished::Finished;
use super::process::Process;
use super::slots::Slots;
use super::worker::Worker;
use crate::error::Error;
use crate::port::Peer;

/// How far a connection is.
#[derive(Debug)]
pub(super) enum Stage {
    /// Its greeting has come by this endpoint, which is not ours yet, with an address that nobody
    /// has read.
    Greeted {
        endpoint: EndpointId,
        address: Vec<u8>,
    },
    /// Messages can be sent.
    Open(Endpoint),
    /// The peer is gone; its endpoint, if it ever had one, is still to be closed.
    Lost(Option<Endpoint>, Error),
    /// Closed, but UCX has not let go of everything.
    Closing(Error),
}

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    pub stage: Stage,
    pub session: u32,
    pub key: u64,
    /// The other end understands short messages.
    pub takes_short: bool,
    /// Messages that UCX holds on to.
    pub unsent: usize,
    /// Bodies that UCX is receiving.
    pub receiving: usize,
    /// The process at the other end, once its address has been read.
    pub process: Option<Process>,
    /// The turn in which that process was found to be gone.
    pub gone_since: Option<u32>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Links {
    slots: Slots<Link>,
}

impl Links {
    /// A new connection.
    pub fn add(&mut self, stage: Stage, process: Option<Process>) -> Peer {
        let link = Link {
            stage,
            session: 0,
            key: 0,
            takes_short: false,
            unsent: 0,
            receiving: 0,
            process,
            gone_since: None,
        };
        Peer(self.slots.insert(link))
    }

    /// Who has greeted by this endpoint.
    pub fn greeted(&mut self, greeting: Greeting) -> Peer {
        let Greeting {
            endpoint, address, ..
        } = greeting;
        let Some(peer) = self.find(endpoint) else {
            return self.add(Stage::Greeted { endpoint, address }, None);
        };
        if let Some(link) = self.get_mut(peer)
            && let Stage::Greeted { address: known, .. } = &mut link.stage
        {
            *known = address;
        }
        peer
    }

    pub fn get(&self, peer: Peer) -> Option<&Link> {
        self.slots.get(peer.0)
    }

    pub fn get_mut(&mut self, peer: Peer) -> Option<&mut Link> {
        self.slots.get_mut(peer.0)
    }

    pub fn remove(&mut self, peer: Peer) -> Option<Link> {
        self.slots.remove(peer.0)
    }

    /// Who is at the other end of an endpoint.
    pub fn find(&self, endpoint: EndpointId) -> Option<Peer> {
        let found = self
            .slots
            .iter()
            .find(|(_, link)| link.endpoint() == Some(endpoint));
        found.map(|(number, _)| Peer(number))
    }

    /// Everyone.
    pub fn peers(&self) -> Vec<Peer> {
        self.slots.iter().map(|(number, _)| Peer(number)).collect()
    }
}

impl Link {
    /// Whether messages can be sent.
    pub fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open(_))
    }

    /// Makes the connection over which a greeting came ours, if this is such a one.
    pub fn accept(&mut self, worker: &mut Worker, finished: &Finished) -> Result<(), Error> {
        if let Stage::Greeted { endpoint, address } = &self.stage {
            let address = address::decode(address)?;
            self.process = Some(address.process);
            let endpoint = Endpoint::accept(worker, finished, address.ucx, *endpoint)?;
            self.stage = Stage::Open(endpoint);
        }
        Ok(())
    }

    /// Where short messages go, if the other end understands them.
    #[inline]
    pub fn short_endpoint(&self) -> Option<&Endpoint> {
        match &self.stage {
            Stage::Open(endpoint) if self.takes_short => Some(endpoint),
            _ => None,
        }
    }

    /// Whether it has been closed.
    pub fn is_closed(&self) -> bool {
        matches!(self.stage, Stage::Closing(_))
    }

    /// Whether UCX has something of it.
    pub fn is_busy(&self) -> bool {
        self.unsent + self.receiving > 0
    }

    fn endpoint(&self) -> Option<EndpointId> {
        match &self.stage {
            Stage::Open(endpoint) | Stage::Lost(Some(endpoint), _) => Some(endpoint.id()),
            Stage::Greeted { endpoint, .. } => Some(*endpoint),
            Stage::Lost(None, _) | Stage::Closing(_) => None,
        }
    }

    /// What befalls operations with this peer now.
    pub fn error(&self) -> Error {
        match &self.stage {
            Stage::Lost(_, error) | Stage::Closing(error) => error.clone(),
            Stage::Greeted { .. } | Stage::Open(_) => Error::Cancelled,
        }
    }

    /// Marks an open connection as lost; whether it was open.
    pub fn lose(&mut self, error: Error) -> bool {
        let placeholder = Stage::Closing(Error::Cancelled);
        match std::mem::replace(&mut self.stage, placeholder) {
            Stage::Open(endpoint) => {
                self.stage = Stage::Lost(Some(endpoint), error);
                true
            }
            Stage::Greeted { .. } => {
                self.stage = Stage::Lost(None, error);
                true
            }
            stage => {
                self.stage = stage;
                false
            }
        }
    }
}
