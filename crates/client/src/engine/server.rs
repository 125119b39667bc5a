//! What is known of one server.

use super::outgoing::Outgoing;
use super::settings::Settings;
use farcache_fabric::{Frame, Peer};
use farcache_redundancy::Untold;

/// A connection, by the port that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A socket: an ordinary memcached, or the life line of a session over the fabric.
    Tcp(Peer),
    /// A session over the fabric.
    Fabric(Peer),
}

/// What the messages of a session carry, both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The session's number.
    pub session: u32,
    /// Its key.
    pub key: u64,
}

impl Identity {
    fn of(frame: &Frame) -> Self {
        Identity {
            session: frame.session,
            key: frame.key,
        }
    }
}

/// A session over the fabric that a server has offered and the port has begun.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// The server's port.
    pub peer: Peer,
    /// What its messages carry.
    pub identity: Identity,
    /// To be shown in the first message.
    pub token: u64,
    /// Messages that may be unanswered.
    pub credits: u16,
    /// Most bytes of packets in a message.
    pub message_bytes_max: u32,
    /// The network below it is the kernel's sockets: the server's own socket is faster.
    pub runs_on_sockets: bool,
}

/// A session over the fabric that was given up for the socket, until the server knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retired {
    pub(super) peer: Peer,
    /// The server has been told.
    pub(super) is_told: bool,
}

impl Retired {
    pub(super) fn new(offered: &Offered) -> Self {
        Retired {
            peer: offered.peer,
            is_told: false,
        }
    }
}

/// How far the connection to a server is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stage {
    /// There is none; the next operation begins one.
    Idle,
    /// The attempt with this number is under way.
    Connecting { attempt: u64 },
    /// The fabric has been reached and has not welcomed us.
    Greeting {
        offered: Offered,
        /// The greeting has been sent.
        is_sent: bool,
        until_us: u64,
    },
    /// Operations go over the socket.
    Sockets,
    /// Operations go over the fabric.
    Fabric { offered: Offered },
    /// It failed, and is left alone until then.
    Resting { until_us: u64 },
}

/// One server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) stage: Stage,
    /// The newest attempt to connect: while it is the same, so is the process at the other end.
    pub(super) attempt: u64,
    /// The socket and what its messages carry.
    pub(super) line: Option<(Peer, Identity)>,
    /// What the fabric still has of a session that was given up for the socket.
    pub(super) retired: Option<Retired>,
    /// Why operations go over the socket, where they do.
    pub(super) no_fabric: Box<str>,
    pub(super) outgoing: Outgoing,
    /// It is in the list of servers that something waits for.
    pub(super) is_listed: bool,
    /// Messages that may still be sent.
    pub(super) credits: u32,
    /// Operations and keys whose answer may come.
    pub(super) outstanding: usize,
    /// When something last arrived, or the session began.
    pub(super) heard_us: u64,
    /// Something has arrived in this session.
    pub(super) has_answered: bool,
    /// Failures in a row.
    pub(super) failures: u32,
    /// Its keys belong to others until then.
    pub(super) removed_until_us: Option<u64>,
    /// Versions that are complete, of which it has not been told.
    pub(super) untold: Untold,
}

impl Server {
    pub(super) fn new() -> Self {
        Server {
            stage: Stage::Idle,
            attempt: 0,
            line: None,
            retired: None,
            no_fabric: Box::default(),
            outgoing: Outgoing::default(),
            is_listed: false,
            credits: 0,
            outstanding: 0,
            heard_us: 0,
            has_answered: false,
            failures: 0,
            removed_until_us: None,
            untold: Untold::default(),
        }
    }

    /// Whether packets with this frame come from the session that operations go over.
    pub(super) fn sends(&self, frame: &Frame) -> bool {
        let identity = match (&self.stage, &self.line) {
            (Stage::Fabric { offered } | Stage::Greeting { offered, .. }, _) => offered.identity,
            (Stage::Sockets, Some((_, identity))) => *identity,
            _ => return false,
        };
        identity == Identity::of(frame)
    }

    /// Whether operations can be sent to it now.
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.stage, Stage::Sockets | Stage::Fabric { .. })
    }

    /// Whether anything may come from the fabric.
    pub(super) fn holds_fabric(&self) -> bool {
        self.retired.is_some() || matches!(self.link(), Some(Link::Fabric(_)))
    }

    /// Where operations go.
    pub(super) fn link(&self) -> Option<Link> {
        match (&self.stage, &self.line) {
            (Stage::Fabric { offered } | Stage::Greeting { offered, .. }, _) => {
                Some(Link::Fabric(offered.peer))
            }
            (Stage::Sockets, Some((peer, _))) => Some(Link::Tcp(*peer)),
            _ => None,
        }
    }

    /// Whether this is one of its connections.
    pub(super) fn has(&self, link: Link) -> bool {
        let line = self.line.map(|(peer, _)| Link::Tcp(peer));
        line == Some(link) || self.link() == Some(link)
    }

    /// How long to leave it alone after its last failure.
    pub(super) fn rest_us(&self, settings: &Settings) -> u64 {
        let doublings = self.failures.saturating_sub(1).min(32);
        let rest = settings.rest_us_min.saturating_mul(1 << doublings);
        rest.min(settings.rest_us_max)
    }
}
