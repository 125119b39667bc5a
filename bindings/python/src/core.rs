//! The class `Core`: every operation, waited for, or answered through an asyncio future where one
//! is given.

use crate::answer::{Wanted, item, stored};
use crate::arguments::{expiry, mode_of};
use crate::errors;
use crate::futures::{Futures, UnderWay};
use crate::keys::{KeyRules, Room};
use crate::lent::{Memory, Value as View};
use crate::many::{Keys, PendingMany, delete_many, set_many};
use crate::runner::{Future, Runner};
use crate::scratch::with_scratch;
use crate::settings::config;
use farcache_client::{
    Client, Delivery, Direction, Initial, Operation, ReceiveBytes, Route, Store, Value, Values,
};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::os::fd::RawFd;
use std::sync::Arc;

/// A client of one or several servers.
#[pyclass(frozen, module = "farcache")]
pub struct Core {
    runner: Runner,
    rules: KeyRules,
    eager_bytes_max: usize,
}

#[pymethods]
impl Core {
    #[new]
    #[pyo3(signature = (servers, key_prefix=vec![], allow_unicode_keys=false, **settings))]
    fn new(
        py: Python<'_>,
        servers: &str,
        key_prefix: Vec<u8>,
        allow_unicode_keys: bool,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let config = config(servers, settings)?;
        let client = py.detach(|| Client::new(&config));
        let futures = config.progress_thread.then(Futures::new).transpose()?;
        Ok(Core {
            runner: Runner::new(client.map_err(|error| errors::of(py, &error))?, futures),
            rules: KeyRules {
                prefix: key_prefix,
                allows_unicode: allow_unicode_keys,
            },
            eager_bytes_max: config.eager_bytes_max,
        })
    }

    /// A value, or the default.
    #[pyo3(signature = (key, default=None, future=None, /))]
    fn get(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        default: Option<Py<PyAny>>,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let mut room = Room::new();
        let key = self.rules.check(key, &mut room)?;
        if future.is_some() {
            let into = ReceiveBytes::default();
            let get = (Operation::Get { key, into }, Route::Key);
            return self
                .runner
                .carry_out(py, get, Wanted::Value(default), future);
        }
        let bytes = |value: &[u8], _, _| PyBytes::new(py, value).into_py_any(py);
        let found = with_scratch(&self.runner.client, py, key, bytes)?;
        Ok(found.or(default).unwrap_or_else(|| py.None()))
    }

    /// Value, flags and CAS token, or None; with `expire` the item gets a new expiry.
    #[pyo3(signature = (key, expire=None, future=None, /))]
    fn get_item(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        expire: Option<i64>,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let mut room = Room::new();
        let key = self.rules.check(key, &mut room)?;
        let into = ReceiveBytes::default();
        let operation = match expire.map(expiry).transpose()? {
            Some(expiry_s) => Operation::GetAndTouch {
                key,
                expiry_s,
                into,
            },
            None if future.is_none() => {
                let whole = |value: &[u8], flags, cas| item(py, value, flags, cas);
                return with_scratch(&self.runner.client, py, key, whole)?.into_py_any(py);
            }
            None => Operation::Get { key, into },
        };
        self.runner
            .carry_out(py, (operation, Route::Key), Wanted::Item, future)
    }

    /// A memoryview of the value in the memory that it was received in, or None.
    #[pyo3(signature = (key, future=None, /))]
    fn get_view(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let mut room = Room::new();
        let key = self.rules.check(key, &mut room)?;
        if future.is_some() {
            let into = ReceiveBytes::default();
            let get = (Operation::Get { key, into }, Route::Key);
            return self.runner.carry_out(py, get, Wanted::View, future);
        }
        let mut value = Vec::new();
        match py.detach(|| self.runner.client.get_into(key, &mut value)) {
            Ok(Some(_)) => View::view(py, value),
            Ok(None) => Ok(py.None()),
            Err(error) => Err(errors::of(py, &error)),
        }
    }

    /// Receives a value into a buffer of bytes: length, flags and CAS token, or None.
    #[pyo3(signature = (key, buffer, future=None, /))]
    fn get_into(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        buffer: &Bound<'_, PyAny>,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let mut room = Room::new();
        let key = self.rules.check(key, &mut room)?;
        let memory = Arc::new(Memory::to_write(buffer)?);
        let into = memory.room();
        let get = (Operation::Get { key, into }, Route::Key);
        self.runner.carry_out(py, get, Wanted::Length, future)
    }

    /// Begins to get many keys; at most `KEYS_MAX`. With `whole` flags and CAS tokens come with the
    /// values.
    #[pyo3(signature = (keys, whole, future=None, /))]
    fn get_many(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        whole: bool,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let keys = Keys::of(&self.rules, keys)?;
        let sent = keys.sent();
        if sent.len() > crate::many::KEYS_MAX {
            return Err(PyValueError::new_err("these are more than KEYS_MAX keys"));
        }
        let client = &self.runner.client;
        let request = py.detach(|| {
            let request = client.submit_get_many(&sent, Values::new(), Delivery::default());
            client.flush();
            request
        });
        drop(sent);
        match future {
            None => {
                let client = client.without_progress_thread();
                PendingMany::new(client, keys, request, whole).into_py_any(py)
            }
            Some(future) => {
                self.runner
                    .await_end(py, UnderWay::Many(request, keys, whole), future)?;
                Ok(py.None())
            }
        }
    }

