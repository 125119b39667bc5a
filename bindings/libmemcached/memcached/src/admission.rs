//! Which servers are asked: libmemcached's time-outs for retries, and its removal of servers.
//!
//! Only a server that cannot be connected to is counted and left alone. One that answers too late,
//! or whose connection ends, is tried again at once.

use crate::context::Context;
use crate::distribution::is_consistent;
use crate::failure::{code_of, is_about_connecting};
use crate::instance::{Instance, now_s};
use farcache_client::Error;
use farcache_libmemcached_abi::{Return, flags};

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
        if health.has_failed_often(limit) {
            if is_removing {
                return Err(self.remove_dead(server, now));
            }
            health.rest();
            if asked.next_retry.get() == 0 {
                asked.next_retry.set(1);
            }
        }
        if health.may_be_asked(asked.next_retry.get() < now) {
            return Ok(());
        }
        self.lost(server);
        Err(self.fail_at(server, Return::SERVER_TEMPORARILY_DISABLED, ""))
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
            dead.health.forgive_one(limit);
        }
        if is_consistent(self.handle.distribution) {
            self.make_ring();
        }
        self.fail_at(server, Return::SERVER_MARKED_DEAD, "")
    }

    /// Remembers which server was lost last.
    pub(crate) fn lost(&mut self, server: usize) {
        let lost = self.state.servers[server].clone();
        let is_known = |last: &Instance| last.version == lost.version;
        if !self
            .state
            .last_disconnected
            .as_deref()
            .is_some_and(is_known)
        {
            let mut kept = lost;
            self.handle.last_disconnected_server = std::ptr::from_mut(&mut *kept).cast();
            self.state.last_disconnected = Some(kept);
        }
    }

    /// A server has answered.
    pub(crate) fn answered(&mut self, server: usize) {
        let answering = &mut self.state.servers[server];
        if answering.health.answered() {
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
        let (query, attempts_max) = (self.handle.query_id, self.handle.server_timeout_limit);
        let failed = &mut self.state.servers[server];
        if failed.health.failed(query, attempts_max) {
            let rest_s = libc::time_t::from(self.handle.retry_timeout);
            failed.next_retry.set(now_s() + rest_s);
        }
    }

    /// The connections have been closed on purpose: every server is tried again at once.
    pub(crate) fn forget_rests(&mut self) {
        for server in &mut self.state.servers {
            server.health.forget_rest();
        }
    }
}
