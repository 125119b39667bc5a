//! One worker's sessions on the fabric with other servers, where it is the one that asks. They have
//! a port of their own: the worker's other port is greeted, and this one greets.

use crate::dial::CallPort;
use farcache_fabric::bytes::{ReceiveBytes, SendBytes};
use farcache_fabric::{Arming, Error, Event, Frame, Grant, Inbox, Kind, Payload, Peer};
use std::os::fd::BorrowedFd;

/// One session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The other end, as the port numbers it.
    pub peer: Peer,
    session: u32,
    key: u64,
    /// Messages that may still be sent before one is answered.
    pub credits: u16,
    /// Messages that may be sent where none is unanswered.
    credits_max: u16,
    /// Most bytes of a message.
    pub message_bytes_max: usize,
}

impl Call {
    /// Whether a message is this session's.
    pub fn is_of(&self, frame: &Frame) -> bool {
        (self.session, self.key) == (frame.session, frame.key)
    }
}

/// All of them.
pub struct Calls {
    port: Box<CallPort>,
    inbox: Inbox<SendBytes, ReceiveBytes>,
    /// Sessions that are open or have been asked for.
    live: usize,
    /// Messages that have not been answered.
    awaited: usize,
}

/// What has come of a session.
pub enum News<'a> {
    /// The other end has let this one in.
    Welcome,
    /// The bytes of frames, or of parts of them, behind the message's own frame.
    Frames(&'a Frame, &'a [u8]),
    /// It is over.
    Over,
}

impl Calls {
    /// None yet.
    pub fn new(port: Box<CallPort>) -> Calls {
        Calls {
            port,
            inbox: Inbox::default(),
            live: 0,
            awaited: 0,
        }
    }

    /// Greets the server that has granted this.
    ///
    /// # Errors
    /// No network leads there.
    pub fn greet(&mut self, grant: &Grant) -> Result<Call, Error> {
        let peer = self.port.connect(&grant.address)?;
        self.port.bind(peer, grant.session, grant.key);
        let token = grant.token.to_le_bytes();
        self.port
            .send(peer, Kind::Hello, 0, Payload::Packets(&token));
        self.live += 1;
        Ok(Call {
            peer,
            session: grant.session,
            key: grant.key,
            credits: grant.credits,
            credits_max: grant.credits,
            message_bytes_max: grant.message_bytes_max as usize,
        })
    }

    /// Sends a message of whole frames, for which there is credit.
    pub fn send(&mut self, call: &mut Call, frames: &[u8]) {
        call.credits -= 1;
        self.awaited += 1;
        self.port
            .send(call.peer, Kind::Packets, 0, Payload::Packets(frames));
    }

    /// Ends a session.
    pub fn close(&mut self, call: &Call) {
        self.live -= 1;
        let unanswered = call.credits_max.saturating_sub(call.credits);
        self.note_answered(unanswered);
        self.port.close(call.peer);
    }

    /// Whether the kernel's sockets alone carry a session: the connection does it faster.
    pub fn runs_on_sockets(&self, call: &Call) -> bool {
        self.port.runs_on_sockets(call.peer)
    }

    /// The networks that carry a session, for people.
    pub fn lanes(&self, call: &Call) -> String {
        self.port.lanes(call.peer)
    }

    /// The other end of a session has answered so many messages completely.
    fn note_answered(&mut self, messages: u16) {
        self.awaited = self.awaited.saturating_sub(messages.into());
    }

    /// Whether answers are to come.
    pub fn is_awaited(&self) -> bool {
        self.awaited > 0
    }

    /// Whether there are sessions.
    pub fn is_in_use(&self) -> bool {
        self.live > 0
    }

    /// Moves the port and has what came put aside for [`Calls::tell`]; whether anything happened.
    pub fn turn(&mut self) -> bool {
        self.port.progress(&mut self.inbox)
    }

    /// Tells what has come, and of which session.
    pub fn tell(&mut self, mut tell: impl FnMut(&Calls, Whose<'_>, News<'_>)) {
        if self.inbox.is_empty() {
            return;
        }
        let mut inbox = std::mem::take(&mut self.inbox);
        let Inbox { bytes, events } = &mut inbox;
        for event in events.drain(..) {
            match event {
                Event::Message { frame, packets, .. } => {
                    let news = match frame.kind {
                        Kind::Welcome => News::Welcome,
                        Kind::Packets => News::Frames(&frame, &bytes[packets]),
                        _ => News::Over,
                    };
                    self.note_answered(frame.credits);
                    tell(self, Whose::Of(&frame), news);
                }
                // Frames come whole: this is no server of ours.
                Event::Offered { frame, offer, .. } => {
                    self.port.refuse(offer);
                    tell(self, Whose::Of(&frame), News::Over);
                }
                Event::Lost { peer, error } => {
                    tracing::debug!(%error, "the fabric has lost another server");
                    tell(self, Whose::At(peer), News::Over);
                }
                Event::Garbage(error) => tracing::debug!(%error, "garbage on the fabric"),
                // Nobody is told the address of a port that greets but those whom it greets.
                Event::Received { .. } | Event::Sent { .. } | Event::Renewed => {}
            }
        }
        inbox.recycle();
        self.inbox = inbox;
    }

    /// Prepares for sleep.
    pub fn arm(&mut self) -> Arming {
        self.port.arm()
    }

    /// Readable when an armed port has something to do.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.port.descriptor()
    }
}

/// Which session something is about.
#[derive(Clone, Copy)]
pub enum Whose<'a> {
    /// The one that a message's frame names.
    Of(&'a Frame),
    /// The one with this other end.
    At(Peer),
}

impl Whose<'_> {
    /// Whether it is this one.
    pub fn is(&self, call: &Call) -> bool {
        match self {
            Whose::Of(frame) => call.is_of(frame),
            Whose::At(peer) => call.peer == *peer,
        }
    }
}
