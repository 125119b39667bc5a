//! A connection's life: connecting, greeting, loss, rest, removal.

use super::server::{Identity, Link, Offered, Retired, Stage};
use super::settings::MESSAGE_BYTES_LEAST;
use super::{Action, Engine};
use crate::Error;
use crate::values::Place;
use farcache_fabric::{Error as FabricError, Peer};

/// Why a fabric that works is not used.
const SOCKETS_ARE_FASTER: &str = "UCX's tcp is all that leads there, and a socket is faster";

impl Engine {
    /// What the messages of the socket of this attempt are to carry.
    #[must_use]
    pub fn identity_of_line(server: usize, attempt: u64) -> Identity {
        Identity {
            session: server as u32,
            key: attempt,
        }
    }

    /// An attempt has succeeded: there is a socket, and a session over the fabric to greet, or the
    /// reason why there is none.
    /// Connections that nobody waits for any more are closed.
    pub fn connected(
        &mut self,
        server: usize,
        attempt: u64,
        line: Peer,
        offered: Result<Offered, Box<str>>,
        now_us: u64,
    ) {
        self.now_us = self.now_us.max(now_us);
        let is_awaited = matches!(
            self.servers[server].stage,
            Stage::Connecting { attempt: current } if current == attempt
        );
        if !is_awaited {
            self.close(Link::Tcp(line));
            if let Ok(offered) = offered {
                self.close(Link::Fabric(offered.peer));
            }
            return;
        }
        let to = &mut self.servers[server];
        to.line = Some((line, Self::identity_of_line(server, attempt)));
        to.heard_us = self.now_us;
        to.has_answered = false;
        match offered {
            Ok(offered) if offered.message_bytes_max >= MESSAGE_BYTES_LEAST => {
                let until_us = self.now_us.saturating_add(self.settings.greeting_us);
                to.stage = Stage::Greeting {
                    offered,
                    is_sent: false,
                    until_us,
                };
                self.count_fabric();
                self.list(server);
            }
            Ok(offered) => {
                self.close(Link::Fabric(offered.peer));
                self.without_fabric(server, "the server's messages are too small");
            }
            Err(reason) => self.without_fabric(server, &reason),
        }
    }

    /// An attempt has failed.
    pub fn connect_failed(&mut self, server: usize, attempt: u64, error: &Error, now_us: u64) {
        self.now_us = self.now_us.max(now_us);
        match self.servers[server].stage {
            Stage::Connecting { attempt: current } if current == attempt => {
                self.end_session(server, error);
            }
            _ => {}
        }
    }

    /// The fabric is open.
    pub(super) fn welcomed(&mut self, server: usize) {
        let to = &mut self.servers[server];
        if let Stage::Greeting { offered, .. } = to.stage {
            if offered.runs_on_sockets && !self.settings.demands_fabric {
                return self.retire(server, &offered);
            }
            to.credits = u32::from(offered.credits).max(1);
            to.heard_us = self.now_us;
            to.stage = Stage::Fabric { offered };
            to.failures = 0;
            self.list(server);
        }
    }

    /// Goes back to the socket from a session that has just been opened. Not before: UCX 1.13 ends
    /// a server whose peer leaves while TCP connects.
    fn retire(&mut self, server: usize, offered: &Offered) {
        self.servers[server].retired = Some(Retired::new(offered));
        self.without_fabric(server, SOCKETS_ARE_FASTER);
    }

    /// The fabric does not work out; the socket goes on if that is allowed.
    fn without_fabric(&mut self, server: usize, reason: &str) {
        if self.settings.demands_fabric {
            return self.end_session(server, &Error::FabricUnavailable(reason.into()));
        }
        let to = &mut self.servers[server];
        to.stage = Stage::Sockets;
        to.no_fabric = reason.into();
        to.credits = u32::MAX;
        to.failures = 0;
        self.on_sockets += 1;
        self.count_fabric();
        self.list(server);
    }

    /// Counts the servers from which something may come over the fabric.
    fn count_fabric(&mut self) {
        let servers = self.servers.iter();
        self.on_fabric = servers.filter(|server| server.holds_fabric()).count();
    }

    /// The server has ended the session over the fabric.
    pub(super) fn dismissed(&mut self, server: usize, reason: &str) {
        match self.servers[server].stage {
            Stage::Greeting { offered, .. } => {
                self.close(Link::Fabric(offered.peer));
                self.without_fabric(server, reason);
            }
            _ => self.end_session(server, &Error::ConnectionLost(reason.into())),
        }
    }

    /// A port has lost a connection.
    pub fn lost(&mut self, link: Link, error: &FabricError, now_us: u64) {
        self.now_us = self.now_us.max(now_us);
        let Some(server) = self.servers.iter().position(|server| server.has(link)) else {
            return self.lost_retired(link);
        };
        match (link, self.servers[server].stage) {
            (Link::Fabric(_), Stage::Greeting { .. }) => {
                self.dismissed(server, &error.to_string());
            }
            (Link::Tcp(_), Stage::Greeting { .. }) if self.servers[server].failures == 0 => {
                self.ask_anew(server);
            }
            _ => {
                let error = match error {
                    FabricError::Malformed(rule) => Error::Protocol(rule),
                    error => Error::ConnectionLost(error.to_string().into()),
                };
                self.end_session(server, &error);
            }
        }
    }

