//! `watch`: connections that are shown what happens, as lines in memcached's format.
//!
//! While nobody watches, an event costs one look at [`Watched::wants`].

use crate::mailbox::Mailbox;
use farcache_proto::text::WatchFlags;
use farcache_session::watch::{EventKind, ShownKey, Watched};
use farcache_store::Evicted;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

/// A connection's share of the events.
pub struct Watcher {
    kinds: u64,
    /// Lines not yet sent.
    lines: Mutex<Vec<u8>>,
    /// The worker that owns the connection.
    worker: Arc<Mailbox>,
}

impl Watcher {
    /// Moves the lines that wait to the end of `buffer`.
    pub fn take_lines(&self, buffer: &mut Vec<u8>) {
        buffer.append(&mut self.lines.lock().expect("no panic while held"));
    }
}

/// Knows who watches what.
#[derive(Default)]
pub struct Hub {
    /// Kinds that anybody watches, which sessions look at.
    watched: Arc<Watched>,
    watchers: Mutex<Vec<Arc<Watcher>>>,
    number: AtomicU64,
    sent: AtomicU64,
    skipped: AtomicU64,
    buffer_bytes: usize,
}

impl Hub {
    /// Keeps up to `buffer_bytes` of lines for a watcher that does not read.
    pub fn new(buffer_bytes: usize) -> Self {
        Hub {
            buffer_bytes,
            ..Hub::default()
        }
    }

    /// Which kinds anybody watches.
    pub fn watched(&self) -> &Arc<Watched> {
        &self.watched
    }

    /// Adds a watcher, whose `worker` is woken when there is something to send.
    pub fn subscribe(&self, flags: WatchFlags, worker: Arc<Mailbox>) -> Arc<Watcher> {
        let wanted = EventKind::ALL
            .into_iter()
            .filter(|kind| flags.has(kind.name()));
        let kinds = wanted.fold(0, |bits, kind| bits | kind.bit());
        let watcher = Arc::new(Watcher {
            kinds,
            lines: Mutex::default(),
            worker,
        });
        let mut watchers = self.watchers();
        watchers.push(Arc::clone(&watcher));
        self.note_wanted(&watchers);
        watcher
    }

    /// Removes a watcher.
    pub fn unsubscribe(&self, watcher: &Arc<Watcher>) {
        let mut watchers = self.watchers();
        watchers.retain(|other| !Arc::ptr_eq(other, watcher));
        self.note_wanted(&watchers);
    }

    /// Shows an event, whose text begins with `type=`, to those who watch its kind.
    pub fn publish(&self, kind: EventKind, event: fmt::Arguments<'_>) {
        let time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let number = self.number.fetch_add(1, Relaxed) + 1;
        let (seconds, micros) = (time.as_secs(), time.subsec_micros());
        let mut line = String::new();
        writeln!(line, "ts={seconds}.{micros:06} gid={number} {event}")
            .expect("a string takes everything");
        for watcher in self
            .watchers()
            .iter()
            .filter(|watcher| watcher.kinds & kind.bit() != 0)
        {
            self.show(watcher, line.as_bytes());
        }
    }

    fn show(&self, watcher: &Watcher, line: &[u8]) {
        let mut lines = watcher.lines.lock().expect("no panic while held");
        if lines.len() + line.len() > self.buffer_bytes {
            self.skipped.fetch_add(1, Relaxed);
            return;
        }
        let was_empty = lines.is_empty();
        lines.extend_from_slice(line);
        self.sent.fetch_add(1, Relaxed);
        drop(lines);
        if was_empty {
            watcher.worker.waker.wake();
        }
    }

    /// An item was evicted.
    pub fn evicted(&self, item: &Evicted<'_>) {
        if self.watched.wants(EventKind::Evictions) {
            let (key, idle, size) = (ShownKey(item.key), item.idle_s, item.value_bytes);
            let fetched = if item.was_fetched { "yes" } else { "no" };
            let rest = item.rest_s.map_or(-1, i64::from);
            self.publish(
                EventKind::Evictions,
                format_args!(
                    "type=eviction key={key} fetch={fetched} ttl={rest} la={idle} clsid=1 size={size}"
                ),
            );
        }
    }

    /// Watchers now, lines shown, and lines that watchers were too slow for.
    pub fn figures(&self) -> (u64, u64, u64) {
        (
            self.watchers().len() as u64,
            self.sent.load(Relaxed),
            self.skipped.load(Relaxed),
        )
    }

    fn note_wanted(&self, watchers: &[Arc<Watcher>]) {
        let all = watchers.iter();
        self.watched
            .set(all.fold(0, |bits, watcher| bits | watcher.kinds));
    }

    fn watchers(&self) -> MutexGuard<'_, Vec<Arc<Watcher>>> {
        self.watchers.lock().expect("no panic while held")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_proto::text::{Admin, Request, parse};

    fn watcher_of_fetchers(hub: &Hub) -> Arc<Watcher> {
        let Request::Admin(Admin::Watch(Ok(flags))) = parse(b"watch fetchers").expect("valid")
        else {
            panic!("not a watch command")
        };
        hub.subscribe(flags, Arc::new(Mailbox::new().expect("a descriptor")))
    }

    fn shown(watcher: &Watcher) -> String {
        let mut lines = Vec::new();
        watcher.take_lines(&mut lines);
        String::from_utf8(lines).expect("text")
    }

    #[test]
    fn events_reach_those_who_watch_their_kind() {
        let hub = Hub::new(1000);
        assert!(!hub.watched.wants(EventKind::Fetchers));
        let watcher = watcher_of_fetchers(&hub);
        assert!(hub.watched.wants(EventKind::Fetchers) && !hub.watched.wants(EventKind::Mutations));
        hub.publish(
            EventKind::Fetchers,
            format_args!("type=item_get key={}", ShownKey(b"a b")),
        );
        hub.publish(EventKind::Mutations, format_args!("type=item_store"));
        let line = shown(&watcher);
        assert!(
            line.starts_with("ts=") && line.ends_with(" gid=1 type=item_get key=a%20b\n"),
            "{line}"
        );
        hub.unsubscribe(&watcher);
        assert!(!hub.watched.wants(EventKind::Fetchers));
    }

    #[test]
    fn a_watcher_that_does_not_read_loses_lines() {
        let hub = Hub::new(100);
        let watcher = watcher_of_fetchers(&hub);
        for _ in 0..10 {
            hub.publish(EventKind::Fetchers, format_args!("type=item_get"));
        }
        let (watchers, sent, skipped) = hub.figures();
        assert_eq!((watchers, sent + skipped), (1, 10));
        assert!(skipped > 0);
        assert!(shown(&watcher).len() <= 100);
    }
}
