//! Connections that have been made, or not.

use super::{Driver, watch};
use crate::connect::{ClientPort, Connected, Target};
use crate::engine::{Engine, Offered};
use crate::{ConnectError, ConnectStage, Error};
use farcache_fabric::{Grant, Port};
use std::sync::Arc;

/// How an attempt ended.
pub(super) struct Arrival {
    server: usize,
    attempt: u64,
    outcome: Result<Connected, Error>,
}

impl Driver {
    /// Begins an attempt.
    pub(super) fn connect(&mut self, server: usize, attempt: u64, now_us: u64) {
        let sender = self.arrivals.0.clone();
        let bell = Arc::clone(&self.bell);
        let known_edition = self.engine.routing().edition();
        let target = self.target(server);
        let started = self
            .connector
            .start((&target, known_edition), move |outcome| {
                let arrival = Arrival {
                    server,
                    attempt,
                    outcome,
                };
                // Where the client is gone, the connection goes too.
                if sender.send(arrival).is_ok() {
                    bell.ring();
                }
            });
        match started {
            Ok(()) => self.connecting += 1,
            Err(error) => {
                let why = format!("no thread to connect: {error}");
                let error = Error::Connect(ConnectError::new(ConnectStage::Refused, why));
                self.engine.connect_failed(server, attempt, &error, now_us);
            }
        }
    }

    /// A server of the engine's, to be connected to.
    fn target(&mut self, server: usize) -> Arc<Target> {
        let new = self.engine.routing().servers().iter();
        let new = new.skip(self.targets.len()).cloned();
        self.targets
            .extend(new.map(|server| Arc::new(Target::new(server))));
        Arc::clone(&self.targets[server])
    }

    /// Takes in what has arrived.
    pub(super) fn arrive(&mut self, now_us: u64) -> bool {
        let mut happened = false;
        while let Ok(arrival) = self.arrivals.1.try_recv() {
            self.connecting -= 1;
            self.take_in(arrival, now_us);
            happened = true;
        }
        happened
    }

    fn take_in(&mut self, arrival: Arrival, now_us: u64) {
        let Arrival {
            server,
            attempt,
            outcome,
        } = arrival;
        if let Err(error) = outcome.and_then(|made| self.adopt(server, attempt, made, now_us)) {
            self.engine.connect_failed(server, attempt, &error, now_us);
        }
    }

    fn adopt(
        &mut self,
        server: usize,
        attempt: u64,
        made: Connected,
        now_us: u64,
    ) -> Result<(), Error> {
        let system =
            |error: std::io::Error| Error::Connect(ConnectError::of(ConnectStage::Ended, &error));
        if let Some(map) = made.map {
            self.engine.follow(map);
        }
        let mut grant = made.grant;
        if grant.is_ok()
            && self.fabric.is_none()
            && let Some(port) = self.connector.take_port()
            && let Err(error) = self.open(port)
        {
            grant = Err(error.to_string().into());
        }
        let line = self.tcp.adopt(made.stream).map_err(system)?;
        let identity = Engine::identity_of_line(server, attempt);
        self.tcp.bind(line, identity.session, identity.key);
        let offered = grant.and_then(|grant| self.reach(&grant));
        self.engine
            .connected(server, attempt, line, offered, now_us);
        Ok(())
    }

    /// Takes the client's end of the fabric.
    fn open(&mut self, mut port: ClientPort) -> std::io::Result<()> {
        if let Some(descriptor) = port.descriptor() {
            watch(&self.events, &descriptor)?;
        }
        for memory in &self.lent {
            // Where it cannot be registered at once, it is piece by piece as values are sent.
            let _ = port.register(memory);
        }
        self.fabric = Some(port);
        Ok(())
    }

    /// Begins the way to a server's port.
    fn reach(&mut self, grant: &Grant) -> Result<Offered, Box<str>> {
        let port = self.fabric.as_mut().ok_or("it did not open")?;
        let peer = port
            .connect(&grant.address)
            .map_err(|error| error.to_string())?;
        port.bind(peer, grant.session, grant.key);
        Ok(Offered {
            peer,
            identity: crate::engine::Identity {
                session: grant.session,
                key: grant.key,
            },
            token: grant.token,
            credits: grant.credits,
            message_bytes_max: grant.message_bytes_max,
            runs_on_sockets: port.runs_on_sockets(peer),
        })
    }
}
