//! Python's memory, lent to the network, and values that Python looks at without a copy.

use farcache_client::{Keeper, ReceiveBytes, SendBytes, Value as Sent};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use std::ffi::c_int;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

/// An object's bytes, which stay in place as long as this lives.
pub enum Memory {
    /// Bytes that nobody can change.
    Bytes(Py<PyBytes>),
    /// A buffer of single bytes. Its owner cannot free or move it meanwhile.
    Buffer(PyBuffer<u8>),
}

impl Memory {
    /// The memory of `bytes`, or of an object with a contiguous buffer of bytes.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Memory::Bytes(bytes.clone().unbind()));
        }
        let buffer = PyBuffer::<u8>::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err("the buffer is not contiguous"));
        }
        Ok(Memory::Buffer(buffer))
    }

    /// The memory of a Python object, to be written to.
    pub fn to_write(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match Self::of(object)? {
            Memory::Buffer(buffer) if !buffer.readonly() => Ok(Memory::Buffer(buffer)),
            _ => Err(PyTypeError::new_err("the buffer cannot be written to")),
        }
    }

    /// Its bytes.
    pub fn as_slice(&self, py: Python<'_>) -> &[u8] {
        match self {
            Memory::Bytes(bytes) => bytes.as_bytes(py),
            Memory::Buffer(buffer) => match start(buffer) {
                None => &[],
                // SAFETY: the buffer is contiguous and held. Another thread of Python's that writes
                // to it meanwhile mixes old and new bytes, as with Python's own sockets and files.
                Some(start) => unsafe { slice::from_raw_parts(start.as_ptr(), buffer.len_bytes()) },
            },
        }
    }

    /// The bytes as a value to be stored: up to so many are copied as that begins.
    pub fn value(self: &Arc<Self>, py: Python<'_>, copied_bytes_max: usize) -> Sent<'_> {
        let bytes = self.as_slice(py);
        match bytes.len() <= copied_bytes_max {
            true => Sent::Copied(bytes),
            false => Sent::Lent(self.lend(py)),
        }
    }

    /// The bytes, to be sent from where they lie.
    fn lend(self: &Arc<Self>, py: Python<'_>) -> SendBytes {
        let bytes = self.as_slice(py);
        let keeper: Keeper = Box::new(Arc::clone(self));
        // SAFETY: the keeper holds the object, which so neither frees nor moves its bytes. That
        // nobody writes to them is what `as_slice` says.
        unsafe { SendBytes::from_foreign(NonNull::from(bytes).cast(), bytes.len(), Some(keeper)) }
    }

    /// Room to receive into. It comes from [`Memory::to_write`], else it has no bytes.
    pub fn room(self: &Arc<Self>) -> ReceiveBytes {
        let (start, bytes) = match &**self {
            Memory::Buffer(buffer) if !buffer.readonly() => (start(buffer), buffer.len_bytes()),
            _ => (None, 0),
        };
        let keeper: Keeper = Box::new(Arc::clone(self));
        let start = start.unwrap_or(NonNull::dangling());
        // SAFETY: the keeper holds the object, which so neither frees nor moves its bytes. Python's
        // objects are initialised. That no thread of Python's uses the bytes meanwhile is asked of
        // the program, as with `socket.recv_into`.
        unsafe { ReceiveBytes::from_foreign(start, bytes, Some(keeper)) }
    }
}

fn start(buffer: &PyBuffer<u8>) -> Option<NonNull<u8>> {
    NonNull::new(buffer.buf_ptr().cast())
}

/// A value in the memory that it was received in, to be looked at by a memoryview.
#[pyclass(frozen, module = "farcache")]
pub struct Value(Vec<u8>);

impl Value {
    /// A memoryview of it, which keeps it.
    pub fn view(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Py<PyAny>> {
        let value = Bound::new(py, Value(bytes))?;
        Ok(PyMemoryView::from(&value)?.into_any().unbind())
    }
}

#[pymethods]
impl Value {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let bytes = &slf.get().0;
        let (start, length) = (bytes.as_ptr().cast_mut().cast(), bytes.len());
        let read_only = 1;
        // SAFETY: Python gives a view to fill. The bytes neither move nor change as long as the
        // object lives, to which the view gets a reference.
        let status = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                start,
                length as ffi::Py_ssize_t,
                read_only,
                flags,
            )
        };
        match status {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
