//! Reading: brings a connection's input to its session, one system call per readiness.

use super::connection::{Connection, Outcome};
use super::execute::{execute, finish, run};
use super::reply;
use crate::net::tls;
use crate::resources::{BUFFER_BYTES, Resources};
use std::io;

/// Bytes of one large value that are read in one turn before others get theirs.
const VALUE_BYTES_PER_TURN: usize = 4 << 20;

/// Replies that are copied in order to be sent together with others': more are sent by themselves.
pub(super) const SHORT_REPLIES_BYTES_MAX: usize = 4 << 10;

/// The socket has bytes, or has failed.
pub(super) fn on_readable(connection: &mut Connection, resources: &mut Resources) -> Outcome {
    if connection.has_unsent() {
        return on_writable(connection, resources);
    }
    resources.counters.wakeups.bump();
    if connection.session.value_buffer().is_empty() {
        read_requests(connection, resources)
    } else {
        read_value(connection, resources)
    }
}

/// Reads from a connection that awaits requests, whether the socket has bytes or not; nothing where
/// it has none.
pub(super) fn try_requests(
    connection: &mut Connection,
    resources: &mut Resources,
) -> Option<Outcome> {
    let mut buffer = std::mem::take(&mut resources.buffer);
    let outcome = match connection.transport.read(&mut buffer) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        result => {
            resources.counters.wakeups.bump();
            Some(after_read(connection, resources, result, 0, &buffer))
        }
    };
    resources.buffer = buffer;
    outcome
}

/// The socket takes bytes again, or has failed.
pub(super) fn on_writable(connection: &mut Connection, resources: &mut Resources) -> Outcome {
    match reply::flush(connection, resources) {
        Outcome::Idle if connection.unfinished => Outcome::Again,
        outcome => outcome,
    }
}

/// Goes on with a connection that had to give way.
pub(super) fn resume(connection: &mut Connection, resources: &mut Resources) -> Outcome {
    if connection.has_unsent() {
        return Outcome::Blocked;
    }
    if !connection.unfinished {
        return on_readable(connection, resources);
    }
    let (input, used) = connection.take_pending();
    let (consumed, outcome) = execute(connection, resources, &input[used..]);
    let used = used + consumed;
    if used < input.len() {
        if connection.unfinished {
            (connection.pending, connection.pending_used) = (input, used);
        } else {
            connection.keep(&input[used..]);
        }
    }
    outcome
}

fn read_requests(connection: &mut Connection, resources: &mut Resources) -> Outcome {
    let mut buffer = std::mem::take(&mut resources.buffer);
    let waiting = &connection.pending[connection.pending_used..];
    let kept = waiting.len();
    buffer[..kept].copy_from_slice(waiting);
    let result = connection.transport.read(&mut buffer[kept..]);
    let outcome = after_read(connection, resources, result, kept, &buffer);
    resources.buffer = buffer;
    outcome
}

/// A read behind the first `kept` bytes of `buffer` has ended so.
fn after_read(
    connection: &mut Connection,
    resources: &mut Resources,
    result: io::Result<usize>,
    kept: usize,
    buffer: &[u8],
) -> Outcome {
    match result {
        Ok(0) => Outcome::Closed,
        Ok(count) => {
            note_input(connection, resources, count);
            execute_and_keep(connection, resources, &buffer[..kept + count])
        }
        Err(error) => after_error(connection, resources, &error),
    }
}

/// A receive, batched with other connections' receives, has ended so; what came lies at the
/// start of `room`. Leaves short replies with the worker, to be sent together too: then there is no
/// outcome yet.
pub(super) fn on_received(
    connection: &mut Connection,
    resources: &mut Resources,
    result: io::Result<usize>,
    room: &[u8],
) -> Option<Outcome> {
    resources.counters.wakeups.bump();
    resources.counters.reads_batched.bump();
    let count = match result {
        Ok(0) => return Some(Outcome::Closed),
        Ok(count) => count,
        Err(error) => return Some(after_error(connection, resources, &error)),
    };
    note_input(connection, resources, count);
    let (consumed, is_held) = run(connection, resources, &room[..count]);
    connection.keep(&room[consumed..count]);
    if is_held {
        return Some(Outcome::Blocked);
    }
    let is_short = resources
        .replies
        .contiguous()
        .is_some_and(|replies| (1..=SHORT_REPLIES_BYTES_MAX).contains(&replies.len()));
    (!is_short).then(|| reply::send(connection, resources))
}

/// Reads the rest of a large value to its place, and what follows it into the buffer.
fn read_value(connection: &mut Connection, resources: &mut Resources) -> Outcome {
    let mut buffer = std::mem::take(&mut resources.buffer);
    let outcome = read_value_with(connection, resources, &mut buffer);
    resources.buffer = buffer;
    outcome
}

fn read_value_with(
    connection: &mut Connection,
    resources: &mut Resources,
    buffer: &mut [u8],
) -> Outcome {
    let mut read_in_all = 0;
    loop {
        let value = connection.session.value_buffer();
        let wanted = value.len();
        let count = match connection.transport.read_two(value, buffer) {
            Ok(0) => return Outcome::Closed,
            Ok(count) => count,
            Err(error) => return after_error(connection, resources, &error),
        };
        note_input(connection, resources, count);
        connection.session.value_received(count.min(wanted));
        if count >= wanted {
            return execute_and_keep(connection, resources, &buffer[..count - wanted]);
        }
        read_in_all += count;
        if read_in_all >= VALUE_BYTES_PER_TURN {
            return Outcome::Idle;
        }
    }
}

fn execute_and_keep(
    connection: &mut Connection,
    resources: &mut Resources,
    input: &[u8],
) -> Outcome {
    let (consumed, outcome) = execute(connection, resources, input);
    let rest = &input[consumed..];
    if rest.len() == BUFFER_BYTES && !connection.is_suspended() {
        // No request has so long a beginning: the session would never make progress.
        return finish(connection, resources);
    }
    connection.keep(rest);
    outcome
}

fn note_input(connection: &Connection, resources: &Resources, count: usize) {
    resources.counters.bytes_read.add(count as u64);
    connection.info.set_last_command(resources.clock.now);
}

fn after_error(connection: &Connection, resources: &Resources, error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Outcome::Idle,
        _ => {
            if let Some(error) = tls::failure(error) {
                let shared = &resources.shared;
                let (peer, now_s) = (&connection.info.peer, shared.seconds_now());
                shared.refusals.handshake_failed(peer, error, now_s);
            }
            Outcome::Closed
        }
    }
}
