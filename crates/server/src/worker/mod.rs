//! A worker: one thread that owns its connections and moves each through the stages, one file
//! each: accept, read, execute, reply.

mod accept;
mod arrivals;
mod batched;
mod coding;
mod connection;
mod crowd;
mod datagram;
mod deferred;
pub mod device;
mod direct;
mod drain;
mod execute;
pub mod forward;
mod idle;
mod messages;
mod poller;
mod polling;
mod read;
mod reply;
mod stalls;
mod turns;
mod watched;

use crate::admission::Admission;
use crate::coding::Coding;
use crate::mailbox::Mailbox;
use crate::resources::Resources;
use crate::shared::Shared;
use batched::BatchedIo;
use connection::{Connection, Outcome};
use datagram::Datagrams;
use device::After;
use direct::Streak;
use farcache_base::polling::Moments;
use messages::Messages;
use poller::{CALLS, DATAGRAMS, DURABLE, MAILBOX, PEERS, PORT, Poller, READS};
use polling::{Budgets, Permit, Polling};
use rustix::event::epoll::{Event, EventFlags};
use slab::Slab;
use socket2::Socket;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Events taken from epoll at once.
const EVENTS_MAX: usize = 256;

/// One worker and everything it owns.
pub struct Worker {
    /// Its number among the server's.
    index: usize,
    poller: Poller,
    mailbox: Arc<Mailbox>,
    admission: Arc<Admission>,
    connections: Slab<Box<Connection>>,
    /// Connections that have more to do.
    unfinished: Vec<usize>,
    /// Whether to poll at all.
    permit: Permit,
    /// For how long.
    budgets: Budgets,
    resources: Resources,
    /// Plans for values on several servers.
    coding: Coding,
    idle: idle::Sweep,
    stalls: stalls::Stalls,
    events: Vec<Event>,
    /// Connections that watch.
    watching: Vec<usize>,
    datagrams: Datagrams,
    messages: Messages,
    /// Serves several connections with one system call, where it may.
    batched: Option<Box<BatchedIo>>,
    /// Whether one connection asks and no other.
    streak: Streak,
    /// Whether it is worth a moment's polling where polling is barred.
    moments: Moments,
}

impl Worker {
    /// Worker number `index`. Must be made on the thread that runs it.
    ///
    /// # Errors
    /// When descriptors are exhausted.
    pub fn new(
        shared: Arc<Shared>,
        index: usize,
        mailbox: Arc<Mailbox>,
        admission: Arc<Admission>,
        datagram_sockets: Vec<Arc<Socket>>,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.watch(MAILBOX, &mailbox.waker, EventFlags::IN)?;
        for (index, socket) in datagram_sockets.iter().enumerate() {
            let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
            poller.watch(DATAGRAMS + index as u64, &**socket, flags)?;
        }
        let resources = Resources::new(Arc::clone(&shared), index, Arc::clone(&mailbox));
        device::register(&resources.store, &poller)?;
        let poll = Duration::from_micros(shared.settings.poll_us.into());
        Ok(Worker {
            batched: BatchedIo::new(shared.settings.io_uring),
            streak: Streak::default(),
            moments: Moments::default(),
            messages: Messages::new(),
            poller,
            admission,
            index,
            connections: Slab::new(),
            unfinished: Vec::new(),
            permit: Permit::new(!poll.is_zero()),
            budgets: Budgets::new(poll),
            idle: idle::Sweep::new(shared.settings.idle_timeout_seconds),
            stalls: stalls::Stalls::default(),
            resources,
            coding: Coding::new(&shared.coding),
            events: Vec::with_capacity(EVENTS_MAX),
            mailbox,
            watching: Vec::new(),
            datagrams: Datagrams::new(datagram_sockets),
        })
    }

    /// From now on turns neither sleep nor give way: others on the same thread are next.
    pub fn share_thread(&mut self) {
        self.permit.share_thread();
    }

    /// Whether its server goes on.
    pub fn is_wanted(&self) -> bool {
        !self.resources.shared.is_stopping()
    }

