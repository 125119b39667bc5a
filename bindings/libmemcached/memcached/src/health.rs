//! What is remembered of a server's failures: libmemcached's counts. It is given what happens, and
//! the limits of the handle.

/// How far one server can be relied on.
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

impl Health {
    /// Whether it has failed so often that it is not asked any more.
    pub(crate) fn has_failed_often(&self, failures_max: u32) -> bool {
        self.failures.count >= failures_max
    }

    /// One more failure, and it has failed too often again.
    pub(crate) fn forgive_one(&mut self, failures_max: u32) {
        self.failures.count = failures_max - 1;
    }

    /// It is left alone from now on.
    pub(crate) fn rest(&mut self) {
        self.is_resting = true;
    }

    /// Whether it may be asked, where its rest is over or it has none. After a rest it is on trial.
    pub(crate) fn may_be_asked(&mut self, is_rest_over: bool) -> bool {
        self.is_on_trial = self.is_resting;
        if self.is_resting && !is_rest_over {
            return false;
        }
        if self.is_resting {
            self.is_resting = false;
            self.attempts.count = 0;
        }
        true
    }

    /// It has answered; whether all that was before is forgotten, as it was not connected.
    pub(crate) fn answered(&mut self) -> bool {
        if self.is_connected {
            return false;
        }
        *self = Health {
            is_connected: true,
            ..Health::default()
        };
        true
    }

    /// It could not be connected to; whether it is left alone from now on, after so many attempts.
    pub(crate) fn failed(&mut self, query: u64, attempts_max: u32) -> bool {
        self.is_connected = false;
        self.is_unreachable = true;
        self.attempts.count_in(query);
        let begins_rest = !self.is_resting && self.attempts.count >= attempts_max;
        if begins_rest {
            self.is_resting = true;
            self.failures.count_in(query);
        }
        begins_rest
    }

    /// The connection has been closed on purpose: it is tried again at once.
    pub(crate) fn forget_rest(&mut self) {
        if self.is_connected {
            *self = Health::default();
        }
        self.is_resting = false;
    }
}
