//! Moves everything that can be moved, once.

use super::{ClientInbox, Driver};
use crate::connect::ClientPort;
use crate::engine::{Action, Engine, Link, Reception};
use farcache_fabric::bytes::{ReceiveBytes, SendBytes};

use farcache_fabric::{Arming, Event, Peer, Port, Whole};

/// Flushes that send only, until one looks at what has arrived.
const FLUSHES_PER_TURN: u32 = 16;

/// How often the sockets are looked at where nothing is expected from them but their end.
const LIFE_LINES_SEEN_US: u64 = 1000;

impl Driver {
    /// Sends what waits, takes in what has arrived. Returns whether anything happened.
    pub(crate) fn turn(&mut self, now_us: u64) -> bool {
        self.transmit();
        let mut happened = self.engine.uses_fabric() && self.turn_fabric(now_us);
        if self.engine.uses_sockets() && (self.engine.is_expecting() || self.tcp.has_unsent()) {
            happened |= self.turn_sockets(now_us);
        }
        if self.connecting > 0 {
            happened |= self.arrive(now_us);
        }
        self.act(now_us) | happened
    }

    /// Sends what waits and does nothing else; false where there is more to do.
    pub(crate) fn send_only(&mut self) -> bool {
        self.flushes = self.flushes.wrapping_add(1);
        if self.flushes.is_multiple_of(FLUSHES_PER_TURN)
            || self.connecting > 0
            || self.engine.uses_sockets()
            || self.engine.has_actions()
        {
            return false;
        }
        self.transmit() && !self.engine.has_waiting()
    }

    /// Does what [`Driver::turn`] does, and looks at everything that is looked at only now and
    /// then.
    pub(crate) fn full_turn(&mut self, now_us: u64) -> bool {
        self.bell.answer();
        if self.ticked_us != now_us {
            self.ticked_us = now_us;
            self.engine.tick(now_us);
        }
        let due = now_us.saturating_sub(self.sockets_seen_us) >= LIFE_LINES_SEEN_US;
        let mut happened = due && self.turn_sockets(now_us);
        if due && !self.engine.uses_fabric() {
            // What was closed may not have ended.
            happened |= self.turn_fabric(now_us);
        }
        self.turn(now_us) | happened
    }

    /// Looks at the sockets, whether something is expected from them or not.
    pub(crate) fn turn_sockets(&mut self, now_us: u64) -> bool {
        self.sockets_seen_us = now_us;
        self.tcp.progress(&mut self.tcp_inbox);
        drain(
            &mut self.engine,
            &mut self.tcp,
            &mut self.tcp_inbox,
            Link::Tcp,
            now_us,
        )
    }

    /// Whether there is nothing to move and nothing to come. A value that the server has refused
    /// before all of it was sent is still to be moved.
    pub(crate) fn is_idle(&self) -> bool {
        self.connecting == 0 && self.engine.is_idle() && !self.tcp.has_unsent()
    }

    /// Whether a look at the sockets is long due.
    pub(crate) fn is_stale(&self, now_us: u64) -> bool {
        now_us.saturating_sub(self.sockets_seen_us) > 10 * LIFE_LINES_SEEN_US
    }

    /// Whether nothing waits to be sent or done, and all answers come over the fabric.
    pub(super) fn awaits_fabric_only(&self) -> bool {
        let engine = &self.engine;
        let is_silent = !engine.has_waiting() && !engine.has_actions() && !engine.has_notices();
        is_silent && self.connecting == 0 && !engine.uses_sockets()
    }

    #[inline]
    pub(super) fn turn_fabric(&mut self, now_us: u64) -> bool {
        let Some(port) = &mut self.fabric else {
            return false;
        };
        // What ends operations is handled where it lies: an answer has no other way to make.
        let engine = &mut self.engine;
        let moved = port.progress_with(&mut self.fabric_inbox, &mut |message| {
            engine.message(message, now_us);
            true
        });
        if self.fabric_inbox.is_empty() {
            return moved;
        }
        let inbox = &mut self.fabric_inbox;
        drain(&mut self.engine, &mut **port, inbox, Link::Fabric, now_us)
    }

    /// Hands what waits to the ports; whether the fabric has taken all of it at once.
    fn transmit(&mut self) -> bool {
        let (tcp, fabric) = (&mut self.tcp, &mut self.fabric);
        let mut is_sent = true;
        self.engine
            .transmit(|message| match (message.link, &mut *fabric) {
                (Link::Tcp(peer), _) => tcp.send(peer, message.kind, 0, message.payload),
                (Link::Fabric(peer), Some(port)) => {
                    port.send(peer, message.kind, 0, message.payload);
                    is_sent &= port.unsent(peer) == 0;
                }
                // There are no such links without a port.
                (Link::Fabric(_), None) => {}
            });
        is_sent
    }

    /// Carries out what the engine wants. Returns whether that was anything.
    fn act(&mut self, now_us: u64) -> bool {
        let mut acted = false;
        while let Some(action) = self.engine.next_action() {
            acted = true;
            match action {
                Action::Connect { server, attempt } => self.connect(server, attempt, now_us),
                Action::Close(Link::Tcp(peer)) => self.tcp.close(peer),
                Action::Close(Link::Fabric(peer)) => close_fabric(self.fabric.as_mut(), peer),
            }
        }
        if acted {
            // What the closed ones held comes back at once.
            self.turn_sockets(now_us);
            self.turn_fabric(now_us);
            self.transmit();
        }
        acted
    }

    /// Prepares for sleep; false where there is something to do.
    pub(crate) fn arm(&mut self, now_us: u64) -> bool {
        if self.engine.has_unsent() || self.tcp.arm() == Arming::Busy {
            return false;
        }
        let uses_fabric = self.engine.uses_fabric();
        let Some(port) = self.fabric.as_mut().filter(|_| uses_fabric) else {
            return true;
        };
        // A message may have come between the last look and the arming, without a wake-up.
        port.arm() == Arming::Armed && !self.turn_fabric(now_us)
    }
}

fn close_fabric(port: Option<&mut ClientPort>, peer: Peer) {
    if let Some(port) = port {
        port.close(peer);
    }
}

/// Hands everything in the inbox to the engine. Returns whether there was anything.
fn drain<P: Port<SendBytes, ReceiveBytes> + ?Sized>(
    engine: &mut Engine,
    port: &mut P,
    inbox: &mut ClientInbox,
    link: impl Fn(Peer) -> Link,
    now_us: u64,
) -> bool {
    let happened = !inbox.is_empty();
    for event in inbox.events.drain(..) {
        match event {
            Event::Message {
                frame,
                packets,
                sender,
            } => {
                engine.message(Whole::new(&frame, &inbox.bytes[packets]), now_us);
                if let Some(stranger) = sender {
                    port.close(stranger);
                }
            }
            Event::Offered { frame, head, offer } => {
                match engine.offered(&frame, &inbox.bytes[head], offer.bytes, now_us) {
                    Reception::Receive { into, tag } => port.receive(offer, into, tag),
                    Reception::Refuse => port.refuse(offer),
                }
            }
            Event::Received { tag, into, outcome } => engine.received(tag, into, outcome),
            Event::Sent { tag, body, outcome } => engine.sent(tag, body, outcome),
            Event::Lost { peer, error } => engine.lost(link(peer), &error, now_us),
            // What cannot be read cannot be answered; its sender's requests run into their time
            // limit. Nobody comes to a client's address but servers that it has greeted.
            Event::Garbage(_) | Event::Renewed => {}
        }
    }
    inbox.recycle();
    happened
}
