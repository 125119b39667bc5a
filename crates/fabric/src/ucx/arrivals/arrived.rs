//! What has come and waits for the port: each message is looked at, and put away.

use super::greeting::{self, Greeting};
use super::lent_handler::LentHandler;
use super::offered::Offered;
use crate::error::Error;
use crate::frame::{Frame, Kind};
use crate::inbox::{Event, Inbox, Offer};
use crate::limits::Limits;
use crate::short::{Get, UNDERSTOOD, Value};
use crate::ucx::endpoint::EndpointId;
use crate::ucx::sessions::Sessions;
use crate::ucx::slots::Slots;
use crate::whole::Whole;
use farcache_ucx_sys::raw::*;

/// What the handlers write to.
#[derive(Debug)]
pub(in crate::ucx) struct Arrived<S, R> {
    pub inbox: Inbox<S, R>,
    pub greetings: Vec<Greeting>,
    pub offers: Slots<Offered>,
    pub sessions: Sessions,
    pub limits: Limits,
    /// Probes that have come.
    pub probes: u64,
    /// Messages are shown to it first; there for as long as UCX is at work.
    pub(super) handler: LentHandler,
}

impl<S, R> Default for Arrived<S, R> {
    fn default() -> Self {
        Arrived {
            inbox: Inbox::default(),
            greetings: Vec::new(),
            offers: Slots::default(),
            sessions: Sessions::default(),
            limits: Limits::default(),
            probes: 0,
            handler: LentHandler::default(),
        }
    }
}

impl<S, R> Arrived<S, R> {
    pub(super) fn garbage(&mut self, error: Error) -> ucs_status_t {
        self.inbox.events.push(Event::Garbage(error));
        UCS_OK
    }

    pub(super) fn take_message(&mut self, header: &[u8], body: &[u8]) -> ucs_status_t {
        let (frame, head) = match Frame::decode(header, body.len()) {
            Ok(parts) => parts,
            Err(error) => return self.garbage(error),
        };
        let sessions = &self.sessions;
        if !self.limits.allow(head, body, || sessions.knows(frame.key)) {
            return self.put_away(frame, head, &[]);
        }
        match frame.kind {
            Kind::Hello => self.garbage(Error::Malformed("a greeting without an address")),
            Kind::Welcome => self.take_welcome(frame, head, body),
            _ => self.hand_on(frame, head, body),
        }
    }

    /// A welcome may say behind its packets what its sender understands.
    fn take_welcome(&mut self, mut frame: Frame, head: &[u8], body: &[u8]) -> ucs_status_t {
        let Some((&last, packets)) = body.split_last() else {
            return self.hand_on(frame, head, body);
        };
        if last & UNDERSTOOD != 0 {
            self.sessions.learn(frame.key);
        }
        frame.body_bytes -= 1;
        self.hand_on(frame, head, packets)
    }

    pub(super) fn take_short_get(&mut self, message: &[u8]) -> ucs_status_t {
        let get = match Get::decode(message) {
            Ok(get) => get,
            Err(error) => return self.garbage(error),
        };
        let session = self.sessions.find(get.key);
        self.hand_on(get.frame(session), &[], get.packet())
    }

    pub(super) fn take_short_value(&mut self, message: &[u8]) -> ucs_status_t {
        let value = match Value::decode(message) {
            Ok(value) => value,
            Err(error) => return self.garbage(error),
        };
        let session = self.sessions.find(value.key);
        self.hand_on(value.frame(session), &value.head, value.value)
    }

    /// Shows a message to the handler, or puts it away.
    #[inline]
    fn hand_on(&mut self, frame: Frame, head: &[u8], body: &[u8]) -> ucs_status_t {
        if self.is_handled(Whole {
            frame: &frame,
            head,
            body,
        }) {
            return UCS_OK;
        }
        self.put_away(frame, head, body)
    }

    fn put_away(&mut self, frame: Frame, head: &[u8], body: &[u8]) -> ucs_status_t {
        let packets = self.inbox.keep(head, body);
        let sender = None;
        self.inbox.events.push(Event::Message {
            frame,
            packets,
            sender,
        });
        UCS_OK
    }

    /// Shows a message to the handler, unless others wait before it; whether that has taken it.
    #[inline]
    fn is_handled(&mut self, message: Whole<'_>) -> bool {
        self.handler.is_lent() && self.inbox.is_empty() && self.handler.show(message)
    }

    pub(super) fn take_offer(&mut self, header: &[u8], offered: Offered) -> ucs_status_t {
        let bytes = offered.bytes();
        let (frame, head) = match Frame::decode(header, bytes) {
            Ok(parts) => parts,
            Err(error) => return self.garbage(error),
        };
        let head = self.inbox.keep(head, &[]);
        let number = self.offers.insert(offered).into();
        let offer = Offer { number, bytes };
        self.inbox
            .events
            .push(Event::Offered { frame, head, offer });
        UCS_INPROGRESS
    }

    pub(super) fn take_greeting(
        &mut self,
        header: &[u8],
        data: &[u8],
        endpoint: EndpointId,
    ) -> ucs_status_t {
        let (frame, packets, address) = match greeting::decode(header, data) {
            Ok(parts) => parts,
            Err(error) => return self.garbage(error),
        };
        self.greetings.push(Greeting {
            event: self.inbox.events.len(),
            endpoint,
            address: address.to_vec(),
        });
        self.put_away(frame, packets, &[])
    }
}
