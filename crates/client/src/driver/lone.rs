//! The short way of a get whose caller waits, with nothing else under way: from the call to the network and from the network to
//! the caller's room in one go.

use super::{Driver, Shared, clock};
use crate::calls::ItemInfo;
use crate::engine::{LoneGet, LoneStage};
use crate::operation::Completion;
use std::sync::atomic::Ordering;

/// Looks at the network before a get goes on as an operation like all others: some 3 us, in which a small answer comes.
const LOOKS_MAX: u32 = 128;

/// How a lone get ended.
pub(crate) enum LoneEnd {
    /// The value is in its room, or there is none.
    Answered(Option<ItemInfo>),
    /// As an operation like others.
    Complete(Completion),
}

impl Shared {
    /// Gets a value into `room`, if that can go the short way; otherwise nothing has happened.
    pub(crate) fn get_alone(&self, key: &[u8], room: &mut Vec<u8>) -> Option<LoneEnd> {
        if self.has_progress_thread {
            return None;
        }
        let mut guard = self.driver.try_lock().ok()?;
        let now_us = clock::about_now_us();
        if guard.is_stale(now_us) || guard.has_sleeper || guard.followers > 0 {
            return None;
        }
        let is_wanted = || self.wanted.load(Ordering::Relaxed) > 0;
        match guard.get_alone(key, room, now_us, is_wanted)? {
            LoneStage::Found { flags, cas } => {
                Some(LoneEnd::Answered(Some(ItemInfo { flags, cas })))
            }
            LoneStage::Missing => Some(LoneEnd::Answered(None)),
            LoneStage::UnderWay => unreachable!("it has been adopted"),
            LoneStage::Adopted(ticket) => {
                let wait = self.wait_for(guard, |engine| engine.fetch(ticket));
                Some(LoneEnd::Complete(wait))
            }
        }
    }
}

impl Driver {
    #[inline]
    fn get_alone(
        &mut self,
        key: &[u8],
        room: &mut Vec<u8>,
        now_us: u64,
        is_wanted: impl Fn() -> bool,
    ) -> Option<LoneStage> {
        if self.connecting > 0 || !self.fabric_inbox.is_empty() {
            return None;
        }
        let (port, engine) = (self.fabric.as_mut()?, &mut self.engine);
        let route = engine.begin_lone_get(key)?;
        port.send_get(route.peer, route.opaque, key);
        let mut get = LoneGet::new(route, room, now_us);
        let mut looks = 0;
        while get.stage == LoneStage::UnderWay {
            port.progress_with(&mut self.fabric_inbox, &mut |message| {
                get.message(engine, message);
                true
            });
            looks += 1;
            if !self.fabric_inbox.is_empty() || looks == LOOKS_MAX || is_wanted() {
                get.adopt(engine);
            }
        }
        let stage = get.stage;
        if !self.fabric_inbox.is_empty() || self.engine.has_actions() {
            self.turn(now_us);
        }
        Some(stage)
    }
}
