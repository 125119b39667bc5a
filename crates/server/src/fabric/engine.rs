//! One worker's port: moves it and hands out what happened, each kind of event to its own file.

use super::awaiting::Awaiting;
use super::conversation::Conversation;
use super::device::{Held, Parked};
use super::ending::Closing;
use super::figures::Figures;
use super::kept::Tally;
use super::registry::{Place, Registry};
use super::stalls::Departing;
use super::{MESSAGE_BYTES_MAX, ServerPort};
use crate::resources::Resources;
use crate::shared::Shared;
use arrayvec::ArrayVec;
use farcache_base::time::Seconds;
use farcache_fabric::frame::HEAD_BYTES_MAX;
use farcache_fabric::{Arming, Event, Frame, Inbox, Kind, Limits, Peer};
use farcache_proto::binary::Head;
use farcache_session::counters::Counters;
use farcache_session::{Expected, MESSAGE_COPY_BYTES_MAX, Replies};
use farcache_store::{BATCH_MAX, DurableMark, PinnedValue, ReadId, Reservation};
use slab::Slab;
use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

/// How long the port is moved on after the last session has ended, so that the network can finish
/// what it has to.
const LINGER_SECONDS: Seconds = 2;

/// Looks at the network in a turn that finds nothing: the rest of a worker's turn costs as much as
/// one of them.
const LOOKS_PER_TURN: u32 = 4;

/// A value on its way into the store.
pub(super) struct Arriving {
    pub session: u32,
    pub key: u64,
    pub expected: Expected,
}

/// Room for answers.
pub(super) fn no_replies() -> Replies {
    Replies::copying(MESSAGE_COPY_BYTES_MAX)
}

/// One worker's part of the fabric.
pub struct Engine {
    pub(super) port: Box<ServerPort>,
    pub(super) shared: Arc<Shared>,
    pub(super) worker: usize,
    pub(super) figures: Arc<Figures>,
    counters: Arc<Counters>,
    /// Sessions by number.
    pub(super) conversations: Vec<Option<Box<Conversation>>>,
    pub(super) by_peer: HashMap<Peer, u32>,
    /// Values on their way in, by the tag that the port knows them by.
    pub(super) arriving: Slab<Arriving>,
    /// Sessions, granted or open.
    pub(super) live: usize,
    /// Sessions that have more to do.
    pub(super) queue: Vec<u32>,
    /// Whether a session of the queue waits for nothing but its turn.
    pub(super) has_ready: bool,
    /// Clients to which something is still being sent before they are let go.
    pub(super) closing: Vec<Closing>,
    /// Replies to messages of one session, not yet sent.
    pub(super) replies: Replies,
    /// The session whose replies are gathered.
    pub(super) gathering: Option<u32>,
    /// The answers tell of changes up to this mark, and wait until it is durable.
    pub(super) hold: Option<DurableMark>,
    /// Answers that wait, in the order of their marks.
    pub(super) held: VecDeque<Held>,
    /// Work that waits for reads from devices.
    pub(super) parked: HashMap<ReadId, Parked>,
    /// Messages that wait for other servers.
    pub(super) awaiting: Slab<Awaiting>,
    /// Of these, those that have their answers.
    pub(super) answered: Vec<usize>,
    /// Large values on their way out, by the tag that the port knows them by.
    pub(super) departing: Slab<Departing>,
    /// When it was last looked whether clients take them.
    pub(super) departing_looked: Option<Instant>,
    /// How much is kept for all sessions.
    pub(super) kept: Tally,
    pub(super) inbox: Inbox<PinnedValue, Reservation>,
    /// The last message came with no other: see [`super::solo`].
    pub(super) came_solo: bool,
    /// When there was last a reason to move the port.
    pub(super) used_at: Seconds,
    swept_at: Seconds,
}

