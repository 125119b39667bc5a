//! Many connections that are ready at once: the ones that have sent whole requests go first.
//!
//! A request that comes a byte at a time costs as many system calls as it has bytes. A thousand
//! clients that send so would have everyone else wait for all of them in each turn. epoll tells
//! anew of whoever is left out, behind all others, so nobody is left out for long.

use super::{EVENTS_MAX, Worker};
use arrayvec::ArrayVec;
use rustix::event::epoll::Event;

/// Fewer connections than this that are ready at once are served as they come; of more, so many
/// whose request has only begun.
const BEGUN_MAX: usize = 32;

impl Worker {
    /// Does what the events tell of, in an order that is fair to those who ask in whole requests.
    pub(super) fn dispatch_crowd(&mut self, events: &[Event]) {
        if events.len() <= BEGUN_MAX {
            return self.dispatch_all(events);
        }
        let connections = &self.connections;
        let has_begun = |event: &Event| {
            let connection = connections.get(event.data.u64() as usize);
            connection.is_some_and(|connection| !connection.pending.is_empty())
        };
        let in_order = whole_first(events, has_begun);
        self.dispatch_all(&in_order);
    }
}

/// Events for which `has_begun` is false come first, then the others, as many as a turn takes.
fn whole_first<E: Copy>(events: &[E], has_begun: impl Fn(&E) -> bool) -> ArrayVec<E, EVENTS_MAX> {
    let others = events.iter().filter(|event| !has_begun(event));
    let begun = events.iter().filter(|event| has_begun(event));
    others.chain(begun.take(BEGUN_MAX)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_requests_go_first_and_of_the_others_some() {
        let events: Vec<usize> = (0..EVENTS_MAX).collect();
        let order = whole_first(&events, |event| *event != 200 && *event != 100);
        assert_eq!(order[..3], [100, 200, 0]);
        assert_eq!(order.len(), 2 + BEGUN_MAX);
        assert_eq!(order.last(), Some(&(BEGUN_MAX - 1)));
    }

    #[test]
    fn whole_requests_are_all_served_in_order() {
        let events: Vec<usize> = (0..EVENTS_MAX).collect();
        assert_eq!(whole_first(&events, |_| false).as_slice(), events);
    }
}
