//! Deaths that have not been written down yet.

use super::format::Death;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

#[derive(Default)]
struct State {
    pending: VecDeque<Death>,
    /// Deaths noted since start.
    noted: u64,
}

/// Deaths in the order in which they happened.
#[derive(Default)]
pub(crate) struct Deaths(Mutex<State>);

impl Deaths {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder panics")
    }

    /// Notes a death; returns how many wait.
    pub fn note(&self, death: Death) -> usize {
        let mut state = self.state();
        state.pending.push_back(death);
        state.noted += 1;
        state.pending.len()
    }

    /// Deaths noted so far; those up to this number are written once [`Deaths::take`] has returned it.
    pub fn noted(&self) -> u64 {
        self.state().noted
    }

    /// Deaths up to this number have been taken.
    pub fn told(&self) -> u64 {
        let state = self.state();
        state.noted - state.pending.len() as u64
    }

    pub fn pending(&self) -> usize {
        self.state().pending.len()
    }

    /// Takes the oldest `most`, and says up to which number all have been taken.
    pub fn take(&self, most: usize) -> (Box<[Death]>, u64) {
        let mut state = self.state();
        let count = most.min(state.pending.len());
        let taken = state.pending.drain(..count).collect();
        (taken, state.noted - state.pending.len() as u64)
    }
}
