//! What arrives: UCX calls these handlers while it is at work, and they only put things away.

mod arrived;
mod greeting;
mod handlers;
mod lent_handler;
mod offered;

pub(super) use greeting::Greeting;
pub(super) use offered::Offered;

use super::worker::Worker;
use crate::error::Error;
use crate::whole::Handler;
use arrived::Arrived;
use handlers::{on_greeting, on_message, on_probe, on_short_get, on_short_value};
use std::panic::resume_unwind;
use std::ptr::NonNull;

/// UCX's number for an ordinary message: header is frame and head, data is the body.
pub(super) const MESSAGE: u16 = 1;

/// UCX's number for a greeting: header is the frame, data is the packets and behind them the
/// sender's address.
pub(super) const GREETING: u16 = 2;

/// UCX's number for a message that a port sends itself: it has neither header nor data.
pub(super) const PROBE: u16 = 3;

/// UCX's numbers for short messages, which are all data.
pub(super) const SHORT_GET: u16 = 4;
pub(super) const SHORT_VALUE: u16 = 5;

/// What has arrived, at a place that UCX knows: to be dropped after the worker.
#[derive(Debug)]
pub(super) struct Arrivals<S, R> {
    arrived: NonNull<Arrived<S, R>>,
}

// SAFETY: what is there is its own; handlers write to it from within its worker only, which one
// thread uses at a time.
unsafe impl<S: Send, R: Send> Send for Arrivals<S, R> {}

impl<S, R> Arrivals<S, R> {
    /// Has everything that arrives at the worker put away here.
    pub fn new(worker: &mut Worker) -> Result<Arrivals<S, R>, Error> {
        let arrived = Box::new(Arrived::default());
        let arrived = NonNull::from(Box::leak(arrived));
        let arrivals = Arrivals { arrived };
        arrivals.attach(worker)?;
        Ok(arrivals)
    }

    /// Has what arrives at another worker put away here too, beside those before.
    pub fn attach(&self, worker: &mut Worker) -> Result<(), Error> {
        let argument = self.arrived.as_ptr().cast();
        // SAFETY: what the argument points at is dropped after the worker; where a call fails, the
        // caller drops the worker before anything can arrive.
        unsafe {
            worker.on_message(MESSAGE, Some(on_message::<S, R>), argument)?;
            worker.on_message(GREETING, Some(on_greeting::<S, R>), argument)?;
            worker.on_message(SHORT_GET, Some(on_short_get::<S, R>), argument)?;
            worker.on_message(SHORT_VALUE, Some(on_short_value::<S, R>), argument)?;
            worker.on_message(PROBE, Some(on_probe::<S, R>), argument)
        }
    }

    /// Moves the worker; messages that come while nothing waits are shown to `handler` first.
    #[inline]
    pub fn progress_with(&mut self, worker: &mut Worker, handler: &mut Handler<'_>) -> bool {
        // SAFETY: it is borrowed until this returns, and given back before, as `progress` does not
        // unwind.
        unsafe { self.get().handler.lend(handler) };
        let any = worker.progress();
        if let Some(panic) = self.get().handler.give_back() {
            resume_unwind(panic);
        }
        any
    }

    /// What has arrived. Not to be held during a call into UCX, which the borrow of the port sees
    /// to: nothing that takes this also takes the worker.
    pub fn get(&mut self) -> &mut Arrived<S, R> {
        // SAFETY: handlers write to it only from within calls into UCX, none of which is made while
        // the result is borrowed.
        unsafe { self.arrived.as_mut() }
    }
}

impl<S, R> Drop for Arrivals<S, R> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and UCX's worker, whose handlers wrote to it, is gone.
        drop(unsafe { Box::from_raw(self.arrived.as_ptr()) });
    }
}
