//! The client's request logic, without I/O: operations, events and the time go in; messages,
//! results and actions come out.
//!
//! | file | what it does |
//! |---|---|
//! | `checks` | what an operation must be like to be sent |
//! | `submit` | an operation becomes a packet in its server's queue |
//! | `telling` | which versions are complete |
//! | `outgoing`, `transmit` | queues become messages, as far as credits go |
//! | `answer` | packets that arrive end operations |
//! | `large` | values that travel beside their packet |
//! | `solo`, `solo_store` | one get or store with nothing else under way |
//! | `slots`, `batches`, `ticket` | operations under way, and their numbers |
//! | `server`, `session` | a connection's life: connecting, greeting, loss, rest, removal |
//! | `clock` | time limits |
//! | `routing` | where keys live: by a list of servers, or by a cluster's map |
//! | `cluster_map` | a newer map is asked for, and followed |
//!
//! Its driver calls [`Engine::transmit`] after submitting, hands over what its ports report,
//! carries out [`Engine::next_action`], and calls [`Engine::tick`] now and then. Time is in
//! microseconds from any beginning and never goes back.

mod answer;
mod batches;
mod checks;
mod clock;
mod cluster_map;
mod encode;
mod large;
mod outgoing;
mod routing;
mod server;
mod session;
mod settings;
mod slots;
mod solo;
mod solo_store;
mod submit;
mod telling;
pub(crate) mod ticket;
mod transmit;

pub(crate) use checks::{check, check_key};
pub(crate) use encode::key as key_of;
pub use large::Reception;
pub use routing::Routing;
pub use server::{Identity, Link, Offered};
pub use settings::Settings;
pub(crate) use settings::micros;
pub use solo::{Solo, SoloGet, SoloRoute, SoloStage};
pub use solo_store::SoloStore;
pub(crate) use submit::Elsewhere;
pub use transmit::Message;

use crate::completion::{Completion, Notice};
use crate::distribution::Placement;
use crate::values::Values;
use batches::Batches;
use cluster_map::Question;
use server::{Server, Stage};
use slots::Slots;
use std::collections::VecDeque;
use ticket::Named;

/// Something for the driver to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Connect to this server; [`Engine::connected`] or [`Engine::connect_failed`] tell how that
    /// went.
    Connect {
        /// Its index.
        server: usize,
        /// Names the attempt.
        attempt: u64,
    },
    /// Close this connection.
    Close(Link),
}

/// Names an operation or a multi-get until its result has been fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u32);

/// The requests of one client.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    routing: Routing,
    question: Question,
    servers: Vec<Server>,
    slots: Slots,
    batches: Batches,
    actions: VecDeque<Action>,
    /// Servers for which something waits to be sent.
    listed: Vec<usize>,
    /// The latest time that is known.
    now_us: u64,
    attempts: u64,
    /// The server that answered last.
    speaker: usize,
    /// Servers that are used over sockets.
    on_sockets: usize,
    /// Servers from which something may come over the fabric.
    on_fabric: usize,
    /// Answers that may come.
    outstanding: usize,
    /// Large values that are being received.
    arriving: usize,
    /// Large values that the network has not let go of, also those of sessions that have ended.
    leaving: usize,
    /// Somebody calls [`Engine::tell_left_over`] by and by.
    tells_left_over: bool,
}

impl Engine {
    /// An engine without connections.
    #[must_use]
    pub fn new(settings: Settings, placement: Placement) -> Self {
        let count = placement.servers().len();
        Engine {
            settings,
            routing: Routing::new(placement),
            question: Question::default(),
            servers: (0..count).map(|_| Server::new()).collect(),
            slots: Slots::default(),
            batches: Batches::default(),
            actions: VecDeque::new(),
            listed: Vec::new(),
            now_us: 0,
            attempts: 0,
            speaker: 0,
            on_sockets: 0,
            on_fabric: 0,
            outstanding: 0,
            arriving: 0,
            leaving: 0,
            tells_left_over: false,
        }
    }

    /// The servers and where keys live.
    #[must_use]
    pub fn routing(&self) -> &Routing {
        &self.routing
    }

    /// What is to be done, in order.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Whether something is to be done.
    #[must_use]
    pub fn has_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    /// Answers that may still come.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Whether anything may still arrive.
    #[must_use]
    pub fn is_expecting(&self) -> bool {
        self.outstanding > 0 || self.arriving > 0
    }

    /// Operations and multi-gets that are under way, or whose result has not been fetched.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.slots.in_use() + self.batches.in_use()
    }

    /// Whether answers may come over sockets.
    #[must_use]
    pub fn uses_sockets(&self) -> bool {
        self.on_sockets > 0
    }

    /// Whether anything may come over the fabric, if only values of sessions that have ended.
    #[must_use]
    pub fn uses_fabric(&self) -> bool {
        self.on_fabric > 0 || self.arriving > 0 || self.leaving > 0
    }

    /// Why operations on this server go over a socket; `None` where they do not.
    #[must_use]
    pub fn no_fabric(&self, server: usize) -> Option<&str> {
        let server = &self.servers[server];
        matches!(server.stage, Stage::Sockets).then_some(&*server.no_fabric)
    }

    /// Whether operations on this server go over the fabric.
    #[must_use]
    pub fn is_on_fabric(&self, server: usize) -> bool {
        matches!(self.servers[server].stage, Stage::Fabric { .. })
    }

    /// Where operations on this server go now; `None` without a connection.
    #[must_use]
    pub fn link(&self, server: usize) -> Option<Link> {
        self.servers[server].link()
    }

    /// The result of an operation, once it is there.
    pub fn fetch(&mut self, ticket: Ticket) -> Option<Completion> {
        match ticket::named(ticket.0) {
            Named::Single { slot, .. } => self.slots.fetch(slot),
            Named::Key { .. } => None,
        }
    }

    /// The values of a multi-get, once all are there.
    pub fn fetch_values(&mut self, ticket: Ticket) -> Option<Values> {
        match ticket::named(ticket.0) {
            Named::Single { .. } => None,
            Named::Key { batch, .. } => self.batches.fetch(batch),
        }
    }

    /// Whether the result is there.
    pub fn is_complete(&mut self, ticket: Ticket) -> bool {
        let stage = match ticket::named(ticket.0) {
            Named::Single { slot, .. } => self.slots.at(slot).stage,
            Named::Key { batch, .. } => self.batches.at(batch).stage,
        };
        stage == slots::Stage::Complete
    }

    /// Puts a notice into [`Engine::take_notices`] once the result is there, unless the result is
    /// fetched or given up before.
    pub fn notify(&mut self, ticket: Ticket, notice: Notice) {
        match ticket::named(ticket.0) {
            Named::Single { slot, .. } => self.slots.notify(slot, notice),
            Named::Key { batch, .. } => self.batches.notify(batch, notice),
        }
    }

    /// Whether notices wait to be called.
    #[must_use]
    pub fn has_notices(&self) -> bool {
        !self.slots.notices.is_empty() || !self.batches.notices.is_empty()
    }

    /// The notices of what has ended, to be called when the engine is not in use.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.slots.notices);
        notices.append(&mut self.batches.notices);
        notices
    }

    /// Gives a result up: nobody will fetch it. What was lent is dropped when the network has let
    /// go of it.
    pub fn abandon(&mut self, ticket: Ticket) {
        match ticket::named(ticket.0) {
            Named::Single { slot, .. } => self.slots.abandon(slot),
            Named::Key { batch, .. } => self.batches.abandon(batch),
        }
    }
}
