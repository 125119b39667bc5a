//! A value that is still arriving, read straight into the place where it will live.

use farcache_store::{Reservation, SetOptions};

/// Values above this many bytes that have not arrived whole are not waited for in the input
/// buffer: room is reserved in the store and filled as the bytes come.
pub(crate) const WAIT_IN_INPUT_BYTES_MAX: usize = 16 << 10;

/// A reserved place and how much of it has been filled.
pub(crate) struct Arriving {
    reservation: Reservation,
    options: SetOptions,
    received_bytes: usize,
}

impl Arriving {
    /// Nothing has arrived yet; `options` are those of the reservation.
    pub(crate) fn new(reservation: Reservation, options: SetOptions) -> Self {
        Arriving {
            reservation,
            options,
            received_bytes: 0,
        }
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

    /// The place and the options to commit it with.
    pub(crate) fn into_parts(self) -> (Reservation, SetOptions) {
        (self.reservation, self.options)
    }
}
