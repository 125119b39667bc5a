//! Operations that an event loop waits for.
//!
//! The client's progress thread writes the number of an operation that has ended into a list, and
//! to an eventfd where the list was empty; it never takes Python's lock. The loop watches the
//! eventfd and calls [`Futures::drain`].

use crate::answer::{Wanted, answer};
use crate::many::Keys;
use farcache_client::{Client, GetManyRequest, Notice, Request};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use std::collections::{HashMap, HashSet};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is under way.
pub enum UnderWay {
    /// An operation on one key, or on none.
    One(Request, Wanted),
    /// A multi-get, and whether flags and tokens are wanted.
    Many(GetManyRequest, Keys, bool),
}

impl AsRef<Request> for UnderWay {
    fn as_ref(&self) -> &Request {
        match self {
            UnderWay::One(request, _) => request,
            UnderWay::Many(request, ..) => request.as_ref(),
        }
    }
}

struct Ended {
    numbers: Mutex<Vec<u64>>,
    event: OwnedFd,
}

#[derive(Default)]
struct Waiting {
    operations: HashMap<u64, (UnderWay, Py<PyAny>)>,
    /// Ended before another thread could put them in.
    early: HashSet<u64>,
}

/// All operations that a loop waits for.
pub struct Futures {
    next: AtomicU64,
    waiting: Mutex<Waiting>,
    ended: Arc<Ended>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ended {
    fn add(&self, number: u64) {
        let mut numbers = lock(&self.numbers);
        numbers.push(number);
        if numbers.len() == 1 {
            // It cannot be full: it is written to only after it was emptied.
            let _ = write(&self.event, &1u64.to_ne_bytes());
        }
    }

    fn take(&self) -> Vec<u64> {
        let mut numbers = lock(&self.numbers);
        let _ = read(&self.event, &mut [0u8; 8]);
        std::mem::take(&mut *numbers)
    }
}

impl Futures {
    /// None.
    pub fn new() -> PyResult<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let event = event.map_err(std::io::Error::from)?;
        let numbers = Mutex::default();
        Ok(Futures {
            next: AtomicU64::new(0),
            waiting: Mutex::default(),
            ended: Arc::new(Ended { numbers, event }),
        })
    }

    /// What the loop watches.
    pub fn descriptor(&self) -> RawFd {
        self.ended.event.as_raw_fd()
    }

    /// Has a future hear of the end of an operation.
    pub fn add(&self, py: Python<'_>, client: &Client, operation: UnderWay, future: Py<PyAny>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let ended = Arc::clone(&self.ended);
        let notice = Notice::new(move || ended.add(number));
        // Neither Python's lock nor ours is held while the client's is waited for.
        py.detach(|| client.notify(&operation, notice));
        let mut waiting = lock(&self.waiting);
        waiting.operations.insert(number, (operation, future));
        if waiting.early.remove(&number) {
            self.ended.add(number);
        }
    }

    /// Tells the futures of all that has ended.
    pub fn drain(&self, py: Python<'_>, client: &Client) -> PyResult<()> {
        for number in self.ended.take() {
            if let Some((operation, future)) = self.take(number) {
                tell(py, client, operation, future.bind(py))?;
            }
        }
        Ok(())
    }

    fn take(&self, number: u64) -> Option<(UnderWay, Py<PyAny>)> {
        let mut waiting = lock(&self.waiting);
        let taken = waiting.operations.remove(&number);
        if taken.is_none() {
            waiting.early.insert(number);
        }
        taken
    }

    /// Waits for all, so that no memory is lent any more; their futures are cancelled.
    pub fn end(&self, py: Python<'_>, client: &Client) -> PyResult<()> {
        let operations = std::mem::take(&mut lock(&self.waiting).operations);
        for (operation, future) in operations.into_values() {
            let _ = finish(py, client, operation);
            future.call_method0(py, "cancel")?;
        }
        Ok(())
    }
}

fn tell(
    py: Python<'_>,
    client: &Client,
    operation: UnderWay,
    future: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let answer = finish(py, client, operation);
    if future.call_method0("done")?.is_truthy()? {
        return Ok(());
    }
    match answer {
        Ok(answer) => future.call_method1("set_result", (answer,))?,
        Err(error) => future.call_method1("set_exception", (error.into_value(py),))?,
    };
    Ok(())
}

fn finish(py: Python<'_>, client: &Client, operation: UnderWay) -> PyResult<Py<PyAny>> {
    match operation {
        UnderWay::One(request, wanted) => {
            let completion = py.detach(|| client.complete(request));
            answer(py, wanted, completion)
        }
        UnderWay::Many(request, keys, whole) => {
            let values = py.detach(|| client.wait_get_many(request));
            keys.found(py, &values, whole)?.into_py_any(py)
        }
    }
}
