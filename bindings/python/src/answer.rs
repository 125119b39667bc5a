//! What an operation has brought, as Python's objects.

use crate::errors;
use crate::lent::Value;
use farcache_client::{Completion, Error, Reply};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

/// What a caller wants to know of an operation.
pub enum Wanted {
    /// A value, or this where there is none.
    Value(Option<Py<PyAny>>),
    /// Value, flags and CAS token, or None.
    Item,
    /// A memoryview of the value, or None.
    View,
    /// Length, flags and CAS token of a value that was received into a buffer, or None.
    Length,
    /// Whether the value was stored: `STORED` and the names beside it.
    Stored,
    /// Whether the operation was done, or there was no such key.
    Done,
    /// A number, or None.
    Number,
    /// A text, as bytes.
    Text,
    /// A dictionary.
    Statistics,
}

/// A value was stored.
pub const STORED: u8 = 0;
/// The condition did not hold.
pub const NOT_STORED: u8 = 1;
/// The key is there, or its item has another CAS token.
pub const EXISTS: u8 = 2;
/// There is no such key.
pub const NOT_FOUND: u8 = 3;

/// How storing has ended.
pub fn stored(py: Python<'_>, outcome: Result<(), &Error>) -> PyResult<u8> {
    match outcome {
        Ok(()) => Ok(STORED),
        Err(Error::NotStored) => Ok(NOT_STORED),
        Err(Error::Exists) => Ok(EXISTS),
        Err(Error::NotFound) => Ok(NOT_FOUND),
        Err(error) => Err(errors::of(py, error)),
    }
}

/// The answer to a caller.
pub fn answer(py: Python<'_>, wanted: Wanted, completion: Completion) -> PyResult<Py<PyAny>> {
    let reply = match (&wanted, completion.outcome) {
        (Wanted::Stored, outcome) => {
            return stored(py, outcome.as_ref().map(drop))?.into_py_any(py);
        }
        (_, Ok(reply)) => reply,
        (Wanted::Done, Err(Error::NotFound | Error::Exists)) => return false.into_py_any(py),
        (_, Err(Error::NotFound)) => return Ok(absent(py, wanted)),
        (_, Err(error)) => return Err(errors::of(py, &error)),
    };
    match (wanted, reply) {
        (Wanted::Value(_), Reply::Value { value, .. }) => PyBytes::new(py, &value).into_py_any(py),
        (Wanted::View, Reply::Value { value, .. }) => Value::view(py, value.into_vec()),
        (Wanted::Length, Reply::Value { value, flags, cas }) => {
            (value.len(), flags, cas).into_py_any(py)
        }
        (Wanted::Item, Reply::Value { value, flags, cas }) => {
            Ok(item(py, &value, flags, cas)?.into_any().unbind())
        }
        (Wanted::Done, _) => true.into_py_any(py),
        (Wanted::Number, Reply::Number { number, .. }) => number.into_py_any(py),
        (Wanted::Text, Reply::Text(text)) => PyBytes::new(py, text.as_bytes()).into_py_any(py),
        (Wanted::Statistics, Reply::Statistics(statistics)) => {
            let named = PyDict::new(py);
            for (name, value) in statistics {
                let value = PyBytes::new(py, value.as_bytes());
                named.set_item(PyBytes::new(py, name.as_bytes()), value)?;
            }
            named.into_py_any(py)
        }
        _ => Err(errors::of(
            py,
            &Error::Protocol("the answer to another question"),
        )),
    }
}

fn absent(py: Python<'_>, wanted: Wanted) -> Py<PyAny> {
    match wanted {
        Wanted::Value(Some(default)) => default,
        _ => py.None(),
    }
}

/// Value, flags and CAS token.
pub fn item<'py>(
    py: Python<'py>,
    value: &[u8],
    flags: u32,
    cas: u64,
) -> PyResult<Bound<'py, PyTuple>> {
    (PyBytes::new(py, value), flags, cas).into_pyobject(py)
}