impl Engine {
    /// The part of worker number `worker` in the fabric of `shared`.
    pub fn new(mut port: Box<ServerPort>, shared: Arc<Shared>, worker: usize) -> Self {
        port.limit(limits(&shared));
        let mut engine = Engine {
            port,
            worker,
            figures: Arc::default(),
            counters: Arc::clone(&shared.workers[worker]),
            conversations: Vec::new(),
            by_peer: HashMap::new(),
            arriving: Slab::new(),
            live: 0,
            queue: Vec::new(),
            has_ready: false,
            closing: Vec::new(),
            replies: no_replies(),
            gathering: None,
            hold: None,
            held: VecDeque::new(),
            parked: HashMap::new(),
            awaiting: Slab::new(),
            answered: Vec::new(),
            departing: Slab::new(),
            departing_looked: None,
            kept: Tally::default(),
            inbox: Inbox::default(),
            came_solo: false,
            used_at: 0,
            swept_at: 0,
            shared,
        };
        engine.figures = Arc::clone(&engine.place().figures);
        engine
    }

    /// What all threads know of the fabric.
    pub(super) fn registry(&self) -> &Registry {
        self.shared.fabric.get().expect("there is a fabric")
    }

    pub(super) fn place(&self) -> &Place {
        &self.registry().places[self.worker]
    }

    /// Whether anything may come that is waited for.
    pub fn is_in_use(&self, now: Seconds) -> bool {
        !self.is_empty() || now < self.used_at + LINGER_SECONDS
    }

    /// Whether there is no session, and nothing on its way.
    pub fn is_empty(&self) -> bool {
        self.live == 0
            && self.closing.is_empty()
            && self.arriving.is_empty()
            && self.departing.is_empty()
    }

    /// Whether there are sessions, granted or open.
    pub fn has_sessions(&self) -> bool {
        self.live > 0
    }

    /// Moves the port and handles what happened; returns whether anything did, or could be done in
    /// another turn.
    pub fn turn(&mut self, resources: &mut Resources) -> bool {
        let has_moved = self.look(resources);
        let is_idle = self.queue.is_empty() && self.closing.is_empty() && self.answered.is_empty();
        if self.inbox.is_empty() && is_idle {
            return has_moved;
        }
        let has_happened = has_moved || !self.inbox.is_empty() || !self.answered.is_empty();
        let before = resources.before_messages();
        let mut inbox = std::mem::take(&mut self.inbox);
        self.came_solo = inbox.events.len() == 1;
        prefetch(&inbox, resources);
        for event in inbox.events.drain(..) {
            self.handle(event, &inbox.bytes, resources);
        }
        inbox.recycle();
        self.inbox = inbox;
        self.resume_answered(resources);
        self.resume(resources);
        self.flush();
        self.close_sent(resources.clock.now);
        resources.after_batch(before);
        has_happened || self.has_ready
    }

    /// Moves the port until something has happened, for a few times.
    fn look(&mut self, resources: &Resources) -> bool {
        let has_time = self.queue.is_empty() && self.closing.is_empty() && self.has_sessions();
        let looks = match has_time {
            true => LOOKS_PER_TURN,
            false => 1,
        };
        let may_go_solo = self.may_go_solo(resources);
        (0..looks).any(|_| match may_go_solo {
            true => self.progress_solo(resources),
            false => self.port.progress(&mut self.inbox),
        })
    }

    /// Once a second: what has waited for too long.
    pub fn sweep(&mut self, resources: &mut Resources) {
        let now = resources.clock.now;
        if self.swept_at == now {
            return;
        }
        self.swept_at = now;
        if !self.is_empty() {
            self.used_at = now;
        }
        self.expire_tokens(now);
        self.close_sent(now);
    }

    /// Prepares for sleep.
    pub fn arm(&mut self) -> Arming {
        self.port.arm()
    }

