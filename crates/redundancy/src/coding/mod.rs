//! The bytes that plans are about: what each server gets of a value, and the value made of what
//! servers have brought.
//!
//! | part | what it is |
//! |---|---|
//! | [`Workshop`] | memory and coders that are used again |
//! | [`Parts`] | the bytes that each server gets of a value |
//! | [`Outgoing`] | those that a plan stores, of a value that was given or read |
//! | [`Pieces`] | the bytes that servers have brought, and the value made of them |
//! | [`KeyBytes`] | both, of one key |

mod assembly;
mod key_bytes;
mod outgoing;
mod parts;
mod pieces;
mod pool;

pub use key_bytes::KeyBytes;
pub use outgoing::Outgoing;
pub use parts::{LentPart, Parts};
pub use pieces::{LentBytes, Pieces, Sent};
pub use pool::Pool;

use crate::{Coder, Scheme};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What parts are made with. Threads may share one.
#[derive(Default)]
pub struct Workshop {
    /// Memory of parts.
    pub pool: Arc<Pool>,
    /// Coders that are not in use.
    coders: Mutex<Vec<Coder>>,
}

impl Workshop {
    fn coders(&self) -> MutexGuard<'_, Vec<Coder>> {
        self.coders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends a coder, so that threads do not wait for one another.
    fn with_coder<T>(&self, scheme: Scheme, code: impl FnOnce(&mut Coder) -> T) -> T {
        let spare = {
            let mut coders = self.coders();
            let at = coders.iter().position(|coder| coder.scheme() == scheme);
            at.map(|at| coders.swap_remove(at))
        };
        let mut coder = spare.unwrap_or_else(|| Coder::new(scheme));
        let result = code(&mut coder);
        self.coders().push(coder);
        result
    }
}
