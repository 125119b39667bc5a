//! Numbers that callers give.

use farcache_client::StoreMode;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A second so long ago that what expires in it is gone at once.
const LONG_AGO_S: u32 = 30 * 24 * 3600 + 1;

/// A way to store.
pub fn mode_of(number: u8) -> PyResult<StoreMode> {
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
pub fn expiry(expire: i64) -> PyResult<u32> {
    if expire < 0 {
        return Ok(LONG_AGO_S);
    }
    u32::try_from(expire).map_err(|_| PyValueError::new_err("expire is at most 32 bits long"))
}
