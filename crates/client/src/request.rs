//! An operation that is under way, on one server or by a plan on several.

use crate::connections::{Connections, Submitted};
use crate::driver::without_notices;
use crate::engine::Ticket;
use crate::redundant::Begun;
use crate::{Completion, Error, Notice, Values};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An operation that has been submitted and whose result has not been fetched. Dropping it gives
/// the result up; what the operation does at the server is not undone. It may outlive its client.
#[must_use = "dropping a request gives its result up"]
pub struct Request {
    /// Where its result comes.
    submitted: Submitted,
    /// The plan of an operation on several servers, until it has ended.
    begun: Mutex<Option<Box<Begun>>>,
}

impl Request {
    #[inline]
    pub(crate) fn new(submitted: Submitted) -> Self {
        Request {
            submitted,
            begun: Mutex::new(None),
        }
    }

    /// For an operation on several servers, whose first requests are sent now.
    pub(crate) fn of_plan(
        connections: &Connections,
        begun: Result<Begun, Box<Completion>>,
    ) -> Self {
        let mut request = Request::new(connections.submit_elsewhere());
        match begun {
            Ok(begun) => {
                request.begun = Mutex::new(Some(Box::new(begun)));
                request.look();
            }
            Err(completion) => request.submitted.end(*completion),
        }
        request
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
            self.submitted.end(completion);
        }
    }

    /// Waits for the end of its plan, if it has one.
    fn finish(&self) {
        let mut begun = self.begun();
        if let Some(mut plan) = begun.take() {
            self.submitted.end(plan.wait());
        }
    }

    /// Its name among all that are under way.
    pub(crate) fn ticket(&self) -> Ticket {
        self.submitted.ticket()
    }

    /// What must be complete before its plan goes on; nothing where it has none.
    pub(crate) fn awaited(&self) -> Vec<Ticket> {
        let begun = self.begun();
        let submitted = begun.as_ref().map(|begun| begun.under_way());
        let submitted = submitted.into_iter().flatten();
        submitted.map(Submitted::ticket).collect()
    }

    /// Has a notice called once it is complete.
    pub(crate) fn notify(&self, notice: Notice) {
        // Nobody else would move its plan on.
        without_notices(|| self.finish());
        self.submitted.notify(notice);
    }

    /// Whether it is complete by what is known now.
    pub(crate) fn peek(&self) -> bool {
        self.look();
        self.submitted.is_complete()
    }

    /// Whether it is complete, as [`Client::test`](crate::Client::test).
    #[must_use]
    pub fn test(&self) -> bool {
        self.submitted.test() || self.peek()
    }

    /// Waits for it, as [`Client::complete`](crate::Client::complete); the client may be gone.
    pub fn complete(mut self) -> Completion {
        self.finish();
        self.submitted.fetch()
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.submitted.is_fetched() {
            return;
        }
        let begun = self.begun.get_mut();
        if let Some(mut begun) = begun.unwrap_or_else(PoisonError::into_inner).take() {
            // What it does at the servers is not left half done.
            self.submitted
                .end(match begun.is_write() && !std::thread::panicking() {
                    true => begun.wait(),
                    false => Completion {
                        outcome: Err(Error::Timeout),
                        lent: None,
                        unused: None,
                    },
                });
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Request({:?})", self.ticket())
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
        self.0.submitted.fetch_values()
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