    /// Serves until the server stops.
    pub fn run(mut self) {
        while self.is_wanted() {
            self.turn();
        }
        self.end();
    }

    /// Ends all conversations of a server that stops.
    pub fn end(mut self) {
        // Whatever told this worker to stop, the accepting thread must hear of it too.
        self.admission.waker.wake();
        self.drain();
    }

    /// Waits for something to do and does it.
    pub fn turn(&mut self) {
        self.tend_peers();
        // Whoever began to wait since the last look must be known to the devices, and to whoever
        // makes room in memory, before this worker may sleep.
        self.poll_devices(After::Turn);
        if self.serve_messages() {
            return;
        }
        self.serve_sockets();
        self.poll_devices(After::Sockets);
        self.tend_arrivals();
        self.resume_unfinished();
        self.resources.store.quiescent();
        self.close_silent();
        self.close_stalled();
    }

    /// Serves whoever has asked.
    fn serve_sockets(&mut self) {
        if let Some(slot) = self.alone() {
            self.follow_map();
            if self.serve_directly(slot) {
                return;
            }
        }
        let events = self.wait();
        self.note_streak(&events);
        // The map may have changed meanwhile, and whoever asks now may have seen the new one.
        self.follow_map();
        self.dispatch_crowd(&events);
        self.events = events;
    }

