//! Farcache's client for Python: the part that is not Python.
//!
//! The package `farcache` (folder `python`) has the clients that programs use; this is the module
//! `_farcache` below it, which knows neither serialisers nor servers that fail over. It releases
//! Python's lock while it waits.
//!
//! | file | what it does |
//! |---|---|
//! | `core` | the class `Core`: every operation |
//! | `runner` | operations are waited for, or answered through an asyncio future |
//! | `scratch` | memory for values that Python copies at once |
//! | `arguments` | numbers that callers give |
//! | `settings` | a client's settings, from keyword arguments |
//! | `keys` | which keys are allowed |
//! | `lent` | Python's memory, lent to the network; the only file with `unsafe` |
//! | `answer` | what an operation has brought, as Python's objects |
//! | `many` | several keys in one call |
//! | `futures` | operations that an event loop waits for |
//! | `rendezvous` | which of several servers a key belongs to |
//! | `errors` | failures as exceptions |

mod answer;
mod arguments;
mod core;
mod errors;
mod futures;
mod keys;
mod lent;
mod many;
mod rendezvous;
mod runner;
mod scratch;
mod settings;

use pyo3::prelude::*;

/// The module.
#[pymodule]
fn _farcache(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("KEYS_MAX", many::KEYS_MAX)?;
    module.add_function(wrap_pyfunction!(keys::check_key, module)?)?;
    module.add_function(wrap_pyfunction!(rendezvous::rendezvous, module)?)?;
    module.add_class::<core::Core>()?;
    module.add_class::<many::PendingMany>()?;
    module.add_class::<lent::Value>()
}
