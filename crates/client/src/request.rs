//! An operation that is under way.

use crate::driver::Shared;
use crate::engine::Ticket;
use crate::{Completion, Values};
use std::fmt;
use std::sync::Arc;

/// An operation that has been submitted and whose result has not been fetched. Dropping it gives
/// the result up; what the operation does at the server is not undone. It may outlive its client.
#[must_use = "dropping a request gives its result up"]
pub struct Request {
    pub(crate) shared: Arc<Shared>,
    pub(crate) ticket: Ticket,
    pub(crate) is_fetched: bool,
}

impl Request {
    pub(crate) fn new(shared: &Arc<Shared>, ticket: Ticket) -> Self {
        Request {
            shared: Arc::clone(shared),
            ticket,
            is_fetched: false,
        }
    }
}

impl Request {
    /// Whether it is complete, as [`Client::test`](crate::Client::test).
    #[must_use]
    pub fn test(&self) -> bool {
        self.shared.is_complete(self.ticket)
    }

    /// Waits for it, as [`Client::complete`](crate::Client::complete); the client may be gone.
    pub fn complete(mut self) -> Completion {
        let guard = self.shared.lock();
        let ticket = self.ticket;
        let completion = self.shared.wait_for(guard, |engine| engine.fetch(ticket));
        self.is_fetched = true;
        completion
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.is_fetched {
            self.shared.lock().engine.abandon(self.ticket);
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Request({:?})", self.ticket)
    }
}

/// A multi-get that is under way; as with [`Request`].
#[must_use = "dropping a request gives its result up"]
#[derive(Debug)]
pub struct GetManyRequest(pub(crate) Request);

impl GetManyRequest {
    /// Waits for it, as [`Client::wait_get_many`](crate::Client::wait_get_many); the client may be
    /// gone.
    pub fn wait(mut self) -> Values {
        let request = &mut self.0;
        let guard = request.shared.lock();
        let ticket = request.ticket;
        let values = request
            .shared
            .wait_for(guard, |engine| engine.fetch_values(ticket));
        request.is_fetched = true;
        values
    }
}

impl AsRef<Request> for Request {
    fn as_ref(&self) -> &Request {
        self
    }
}

impl AsRef<Request> for GetManyRequest {
    fn as_ref(&self) -> &Request {
        &self.0
    }
}
