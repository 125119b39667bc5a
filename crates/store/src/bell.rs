//! Tells handles that it is worth looking: something has become durable, or there is room.

use crate::schedule::{Mutex, MutexGuard};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

/// The handles that are told.
#[derive(Default)]
pub(crate) struct Bell {
    listeners: Mutex<Vec<Weak<OwnedFd>>>,
}

impl Bell {
    fn listeners(&self) -> MutexGuard<'_, Vec<Weak<OwnedFd>>> {
        self.listeners.lock().expect("no holder panics")
    }

    /// An event that becomes readable with every ring.
    ///
    /// # Errors
    /// The system's, where it has no descriptors left.
    pub fn subscribe(&self) -> io::Result<Arc<OwnedFd>> {
        let event = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        self.listeners().push(Arc::downgrade(&event));
        Ok(event)
    }

    /// Wakes all.
    pub fn ring(&self) {
        self.listeners().retain(|listener| {
            let event = listener.upgrade();
            if let Some(event) = &event {
                // It cannot fail but by overflow, and then it is readable anyway.
                let _ = rustix::io::write(event.as_ref(), &1u64.to_ne_bytes());
            }
            event.is_some()
        });
    }
}
