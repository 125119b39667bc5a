//! Ending: answers what has arrived, sends what waits, then closes everything.

use super::Worker;
use super::device::After;
use rustix::event::epoll::EventFlags;
use std::time::{Duration, Instant};

/// How long clients that do not read their replies may hold up the end.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(5);

/// How long to wait for clients at a time.
const WAIT_MAX: Duration = Duration::from_millis(100);

impl Worker {
    /// Ends all conversations.
    pub(super) fn drain(&mut self) {
        self.drain_messages();
        self.accept_arrivals();
        self.answer_what_has_arrived();
        self.close_all_but_unsent();
        let deadline = Instant::now() + DRAIN_TIME_MAX;
        while !self.connections.is_empty() && Instant::now() < deadline {
            let mut events = std::mem::take(&mut self.events);
            let most = if self.has_more_to_do() {
                Duration::ZERO
            } else {
                WAIT_MAX
            };
            self.poller.wait(&mut events, Some(most));
            for event in &events {
                self.dispatch(event);
            }
            self.events = events;
            self.resources.set_time(Instant::now());
            self.tend_peers();
            self.poll_devices(After::Sockets);
            self.tend_arrivals();
            self.resume_unfinished();
            self.resources.store.quiescent();
            self.close_all_but_unsent();
        }
        let slots: Vec<usize> = self.connections.iter().map(|(slot, _)| slot).collect();
        slots.into_iter().for_each(|slot| self.close(slot));
    }

    fn answer_what_has_arrived(&mut self) {
        let slots: Vec<usize> = self.connections.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            self.serve(slot, EventFlags::IN);
            self.resources.store.quiescent();
        }
    }

    fn close_all_but_unsent(&mut self) {
        let done: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, connection)| {
                !connection.has_unsent() && !connection.is_queued && !connection.is_suspended()
            })
            .map(|(slot, _)| slot)
            .collect();
        done.into_iter().for_each(|slot| self.close(slot));
    }
}
