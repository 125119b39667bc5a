//! Messages that wait for other servers of the cluster, which own the keys that they ask for or
//! still hold what moves here. One that waits holds up no other.

use super::device::Work;
use super::engine::Engine;
use crate::peers::{Asked, Waiter};
use crate::resources::Resources;
use crate::resources::forward;
use farcache_session::Status;

/// Work that cannot go on, whose it is, and what it waits for.
pub(super) struct Awaiting {
    session: u32,
    key: u64,
    work: Work,
    asked: Asked,
}

impl Engine {
    /// A message, or a value that has arrived, cannot go on before other servers have answered. Its
    /// place is the one that [`Engine::next_waiter`] has named.
    pub(super) fn await_peers(
        &mut self,
        number: u32,
        work: Work,
        asked: Asked,
        resources: &mut Resources,
    ) {
        let is_waiting = asked.is_waiting();
        let key = self.conversation(number).key;
        let index = self.awaiting.insert(Awaiting {
            session: number,
            key,
            work,
            asked,
        });
        if !is_waiting {
            // Where there is nothing to wait for, it goes on with the next turn.
            self.answered.push(index);
        }
        self.check_kept(number, resources);
    }

    /// Where the next message that waits for other servers will be.
    pub(super) fn next_waiter(&self) -> usize {
        self.awaiting.vacant_key()
    }

    /// The questions of a message that waits.
    pub fn asked_mut(&mut self, index: usize) -> Option<&mut Asked> {
        let awaiting = self.awaiting.get_mut(index)?;
        Some(&mut awaiting.asked)
    }

    /// A message that waits can be carried out in the next turn.
    pub fn queue_answered(&mut self, index: usize) {
        self.answered.push(index);
    }

    /// Goes on with the messages that have been answered.
    pub(super) fn resume_answered(&mut self, resources: &mut Resources) {
        for index in std::mem::take(&mut self.answered) {
            let Some(awaiting) = self.awaiting.try_remove(index) else {
                continue;
            };
            let Some(number) = self.find_key(awaiting.session, awaiting.key) else {
                // The session has ended meanwhile.
                forward::forget_message(&awaiting.asked, resources);
                continue;
            };
            forward::stage_message(awaiting.asked, resources);
            self.go_on(number, awaiting.work, resources);
            // Of a value that has arrived no session is left to use what else there is.
            forward::settle_message(Waiter::Message(0), Status::NeedInput, resources);
        }
    }
}
