//! Several keys in one call.

use crate::answer::{item, stored};
use crate::errors;
use crate::keys::{KeyRules, Room};
use crate::lent::Memory;
use farcache_client::{Client, Error, GetManyRequest, Operation, Reply, Request, Store, Values};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The most keys of one multi-get.
pub const KEYS_MAX: usize = 65_536;

/// Keys as they were given and as they are sent.
pub struct Keys {
    given: Vec<Py<PyAny>>,
    bytes: Vec<u8>,
    ranges: Vec<Range<usize>>,
}

impl Keys {
    /// Checks keys.
    pub fn of(rules: &KeyRules, keys: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut read = Keys {
            given: Vec::new(),
            bytes: Vec::new(),
            ranges: Vec::new(),
        };
        let mut room = Room::new();
        for key in keys.try_iter()? {
            let key = key?;
            let checked = rules.check(&key, &mut room)?;
            let start = read.bytes.len();
            read.bytes.extend_from_slice(checked);
            read.ranges.push(start..read.bytes.len());
            read.given.push(key.unbind());
        }
        Ok(read)
    }

    /// What is sent.
    pub fn sent(&self) -> Vec<&[u8]> {
        let ranges = self.ranges.iter().cloned();
        ranges.map(|range| &self.bytes[range]).collect()
    }

    /// What was found: key to value, or to value, flags and CAS token.
    pub fn found(&self, py: Python<'_>, values: &Values, whole: bool) -> PyResult<Py<PyDict>> {
        let found = PyDict::new(py);
        for (key, value) in self.given.iter().zip(values.iter()) {
            match value {
                Ok(Some(got)) if whole => {
                    found.set_item(key, item(py, got.value, got.flags, got.cas)?)?;
                }
                Ok(Some(got)) => found.set_item(key, PyBytes::new(py, got.value))?,
                Ok(None) => {}
                Err(error) => return Err(errors::of(py, error)),
            }
        }
        Ok(found.unbind())
    }
}

/// A multi-get that is under way, to be waited for once.
#[pyclass(frozen, module = "farcache")]
pub struct PendingMany {
    client: Client,
    keys: Keys,
    request: Mutex<Option<GetManyRequest>>,
    whole: bool,
}

impl PendingMany {
    /// Takes what was submitted.
    pub fn new(client: Client, keys: Keys, request: GetManyRequest, whole: bool) -> Self {
        PendingMany {
            client,
            keys,
            request: Mutex::new(Some(request)),
            whole,
        }
    }
}

#[pymethods]
impl PendingMany {
    /// What was found, as a dictionary.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let mut request = self.request.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = request.take();
        drop(request);
        let twice = || PyRuntimeError::new_err("it was waited for already");
        let request = taken.ok_or_else(twice)?;
        let values = py.detach(|| self.client.wait_get_many(request));
        self.keys.found(py, &values, self.whole)
    }
}

/// A key, a value and its flags.
pub type KeyValue<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, u32);

/// Stores many at once; how each ended. Values of so many bytes are copied, larger ones lent.
pub fn set_many(
    py: Python<'_>,
    client: &Client,
    rules: &KeyRules,
    items: &[KeyValue<'_>],
    expiry_s: u32,
    copied_bytes_max: usize,
) -> PyResult<Vec<u8>> {
    let mut room = Room::new();
    let memories: Vec<(Vec<u8>, Arc<Memory>, u32)> = items
        .iter()
        .map(|(key, value, flags)| {
            let key = rules.check(key, &mut room)?.to_vec();
            Ok((key, Arc::new(Memory::of(value)?), *flags))
        })
        .collect::<PyResult<_>>()?;
    let mut begun = Vec::with_capacity(items.len());
    for (key, memory, flags) in &memories {
        let store = Store {
            flags: *flags,
            expiry_s,
            ..Store::set(key, memory.value(py, copied_bytes_max))
        };
        begun.push(py.detach(|| client.submit(Operation::Store(store))));
    }
    // All are waited for, whatever becomes of the first: their memory is lent.
    let ended = wait_for(py, client, begun);
    let codes = ended.iter();
    codes
        .map(|end| stored(py, end.as_ref().map(drop)))
        .collect()
}

/// Deletes many; how many there were.
pub fn delete_many(py: Python<'_>, client: &Client, keys: &Keys) -> PyResult<usize> {
    let sent = keys.sent();
    let begun = py.detach(|| {
        let delete = |&key: &&[u8]| client.submit(Operation::Delete { key, cas: 0 });
        sent.iter().map(delete).collect()
    });
    let mut deleted = 0;
    for end in wait_for(py, client, begun) {
        match end {
            Ok(_) => deleted += 1,
            Err(Error::NotFound) => {}
            Err(error) => return Err(errors::of(py, &error)),
        }
    }
    Ok(deleted)
}

fn wait_for(py: Python<'_>, client: &Client, begun: Vec<Request>) -> Vec<Result<Reply, Error>> {
    py.detach(|| {
        let wait = |request| client.wait(request);
        begun.into_iter().map(wait).collect()
    })
}
