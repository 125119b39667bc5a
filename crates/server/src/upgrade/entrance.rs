//! Where the fabric's clients come in: a worker's port, from before it is open until its worker has
//! it.
//!
//! A port takes about a megabyte and ten descriptors, whether it is used or not. So it is opened
//! when a client asks for the fabric, by the worker that is asked, and handed to its own.

use farcache_fabric::{Error, Port};
use farcache_store::{PinnedValue, Reservation};
use std::time::{Duration, Instant};

/// A worker's end of the network: it sends values from where they lie in the store and receives
/// them into where they will.
pub type ServerPort = dyn Port<PinnedValue, Reservation>;

/// Opens a worker's port.
pub type OpenPort = Box<dyn Fn() -> Result<Box<ServerPort>, Error> + Send + Sync>;

/// How long no other attempt is made after one that failed: it takes milliseconds, for which the
/// sockets of the worker that makes it wait.
const PAUSE: Duration = Duration::from_secs(10);

/// How far a worker's port is.
#[derive(Default)]
pub enum Entrance {
    /// Nobody has asked for it.
    #[default]
    Unopened,
    /// It could not be opened.
    Failed {
        /// When that was.
        at: Instant,
    },
    /// Clients can come.
    Open {
        /// Where they find it.
        address: Vec<u8>,
        /// The port, until its worker takes it.
        port: Option<Box<ServerPort>>,
    },
}

impl Entrance {
    /// Whether the port is open.
    pub fn is_open(&self) -> bool {
        matches!(self, Entrance::Open { .. })
    }

    /// Where clients find the port, which is opened if it is not yet.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn open(&mut self, open: &OpenPort) -> Result<&[u8], Error> {
        if !self.is_open() {
            let failed = |_: &_| *self = Entrance::Failed { at: Instant::now() };
            let port = open().inspect_err(failed)?;
            *self = Entrance::Open {
                address: port.address().to_vec(),
                port: Some(port),
            };
        }
        Ok(self.address().expect("it is open"))
    }

    /// As [`open`](Self::open), unless that failed a moment ago. Failures are logged.
    pub fn open_if_due(&mut self, open: &OpenPort) -> Option<Vec<u8>> {
        if matches!(self, Entrance::Failed { at } if at.elapsed() < PAUSE) {
            return None;
        }
        match self.open(open) {
            Ok(address) => Some(address.to_vec()),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "a worker cannot serve the fabric: its clients stay on sockets"
                );
                None
            }
        }
    }

    /// The port, for its worker, the first time that it is asked for once it is open.
    pub fn take_port(&mut self) -> Option<Box<ServerPort>> {
        match self {
            Entrance::Open { port, .. } => port.take(),
            _ => None,
        }
    }

    /// Clients find the port there from now on.
    pub fn note_address(&mut self, now: &[u8]) {
        if let Entrance::Open { address, .. } = self
            && address != now
        {
            tracing::warn!(
                "a client's death has blocked shared memory: a worker's fabric starts anew"
            );
            *address = now.to_vec();
        }
    }

    fn address(&self) -> Option<&[u8]> {
        match self {
            Entrance::Open { address, .. } => Some(address),
            _ => None,
        }
    }
}
