//! The network as a test sees it.

use super::faults::Rule;
use super::port::MemoryPort;
use super::wire::Wire;
use crate::port::{ReceiveBody, SendBody};
use std::sync::Arc;

/// Longest body that travels with its message unless set otherwise, in bytes; about where UCX
/// changes to a rendezvous.
const EAGER_BYTES_MAX: usize = 8 << 10;

/// How a port dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Its peers are told.
    Reported,
    /// Nobody is told, as when a process is killed that shares memory with its peers.
    Silent,
}

/// Ports of one process that reach each other. Clones are the same network.
#[derive(Clone, Debug, Default)]
pub struct Network {
    wire: Arc<Wire>,
    eager_bytes_max: Option<usize>,
}

impl Network {
    /// A network that works.
    pub fn new() -> Network {
        Network::default()
    }

    /// This network, in which ports made from now on through this value offer bodies of more
    /// than so many bytes instead of sending them along.
    pub fn with_eager_bytes_max(self, bytes: usize) -> Network {
        Network {
            eager_bytes_max: Some(bytes),
            ..self
        }
    }

    /// A new port.
    ///
    /// # Panics
    /// When the process may not open another descriptor.
    pub fn port<S: SendBody, R: ReceiveBody>(&self) -> MemoryPort<S, R> {
        let eager_bytes_max = self.eager_bytes_max.unwrap_or(EAGER_BYTES_MAX);
        MemoryPort::new(self.wire.clone(), eager_bytes_max)
    }

    /// Has something go wrong from now on. Earlier rules come first.
    pub fn inject(&self, rule: Rule) {
        self.wire.lock().rules.push(rule);
    }

    /// Nothing goes wrong any more; what is held stays held.
    pub fn heal(&self) {
        self.wire.lock().rules.clear();
    }

    /// Delivers all that was held, in order.
    pub fn release(&self) {
        self.wire.lock().release();
    }

    /// The port with this address is no more, as if its process had been killed: it does nothing
    /// from now on.
    pub fn kill(&self, address: &[u8], death: Death) {
        self.wire.lock().kill(address, death == Death::Reported);
    }

    /// The port with this address starts anew at another one with its next progress, as over shared
    /// memory when a death has blocked it: it loses everyone, and nobody else is told.
    pub fn renew(&self, address: &[u8]) {
        self.wire.lock().renew(address);
    }

    /// Delivers what no port would send: a message with these bytes where frame and head belong.
    pub fn deliver_raw(&self, address: &[u8], front: &[u8], body: &[u8]) {
        self.wire.lock().deliver_raw(address, front, body);
    }
}
