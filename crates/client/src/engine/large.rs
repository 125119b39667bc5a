//! Values that travel beside their packet.

use super::Engine;
use super::answer::{BAD_VALUE, refusal};
use super::ticket::{self, Named};
use crate::Error;
use crate::values::Place;
use farcache_fabric::bytes::{ReceiveBytes, SendBytes};
use farcache_fabric::{Error as FabricError, Frame};
use farcache_proto::binary::{Head, MAGIC_RESPONSE, Opcode, Packet, Status, decode_u32};

/// What becomes of an offered value.
#[derive(Debug)]
pub enum Reception {
    /// It is received into this room.
    Receive {
        /// Long enough.
        into: ReceiveBytes,
        /// Its name when it has been received.
        tag: u64,
    },
    /// It is given up.
    Refuse,
}

/// An offer that ends the session.
type Broken = &'static str;

impl Engine {
    /// The packet up to an offered value of so many bytes has arrived.
    pub fn offered(&mut self, frame: &Frame, head: &[u8], bytes: usize, now_us: u64) -> Reception {
        self.now_us = self.now_us.max(now_us);
        let Some(server) = self.speaker(frame) else {
            return Reception::Refuse;
        };
        self.hear(server, frame);
        let reception = self.place(server, head, bytes).unwrap_or_else(|rule| {
            self.end_session(server, &Error::Protocol(rule));
            Reception::Refuse
        });
        self.arriving += usize::from(matches!(reception, Reception::Receive { .. }));
        reception
    }

    fn place(&mut self, server: usize, head: &[u8], bytes: usize) -> Result<Reception, Broken> {
        let decoded = Head::decode(head).map_err(|_| "lengths that contradict each other")?;
        let head = decoded.ok_or("a packet that is cut off")?;
        if head.value_len != bytes || head.header.magic != MAGIC_RESPONSE {
            return Err("a value of another length than said");
        }
        match ticket::named(head.header.opaque) {
            Named::Single { slot, generation } => {
                let state = self
                    .slots
                    .get(slot)
                    .ok_or("a value that nobody asked for")?;
                if !state.expects(generation, server) || head.header.opcode != state.opcode as u8 {
                    return Err("a value that nobody asked for");
                }
                self.place_single(server, slot, &head)
            }
            Named::Key {
                batch,
                generation,
                key,
            } => {
                let state = self
                    .batches
                    .get(batch)
                    .ok_or("a value that nobody asked for")?;
                if !state.expects(generation, key, server)
                    || head.header.opcode != Opcode::Get as u8
                {
                    return Err("a value that nobody asked for");
                }
                self.place_key(server, batch, key, &head)
            }
        }
    }

    fn place_single(
        &mut self,
        server: usize,
        index: usize,
        head: &Head<'_>,
    ) -> Result<Reception, Broken> {
        let slot = self.slots.at(index);
        let (flags, room) = match is_value(head)? {
            true => slot
                .take_room(head.extras, head.value_len)
                .ok_or(BAD_VALUE)?,
            false => {
                slot.outcome.get_or_insert(Err(refused(head)));
                (0, None)
            }
        };
        let mut reception = Reception::Refuse;
        if slot.is_abandoned {
            slot.outcome.get_or_insert(Err(Error::Timeout));
        } else if let Some(mut into) = room.filter(|_| slot.outcome.is_none()) {
            if into.make_room(head.value_len) {
                slot.held += 1;
                slot.flags = flags;
                slot.cas = head.header.cas;
                let tag = u64::from(head.header.opaque);
                reception = Reception::Receive { into, tag };
            } else {
                slot.room = Some(into);
                let value_bytes = head.value_len;
                slot.outcome = Some(Err(Error::BufferTooSmall { value_bytes }));
            }
        }
        self.slots.answered(index);
        self.slots.settle(index);
        self.answered(server);
        Ok(reception)
    }

    fn place_key(
        &mut self,
        server: usize,
        batch: usize,
        key: usize,
        head: &Head<'_>,
    ) -> Result<Reception, Broken> {
        let flags = match is_value(head)? {
            true => Some(decode_u32(head.extras).ok_or(BAD_VALUE)?),
            false => None,
        };
        self.answered(server);
        let values = &mut self.batches.at(batch).values;
        let mut into = ReceiveBytes::default();
        let Some(flags) = flags.filter(|_| into.make_room(head.value_len)) else {
            values.fail(key, refused(head));
            self.batches.known(batch, 1);
            return Ok(Reception::Refuse);
        };
        let entry = &mut values.entries[key];
        (entry.place, entry.flags, entry.cas) = (Place::Arriving, flags, head.header.cas);
        let tag = u64::from(head.header.opaque);
        Ok(Reception::Receive { into, tag })
    }

    /// The network is done with an offered value.
    pub fn received(&mut self, tag: u64, into: ReceiveBytes, outcome: Result<(), FabricError>) {
        let outcome = outcome.map_err(|error| Error::ConnectionLost(error.to_string().into()));
        self.arriving -= 1;
        match ticket::named(tag as u32) {
            Named::Single { slot: index, .. } => {
                let slot = self.slots.at(index);
                slot.held -= 1;
                match outcome {
                    Ok(()) if slot.outcome.is_none() => {
                        slot.outcome = Some(Ok(slot.value(into, slot.flags, slot.cas)));
                    }
                    outcome => {
                        slot.room = Some(into);
                        let error = outcome.err().unwrap_or(Error::Timeout);
                        slot.outcome.get_or_insert(Err(error));
                    }
                }
                self.slots.settle(index);
            }
            Named::Key { batch, key, .. } => {
                self.batches.received(batch, key, outcome.map(|()| into));
            }
        }
    }

    /// The network has let go of a large value.
    pub fn sent(&mut self, tag: u64, body: SendBytes, outcome: Result<(), FabricError>) {
        let Named::Single { slot: index, .. } = ticket::named(tag as u32) else {
            return;
        };
        self.leaving -= 1;
        let slot = self.slots.at(index);
        slot.held -= 1;
        slot.lent = Some(body);
        if let Err(error) = outcome {
            let error = Error::ConnectionLost(error.to_string().into());
            slot.outcome.get_or_insert(Err(error));
        }
        self.slots.settle(index);
    }
}

/// Whether what comes is a value, not an error's text.
fn is_value(head: &Head<'_>) -> Result<bool, Broken> {
    if head.header.status != Status::Success as u16 {
        return Ok(false);
    }
    match Opcode::from_byte(head.header.opcode) {
        Some(Opcode::Get | Opcode::Gat | Opcode::GetVersioned | Opcode::GetSpread) => Ok(true),
        _ => Err("a large answer that is no value"),
    }
}

/// The error of a packet whose text is not looked at.
fn refused(head: &Head<'_>) -> Error {
    refusal(&Packet {
        header: head.header,
        extras: &[],
        key: &[],
        value: &[],
    })
}
