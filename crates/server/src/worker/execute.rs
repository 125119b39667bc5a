//! Executing: lets a session handle input, and sends what it replies.

use super::arrivals;
use super::connection::{Connection, Outcome};
use super::deferred;
use super::device;
use super::forward;
use super::reply;
use crate::mailbox::life_line::Caller;
use crate::resources::{Resources, context};
use farcache_session::Status;

/// Handles requests at the start of `input`, and sends the replies; returns how many bytes are done
/// with.
pub(super) fn execute(
    connection: &mut Connection,
    resources: &mut Resources,
    input: &[u8],
) -> (usize, Outcome) {
    let before = resources.before_batch();
    let (consumed, is_held) = run(connection, resources, input);
    let outcome = match is_held {
        true => Outcome::Blocked,
        false => reply::send(connection, resources),
    };
    resources.after_batch(before);
    (consumed, outcome)
}

/// Handles requests at the start of `input`; returns how many bytes are done with, and whether the
/// replies have been put aside until something is durable.
pub(super) fn run(
    connection: &mut Connection,
    resources: &mut Resources,
    input: &[u8],
) -> (usize, bool) {
    let is_staged = device::stage(connection, resources);
    forward::stage(connection, resources);
    let caller = Caller {
        slot: connection.slot,
        info: &connection.info,
        is_encrypted: connection.transport.is_encrypted(),
        mailbox: &resources.mailbox,
        life_line: &connection.life_line,
    };
    resources.replies.set_notes_changes(resources.holds_replies);
    let context = context!(resources, Some(caller), desk, &connection.wait.turn);
    let (consumed, status) = connection
        .session
        .advance(input, &context, &mut resources.replies);
    connection.unfinished = status == Status::Yield;
    connection.closing = status == Status::Close;
    if is_staged && consumed > 0 {
        // It was for requests that have been answered: the next one must not keep it.
        resources.store.unstage();
    }
    forward::settle(connection, status, resources);
    arrivals::settle(connection, status, resources);
    if let Status::Suspended(suspended) = status {
        device::suspend(connection, suspended, resources);
    } else if !is_staged {
        deferred::note_memory(connection, resources);
    }
    if is_staged {
        resources.store.unstage();
    }
    if connection.unfinished {
        resources.counters.conn_yields.bump();
    }
    if connection.watcher.is_none()
        && let Some(flags) = connection.session.watching()
    {
        // Before the client is told, so that it misses nothing from then on.
        let mailbox = std::sync::Arc::clone(&resources.mailbox);
        connection.watcher = Some(resources.shared.watch.subscribe(flags, mailbox));
    }
    let has_changed = connection.session.take_changed();
    let is_held = resources.has_undurable(has_changed) && device::hold(connection, resources);
    (consumed, is_held)
}

/// Sends what has been replied, then closes.
pub(super) fn finish(connection: &mut Connection, resources: &mut Resources) -> Outcome {
    connection.closing = true;
    match reply::send(connection, resources) {
        Outcome::Blocked => Outcome::Blocked,
        _ => Outcome::Closed,
    }
}
