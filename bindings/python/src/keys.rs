//! Which keys are allowed: memcached's text protocol decides, so that every client of a fleet can
//! say them.

use crate::errors;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Longest key with its prefix, in bytes.
const KEY_BYTES_MAX: usize = 250;

/// What a client makes of the keys that it is given.
pub struct KeyRules {
    /// Goes in front of every key.
    pub prefix: Vec<u8>,
    /// Texts may hold more than ASCII; they are written in UTF-8.
    pub allows_unicode: bool,
}

/// Memory for a key with its prefix.
pub struct Room([u8; KEY_BYTES_MAX]);

impl Room {
    /// Zeros.
    pub fn new() -> Self {
        Room([0; KEY_BYTES_MAX])
    }
}

impl KeyRules {
    /// The key as it is sent, in the room where it has a prefix.
    pub fn check<'a>(&self, key: &'a Bound<'_, PyAny>, room: &'a mut Room) -> PyResult<&'a [u8]> {
        let bytes = self.bytes(key)?;
        let checked = match self.prefix.len() {
            0 => bytes,
            before => {
                let Some(whole) = room.0.get_mut(..before + bytes.len()) else {
                    return Err(refused("Key is too long", key));
                };
                whole[..before].copy_from_slice(&self.prefix);
                whole[before..].copy_from_slice(bytes);
                whole
            }
        };
        match fault(checked) {
            None => Ok(checked),
            Some(fault) => Err(refused(fault, key)),
        }
    }

    fn bytes<'a>(&self, key: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
        if let Ok(text) = key.cast::<PyString>() {
            let text = text.to_str()?;
            if !self.allows_unicode && !text.is_ascii() {
                return Err(refused("Non-ASCII key", key));
            }
            return Ok(text.as_bytes());
        }
        match key.cast::<PyBytes>() {
            Ok(bytes) => Ok(bytes.as_bytes()),
            Err(_) => Err(PyTypeError::new_err(format!(
                "a key is str or bytes, not {}",
                key.get_type().name()?
            ))),
        }
    }
}

/// A key as it is sent.
#[pyfunction]
#[pyo3(signature = (key, allow_unicode_keys, key_prefix, /))]
pub fn check_key<'py>(
    key: &Bound<'py, PyAny>,
    allow_unicode_keys: bool,
    key_prefix: Vec<u8>,
) -> PyResult<Bound<'py, PyBytes>> {
    let rules = KeyRules {
        prefix: key_prefix,
        allows_unicode: allow_unicode_keys,
    };
    let checked = rules.check(key, &mut Room::new())?.to_vec();
    Ok(PyBytes::new(key.py(), &checked))
}

fn fault(key: &[u8]) -> Option<&'static str> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    if key.len() > KEY_BYTES_MAX {
        Some("Key is too long")
    } else if key.iter().any(is_space) {
        Some("Key contains whitespace")
    } else if key.contains(&0) {
        Some("Key contains null")
    } else {
        None
    }
}

fn refused(fault: &str, key: &Bound<'_, PyAny>) -> PyErr {
    match key.repr() {
        Ok(text) => errors::named(key.py(), errors::ILLEGAL_INPUT, format!("{fault}: {text}")),
        Err(error) => error,
    }
}