    /// Stores a value; 0 where it is, else why not: 1 a condition, 2 another item is there, 3 none
    /// is.
    #[pyo3(signature = (mode, key, value, expire=0, flags=0, cas=0, future=None, /))]
    #[expect(clippy::too_many_arguments, reason = "all that goes with a value")]
    fn store(
        &self,
        py: Python<'_>,
        mode: u8,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        expire: i64,
        flags: u32,
        cas: u64,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let mut room = Room::new();
        let key = self.rules.check(key, &mut room)?;
        let memory = Arc::new(Memory::of(value)?);
        let value = memory.value(py, self.eager_bytes_max);
        let is_copied = matches!(value, Value::Copied(_));
        let store = Store {
            mode: mode_of(mode)?,
            key,
            value,
            flags,
            expiry_s: expiry(expire)?,
            cas,
        };
        if is_copied && future.is_none() {
            let outcome = py.detach(|| self.runner.client.store(store));
            return stored(py, outcome.as_ref().map(drop))?.into_py_any(py);
        }
        let store = (Operation::Store(store), Route::Key);
        self.runner.carry_out(py, store, Wanted::Stored, future)
    }

    /// Stores many `(key, value, flags)` at once; how each ended, as `store` says it.
    #[pyo3(signature = (items, expire=0, /))]
    fn set_many(
        &self,
        py: Python<'_>,
        items: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>, u32)>,
        expire: i64,
    ) -> PyResult<Vec<u8>> {
        set_many(
            py,
            &self.runner.client,
            &self.rules,
            &items,
            expiry(expire)?,
            self.eager_bytes_max,
        )
    }

    /// Deletes an item; whether there was one.
    #[pyo3(signature = (key, future=None, /))]
    fn delete(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let mut room = Room::new();
        let key = self.rules.check(key, &mut room)?;
        let delete = (Operation::Delete { key, cas: 0 }, Route::Key);
        self.runner.carry_out(py, delete, Wanted::Done, future)
    }

    /// Deletes many items; how many there were.
    fn delete_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<usize> {
        let keys = Keys::of(&self.rules, keys)?;
        delete_many(py, &self.runner.client, &keys)
    }

    /// Gives an item a new expiry; whether there was one.
    #[pyo3(signature = (key, expire=0, future=None, /))]
    fn touch(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        expire: i64,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let mut room = Room::new();
        let key = self.rules.check(key, &mut room)?;
        let expiry_s = expiry(expire)?;
        let touch = (Operation::Touch { key, expiry_s }, Route::Key);
        self.runner.carry_out(py, touch, Wanted::Done, future)
    }

    /// Adds to a number, or subtracts; what it is then, or None where there is none and no initial
    /// one is given.
    #[pyo3(signature = (key, delta, is_up, initial=None, expire=0, future=None, /))]
    #[expect(clippy::too_many_arguments, reason = "all that goes with counting")]
    fn count(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        delta: u64,
        is_up: bool,
        initial: Option<u64>,
        expire: i64,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let mut room = Room::new();
        let key = self.rules.check(key, &mut room)?;
        let expiry_s = expiry(expire)?;
        let operation = Operation::Arithmetic {
            direction: match is_up {
                true => Direction::Increment,
                false => Direction::Decrement,
            },
            key,
            delta,
            initial: initial.map(|number| Initial { number, expiry_s }),
        };
        self.runner
            .carry_out(py, (operation, Route::Key), Wanted::Number, future)
    }

    /// Drops every item of a server, now or so many seconds later.
    #[pyo3(signature = (server, delay=0, future=None, /))]
    fn flush(
        &self,
        py: Python<'_>,
        server: usize,
        delay: u32,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let flush = (
            Operation::Flush { delay_s: delay },
            self.runner.server(server)?,
        );
        self.runner.carry_out(py, flush, Wanted::Done, future)
    }

    /// A server's version.
    #[pyo3(signature = (server, future=None, /))]
    fn version(&self, py: Python<'_>, server: usize, future: Future) -> PyResult<Py<PyAny>> {
        let version = (Operation::Version, self.runner.server(server)?);
        self.runner.carry_out(py, version, Wanted::Text, future)
    }

    /// A server's statistics, general or of a group.
    #[pyo3(signature = (server, group="", future=None, /))]
    fn stats(
        &self,
        py: Python<'_>,
        server: usize,
        group: &str,
        future: Future,
    ) -> PyResult<Py<PyAny>> {
        let group = group.as_bytes();
        let statistics = (Operation::Statistics { group }, self.runner.server(server)?);
        self.runner
            .carry_out(py, statistics, Wanted::Statistics, future)
    }

    /// By which networks of the fabric a server is reached now; None over sockets and without a
    /// connection.
    #[pyo3(signature = (server=0, /))]
    fn lanes(&self, py: Python<'_>, server: usize) -> PyResult<Option<String>> {
        self.runner.server(server)?;
        Ok(py.detach(|| self.runner.client.lanes(server)))
    }

    /// How many servers there are.
    fn servers(&self) -> usize {
        self.runner.client.servers().len()
    }

    /// What an event loop watches; it calls `drain` then.
    fn descriptor(&self) -> Option<RawFd> {
        self.runner.descriptor()
    }

    /// Tells the futures of all operations that have ended.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        self.runner.drain(py)
    }

    /// Waits for what is under way and cancels its futures.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        self.runner.end(py)
    }

    /// Never frees this client: in a process that was forked its connections are the parent's.
    fn forget(slf: Bound<'_, Self>) {
        std::mem::forget(slf.unbind());
    }
}
