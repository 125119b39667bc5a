//! The client shows its token.

use super::conversation::Stage;
use super::engine::Engine;
use crate::resources::Resources;
use farcache_fabric::{Frame, Kind, Payload, Peer};
use std::sync::Arc;

/// Why a client is not let in.
enum Refused {
    Unknown,
    Token,
    Replay,
}

impl Refused {
    fn reason(&self) -> &'static str {
        match self {
            Refused::Unknown => "no such session",
            Refused::Token => "wrong token",
            Refused::Replay => "the token has been used",
        }
    }
}

impl Engine {
    pub(super) fn on_hello(
        &mut self,
        frame: &Frame,
        token: &[u8],
        sender: Peer,
        resources: &mut Resources,
    ) {
        if let Some(&number) = self.by_peer.get(&sender) {
            return self.cut_off(number, "a second greeting", resources);
        }
        if self.is_closing(sender) {
            return;
        }
        match self.admit(frame, token, resources) {
            Ok(number) => self.welcome(number, sender),
            Err(refused) => self.turn_away(frame, sender, &refused),
        }
    }

    /// The session that the token opens.
    fn admit(
        &mut self,
        frame: &Frame,
        token: &[u8],
        resources: &mut Resources,
    ) -> Result<u32, Refused> {
        if self.find_key(frame.session, frame.key).is_none() {
            // The client may be faster than the news of its grant.
            let mailbox = Arc::clone(&resources.mailbox);
            self.collect(&mailbox, resources.clock.now);
        }
        let number = self
            .find_key(frame.session, frame.key)
            .ok_or(Refused::Unknown)?;
        let shown = token.try_into().map(u64::from_le_bytes).ok();
        match self.conversation(number).stage {
            Stage::Open(_) => Err(Refused::Replay),
            Stage::Granted { token, .. } if shown == Some(token) => Ok(number),
            Stage::Granted { .. } => Err(Refused::Token),
        }
    }

    fn welcome(&mut self, number: u32, peer: Peer) {
        self.count_endpoints(1);
        let key = self.conversation(number).key;
        self.port.bind(peer, number, key);
        self.send_small(peer, Kind::Welcome, 0, &[]);
        let lanes = self.port.lanes(peer);
        self.registry().use_lanes(&lanes);
        self.by_peer.insert(peer, number);
        let network = self.registry().name();
        let conversation = self.conversation_mut(number);
        let fd = conversation.bond.info.fd;
        tracing::debug!(fd, session = number, lanes, "session opened on the fabric");
        conversation
            .bond
            .info
            .set_fabric(Some(format!("{network} {lanes}")));
        conversation.stage = Stage::Open(peer);
        conversation.lanes = lanes;
        self.figures.sessions_total.bump();
        self.count_sessions();
        self.count_tokens();
    }

    /// Lets go of a client without a word: an answer takes a connection to the address that the
    /// client says is its own, and whoever is not let in could have the server connect to anywhere,
    /// or UCX read anything.
    fn turn_away(&mut self, frame: &Frame, peer: Peer, refused: &Refused) {
        let reason = refused.reason();
        tracing::debug!(
            session = frame.session,
            reason,
            "client refused on the fabric"
        );
        match refused {
            Refused::Unknown => self.figures.refused_unknown.bump(),
            Refused::Token => self.figures.refused_token.bump(),
            Refused::Replay => self.figures.refused_replay.bump(),
        }
        self.port.close(peer);
    }

    /// Sends a message without large values.
    pub(super) fn send_small(&mut self, peer: Peer, kind: Kind, credits: u16, packets: &[u8]) {
        self.note_sending(packets.len());
        self.port
            .send(peer, kind, credits, Payload::Packets(packets));
    }

    /// A message of so many bytes is being sent.
    pub(super) fn note_sending(&self, bytes: usize) {
        self.figures.messages_out.bump();
        self.count_out(bytes);
    }
}
