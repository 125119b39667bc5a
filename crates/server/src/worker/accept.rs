//! Accepting and closing: connections come from the mailbox and go back to nobody.

use super::Worker;
use super::connection::Connection;
use crate::connections::{Address, ConnectionInfo, State};
use crate::mailbox::Arrival;
use crate::net::tls::Tls;
use crate::net::transport::Transport;
use farcache_session::Session;
use farcache_session::watch::EventKind;
use rustix::event::epoll::EventFlags;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

impl Worker {
    /// Takes over what the accepting thread has delivered.
    pub(super) fn accept_arrivals(&mut self) {
        for Arrival {
            socket,
            peer,
            listener,
            tls,
        } in self.mailbox.collect()
        {
            self.resources.counters.total_connections.bump();
            let fd = socket.as_raw_fd();
            match self.transport(socket, tls) {
                Ok(transport) => self.accept(fd, transport, peer, listener),
                Err(error) => {
                    let shared = &self.resources.shared;
                    let now_s = shared.seconds_now();
                    shared.refusals.handshake_failed(&peer, &error, now_s);
                    self.count_closed();
                }
            }
        }
    }

    fn transport(&self, socket: OwnedFd, encrypted: bool) -> io::Result<Transport> {
        let Some(tls) = self.resources.shared.tls.as_ref().filter(|_| encrypted) else {
            return Ok(Transport::Plain(socket));
        };
        Tls::accept(tls, socket).map(|stream| Transport::Tls(Box::new(stream)))
    }

    fn accept(&mut self, fd: i32, transport: Transport, peer: Address, listener: Arc<Address>) {
        let now = self.resources.clock.now;
        tracing::debug!(fd, %peer, "connection accepted");
        let info = Arc::new(ConnectionInfo::new(fd, peer, listener, State::Reading, now));
        self.publish("conn_new", &info, "");
        let session = Session::new(self.resources.shared.settings.protocol);
        let entry = self.connections.vacant_entry();
        let slot = entry.key();
        let connection = Connection::new(transport, session, Arc::clone(&info), slot);
        entry.insert(Box::new(connection));
        self.resources.shared.connections.add(info);
        let transport = &self.connections[slot].transport;
        let watched = self.poller.watch(slot as u64, transport, EventFlags::IN);
        if watched.is_err() {
            // The kernel is out of memory for it, or out of watches.
            self.close(slot);
        }
    }

    /// Closes a connection and gives back all that it held.
    pub(super) fn close(&mut self, slot: usize) {
        let mut connection = self.connections.remove(slot);
        tracing::debug!(fd = connection.info.fd, "connection closed");
        self.resources.shared.connections.remove(&connection.info);
        connection.transport.say_goodbye();
        self.stop_waiting(&connection);
        self.stop_queueing(&connection);
        self.stop_asking(&mut connection);
        self.stalls.forget(slot);
        if let Some(watcher) = connection.watcher.take() {
            self.resources.shared.watch.unsubscribe(&watcher);
            self.watching.retain(|other| *other != slot);
        }
        self.publish("conn_close", &connection.info, " reason=normal");
        drop(connection);
        self.count_closed();
    }

    /// Shows `watch connevents` what became of a connection.
    fn publish(&self, event: &str, info: &ConnectionInfo, reason: &str) {
        let watch = &self.resources.shared.watch;
        if !watch.watched().wants(EventKind::ConnEvents) {
            return;
        }
        let (ip, port, transport) = match &info.peer {
            Address::Tcp(peer) => (peer.ip().to_string(), peer.port(), "tcp"),
            Address::Udp(peer) => (peer.ip().to_string(), peer.port(), "udp"),
            Address::Unix(_) => ("unix".to_owned(), 0, "local"),
        };
        let fd = info.fd;
        watch.publish(
            EventKind::ConnEvents,
            format_args!(
                "type={event} rip={ip} rport={port} transport={transport}{reason} cfd={fd}"
            ),
        );
    }

    fn count_closed(&self) {
        self.resources.counters.closed_connections.bump();
        // Ordered before the look at the pause, as the acceptor pauses before it counts again.
        self.mailbox.connections.fetch_sub(1, SeqCst);
        self.admission.released();
    }
}
