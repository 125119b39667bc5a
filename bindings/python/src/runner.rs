//! Carrying operations out: waiting for them, or having a future told.

use crate::answer::{Wanted, answer};
use crate::futures::{Futures, UnderWay};
use farcache_client::{Client, Delivery, Operation, Route};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use std::os::fd::RawFd;

/// A future to be told, or none where the caller waits.
pub type Future = Option<Py<PyAny>>;

/// A client, and the futures of what is under way.
pub struct Runner {
    pub client: Client,
    /// With a progress thread only.
    futures: Option<Futures>,
}

impl Runner {
    pub fn new(client: Client, futures: Option<Futures>) -> Self {
        Runner { client, futures }
    }

    /// Carries an operation out, or begins to.
    pub fn carry_out(
        &self,
        py: Python<'_>,
        (operation, route): (Operation<'_>, Route<'_>),
        wanted: Wanted,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let delivery = Delivery {
            route,
            timeout: None,
        };
        let Some(future) = future else {
            let run = || {
                self.client
                    .complete(self.client.submit_to(operation, delivery))
            };
            let completion = py.detach(run);
            return answer(py, wanted, completion);
        };
        let request = py.detach(|| self.client.submit_to(operation, delivery));
        self.await_end(py, UnderWay::One(request, wanted), future)?;
        Ok(py.None())
    }

    /// Has a future told when an operation has ended.
    pub fn await_end(
        &self,
        py: Python<'_>,
        operation: UnderWay,
        future: Py<PyAny>,
    ) -> PyResult<()> {
        let none = || PyValueError::new_err("futures need a progress thread");
        let futures = self.futures.as_ref().ok_or_else(none)?;
        futures.add(py, &self.client, operation, future);
        Ok(())
    }

    /// The way to one server.
    pub fn server(&self, server: usize) -> PyResult<Route<'static>> {
        if server < self.client.servers().len() {
            return Ok(Route::Server(server));
        }
        Err(PyIndexError::new_err("there is no such server"))
    }

    /// Readable when an operation has ended whose future is to be told.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.futures.as_ref().map(Futures::descriptor)
    }

    /// Tells the futures of all operations that have ended.
    pub fn drain(&self, py: Python<'_>) -> PyResult<()> {
        match &self.futures {
            Some(futures) => futures.drain(py, &self.client),
            None => Ok(()),
        }
    }

    /// Waits for what is under way and cancels its futures.
    pub fn end(&self, py: Python<'_>) -> PyResult<()> {
        match &self.futures {
            Some(futures) => futures.end(py, &self.client),
            None => Ok(()),
        }
    }
}

/// Nothing is lent any more once it is gone.
impl Drop for Runner {
    fn drop(&mut self) {
        if self.futures.is_some() {
            // What a future says to being cancelled interests nobody here.
            let _ = Python::attach(|py| self.end(py));
        }
    }
}
