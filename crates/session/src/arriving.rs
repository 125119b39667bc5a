//! A value that is still arriving, read straight into the place where it will live.

use super::Context;
use crate::queue::{Queue, Turn};
use farcache_proto::binary::Placed;
use farcache_store::{
    Interrupt, Reservation, SetMode, SetOptions, SetOutcome, StoreConfig, StoreError, Suspended,
    Uncommitted,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Values above this many bytes that have not arrived whole are not waited for in the input
/// buffer: room is reserved in the store and filled as the bytes come.
pub(crate) const WAIT_IN_INPUT_BYTES_MAX: usize = 16 << 10;

/// Part of the memory that arriving values may take together. What is reserved cannot be evicted,
/// so clients that announce values and do not send them would leave no room to the others.
const PART_OF_MEMORY: u64 = 2;

/// Values of up to this part of what may arrive at a time do not wait behind longer ones: many of
/// them fit into what those leave.
const SHORT_PART: u64 = 16;

/// How much memory all arriving values of a server take, and may take; and who waits for some of
/// it.
pub struct ArrivingLimit {
    shared: Arc<Shared>,
    bytes_max: u64,
}

#[derive(Default)]
struct Shared {
    bytes: AtomicU64,
    /// Values that have given their share back.
    ended: AtomicU64,
    queue: Arc<Queue>,
}

impl ArrivingLimit {
    /// Nothing arrives yet in a store of this configuration.
    pub fn new(config: &StoreConfig) -> Self {
        ArrivingLimit::of(config.memory_bytes / PART_OF_MEMORY)
    }

    /// Nothing arrives yet, and no more than this may at a time.
    pub fn of(bytes_max: u64) -> Self {
        ArrivingLimit {
            shared: Arc::default(),
            bytes_max,
        }
    }

    /// Bytes that arriving values take now.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(SeqCst)
    }

    /// How many values have ended, stored or not, since the server began.
    pub fn ended(&self) -> u64 {
        self.shared.ended.load(SeqCst)
    }

    /// Whether a value that waits in this turn should be tried again: it is the next, or short, and
    /// there is room.
    pub fn may_try(&self, turn: &Turn) -> bool {
        turn.wanted_bytes().is_none_or(|wanted_bytes| {
            let is_ahead = turn.is_next() || self.is_short(wanted_bytes);
            is_ahead && self.bytes() + wanted_bytes <= self.bytes_max
        })
    }

    /// Waiting has been in vain since so many values had ended: until another one does, nobody
    /// begins to wait.
    pub fn note_in_vain(&self, ended: u64) {
        self.shared.queue.note_in_vain(ended);
    }

    /// Admits another value; none if that would be too much together with the others.
    pub(crate) fn admit(&self, value_bytes: usize) -> Option<Admitted> {
        let value_bytes = value_bytes as u64;
        let with_it = |others: u64| {
            let bytes = others.checked_add(value_bytes)?;
            (bytes <= self.bytes_max).then_some(bytes)
        };
        let bytes = &self.shared.bytes;
        bytes.try_update(SeqCst, SeqCst, with_it).ok()?;
        Some(Admitted {
            shared: Arc::clone(&self.shared),
            value_bytes,
        })
    }

    /// Admits another value in its turn. Who has none is refused where others would wait.
    ///
    /// # Errors
    /// [`Suspended::OnArrivals`] where it is to wait; [`StoreError::OutOfMemory`] where that is of
    /// no use.
    fn admit_in_turn(
        &self,
        value_bytes: usize,
        turn: Option<&Turn>,
    ) -> Result<Admitted, Interrupt> {
        let Some(turn) = turn else {
            let admitted = self.admit(value_bytes);
            return admitted.ok_or(StoreError::OutOfMemory.into());
        };
        let (queue, ended) = (&self.shared.queue, self.ended());
        let waits = queue.is_empty() || turn.is_next() || self.is_short(value_bytes as u64);
        let admitted = match waits {
            true => self.admit(value_bytes),
            false => None,
        };
        let never_fits = value_bytes as u64 > self.bytes_max;
        let is_over = never_fits || turn.has_given_up() || queue.is_in_vain(ended);
        if admitted.is_some() || is_over {
            turn.leave();
            return admitted.ok_or(StoreError::OutOfMemory.into());
        }
        turn.enter(queue, value_bytes as u64);
        Err(Suspended::OnArrivals.into())
    }

    /// Whether a value need not wait behind longer ones.
    fn is_short(&self, value_bytes: u64) -> bool {
        value_bytes <= self.bytes_max / SHORT_PART
    }
}

/// A value's share of the limit, given back when dropped.
pub(crate) struct Admitted {
    shared: Arc<Shared>,
    value_bytes: u64,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.shared.bytes.fetch_sub(self.value_bytes, SeqCst);
        // After that, so that whoever sees it finds the room.
        self.shared.ended.fetch_add(1, SeqCst);
    }
}

