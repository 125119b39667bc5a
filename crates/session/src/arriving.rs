//! A value that is still arriving, read straight into the place where it will live.

use super::Context;
use farcache_store::{
    Interrupt, Reservation, SetMode, SetOptions, SetOutcome, StoreConfig, StoreError, Suspended,
    Uncommitted,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Values above this many bytes that have not arrived whole are not waited for in the input
/// buffer: room is reserved in the store and filled as the bytes come.
pub(crate) const WAIT_IN_INPUT_BYTES_MAX: usize = 16 << 10;

/// Part of the memory that arriving values may take together. What is reserved cannot be evicted,
/// so clients that announce values and do not send them would leave no room to the others.
const PART_OF_MEMORY: u64 = 2;

/// How much memory all arriving values of a server take, and may take.
pub struct ArrivingLimit {
    bytes: Arc<AtomicU64>,
    bytes_max: u64,
}

impl ArrivingLimit {
    /// Nothing arrives yet in a store of this configuration.
    pub fn new(config: &StoreConfig) -> Self {
        ArrivingLimit {
            bytes: Arc::default(),
            bytes_max: config.memory_bytes / PART_OF_MEMORY,
        }
    }

    /// Nothing arrives yet, and no more than this may at a time.
    pub fn of(bytes_max: u64) -> Self {
        ArrivingLimit {
            bytes: Arc::default(),
            bytes_max,
        }
    }

    /// Bytes that arriving values take now.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Admits another value; none if that would be too much together with the others.
    pub(crate) fn admit(&self, value_bytes: usize) -> Option<Admitted> {
        let value_bytes = value_bytes as u64;
        let others = self.bytes.fetch_add(value_bytes, Relaxed);
        let admitted = Admitted {
            all: Arc::clone(&self.bytes),
            value_bytes,
        };
        (others.saturating_add(value_bytes) <= self.bytes_max).then_some(admitted)
    }
}

/// A value's share of the limit, given back when dropped.
pub(crate) struct Admitted {
    all: Arc<AtomicU64>,
    value_bytes: u64,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.all.fetch_sub(self.value_bytes, Relaxed);
    }
}

/// A reserved place and how much of it has been filled.
pub(crate) struct Arriving {
    reservation: Reservation,
    options: SetOptions,
    received_bytes: usize,
    _admitted: Admitted,
}

impl Arriving {
    /// Reserves a place for a value of which nothing has arrived yet.
    ///
    /// # Errors
    /// The store's, and [`StoreError::OutOfMemory`] where too much is arriving already.
    pub(crate) fn begin(
        key: &[u8],
        value_bytes: usize,
        options: SetOptions,
        context: &Context<'_>,
    ) -> Result<Self, Interrupt> {
        let admitted = context.service.arriving.admit(value_bytes);
        // Too large a value is called that, however much arrives.
        if admitted.is_none() && value_bytes <= context.store.store().config().item_bytes_max {
            return Err(StoreError::OutOfMemory.into());
        }
        let reservation = context.store.reserve(key, value_bytes, &options)?;
        Ok(Arriving {
            reservation,
            options,
            received_bytes: 0,
            _admitted: admitted.ok_or(StoreError::OutOfMemory)?,
        })
    }

    /// Room for the bytes still missing.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        &mut self.reservation.value_mut()[self.received_bytes..]
    }

    /// This many bytes have been written to the front of [`Arriving::buffer`].
    pub(crate) fn received(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.buffer().len());
        self.received_bytes += bytes;
    }

    /// Copies what it can use from the front of `input`; returns how many bytes that was.
    pub(crate) fn take(&mut self, input: &[u8]) -> usize {
        let room = self.buffer();
        let bytes = room.len().min(input.len());
        room[..bytes].copy_from_slice(&input[..bytes]);
        self.received(bytes);
        bytes
    }

    /// Whether every byte has arrived.
    pub(crate) fn is_complete(&mut self) -> bool {
        self.buffer().is_empty()
    }

    /// Stores it.
    ///
    /// # Errors
    /// The value, where something must be waited for first.
    #[expect(clippy::result_large_err, reason = "moved once for each large value")]
    pub(crate) fn commit(self, context: &Context<'_>) -> Result<Committed, (Suspended, Self)> {
        let Arriving {
            reservation,
            options,
            received_bytes,
            _admitted,
        } = self;
        match context.store.commit(reservation, &options) {
            Ok(outcome) => Ok(Committed {
                outcome,
                mode: options.mode,
            }),
            Err(Uncommitted {
                suspended,
                reservation,
            }) => {
                let value = Arriving {
                    reservation,
                    options,
                    received_bytes,
                    _admitted,
                };
                Err((suspended, value))
            }
        }
    }

    /// The place, for whoever fills it elsewhere, and what is needed when that is done.
    pub(crate) fn split(self) -> (Reservation, Promise) {
        let promise = Promise {
            options: self.options,
            _admitted: self._admitted,
        };
        (self.reservation, promise)
    }
}

/// How storing a value that has arrived ended.
pub(crate) struct Committed {
    /// What the store says.
    pub(crate) outcome: Result<SetOutcome, StoreError>,
    /// How it was to be stored.
    pub(crate) mode: SetMode,
}

/// What is left of an arriving value while its place is away to be filled; it counts as arriving as
/// long.
pub(crate) struct Promise {
    /// The options to commit it with.
    pub(crate) options: SetOptions,
    _admitted: Admitted,
}