    /// Readable when an armed port has something to do.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.port.descriptor()
    }

    fn handle(
        &mut self,
        event: Event<PinnedValue, Reservation>,
        bytes: &[u8],
        resources: &mut Resources,
    ) {
        match event {
            Event::Message {
                frame,
                packets,
                sender,
            } => {
                self.note_received(packets.len());
                let sender = sender.filter(|_| frame.kind == Kind::Hello);
                self.on_message(&frame, &bytes[packets], sender, resources);
            }
            Event::Offered { frame, head, offer } => {
                self.note_received(head.len());
                self.on_offered(&frame, &bytes[head], offer, resources);
            }
            Event::Received { tag, into, outcome } => {
                self.on_received(tag, into, outcome, resources);
            }
            Event::Sent { tag, body, outcome } => self.on_sent(tag, &body, &outcome),
            Event::Lost { peer, error } => self.on_lost(peer, &error),
            Event::Renewed => self.on_renewed(resources),
            Event::Garbage(error) => {
                tracing::debug!(%error, "garbage on the fabric");
                self.figures.malformed.bump();
            }
        }
    }

    fn on_message(
        &mut self,
        frame: &Frame,
        packets: &[u8],
        sender: Option<Peer>,
        resources: &mut Resources,
    ) {
        match (frame.kind, sender) {
            (Kind::Hello, Some(sender)) => self.on_hello(frame, packets, sender, resources),
            (Kind::Packets, _) => self.on_packets(frame, packets, resources),
            (Kind::Goodbye, _) => self.on_goodbye(frame),
            (Kind::Retire, _) => self.on_retire(frame, resources),
            (Kind::Welcome | Kind::Hello, _) => match self.find(frame) {
                Some(number) => self.cut_off(number, "a message that no client sends", resources),
                None => self.figures.malformed.bump(),
            },
        }
    }

    fn note_received(&self, bytes: usize) {
        self.figures.messages_in.bump();
        self.count_in(bytes);
    }

    /// Counts bytes that have come.
    pub(super) fn count_in(&self, bytes: usize) {
        self.figures.bytes_in.add(bytes as u64);
        self.counters.bytes_read.add(bytes as u64);
    }

    /// Counts bytes that have gone.
    pub(super) fn count_out(&self, bytes: usize) {
        self.figures.bytes_out.add(bytes as u64);
        self.counters.bytes_written.add(bytes as u64);
    }

    /// The open session that a message belongs to; counted where there is none.
    pub(super) fn find(&self, frame: &Frame) -> Option<u32> {
        let number = self.find_key(frame.session, frame.key);
        let open = number.filter(|number| self.conversation(*number).peer().is_some());
        if open.is_none() {
            self.figures.unattributed.bump();
        }
        open
    }

    /// The session of this number, if it has this key.
    pub(super) fn find_key(&self, number: u32, key: u64) -> Option<u32> {
        let conversation = self.conversations.get(number as usize)?.as_ref()?;
        (conversation.key == key).then_some(number)
    }

    /// A session that is known to be there.
    pub(super) fn conversation(&self, number: u32) -> &Conversation {
        self.conversations[number as usize]
            .as_ref()
            .expect("the session is there")
    }

    /// A session that is known to be there, to be changed.
    pub(super) fn conversation_mut(&mut self, number: u32) -> &mut Conversation {
        self.conversations[number as usize]
            .as_mut()
            .expect("the session is there")
    }
}

/// How long messages may be that come whole: a value that is not offered is as long as an item at
/// most.
fn limits(shared: &Shared) -> Limits {
    Limits {
        message_bytes_max: MESSAGE_BYTES_MAX,
        value_bytes_max: MESSAGE_BYTES_MAX.max(shared.settings.item_bytes_max + HEAD_BYTES_MAX),
    }
}

/// Starts fetching what requests that came in messages of their own will touch, so that their cache
/// misses overlap, and those that store. Reads of one message are looked up together anyway.
fn prefetch(inbox: &Inbox<PinnedValue, Reservation>, resources: &Resources) {
    let mut keys = Keys::new();
    for event in &inbox.events {
        if let Event::Message { frame, packets, .. } = event
            && frame.kind == Kind::Packets
        {
            gather_keys(&inbox.bytes[packets.clone()], &mut keys);
        }
    }
    resources.store.prefetch(&keys);
}

type Keys<'a> = ArrayVec<&'a [u8], BATCH_MAX>;

/// Appends the keys of a message's requests that are not looked up together anyway, as far as there
/// is room.
fn gather_keys<'a>(mut message: &'a [u8], keys: &mut Keys<'a>) {
    let mut is_solo = true;
    while !keys.is_full()
        && let Ok(Some(head)) = Head::decode(message)
        && let Some(rest) = message.get(head.head_len() + head.value_len..)
    {
        is_solo &= rest.is_empty();
        if !is_solo && head.value_len == 0 {
            return;
        }
        keys.push(head.key);
        message = rest;
    }
}
