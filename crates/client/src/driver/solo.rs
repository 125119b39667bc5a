//! The short way of a get or a store whose caller waits, with nothing else under way: from the call
//! to the network and from the network to the caller in one go.

use super::{Driver, Shared, clock};
use crate::ItemInfo;
use crate::completion::Completion;
use crate::engine::{Solo, SoloGet, SoloStage};
use crate::store::Store;
use farcache_fabric::{Kind, Payload};

/// Looks at the network before a request goes on as an operation like all others: some 3 us, in
/// which a small answer comes.
const LOOKS_MAX: u32 = 128;

/// How a solo request ended.
pub(crate) enum SoloEnd<T> {
    /// It was answered plainly.
    Answered(T),
    /// As an operation like others.
    Complete(Completion),
}

impl Shared {
    /// Gets a value into `room`, if that can go the short way; otherwise nothing has happened.
    pub(crate) fn get_solo(
        &self,
        key: &[u8],
        room: &mut Vec<u8>,
    ) -> Option<SoloEnd<Option<ItemInfo>>> {
        self.run_solo(
            |driver, now_us, is_wanted| driver.get_solo(key, room, now_us, is_wanted),
            |stage| match stage {
                SoloStage::Found { flags, cas } => Some(ItemInfo { flags, cas }),
                _ => None,
            },
        )
    }

    /// Stores a value and tells its CAS token, if that can go the short way; otherwise nothing has
    /// happened.
    pub(crate) fn store_solo(&self, store: &Store<'_>) -> Option<SoloEnd<u64>> {
        self.run_solo(
            |driver, now_us, is_wanted| driver.store_solo(store, now_us, is_wanted),
            |stage| match stage {
                SoloStage::Stored { cas } => cas,
                _ => unreachable!("a store ends with nothing else"),
            },
        )
    }

    #[inline]
    fn run_solo<T>(
        &self,
        run: impl FnOnce(&mut Driver, u64, &dyn Fn() -> bool) -> Option<SoloStage>,
        answer: impl FnOnce(SoloStage) -> T,
    ) -> Option<SoloEnd<T>> {
        if self.has_progress_thread {
            return None;
        }
        let mut guard = self.lock.try_take()?;
        let now_us = clock::about_now_us();
        if guard.is_stale(now_us) || guard.has_sleeper || guard.followers > 0 {
            return None;
        }
        let is_wanted = || self.lock.is_wanted();
        Some(match run(&mut guard, now_us, &is_wanted)? {
            SoloStage::Adopted(ticket) => {
                SoloEnd::Complete(self.wait_for(guard, |engine| engine.fetch(ticket)))
            }
            stage => SoloEnd::Answered(answer(stage)),
        })
    }
}

impl Driver {
    #[inline]
    fn get_solo(
        &mut self,
        key: &[u8],
        room: &mut Vec<u8>,
        now_us: u64,
        is_wanted: impl Fn() -> bool,
    ) -> Option<SoloStage> {
        let is_quiet = self.is_quiet();
        let port = self.fabric.as_mut().filter(|_| is_quiet)?;
        let route = self.engine.begin_solo(key)?;
        port.send_get(route.peer, route.opaque, key);
        Some(self.await_solo(SoloGet::new(route, room, now_us), now_us, is_wanted))
    }

    #[inline]
    fn store_solo(
        &mut self,
        store: &Store<'_>,
        now_us: u64,
        is_wanted: impl Fn() -> bool,
    ) -> Option<SoloStage> {
        let is_quiet = self.is_quiet();
        let port = self.fabric.as_mut().filter(|_| is_quiet)?;
        let store = self
            .engine
            .begin_lone_store(store, &mut self.solo_packet, now_us)?;
        let payload = Payload::Packets(&self.solo_packet);
        port.send(store.peer(), Kind::Packets, 0, payload);
        Some(self.await_solo(store, now_us, is_wanted))
    }

    /// Whether nothing has come that must be handled first.
    fn is_quiet(&self) -> bool {
        self.connecting == 0 && self.fabric_inbox.is_empty()
    }

    #[inline]
    fn await_solo(
        &mut self,
        mut solo: impl Solo,
        now_us: u64,
        is_wanted: impl Fn() -> bool,
    ) -> SoloStage {
        let (port, engine) = (self.fabric.as_mut().expect("it was sent"), &mut self.engine);
        let mut looks = 0;
        while solo.stage() == SoloStage::UnderWay {
            port.progress_with(&mut self.fabric_inbox, &mut |message| {
                solo.message(engine, message);
                true
            });
            looks += 1;
            if !self.fabric_inbox.is_empty() || looks == LOOKS_MAX || is_wanted() {
                solo.adopt(engine);
            }
        }
        if !self.fabric_inbox.is_empty() || self.engine.has_actions() {
            self.turn(now_us);
        }
        solo.stage()
    }
}
