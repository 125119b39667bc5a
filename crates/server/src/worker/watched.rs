//! Showing watchers what happened.

use super::Worker;
use super::reply;

impl Worker {
    /// Sends this worker's watchers the lines that wait for them.
    pub(super) fn show_watchers(&mut self) {
        for slot in self.watching.clone() {
            let connection = &mut self.connections[slot];
            let Some(watcher) = connection
                .watcher
                .as_ref()
                .filter(|_| !connection.has_unsent())
            else {
                // Lines gather, up to a limit, until the client reads.
                continue;
            };
            watcher.take_lines(self.resources.replies.buffer());
            if !self.resources.replies.is_empty() {
                let outcome = reply::send(connection, &mut self.resources);
                self.settle(slot, outcome);
            }
        }
    }
}