    /// Connects once more to a server that has ended the connection before it let this client in:
    /// its fabric starts anew, as another client's death has blocked it. The operations that wait
    /// for it have not been sent.
    fn ask_anew(&mut self, server: usize) {
        self.disconnect(server);
        self.servers[server].failures = 1;
        let approached = self.approach(server);
        debug_assert!(approached.is_ok(), "it does not rest");
    }

    /// A connection is gone that no operation goes over, such as that of a session that was given
    /// up: until then the network is moved, as both ends may still be setting it up.
    fn lost_retired(&mut self, link: Link) {
        for server in &mut self.servers {
            let retired = &mut server.retired;
            retired.take_if(|retired| Link::Fabric(retired.peer) == link);
        }
        self.close(link);
        self.count_fabric();
    }

    /// The greeting has taken too long.
    pub(super) fn greeting_expired(&mut self, server: usize) {
        self.dismissed(server, "no welcome in time");
    }

    fn close(&mut self, link: Link) {
        self.actions.push_back(Action::Close(link));
    }

    /// Ends whatever there is with a server: every operation there fails, and it is left alone for
    /// a while if it has not answered at all.
    pub(super) fn end_session(&mut self, server: usize, error: &Error) {
        self.disconnect(server);
        self.fail_all(server, error);
        self.question.is_urgent = true;
        let from = &mut self.servers[server];
        if from.has_answered {
            from.has_answered = false;
            from.failures = 0;
            from.stage = Stage::Idle;
            return;
        }
        from.failures = from.failures.saturating_add(1);
        let until_us = self.now_us.saturating_add(from.rest_us(&self.settings));
        from.stage = Stage::Resting { until_us };
        let limit = self.settings.remove_after_failures;
        if limit.is_some_and(|limit| from.failures >= limit) {
            self.remove(server);
        }
    }

    fn disconnect(&mut self, server: usize) {
        let from = &mut self.servers[server];
        if matches!(from.stage, Stage::Sockets) {
            self.on_sockets -= 1;
        }
        let fabric = match from.link() {
            Some(link @ Link::Fabric(_)) => Some(link),
            _ => None,
        };
        let retired = from.retired.take();
        let retired = retired.map(|retired| Link::Fabric(retired.peer));
        let line = from.line.take().map(|(peer, _)| Link::Tcp(peer));
        from.stage = Stage::Idle;
        from.credits = 0;
        for link in [fabric, retired, line].into_iter().flatten() {
            self.close(link);
        }
        self.count_fabric();
    }

    /// Fails everything that a server was asked. What the network holds of it comes back later.
    fn fail_all(&mut self, server: usize, error: &Error) {
        let unsent: Vec<_> = self.servers[server].outgoing.abandon().collect();
        for index in 0..self.slots.len() {
            let slot = self.slots.at(index);
            if slot.server != server || !slot.answer_due {
                continue;
            }
            slot.outcome.get_or_insert_with(|| Err(error.clone()));
            self.slots.answered(index);
            self.slots.settle(index);
        }
        for (tag, body) in unsent {
            self.sent(tag, body, Err(FabricError::Cancelled));
        }
        for index in 0..self.batches.len() {
            self.fail_batch(index, server, error);
        }
        let from = &mut self.servers[server];
        self.outstanding -= from.outstanding;
        from.outstanding = 0;
    }

    fn fail_batch(&mut self, index: usize, server: usize, error: &Error) {
        let batch = self.batches.at(index);
        if batch.missing == 0 {
            return;
        }
        let mut failed = 0;
        for key in 0..batch.values.entries.len() {
            let entry = &batch.values.entries[key];
            if entry.place == Place::Awaited && entry.server as usize == server {
                batch.values.fail(key, error.clone());
                failed += 1;
            }
        }
        if failed > 0 {
            self.batches.known(index, failed);
        }
    }

    /// Gives a server's keys to the others for a while.
    fn remove(&mut self, server: usize) {
        let until_us = self.now_us.saturating_add(self.settings.removed_us);
        self.servers[server].removed_until_us = Some(until_us);
        self.servers[server].stage = Stage::Resting { until_us };
        self.place_keys();
    }

    /// Gives servers their keys back whose time is up; the next failure removes them again.
    pub(super) fn restore_removed(&mut self) {
        let mut restored = false;
        for server in &mut self.servers {
            if server
                .removed_until_us
                .is_some_and(|until| until <= self.now_us)
            {
                server.removed_until_us = None;
                restored = true;
            }
        }
        if restored {
            self.place_keys();
        }
    }

    fn place_keys(&mut self) {
        let servers = &self.servers;
        let is_up = |index: usize| servers[index].removed_until_us.is_none();
        self.routing.rebuild(is_up);
    }
}
