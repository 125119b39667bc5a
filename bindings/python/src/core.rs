//! The class `Core`: every operation, waited for, or answered through an asyncio future where one
//! is given.

use crate::answer::{Wanted, answer, item, stored};
use crate::errors;
use crate::futures::{Futures, UnderWay};
use crate::keys::{KeyRules, Room};
use crate::lent::{Memory, Value as View};
use crate::many::{Keys, PendingMany};
use crate::settings::config;
use farcache_client::{
    Client, Delivery, Direction, Initial, Operation, ReceiveBytes, Route, Store, StoreMode, Value,
    Values,
};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::cell::Cell;
use std::os::fd::RawFd;
use std::sync::Arc;

/// Memory for values that each thread keeps for the next one.
const SCRATCH_BYTES_MAX: usize = 4 << 20;
/// A second so long ago that what expires in it is gone at once.
const LONG_AGO_S: u32 = 30 * 24 * 3600 + 1;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A client of one or several servers.
#[pyclass(frozen, module = "farcache")]
pub struct Core {
    client: Client,
    rules: KeyRules,
    eager_bytes_max: usize,
    /// With a progress thread only.
    futures: Option<Futures>,
}

type Future = Option<Py<PyAny>>;

impl Core {
    /// Carries an operation out, or begins to.
    fn carry_out(
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

    fn await_end(&self, py: Python<'_>, operation: UnderWay, future: Py<PyAny>) -> PyResult<()> {
        let none = || PyValueError::new_err("futures need a progress thread");
        let futures = self.futures.as_ref().ok_or_else(none)?;
        futures.add(py, &self.client, operation, future);
        Ok(())
    }

    fn server(&self, server: usize) -> PyResult<Route<'static>> {
        if server < self.client.servers().len() {
            return Ok(Route::Server(server));
        }
        Err(PyIndexError::new_err("there is no such server"))
    }

    /// Gets into this thread's memory and shows what came.
    fn with_scratch<T>(
        &self,
        py: Python<'_>,
        key: &[u8],
        show: impl FnOnce(&[u8], u32, u64) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        let mut value = SCRATCH.take();
        let got = py.detach(|| self.client.get_into(key, &mut value));
        let shown = match got {
            Ok(Some(info)) => show(&value, info.flags, info.cas).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(errors::of(py, &error)),
        };
        if value.capacity() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(value);
        }
        shown
    }
}

fn mode_of(number: u8) -> PyResult<StoreMode> {
    Ok(match number {
        0 => StoreMode::Set,
        1 => StoreMode::Add,
        2 => StoreMode::Replace,
        3 => StoreMode::Append,
        4 => StoreMode::Prepend,
        _ => return Err(PyValueError::new_err("there is no such way to store")),
    })
}

