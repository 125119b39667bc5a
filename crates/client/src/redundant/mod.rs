//! Values on several servers: the plans of `farcache-redundancy`, run by the thread that calls.
//!
//! | file | what it does |
//! |---|---|
//! | `availability` | which servers are down, and since when |
//! | `cargo` | what a plan stores, and what servers bring it |
//! | `call` | one plan: its requests go out together, what comes back goes in |
//! | `running` | a read or a write, moved on bit by bit |
//! | `change` | what an operation makes of the value that it finds |
//! | `changing` | a change, moved on bit by bit |
//! | `settling` | the end of a write that others have come in the way of |
//! | `following` | copies that follow an acknowledged write |
//! | `getting` | a get, moved on bit by bit |
//! | `begun` | operations that are begun rather than called |
//! | `by_server` | operations that a server carries out for the client |
//! | `discard` | keys that nobody writes again |

mod availability;
mod begun;
mod by_server;
mod call;
mod cargo;
mod change;
mod changing;
mod discard;
mod following;
mod getting;
mod running;
mod settling;

use crate::connections::Connections;
use crate::{
    ClientConfig, Completion, ConnectError, ConnectStage, Error, ItemInfo, Operation, ReceiveBytes,
    Reply, Store, Value,
};
use availability::Availability;
pub(crate) use begun::Begun;
use call::{Look, Patience, READ_PART, REST_PAUSE};
use cargo::LONG_VALUE_BYTES;
use change::Change;
use changing::Changing;
use farcache_cluster::{Owners, ServerId};
use farcache_proto::binary::{Placed, Status};
use farcache_redundancy::coding::{Parts, Workshop};
use farcache_redundancy::plan::{Form, Found, ReadOutcome, WriteOutcome};
use farcache_redundancy::{
    Clock, Policy, Redundancy, SKEW_MAX, Side, TooFarAhead, Uses, Version, Writer,
};
use following::Following;
pub(crate) use following::LastCopies;
use running::{ReadEnd, Reading, WriteEnd, Writing};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A read that finds too few parts, because a write is under way or a server is coming back, is
/// begun again after a pause, as long as it has time; the pauses double from the first to the last.
const READ_PAUSE_MIN: Duration = Duration::from_millis(1);
const READ_PAUSE_MAX: Duration = Duration::from_millis(64);

/// After so many such reads, what is there is written anew where that can be done.
const READS_BEFORE_FINISHING: u32 = 6;

/// Of a plan that was waited for.
const STILL_GOES: Error = Error::Protocol("a plan that goes on after its end");

/// Seconds up to which an expiry counts from now, as in memcached.
const RELATIVE_EXPIRY_MAX_S: u32 = 60 * 60 * 24 * 30;

/// What a client needs for keys that lie on several servers.
pub(crate) struct Redundant {
    connections: Connections,
    policy: Policy,
    clock: Mutex<Clock>,
    availability: Availability,
    workshop: Workshop,
    uses: Uses,
    /// Reads that were begun, where they take turns at the copies.
    reads: AtomicUsize,
    following: Following,
    timeout: Duration,
    /// Whether the client goes by the map of the servers' cluster, and servers check that.
    follows_map: bool,
}

impl Redundant {
    /// Nothing without a policy.
    ///
    /// # Errors
    /// [`Error::Configuration`]: the policy does not go with the servers or with other settings.
    pub fn new(
        config: &ClientConfig,
        connections: &Connections,
    ) -> Result<Option<Redundant>, Error> {
        let Some(policy) = config.redundancy.clone() else {
            return Ok(None);
        };
        let refuse = |why: String| Err(Error::Configuration(why.into()));
        if config.remove_after_failures.is_some() {
            let why = "redundancy does not go with the removal of failed servers: a server's keys \
                       stay where they are";
            return refuse(why.into());
        }
        for redundancy in policy.redundancies() {
            let (owners, servers) = (redundancy.owners(), config.servers.len());
            // Their cluster may have more.
            if owners > servers && (!config.follows_map || servers == 0) {
                return refuse(too_few_servers(redundancy, servers));
            }
        }
        let number = RandomState::new().hash_one("writer") % u64::from(Writer::COUNT);
        let writer = Writer::new(number as u16).expect("below the count");
        Ok(Some(Redundant {
            connections: connections.clone(),
            policy,
            clock: Mutex::new(Clock::new(writer, SKEW_MAX)),
            availability: Availability::new(config.timeout),
            workshop: Workshop::default(),
            uses: Uses::default(),
            reads: AtomicUsize::new(0),
            following: Following::default(),
            timeout: config.timeout,
            follows_map: config.follows_map,
        }))
    }

