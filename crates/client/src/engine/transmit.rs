//! Queues become messages, as far as credits go.

use super::Engine;
use super::server::{Link, Server, Stage};
use farcache_fabric::bytes::SendBytes;
use farcache_fabric::{Kind, Payload};

/// A message to send.
#[derive(Debug)]
pub struct Message<'a> {
    /// Where to.
    pub link: Link,
    /// What kind.
    pub kind: Kind,
    /// What it carries.
    pub payload: Payload<'a, SendBytes>,
}

impl Engine {
    /// Hands everything to `send` that may be sent now.
    pub fn transmit(&mut self, mut send: impl FnMut(Message<'_>)) {
        let mut at = 0;
        while let Some(&index) = self.listed.get(at) {
            let server = &mut self.servers[index];
            transmit_to(server, &mut send);
            if server.outgoing.is_empty() || !is_open(server) {
                server.is_listed = false;
                self.listed.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Whether what waits is to be sent at once, although more may follow: there is nothing else
    /// that its server works at meanwhile, or it is enough for a message.
    #[must_use]
    pub fn is_worth_sending(&self) -> bool {
        self.listed.iter().any(|&server| {
            let server = &self.servers[server];
            server.outstanding <= 1 || server.outgoing.is_worth_sending()
        })
    }

    /// Whether nothing waits to be sent or to be let go of by the network, and no answer is to
    /// come.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        !self.is_expecting() && self.listed.is_empty() && self.leaving == 0
    }

    /// Whether something waits, for a connection or for credits.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        !self.listed.is_empty()
    }

    /// Whether something may be sent now.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.listed.iter().any(|&server| {
            let server = &self.servers[server];
            is_open(server) && server.credits > 0
        })
    }
}

/// Whether a message may go there at all; what waits for a connection is listed anew when it is
/// there.
fn is_open(server: &Server) -> bool {
    matches!(
        server.stage,
        Stage::Sockets | Stage::Fabric { .. } | Stage::Greeting { is_sent: false, .. }
    )
}

fn transmit_to(server: &mut Server, send: &mut impl FnMut(Message<'_>)) {
    let Some(link) = server.link() else {
        return;
    };
    if let Some(retired) = server.retired.as_mut().filter(|retired| !retired.is_told) {
        retired.is_told = true;
        send(Message {
            link: Link::Fabric(retired.peer),
            kind: Kind::Retire,
            payload: Payload::Packets(&[]),
        });
    }
    let (bytes_max, costs) = match &mut server.stage {
        Stage::Greeting {
            offered, is_sent, ..
        } => {
            if !std::mem::replace(is_sent, true) {
                let token = offered.token.to_le_bytes();
                let payload = Payload::Packets(&token);
                let kind = Kind::Hello;
                send(Message {
                    link,
                    kind,
                    payload,
                });
            }
            return;
        }
        Stage::Fabric { offered } => (offered.message_bytes_max as usize, 1),
        _ => (usize::MAX, 0),
    };
    while server.credits > 0 {
        let Some(payload) = server.outgoing.next(bytes_max) else {
            return;
        };
        server.credits -= costs;
        let kind = Kind::Packets;
        send(Message {
            link,
            kind,
            payload,
        });
    }
}
