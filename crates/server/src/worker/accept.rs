//! Accepting and closing: connections come from the mailbox and go back to nobody.

use super::Worker;
use super::connection::Connection;
use super::mailbox::Arrival;
use crate::connections::{ConnectionInfo, State};
use crate::net::transport::Transport;
use crate::session::Session;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Worker {
    /// Takes over what the accepting thread has delivered.
    pub(super) fn accept_arrivals(&mut self) {
        self.mailbox.waker.acknowledge();
        for arrival in self.mailbox.collect() {
            self.accept(arrival);
        }
    }

    fn accept(&mut self, arrival: Arrival) {
        let info = Arc::new(ConnectionInfo::new(
            arrival.socket.as_raw_fd(),
            arrival.peer,
            arrival.listener,
            State::Reading,
            self.resources.clock.now,
        ));
        let connection =
            Connection::new(Transport::Plain(arrival.socket), Session::default(), Arc::clone(&info));
        self.resources.counters.total_connections.bump();
        self.resources.shared.connections.add(info);
        let slot = self.connections.insert(Box::new(connection));
        let data = EventData::new_u64(slot as u64);
        let transport = &self.connections[slot].transport;
        if epoll::add(&self.epoll, transport, data, EventFlags::IN).is_err() {
            // The kernel is out of memory for it, or out of watches.
            self.close(slot);
        }
    }

    /// Closes a connection and gives back all that it held.
    pub(super) fn close(&mut self, slot: usize) {
        let connection = self.connections.remove(slot);
        let shared = &self.resources.shared;
        shared.connections.remove(&connection.info);
        self.resources.counters.closed_connections.bump();
        self.mailbox.connections.fetch_sub(1, Relaxed);
        drop(connection);
        self.admission.released();
    }
}