/// Seconds as memcached's texts have them: what is negative has expired.
fn expiry(expire: i64) -> PyResult<u32> {
    if expire < 0 {
        return Ok(LONG_AGO_S);
    }
    u32::try_from(expire).map_err(|_| PyValueError::new_err("expire is at most 32 bits long"))
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
            client: client.map_err(|error| errors::of(py, &error))?,
            rules: KeyRules {
                prefix: key_prefix,
                allows_unicode: allow_unicode_keys,
            },
            eager_bytes_max: config.eager_bytes_max,
            futures,
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
            return self.carry_out(py, get, Wanted::Value(default), future);
        }
        let bytes = |value: &[u8], _, _| PyBytes::new(py, value).into_py_any(py);
        let found = self.with_scratch(py, key, bytes)?;
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
                return self.with_scratch(py, key, whole)?.into_py_any(py);
            }
            None => Operation::Get { key, into },
        };
        self.carry_out(py, (operation, Route::Key), Wanted::Item, future)
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
            return self.carry_out(py, get, Wanted::View, future);
        }
        let mut value = Vec::new();
        match py.detach(|| self.client.get_into(key, &mut value)) {
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
        self.carry_out(py, get, Wanted::Length, future)
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
        let client = &self.client;
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
                self.await_end(py, UnderWay::Many(request, keys, whole), future)?;
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
        let bytes = memory.as_slice(py);
        let is_small = bytes.len() <= self.eager_bytes_max;
        let store = Store {
            mode: mode_of(mode)?,
            key,
            value: match is_small {
                true => Value::Copied(bytes),
                false => Value::Lent(memory.lend(py)),
            },
            flags,
            expiry_s: expiry(expire)?,
            cas,
        };
        if is_small && future.is_none() {
            let outcome = py.detach(|| self.client.store(store));
            return stored(py, outcome.as_ref().map(drop))?.into_py_any(py);
        }
        let store = (Operation::Store(store), Route::Key);
        self.carry_out(py, store, Wanted::Stored, future)
    }

    /// Stores many `(key, value, flags)` at once; how each ended, as `store` says it.
    #[pyo3(signature = (items, expire=0, /))]
    fn set_many(
        &self,
        py: Python<'_>,
        items: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>, u32)>,
        expire: i64,
    ) -> PyResult<Vec<u8>> {
        let expiry_s = expiry(expire)?;
        let (mut room, mut begun) = (Room::new(), Vec::with_capacity(items.len()));
        let memories: Vec<(Vec<u8>, Arc<Memory>, u32)> = items
            .iter()
            .map(|(key, value, flags)| {
                let key = self.rules.check(key, &mut room)?.to_vec();
                Ok((key, Arc::new(Memory::of(value)?), *flags))
            })
            .collect::<PyResult<_>>()?;
        for (key, memory, flags) in &memories {
            let bytes = memory.as_slice(py);
            let value = match bytes.len() <= self.eager_bytes_max {
                true => Value::Copied(bytes),
                false => Value::Lent(memory.lend(py)),
            };
            let store = Store {
                flags: *flags,
                expiry_s,
                ..Store::set(key, value)
            };
            begun.push(py.detach(|| self.client.submit(Operation::Store(store))));
        }
        // All are waited for, whatever becomes of the first: their memory is lent.
        let ended = py.detach(|| {
            let wait = |request| self.client.wait(request).map(drop);
            begun.into_iter().map(wait).collect::<Vec<_>>()
        });
        let codes = ended.iter();
        codes.map(|end| stored(py, end.as_ref().copied())).collect()
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
        self.carry_out(py, delete, Wanted::Done, future)
    }

    /// Deletes many items; how many there were.
    fn delete_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<usize> {
        let keys = Keys::of(&self.rules, keys)?;
        let sent = keys.sent();
        let ended = py.detach(|| {
            let delete = |&key: &&[u8]| self.client.submit(Operation::Delete { key, cas: 0 });
            let begun: Vec<_> = sent.iter().map(delete).collect();
            let wait = |request| self.client.wait(request);
            begun.into_iter().map(wait).collect::<Vec<_>>()
        });
        let mut deleted = 0;
        for end in ended {
            match end {
                Ok(_) => deleted += 1,
                Err(farcache_client::Error::NotFound) => {}
                Err(error) => return Err(errors::of(py, &error)),
            }
        }
        Ok(deleted)
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
        self.carry_out(py, touch, Wanted::Done, future)
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
        self.carry_out(py, (operation, Route::Key), Wanted::Number, future)
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
        let flush = (Operation::Flush { delay_s: delay }, self.server(server)?);
        self.carry_out(py, flush, Wanted::Done, future)
    }

    /// A server's version.
    #[pyo3(signature = (server, future=None, /))]
    fn version(&self, py: Python<'_>, server: usize, future: Future) -> PyResult<Py<PyAny>> {
        let version = (Operation::Version, self.server(server)?);
        self.carry_out(py, version, Wanted::Text, future)
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
        let statistics = (Operation::Statistics { group }, self.server(server)?);
        self.carry_out(py, statistics, Wanted::Statistics, future)
    }

    /// By which networks of the fabric a server is reached now; None over sockets and without a
    /// connection.
    #[pyo3(signature = (server=0, /))]
    fn lanes(&self, py: Python<'_>, server: usize) -> PyResult<Option<String>> {
        self.server(server)?;
        Ok(py.detach(|| self.client.lanes(server)))
    }

    /// How many servers there are.
    fn servers(&self) -> usize {
        self.client.servers().len()
    }

    /// What an event loop watches; it calls `drain` then.
    fn descriptor(&self) -> Option<RawFd> {
        self.futures.as_ref().map(Futures::descriptor)
    }

    /// Tells the futures of all operations that have ended.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        match &self.futures {
            Some(futures) => futures.drain(py, &self.client),
            None => Ok(()),
        }
    }

    /// Waits for what is under way and cancels its futures.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        match &self.futures {
            Some(futures) => futures.end(py, &self.client),
            None => Ok(()),
        }
    }

    /// Never frees this client: in a process that was forked its connections are the parent's.
    fn forget(slf: Bound<'_, Self>) {
        std::mem::forget(slf.unbind());
    }
}

/// Nothing is lent any more once it is gone.
impl Drop for Core {
    fn drop(&mut self) {
        if let Some(futures) = &self.futures {
            // What a future says to being cancelled interests nobody here.
            let _ = Python::attach(|py| futures.end(py, &self.client));
        }
    }
}