    /// Whether a key lies on several servers.
    pub fn has(&self, key: &[u8]) -> bool {
        self.policy.of_key(key) != Redundancy::None
    }

    /// Whether there is a plan for an operation: its key lies on several servers, and it is not a
    /// request of a plan itself.
    pub fn has_plan_for(&self, operation: &Operation<'_>) -> bool {
        match operation {
            Operation::Get { key, .. }
            | Operation::Delete { key, .. }
            | Operation::GetAndTouch { key, .. }
            | Operation::Touch { key, .. }
            | Operation::Arithmetic { key, .. } => self.has(key),
            Operation::Store(store) => !store.mode.is_of_plan() && self.has(store.key),
            _ => false,
        }
    }

    /// The owners of a key, and what they are told of that.
    ///
    /// # Errors
    /// [`Error::Configuration`]: there are fewer servers than that, and no map names more; or why
    /// no server can be asked for a map.
    fn place(&self, key: &[u8], deadline: Instant) -> Result<(Owners, Placed), Error> {
        let redundancy = self.policy.of_key(key);
        let wanted = redundancy.owners();
        let located = self.connections.place(key, wanted);
        if located.0.len() == wanted || located.1.edition > 0 {
            return Ok(located);
        }
        // Only servers can tell of the others.
        let listed = self.connections.members();
        let mut failure = Error::Unsupported;
        for server in &listed {
            let left = deadline.saturating_duration_since(Instant::now());
            let asked = self.connections.learn_map(ServerId(*server as u32), left);
            if self.connections.edition() > 0 {
                return Ok(self.connections.place(key, wanted));
            }
            failure = asked.err().unwrap_or(failure);
        }
        Err(match failure {
            Error::Unsupported => {
                Error::Configuration(too_few_servers(redundancy, listed.len()).into())
            }
            failure => failure,
        })
    }

    /// A server gives a key to others: learns its map, if that is newer; else pauses, until the
    /// server may have heard of the client's.
    fn hear_of_owners(&self, from: ServerId, deadline: Instant) {
        let known = self.connections.edition();
        let left = deadline.saturating_duration_since(Instant::now());
        // Where it does not tell, it is asked to store or read again, and refuses that.
        _ = self.connections.learn_map(from, self.read_time(left));
        if self.connections.edition() == known {
            std::thread::sleep(REST_PAUSE);
        }
    }

    /// How long one server is waited for that changes nothing, of what is left of an operation.
    fn read_time(&self, left: Duration) -> Duration {
        left.min(self.timeout / READ_PART)
    }

    /// On how many servers a key lies.
    pub fn owners(&self, key: &[u8]) -> usize {
        self.policy.of_key(key).owners()
    }

    /// Whether servers read values for the client.
    pub fn has_server_decode(&self) -> bool {
        self.policy.decode() == Side::Server
    }

    /// Whether servers store values for the client.
    pub fn has_server_encode(&self) -> bool {
        self.policy.encode() == Side::Server
    }

    /// Gets a value; see [`crate::Client::get_into`].
    pub fn get(
        self: &Arc<Self>,
        key: &[u8],
        value: &mut Vec<u8>,
        timeout: Option<Duration>,
    ) -> Result<Option<ItemInfo>, Error> {
        self.get_until(key, value, self.deadline(timeout))
    }

