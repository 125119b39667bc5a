//! Where parts of a value are received: each where it belongs in the value's memory, once the
//! header in front of it has told.

use farcache_fabric::bytes::{ReceiveBytes, zeroed_memory};
use farcache_fabric::split::SplitMemory;
use farcache_redundancy::coding::Pool;
use farcache_redundancy::stored::{Header, Piece};
use farcache_redundancy::{Redundancy, Scheme, Version};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A shorter part gets a buffer of its own: finding its place takes longer than copying it.
const PLACED_BYTES_MIN: usize = 4 << 10;

/// The memory of one value, shared by the requests that bring parts of it. The first header that
/// comes decides which value it is; parts of another one, short ones, and parity get buffers of
/// their own.
#[derive(Clone)]
pub struct PartRooms(Arc<Inner>);

struct Inner {
    redundancy: Redundancy,
    pool: Arc<Pool>,
    state: Mutex<State>,
}

enum State {
    /// No header has come.
    Empty(Vec<u8>),
    /// Parts of this value come here.
    Of(Layout, SplitMemory),
    /// All that comes gets a buffer of its own.
    Closed,
}

/// Which value it is, and how it lies in its memory.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Layout {
    version: Version,
    /// None of a copy.
    scheme: Option<Scheme>,
    value_bytes: usize,
}

impl Layout {
    /// Of a part that has a place in the value.
    fn of(header: &Header) -> Option<Layout> {
        let scheme = match header.piece {
            Piece::Copy(_) => None,
            Piece::Witness(_) => return None,
            Piece::Shard { scheme, shard } => {
                let is_data = usize::from(shard) < scheme.data_shards();
                Some(is_data.then_some(scheme)?)
            }
        };
        Some(Layout {
            version: header.version,
            scheme,
            value_bytes: header.value_bytes as usize,
        })
    }

    /// Length of the memory, in which all data shards are equally long.
    fn padded_bytes(&self) -> usize {
        let padded = |scheme: Scheme| scheme.shard_bytes(self.value_bytes) * scheme.data_shards();
        self.scheme.map_or(self.value_bytes, padded)
    }

    fn range(&self, piece: Piece) -> Range<usize> {
        piece.range(self.value_bytes)
    }
}

impl PartRooms {
    /// The memory of a value that lies in so many places; what it holds is of no interest.
    #[must_use]
    pub fn new(redundancy: Redundancy, pool: &Arc<Pool>, memory: Vec<u8>) -> PartRooms {
        PartRooms(Arc::new(Inner {
            redundancy,
            pool: Arc::clone(pool),
            state: Mutex::new(State::Empty(memory)),
        }))
    }

    /// No memory of a value: all that comes gets a buffer of its own.
    pub(crate) fn apart(redundancy: Redundancy, pool: &Arc<Pool>) -> PartRooms {
        let rooms = PartRooms::new(redundancy, pool, Vec::new());
        *rooms.state() = State::Closed;
        rooms
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for a part of so many bytes that comes behind this header: a buffer of its own, which
    /// is a vector, or its place in the value, which is none.
    pub(crate) fn room(&self, front: &[u8], bytes: usize) -> ReceiveBytes {
        let decode = || Header::decode(front).ok();
        let header = (bytes >= PLACED_BYTES_MIN).then(decode).flatten();
        let place = header.and_then(|header| self.place(&header, bytes));
        place.unwrap_or_else(|| self.0.pool.take_vec(bytes).into())
    }

    /// The part's place in the value; none where it has none, or another part is there.
    fn place(&self, header: &Header, bytes: usize) -> Option<ReceiveBytes> {
        let is_known = match (header.piece, self.0.redundancy) {
            (Piece::Copy(_) | Piece::Witness(_), _) => true,
            (Piece::Shard { scheme, .. }, Redundancy::Erasure(known)) => scheme == known,
            (Piece::Shard { .. }, _) => false,
        };
        let layout = Layout::of(header).filter(|_| is_known && header.part_bytes() == bytes)?;
        let mut state = self.state();
        if let State::Empty(memory) = &mut *state {
            let memory = sized(std::mem::take(memory), layout.padded_bytes());
            *state = State::Of(layout, SplitMemory::new(memory));
        }
        match &*state {
            State::Of(of, memory) if *of == layout => memory.lend(layout.range(header.piece)),
            _ => None,
        }
    }

    /// Gives no more places. The memory, if nobody has any of it but the caller, who has so many
    /// parts: it can be taken when these have been let go of.
    pub(crate) fn close(&self, lent_count: usize) -> Option<SplitMemory> {
        let memory = match std::mem::replace(&mut *self.state(), State::Closed) {
            State::Empty(memory) => SplitMemory::new(memory),
            State::Of(_, memory) => memory,
            State::Closed => return None,
        };
        (memory.lent_count() == lent_count).then_some(memory)
    }
}

/// The memory with this length; other memory where it is too small.
fn sized(mut memory: Vec<u8>, bytes: usize) -> Vec<u8> {
    if memory.capacity() < bytes {
        // What is there need not be moved.
        return zeroed_memory(bytes);
    }
    memory.resize(bytes, 0);
    memory
}

impl fmt::Debug for PartRooms {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PartRooms")
    }
}

#[cfg(test)]
mod tests;