    /// Polls, or sleeps if that has been in vain for long enough.
    fn wait(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.events);
        if self.sleeps_at_once() {
            self.sleep(&mut events);
            return events;
        }
        self.poller.wait(&mut events, Some(Duration::ZERO));
        let now = Instant::now();
        self.resources.set_time(now);
        let may_poll = self.permit.look(now);
        let has_messages = self.after_look(!events.is_empty());
        if !events.is_empty() || self.has_more_to_do() || has_messages {
            self.budgets.active();
        } else if self.streak.has_found() || self.permit.shares_thread() {
            // The client that is alone may ask again within a moment, or others have their turn.
        } else if self.budget().should_sleep(now) || !may_poll {
            self.sleep(&mut events);
        } else {
            self.yield_processor(now);
        }
        events
    }

    /// Whether a look before the sleep would be in vain: what it would find ends the sleep at once.
    fn sleeps_at_once(&self) -> bool {
        let seen_at = self.resources.turn_began;
        !self.permit.may_poll(seen_at)
            && !self.permit.shares_thread()
            && !self.streak.has_found()
            && !self.has_more_to_do()
            && !self.uses_messages()
    }

    /// Whether something is left over from the turn before.
    fn has_more_to_do(&self) -> bool {
        !self.unfinished.is_empty() || self.has_pieces()
    }

    /// The polling budget that applies to what the worker waits for now.
    fn budget(&mut self) -> &mut Polling {
        let has_messages = self.uses_messages();
        match self.resources.store.reads_in_flight() {
            0 if has_messages => &mut self.budgets.messages,
            0 => &mut self.budgets.sockets,
            _ => &mut self.budgets.devices,
        }
    }

    fn sleep(&mut self, events: &mut Vec<Event>) {
        let Some(most) = self.arm_messages() else {
            return self.give_way(events);
        };
        self.resources.store.submit_reads();
        self.resources.store.park();
        let timeouts = [
            self.idle.timeout(),
            self.stalls.timeout(),
            self.device_timeout(),
            self.resources.waits.arrivals.timeout(),
            self.peer_timeout(),
            most,
        ];
        self.poller
            .wait(events, timeouts.into_iter().flatten().min());
        let now = Instant::now();
        self.resources.set_time(now);
        self.permit.woken(now);
        if !events.is_empty() {
            self.budget().woken(now);
        }
    }

    /// The fabric has something to do before it can sleep, and what it waits for may need this
    /// processor: the network library has a thread of its own.
    fn give_way(&mut self, events: &mut Vec<Event>) {
        if self.permit.may_poll(self.resources.turn_began) {
            rustix::thread::sched_yield();
        } else if self.is_long_unarmed() {
            // Who yields beside busy threads may wait for milliseconds.
            self.poller.wait(events, Some(messages::NAP));
        }
    }

    fn dispatch(&mut self, event: &Event) {
        match event.data.u64() {
            MAILBOX => {
                self.mailbox.waker.acknowledge();
                self.accept_arrivals();
                self.show_watchers();
                self.collect_messages_mail();
                self.collect_dialled();
            }
            PORT => self.on_port(),
            CALLS => self.on_calls(),
            // Looked at in every turn.
            READS => {}
            DURABLE => self.on_durable(),
            index @ DATAGRAMS.. => {
                let number = (index - DATAGRAMS) as usize;
                self.datagrams.serve(number, &mut self.resources);
            }
            index @ PEERS.. => self.on_peer((index - PEERS) as usize),
            slot => match self.awaits_requests(event) {
                Some(slot) if self.defer(slot) => {}
                _ => self.serve(slot as usize, event.flags),
            },
        }
    }

    fn serve(&mut self, slot: usize, flags: EventFlags) {
        // An event may have been fetched together with the one that ended its connection.
        let Some(connection) = self.connections.get_mut(slot) else {
            return;
        };
        if connection.is_queued {
            // Its turn comes anyway; until then its buffers are in use.
            return;
        }
        if connection.is_suspended() && (connection.is_held || !connection.awaits_room) {
            return self.serve_waiting(slot, flags);
        }
        let outcome = if connection.awaits_room || flags.contains(EventFlags::OUT) {
            read::on_writable(connection, &mut self.resources)
        } else {
            read::on_readable(connection, &mut self.resources)
        };
        self.settle(slot, outcome);
    }

    /// A connection that waits for a device has input, or its client has gone.
    fn serve_waiting(&mut self, slot: usize, flags: EventFlags) {
        if flags.intersects(EventFlags::HUP | EventFlags::ERR) {
            return self.close(slot);
        }
        let connection = &mut self.connections[slot];
        connection.is_muted = true;
        let nothing = EventFlags::empty();
        self.poller
            .watch_for(slot as u64, &connection.transport, nothing);
    }

    fn resume_unfinished(&mut self) {
        for slot in std::mem::take(&mut self.unfinished) {
            let Some(connection) = self.connections.get_mut(slot) else {
                continue;
            };
            connection.is_queued = false;
            let outcome = read::resume(connection, &mut self.resources);
            self.settle(slot, outcome);
        }
    }

    /// Carries out what a stage found.
    fn settle(&mut self, slot: usize, outcome: Outcome) {
        if outcome == Outcome::Closed {
            return self.close(slot);
        }
        let connection = &mut self.connections[slot];
        let outcome = match outcome {
            // epoll will not tell of it.
            Outcome::Idle
                if connection.transport.has_buffered_input() && !connection.is_suspended() =>
            {
                Outcome::Again
            }
            outcome => outcome,
        };
        if outcome == Outcome::Again {
            connection.is_queued = true;
            self.unfinished.push(slot);
        }
        if connection.watcher.is_some() && !self.watching.contains(&slot) {
            self.watching.push(slot);
        }
        let awaits_room = connection.has_unsent() && !connection.is_held;
        let unmutes = connection.is_muted && !connection.is_suspended();
        if connection.awaits_room != awaits_room || unmutes {
            connection.awaits_room = awaits_room;
            connection.is_muted = false;
            self.stalls
                .note(connection, awaits_room, self.resources.turn_began);
            if !awaits_room && connection.watcher.is_some() {
                // Lines may have gathered meanwhile.
                self.mailbox.waker.wake();
            }
            let flags = if awaits_room {
                EventFlags::OUT
            } else {
                EventFlags::IN
            };
            self.poller
                .watch_for(slot as u64, &connection.transport, flags);
        }
        let receiving_value = !connection.session.value_buffer().is_empty();
        connection.show(outcome, receiving_value);
    }
}
