//! Replying: sends what sessions answered; what a socket does not take waits on its connection.

use super::connection::{Connection, Outcome};
use crate::net::transport::Transport;
use crate::resources::Resources;
use farcache_session::counters::Counters;
use farcache_session::{Replies, SLICES_MAX, Unsent};
use std::io::{self, IoSlice};

/// Sends the worker's gathered replies to `connection`.
pub(super) fn send(connection: &mut Connection, resources: &mut Resources) -> Outcome {
    let sent = write(
        &mut connection.transport,
        &mut resources.replies,
        &resources.counters,
    );
    if sent.is_ok() && !resources.replies.is_empty() {
        let unsent = std::mem::take(&mut resources.replies);
        keep(connection, unsent, resources);
    }
    after_write(connection, resources, sent)
}

/// Sends what `connection` kept.
pub(super) fn flush(connection: &mut Connection, resources: &mut Resources) -> Outcome {
    let flushed = connection.transport.flush();
    let Some(unsent) = connection.unsent.take_if(|_| flushed.is_ok()) else {
        return after_write(connection, resources, flushed);
    };
    let Some(mut unsent) = unsent.resume() else {
        resources.note_given_up(&connection.info);
        return Outcome::Closed;
    };
    let sent = write(&mut connection.transport, &mut unsent, &resources.counters);
    if !unsent.is_empty() {
        keep(connection, unsent, resources);
    }
    after_write(connection, resources, sent)
}

/// Sends what `connection` kept until the changes in it would be durable, which they never will be.
pub(super) fn send_failed(connection: &mut Connection, resources: &mut Resources) -> Outcome {
    let Some(unsent) = connection.unsent.take() else {
        return flush(connection, resources);
    };
    let Some(mut replies) = unsent.resume() else {
        resources.note_given_up(&connection.info);
        return Outcome::Closed;
    };
    replies.fail_changes();
    keep(connection, replies, resources);
    match flush(connection, resources) {
        Outcome::Idle if connection.unfinished => Outcome::Again,
        outcome => outcome,
    }
}

/// A send of `replies`, batched with other connections' sends, has ended so.
pub(super) fn sent(
    connection: &mut Connection,
    resources: &mut Resources,
    replies: &[u8],
    result: io::Result<usize>,
) -> Outcome {
    let taken = match result {
        Ok(taken) => taken,
        Err(error) if is_for_later(&error) => 0,
        Err(error) => return after_write(connection, resources, Err(error)),
    };
    resources.counters.bytes_written.add(taken as u64);
    if taken < replies.len() {
        let mut unsent = Replies::default();
        unsent.buffer().extend_from_slice(&replies[taken..]);
        keep(connection, unsent, resources);
    }
    after_write(connection, resources, Ok(()))
}

/// Has replies wait for the client of a connection.
pub(super) fn keep(connection: &mut Connection, replies: Replies, resources: &Resources) {
    let unsent = Unsent::new(replies, &resources.store);
    connection.unsent = Some(Box::new(unsent));
}

fn is_for_later(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted)
}

fn after_write(
    connection: &mut Connection,
    resources: &mut Resources,
    sent: io::Result<()>,
) -> Outcome {
    if sent.is_err() {
        resources.replies.clear();
        connection.unsent = None;
        return Outcome::Closed;
    }
    match () {
        () if connection.has_unsent() => Outcome::Blocked,
        () if connection.closing => Outcome::Closed,
        () if connection.unfinished => Outcome::Again,
        () => Outcome::Idle,
    }
}

/// Writes until everything is out or the socket takes no more.
fn write(transport: &mut Transport, replies: &mut Replies, counters: &Counters) -> io::Result<()> {
    while !replies.is_empty() {
        let (offered, taken) = match write_once(transport, replies) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
            Ok(done) => done,
        };
        counters.bytes_written.add(taken as u64);
        replies.advance(taken);
        if taken < offered {
            return Ok(());
        }
    }
    Ok(())
}

/// Offers the next bytes to the socket; returns how many were offered and how many it took.
fn write_once(transport: &mut Transport, replies: &Replies) -> io::Result<(usize, usize)> {
    if let Some(bytes) = replies.contiguous() {
        return Ok((bytes.len(), transport.write(bytes)?));
    }
    let mut slices = [IoSlice::new(&[]); SLICES_MAX];
    let count = replies.gather(&mut slices);
    let slices = &slices[..count];
    let offered = slices.iter().map(|slice| slice.len()).sum();
    Ok((offered, transport.write_slices(slices)?))
}
