//! Memory that values are received into which Python copies at once.

use crate::errors;
use farcache_client::Client;
use pyo3::prelude::*;
use std::cell::Cell;

/// Memory for values that each thread keeps for the next one.
const SCRATCH_BYTES_MAX: usize = 4 << 20;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Gets into this thread's memory and shows what came.
pub fn with_scratch<T>(
    client: &Client,
    py: Python<'_>,
    key: &[u8],
    show: impl FnOnce(&[u8], u32, u64) -> PyResult<T>,
) -> PyResult<Option<T>> {
    let mut value = SCRATCH.take();
    let got = py.detach(|| client.get_into(key, &mut value));
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
