//! An operation that is under way.

use crate::driver::{Shared, without_notices};
use crate::engine::Ticket;
use crate::redundant::Begun;
use crate::{Completion, Error, Values};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An operation that has been submitted and whose result has not been fetched. Dropping it gives
/// the result up; what the operation does at the server is not undone. It may outlive its client.
#[must_use = "dropping a request gives its result up"]
pub struct Request {
    pub(crate) shared: Arc<Shared>,
    pub(crate) ticket: Ticket,
    pub(crate) is_fetched: bool,
    /// The plan of an operation on several servers, until it has ended.
    begun: Mutex<Option<Box<Begun>>>,
}

impl Request {
    pub(crate) fn new(shared: &Arc<Shared>, ticket: Ticket) -> Self {
        Request {
            shared: Arc::clone(shared),
            ticket,
            is_fetched: false,
            begun: Mutex::new(None),
        }
    }

    /// For an operation on several servers, whose first requests are sent now.
    pub(crate) fn of_plan(shared: &Arc<Shared>, begun: Result<Begun, Box<Completion>>) -> Self {
        let ticket = shared.lock().engine.submit_elsewhere();
        let mut request = Request::new(shared, ticket);
        match begun {
            Ok(begun) => {
                request.begun = Mutex::new(Some(Box::new(begun)));
                request.look();
            }
            Err(completion) => request.end(*completion),
        }
        request
    }

    fn end(&self, completion: Completion) {
        let mut guard = self.shared.lock();
        guard.engine.ended_elsewhere(self.ticket, completion);
    }

    fn begun(&self) -> MutexGuard<'_, Option<Box<Begun>>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves its plan on, if it has one, by what is known now. Where another thread does that
    /// already, this one does nothing.
    pub(crate) fn look(&self) {
        let Ok(mut begun) = self.begun.try_lock() else {
            return;
        };
        // A caller that only looks may hold what a notice wants.
        let look = |begun: &mut Box<Begun>| without_notices(|| begun.look());
        if let Some(completion) = begun.as_mut().and_then(look) {
            *begun = None;
            self.end(completion);
        }
    }

    /// Waits for the end of its plan, if it has one.
    pub(crate) fn finish(&self) {
        let mut begun = self.begun();
        if let Some(mut plan) = begun.take() {
            self.end(plan.wait());
        }
    }

    /// What must be complete before its plan goes on; nothing where it has none.
    pub(crate) fn awaited(&self) -> Vec<Ticket> {
        let begun = self.begun();
        let requests = begun.as_ref().map(|begun| begun.under_way());
        let requests = requests.into_iter().flatten();
        requests.map(|request| request.ticket).collect()
    }

    /// Whether it is complete, as [`Client::test`](crate::Client::test).
    #[must_use]
    pub fn test(&self) -> bool {
        if self.shared.is_complete(self.ticket) {
            return true;
        }
        self.look();
        self.shared.lock().engine.is_complete(self.ticket)
    }

    /// Waits for it, as [`Client::complete`](crate::Client::complete); the client may be gone.
    pub fn complete(mut self) -> Completion {
        self.finish();
        let guard = self.shared.lock();
        let ticket = self.ticket;
        let completion = self.shared.wait_for(guard, |engine| engine.fetch(ticket));
        self.is_fetched = true;
        completion
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.is_fetched {
            return;
        }
        let begun = self.begun.get_mut();
        if let Some(mut begun) = begun.unwrap_or_else(PoisonError::into_inner).take() {
            // What it does at the servers is not left half done.
            self.end(match begun.is_write() && !std::thread::panicking() {
                true => begun.wait(),
                false => Completion {
                    outcome: Err(Error::Timeout),
                    lent: None,
                    unused: None,
                },
            });
        }
        self.shared.lock().engine.abandon(self.ticket);
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