    fn get_until(
        self: &Arc<Self>,
        key: &[u8],
        value: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Option<ItemInfo>, Error> {
        let (mut pause, mut look, mut reads) = (READ_PAUSE_MIN, Look::NotAgain, 0);
        while Instant::now() + pause < deadline {
            let room = std::mem::take(value);
            let mut reading = Reading::begin(self, key, room, (deadline, look))?;
            let ReadEnd {
                outcome,
                mut pieces,
                passes_over,
                has_too_few,
            } = reading.go_on(Patience::Waits)?.ok_or(STILL_GOES)?;
            match outcome {
                ReadOutcome::Found(Found::Value(version)) => {
                    let found = pieces.take_value(version);
                    let (bytes, flags) = found.ok_or(Error::Protocol("a value without bytes"))?;
                    *value = bytes;
                    let cas = version.bits();
                    return Ok(Some(ItemInfo { flags, cas }));
                }
                ReadOutcome::Found(Found::Deleted(_)) => return Ok(None),
                // Who was passed over may be back, and have it.
                _ if passes_over => look = Look::AtAll,
                ReadOutcome::Found(Found::Nothing) => return Ok(None),
                ReadOutcome::Unavailable if has_too_few => return Err(too_few_live()),
                ReadOutcome::Unavailable if pieces.has_foreign() => break,
                ReadOutcome::Unavailable => {
                    reads += 1;
                    if reads % READS_BEFORE_FINISHING == 0 {
                        self.finish(key, deadline);
                    }
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(READ_PAUSE_MAX);
                }
                ReadOutcome::Refused { .. } => return Err(STILL_GOES),
            }
            *value = pieces.take_room();
        }
        Err(Error::ConnectionLost(
            "too few of the key's servers have parts of one version".into(),
        ))
    }

    /// Has what is there be complete, where it cannot be finished under its own version: somebody
    /// has asked for a promise, and does not go on.
    fn finish(self: &Arc<Self>, key: &[u8], deadline: Instant) {
        if let Ok(mut changing) = Changing::begin(self, key, Change::Finish, deadline) {
            // Whatever comes of it, the next read tells.
            let _ = changing.go_on(Patience::Waits);
        }
    }

    /// Stores a value; see [`crate::Client::store`].
    pub fn store(
        self: &Arc<Self>,
        store: &mut Store<'_>,
        timeout: Option<Duration>,
    ) -> Result<u64, Error> {
        let mut writing = self.begin_store(store, timeout)?;
        writing.go_on(Patience::Waits)?.ok_or(STILL_GOES)?.0
    }

    fn begin_store(
        self: &Arc<Self>,
        store: &mut Store<'_>,
        timeout: Option<Duration>,
    ) -> Result<Writing, Error> {
        let lent = match &mut store.value {
            Value::Lent(bytes) if bytes.len() >= LONG_VALUE_BYTES => bytes.share(),
            _ => None,
        };
        let value = store.value.as_slice();
        if value.len() > farcache_base::limits::VALUE_BYTES_MAX {
            return Err(Error::TooLarge);
        }
        let is_small = value.len() < self.policy.threshold_bytes();
        let redundancy = self.policy.of_key(store.key);
        let form = Form::of_value(redundancy, is_small);
        let expiry_unix = absolute(store.expiry_s);
        let stored_as = (form, redundancy.owners());
        let (workshop, bytes) = (&self.workshop, value.len());
        let mut parts = Parts::begin(workshop, stored_as, bytes, store.flags, expiry_unix);
        lent.into_iter().for_each(|value| parts.lend(value));
        let deadline = self.deadline(timeout);
        let mut writing = Writing::begin(self, store.key, (form, Some(parts)), deadline)?;
        writing.send_first(value);
        Ok(writing)
    }

    /// Removes an item; see [`crate::Client::delete`].
    pub fn delete(self: &Arc<Self>, key: &[u8], timeout: Option<Duration>) -> Result<(), Error> {
        let mut writing = self.begin_delete(key, timeout)?;
        deleted(writing.go_on(Patience::Waits)?.ok_or(STILL_GOES)?)
    }

    fn begin_delete(
        self: &Arc<Self>,
        key: &[u8],
        timeout: Option<Duration>,
    ) -> Result<Writing, Error> {
        let deadline = self.deadline(timeout);
        Writing::begin(self, key, (Form::Tombstone, None), deadline)
    }

    fn deadline(&self, timeout: Option<Duration>) -> Instant {
        Instant::now() + timeout.unwrap_or(self.timeout)
    }

    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A version above this one, for a write that was refused for it.
    fn version_above(&self, current: Version) -> Result<Version, TooFarAhead> {
        self.clock().above(current, now())
    }

    /// With which of so many owners a read begins.
    fn first_of(&self, redundancy: Redundancy) -> usize {
        let is_copy = matches!(redundancy, Redundancy::Replicate { .. });
        match is_copy && self.policy.reads_any() {
            true => self.reads.fetch_add(1, Relaxed) % redundancy.owners(),
            // Data shards, which need no decoding, come first.
            false => 0,
        }
    }
}

fn now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// An expiry as Unix time, which is one time for all servers; 0 for never.
fn absolute(expiry_s: u32) -> u32 {
    match expiry_s {
        1..=RELATIVE_EXPIRY_MAX_S => {
            let unix = now().as_secs() + u64::from(expiry_s);
            u32::try_from(unix).unwrap_or(u32::MAX)
        }
        _ => expiry_s,
    }
}

/// An operation's end that gives nothing back.
fn bare(outcome: Result<Reply, Error>) -> Completion {
    Completion {
        outcome,
        lent: None,
        unused: None,
    }
}

/// The failure of an operation that has not used this memory.
fn unused(into: ReceiveBytes, error: Error) -> Completion {
    Completion {
        unused: Some(into),
        ..bare(Err(error))
    }
}

fn deleted((written, was_present): WriteEnd) -> Result<(), Error> {
    match (written, was_present) {
        (Ok(_), true) => Ok(()),
        (Ok(_), false) => Err(Error::NotFound),
        (Err(error), _) => Err(error),
    }
}

fn too_few_servers(redundancy: Redundancy, servers: usize) -> String {
    let owners = redundancy.owners();
    format!("{redundancy} needs {owners} servers, not {servers}")
}

/// Whether a server has refused a request because the key's owners are others by its map: nothing
/// has come of it.
fn is_of_other_owners(error: &Error) -> bool {
    const OTHER_OWNERS: u16 = Status::OtherOwners as u16;
    matches!(
        error,
        Error::Server {
            status: OTHER_OWNERS,
            ..
        }
    )
}

fn refused(why: &str) -> Error {
    Error::Connect(ConnectError::new(ConnectStage::Refused, why))
}

fn too_few_live() -> Error {
    refused("too many of the key's servers are down")
}

fn written(outcome: WriteOutcome) -> Result<u64, Error> {
    match outcome {
        WriteOutcome::Written { version, .. } => Ok(version.bits()),
        other => Err(failure(other)),
    }
}

/// What the caller is told of a write that is not acknowledged.
fn failure(outcome: WriteOutcome) -> Error {
    match outcome {
        WriteOutcome::Written { .. } => STILL_GOES,
        WriteOutcome::TooFewLive => too_few_live(),
        WriteOutcome::Unavailable => refused("none of the key's servers can be reached"),
        WriteOutcome::Skewed(skewed) => Error::Configuration(skewed.to_string().into()),
        WriteOutcome::Refused { .. } => refused("somebody else writes the key all the time"),
        WriteOutcome::Unknown | WriteOutcome::Overtaken { .. } => lost_way(),
    }
}

fn lost_way() -> Error {
    Error::ConnectionLost(
        "some of the key's servers do not answer: the write may have taken effect".into(),
    )
}
