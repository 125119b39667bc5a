//! The lease under which a server stands in etcd.

use super::session::{Failure, Session};
use super::settings::EtcdSettings;
use crate::since_boot;
use std::time::{Duration, Instant};

/// When etcd was asked for something, by both clocks.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub at: Instant,
    since_boot: Duration,
}

impl Asked {
    pub fn now() -> Asked {
        Asked {
            at: Instant::now(),
            since_boot: since_boot(),
        }
    }
}

/// A lease, or none yet.
pub(super) struct Lease {
    id: Option<i64>,
    ttl: Duration,
    /// For how long after it was asked nobody takes this server for dead.
    certain_for: Duration,
    /// When it was last asked for, or to be prolonged ([`since_boot`]).
    asked: Duration,
}

impl Lease {
    pub fn new(settings: &EtcdSettings) -> Lease {
        Lease {
            id: None,
            ttl: settings.ttl(),
            certain_for: settings.certain_for(),
            asked: Duration::ZERO,
        }
    }

    pub fn id(&self) -> Option<i64> {
        self.id
    }

    pub fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Makes it live on, if there is one; false where etcd has ended it.
    pub async fn prolong(&mut self, session: &mut Session) -> Result<bool, Failure> {
        if let Some(id) = self.id
            && !session.beat(id).await?
        {
            self.id = None;
            return Ok(false);
        }
        Ok(true)
    }

    /// Gets one where there is none.
    pub async fn get(&mut self, session: &mut Session) -> Result<(), Failure> {
        if self.id.is_none() {
            self.id = Some(session.grant().await?);
        }
        Ok(())
    }

    /// Gives it back.
    pub async fn end(&mut self, session: &mut Session) -> Result<(), Failure> {
        if let Some(id) = self.id.take() {
            session.revoke(id).await?;
        }
        Ok(())
    }

    /// It was asked for, or to be prolonged, then, and what etcd had at that time is known.
    pub fn note_asked(&mut self, asked: Asked) {
        self.asked = asked.since_boot;
    }

    /// Until when nobody else is given this server's keys ([`since_boot`]).
    pub fn certain_until(&self) -> Duration {
        self.asked + self.certain_for
    }
}
