//! How far a server can be relied on: libmemcached's count of failures, its time-outs for retries,
//! and its removal of servers.
//!
//! Only a server that cannot be connected to is counted and left alone. One that answers too late,
//! or whose connection ends, is tried again at once.

use crate::connection::{code_of, is_about_connecting};
use crate::context::Context;
use crate::server::now_s;
use farcache_client::Error;
use farcache_libmemcached_abi::{Return, flags};

/// What is remembered of a server's failures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    /// It has answered since it was last connected to.
    pub(crate) is_connected: bool,
    /// It could not be connected to the last time.
    pub(crate) is_unreachable: bool,
    /// It is left alone until its `next_retry`.
    is_resting: bool,
    /// Its rest is over, and it has not answered since.
    pub(crate) is_on_trial: bool,
    /// Rests in a row, each counted once in a query.
    failures: Counter,
    /// Attempts since the last rest, each counted once in a query.
    attempts: Counter,
}

/// Counts no more than one in a query.
#[derive(Clone, Debug, Default)]
struct Counter {
    count: u32,
    query: u64,
}

impl Counter {
    fn count_in(&mut self, query: u64) {
        if self.query != query {
            self.query = query;
            self.count += 1;
        }
    }
}

impl Context<'_> {
    /// Whether a server is used at all now. Fails where it is left alone, or has failed so often
    /// that it is removed.
    pub(crate) fn admit(&mut self, server: usize) -> Result<(), Return> {
        if self.state.servers[server].health.is_connected {
            return Ok(());
        }
        self.admit_again(server)
    }

    #[cold]
    fn admit_again(&mut self, server: usize) -> Result<(), Return> {
        let now = now_s();
        let limit = self.handle.server_failure_limit;
        let is_removing = self.handle.has(flags::AUTO_EJECT_HOSTS);
        let asked = &mut self.state.servers[server];
        let health = &mut asked.health;
        if health.failures.count >= limit {
            if is_removing {
                return Err(self.remove_dead(server, now));
            }
            health.is_resting = true;
            if asked.next_retry.get() == 0 {
                asked.next_retry.set(1);
            }
        }
        health.is_on_trial = health.is_resting;
        if health.is_resting && asked.next_retry.get() >= now {
            self.lost(server);
            return Err(self.fail_at(server, Return::SERVER_TEMPORARILY_DISABLED, ""));
        }
        if health.is_on_trial {
            health.is_resting = false;
            health.attempts.count = 0;
        }
        Ok(())
    }

    /// Whether a server may be asked, where the application is not told if it may not, as of
    /// copies.
    pub(crate) fn is_admitted_unseen(&mut self, server: usize) -> bool {
        let known = self.state.errors.len();
        let is_admitted = self.admit(server).is_ok();
        self.state.errors.truncate(known);
        is_admitted
    }

    /// Gives the keys of a server to the others that has failed too often.
    fn remove_dead(&mut self, server: usize, now: libc::time_t) -> Return {
        self.lost(server);
        let dead_s = self.handle.dead_timeout;
        let limit = self.handle.server_failure_limit;
        if dead_s > 0 {
            let dead = &mut self.state.servers[server];
            dead.next_retry.set(now + libc::time_t::from(dead_s));
            // One more failure after that, and it is dead again.
            dead.health.failures.count = limit - 1;
        }
        if crate::placement::is_consistent(self.handle.distribution) {
            self.make_ring();
        }
        self.fail_at(server, Return::SERVER_MARKED_DEAD, "")
    }

    /// A server has answered.
    pub(crate) fn answered(&mut self, server: usize) {
        let answering = &mut self.state.servers[server];
        if !answering.health.is_connected {
            answering.health = Health {
                is_connected: true,
                ..Health::default()
            };
            answering.next_retry.set(0);
        }
    }

    /// Counts and remembers a server's failure; returns its code.
    pub(crate) fn server_failed(&mut self, server: usize, error: &Error) -> Return {
        self.count_failure(server, error);
        let (errno, what) = match error {
            Error::Connect(why) => (why.errno.unwrap_or(0), why.to_string()),
            error => (0, error.to_string()),
        };
        let what = if errno == 0 { &*what } else { "" };
        let code = self.fail_with_at(server, code_of(error), errno, what);
        match self.state.servers[server].health.is_on_trial && is_about_connecting(error) {
            true => self.fail_at(server, Return::SERVER_TEMPORARILY_DISABLED, ""),
            false => code,
        }
    }

    /// Counts a server's failure, of which the application is not told.
    pub(crate) fn count_failure(&mut self, server: usize, error: &Error) {
        if !is_about_connecting(error) {
            // It took the connection, and the next operation makes another.
            self.answered(server);
            self.state.servers[server].health.is_connected = false;
            return;
        }
        self.lost(server);
        let query = self.handle.query_id;
        let failed = &mut self.state.servers[server];
        let health = &mut failed.health;
        health.is_connected = false;
        health.is_unreachable = true;
        health.attempts.count_in(query);
        if !health.is_resting && health.attempts.count >= self.handle.server_timeout_limit {
            let rest_s = libc::time_t::from(self.handle.retry_timeout);
            failed.next_retry.set(now_s() + rest_s);
            health.is_resting = true;
            health.failures.count_in(query);
        }
    }

    /// The connections have been closed on purpose: every server is tried again at once.
    pub(crate) fn forget_rests(&mut self) {
        for server in &mut self.state.servers {
            let health = &mut server.health;
            if health.is_connected {
                *health = Health::default();
            }
            health.is_resting = false;
        }
    }
}