/// A reserved place and how much of it has been filled.
pub(crate) struct Arriving {
    reservation: Reservation,
    options: SetOptions,
    /// By which owners its client has placed it, where that is to be checked.
    pub(crate) placed: Option<Placed>,
    received_bytes: usize,
    _admitted: Admitted,
}

impl Arriving {
    /// Reserves a place for a value of which nothing has arrived yet.
    ///
    /// # Errors
    /// The store's, and those for a value beside which too much is arriving already: it waits, or
    /// is refused as for lack of memory.
    pub(crate) fn begin(
        key: &[u8],
        value_bytes: usize,
        options: SetOptions,
        context: &Context<'_>,
    ) -> Result<Self, Interrupt> {
        // Too large a value is called that, however much arrives.
        let admitted = match value_bytes <= context.store.store().config().item_bytes_max {
            true => Some(
                context
                    .service
                    .arriving
                    .admit_in_turn(value_bytes, context.turn)?,
            ),
            false => None,
        };
        let reservation = context.store.reserve(key, value_bytes, &options)?;
        Ok(Arriving {
            reservation,
            options,
            placed: None,
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

    /// Its key.
    pub(crate) fn key(&self) -> &[u8] {
        self.reservation.key()
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
            placed,
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
                    placed,
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
            placed: self.placed,
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
    /// By which owners its client has placed it, where that is to be checked.
    pub(crate) placed: Option<Placed>,
    _admitted: Admitted,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 1600;

    fn waits(limit: &ArrivingLimit, bytes: usize, turn: &Turn) -> bool {
        match limit.admit_in_turn(bytes, Some(turn)).map(drop) {
            Ok(()) => false,
            Err(Interrupt::Suspended(Suspended::OnArrivals)) => true,
            Err(other) => panic!("{other}"),
        }
    }

    fn refused(limit: &ArrivingLimit, bytes: usize, turn: Option<&Turn>) -> bool {
        let outcome = limit.admit_in_turn(bytes, turn).map(drop);
        matches!(outcome, Err(Interrupt::Failed(StoreError::OutOfMemory)))
    }

    #[test]
    fn who_came_first_goes_first() {
        let limit = ArrivingLimit::of(LIMIT);
        let arriving = limit.admit(1000).expect("room");
        let [first, second, newcomer] = [(); 3].map(|()| Turn::default());
        assert!(waits(&limit, 1000, &first) && waits(&limit, 1000, &second));
        assert!(!limit.may_try(&first));
        assert!(waits(&limit, 500, &newcomer), "although there is room");
        drop(arriving);
        assert!(limit.may_try(&first) && !limit.may_try(&second));
        let admitted = limit.admit_in_turn(1000, Some(&first)).expect("room");
        assert!(!limit.may_try(&second));
        drop((admitted, second));
        assert!(limit.may_try(&newcomer), "who has left holds up nobody");
        assert_eq!((limit.bytes(), limit.ended()), (0, 2));
    }

    #[test]
    fn short_values_need_not_wait_behind_long_ones() {
        let limit = ArrivingLimit::of(LIMIT);
        let arriving = limit.admit(1500).expect("room");
        let [long, short] = [(); 2].map(|()| Turn::default());
        assert!(waits(&limit, 1000, &long));
        assert!(!waits(&limit, 100, &short), "it fits");
        let other = limit.admit(100).expect("room");
        assert!(waits(&limit, 100, &short));
        drop(other);
        assert!(limit.may_try(&short) && !limit.may_try(&long));
        drop(arriving);
    }

    #[test]
    fn who_cannot_wait_and_what_never_fits_is_refused() {
        let limit = ArrivingLimit::of(LIMIT);
        let turn = Turn::default();
        let never = usize::try_from(LIMIT).expect("small") + 1;
        assert!(refused(&limit, never, Some(&turn)));
        let arriving = limit.admit(1000).expect("room");
        assert!(refused(&limit, 1000, None));
        assert!(waits(&limit, 1000, &turn));
        turn.give_up();
        assert!(refused(&limit, 1000, Some(&turn)));
        assert!(waits(&limit, 1000, &turn), "another request");
        drop(arriving);
        assert!(!waits(&limit, 1000, &turn));
    }

    #[test]
    fn nobody_begins_to_wait_where_that_was_in_vain() {
        let limit = ArrivingLimit::of(LIMIT);
        let stalled = limit.admit(1000).expect("room");
        let other = limit.admit(100).expect("room");
        limit.note_in_vain(limit.ended());
        let turn = Turn::default();
        assert!(refused(&limit, 1000, Some(&turn)));
        drop(other);
        assert!(waits(&limit, 1000, &turn), "another value has ended");
        drop(stalled);
    }
}
