//! An operation that one server carries out, from its submission to its result.

use crate::completion::Notice;
use crate::driver::Shared;
use crate::engine::{Engine, Ticket};
use crate::{Completion, Error, Reply, Values};
use std::sync::Arc;

/// An operation that has been submitted. Dropping it gives its result up; what the operation does at
/// the server is not undone. It may outlive the client.
#[must_use = "dropping it gives the result up"]
pub(crate) struct Submitted {
    shared: Arc<Shared>,
    ticket: Ticket,
    is_fetched: bool,
}

impl Submitted {
    #[inline]
    pub(super) fn new(shared: &Arc<Shared>, ticket: Ticket) -> Submitted {
        Submitted {
            shared: Arc::clone(shared),
            ticket,
            is_fetched: false,
        }
    }

    /// Its name among all that are under way.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Whether its result has been fetched.
    pub fn is_fetched(&self) -> bool {
        self.is_fetched
    }

    /// Whether it is complete by what is known now.
    pub fn is_complete(&self) -> bool {
        self.shared.lock().engine.is_complete(self.ticket)
    }

    /// Whether it is complete, after moving everything once. Where the progress thread is just
    /// moving it, that is not waited for.
    pub fn test(&self) -> bool {
        self.shared.is_complete(self.ticket)
    }

    /// Has a notice called once it is complete.
    pub fn notify(&self, notice: Notice) {
        let mut guard = self.shared.lock();
        guard.engine.notify(self.ticket, notice);
        if guard.engine.has_notices() {
            self.shared.leave(guard);
        }
    }

    /// Tells how an operation ended that was carried out above.
    pub fn end(&self, completion: Completion) {
        let mut guard = self.shared.lock();
        guard.engine.ended_elsewhere(self.ticket, completion);
    }

    /// Waits for it; everything that was lent to it comes back. To be called once, and not for a
    /// multi-get.
    pub fn fetch(&mut self) -> Completion {
        self.fetch_with(|engine, ticket| engine.fetch(ticket))
    }

    /// As [`Submitted::fetch`], for a multi-get.
    pub fn fetch_values(&mut self) -> Values {
        self.fetch_with(|engine, ticket| engine.fetch_values(ticket))
    }

    fn fetch_with<T>(&mut self, fetch: impl Fn(&mut Engine, Ticket) -> Option<T>) -> T {
        let (guard, ticket) = (self.shared.lock(), self.ticket);
        let result = self.shared.wait_for(guard, |engine| fetch(engine, ticket));
        self.is_fetched = true;
        result
    }

    /// Waits for it; everything that was lent to it comes back.
    pub fn complete(mut self) -> Completion {
        self.fetch()
    }

    /// Waits for it.
    ///
    /// # Errors
    /// As the operation ends.
    pub fn wait(self) -> Result<Reply, Error> {
        self.complete().outcome
    }
}

impl Drop for Submitted {
    fn drop(&mut self) {
        if !self.is_fetched {
            self.shared.lock().engine.abandon(self.ticket);
        }
    }
}
