//! Messages on their way out.

use super::endpoint::Endpoint;
use super::finished::{Finished, Ticket, note_send};
use super::region::Regions;
use super::worker::Worker;
use crate::frame::FRAME_BYTES;
use crate::port::{Payload, Peer, SendBody};
use farcache_ucx_sys::raw::*;
use std::sync::Arc;

/// Slots that keep their buffer when they are free, so that the next message needs no allocation.
const KEPT_BUFFERS: usize = 64;

/// Largest buffer that a free slot keeps, in bytes.
const KEPT_BUFFER_BYTES: usize = 64 << 10;

/// Longest packets that are worth the attempt to send them at once: what lies in an element of the
/// queue in shared memory (`layout.rs`), or less.
const AT_ONCE_BYTES_MAX: usize = 192;

const _: () = assert!(crate::short::PACKET_BYTES_MAX <= AT_ONCE_BYTES_MAX);

/// Everything that UCX reads from, until it says that it is done.
#[derive(Debug)]
pub(super) struct Sends<S> {
    slots: Vec<Slot<S>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<S> {
    ticket: Ticket,
    /// Header and small body.
    bytes: Vec<u8>,
    /// Packets that are not copied, while UCX reads them.
    shared: Option<Arc<Vec<u8>>>,
    large: Option<(S, u64)>,
    /// For whom it is; nobody where it is free, or was given up while UCX still knows of it.
    peer: Option<Peer>,
}

/// What is to be sent.
pub(super) struct Outgoing<'a, S> {
    pub peer: Peer,
    /// UCX's number for its kind of message.
    pub number: u16,
    /// The frame.
    pub frame: [u8; FRAME_BYTES],
    /// What it carries.
    pub payload: Payload<'a, S>,
    /// What follows the packets: the address, in a greeting.
    pub trailer: &'a [u8],
}

/// A large body that the network has let go of, or refused.
pub(super) struct Returned<S> {
    pub body: S,
    pub tag: u64,
}

/// How a send has begun.
pub(super) enum Started<S> {
    /// It is over, well or not.
    Over(ucs_status_t, Option<Returned<S>>),
    /// [`Finished`] will tell.
    Pending,
}

impl<S> Default for Sends<S> {
    fn default() -> Self {
        Sends {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<S> Sends<S> {
    /// Whether UCX holds on to messages.
    pub fn is_pending(&self) -> bool {
        self.slots.iter().any(|slot| slot.peer.is_some())
    }

    /// Whether UCX knows of no message any more.
    pub fn is_idle(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Gives up what is under way for a peer whose process is gone: UCX will not read it any more,
    /// even where it never says so. The slots are not used again before it does.
    pub fn give_up(&mut self, peer: Peer) -> Vec<Returned<S>> {
        let given_up = self.slots.iter_mut().filter(|slot| slot.peer == Some(peer));
        given_up
            .filter_map(|slot| {
                slot.peer = None;
                let (body, tag) = slot.large.take()?;
                Some(Returned { body, tag })
            })
            .collect()
    }
}

/// Has UCX send packets at once behind a header, from where they are, and hold on to nothing; none
/// if it does not, and then nothing has happened.
#[inline]
pub(super) fn send_at_once(
    worker: &mut Worker,
    endpoint: &Endpoint,
    number: u16,
    header: &[u8],
    packets: &[u8],
) -> Option<ucs_status_t> {
    if packets.len() > AT_ONCE_BYTES_MAX {
        return None;
    }
    let param = ucp_request_param_t {
        op_attr_mask: UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL,
        flags: UCP_AM_SEND_FLAG_EAGER,
        ..ucp_request_param_t::NONE
    };
    let send = worker.functions().ucp_am_send_nbx;
    // SAFETY: the endpoint is open and its worker not in progress. Header and packets outlive the
    // call, and with `FORCE_IMM_CMPL` UCX has no use for them after it.
    let request = unsafe {
        send(
            endpoint.handle(),
            number.into(),
            header.as_ptr().cast(),
            header.len(),
            packets.as_ptr().cast(),
            packets.len(),
            &param,
        )
    };
    assert!(!UCS_PTR_IS_PTR(request), "UCX was told to hold nothing");
    let status = UCS_PTR_STATUS(request);
    (status != UCS_ERR_NO_RESOURCE).then_some(status)
}

impl<S: SendBody> Sends<S> {
    /// Hands a message to UCX.
    pub fn start(
        &mut self,
        worker: &mut Worker,
        endpoint: &Endpoint,
        finished: &Finished,
        regions: &Regions,
        outgoing: Outgoing<'_, S>,
    ) -> Started<S> {
        let index = self.free.pop().unwrap_or_else(|| self.add_slot(finished));
        let slot = &mut self.slots[index as usize];
        slot.peer = Some(outgoing.peer);
        let shared = match &outgoing.payload {
            Payload::Shared(packets, range) => Some((*packets, range.clone())),
            _ => None,
        };
        let header_bytes = slot.fill(&outgoing.frame, outgoing.payload, outgoing.trailer);
        let (header, small) = slot.bytes.split_at(header_bytes);
        let body: &[u8] = match (&slot.large, &shared) {
            (Some((body, _)), _) => body,
            (None, Some((packets, range))) => &packets[range.clone()],
            (None, None) => small,
        };
        let mut param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK
                | UCP_OP_ATTR_FIELD_USER_DATA
                | UCP_OP_ATTR_FIELD_FLAGS,
            cb: ucp_request_cb_t {
                send: Some(note_send),
            },
            user_data: slot.ticket.argument(),
            ..ucp_request_param_t::NONE
        };
        if slot.large.is_some() || !outgoing.trailer.is_empty() {
            // The receiver is to know which of its endpoints this came by.
            param.flags |= UCP_AM_SEND_FLAG_REPLY;
        }
        if slot.large.is_none() {
            // Packets arrive whole. They are not so many that a rendezvous would pay.
            param.flags |= UCP_AM_SEND_FLAG_EAGER;
        } else if let Some(memory) = regions.find(body) {
            param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
            param.memh = memory;
        }
        let send = worker.functions().ucp_am_send_nbx;
        // SAFETY: the endpoint is open and its worker not in progress. Header and body neither move
        // nor change before the slot is freed, after UCX is done with them: the buffer is touched
        // by `fill` alone, a large body is a `SendBody`, and of shared packets the slot takes a
        // share below, before the caller can change them. The ticket lives as long as the worker.
        let request = unsafe {
            send(
                endpoint.handle(),
                outgoing.number.into(),
                header.as_ptr().cast(),
                header.len(),
                body.as_ptr().cast(),
                body.len(),
                &param,
            )
        };
        if UCS_PTR_IS_PTR(request) {
            slot.shared = shared.map(|(packets, _)| Arc::clone(packets));
            return Started::Pending;
        }
        let status = UCS_PTR_STATUS(request);
        if slot.large.is_some() {
            return Started::Over(status, self.free(index).1);
        }
        // What was returned would be read back from where it was just put, which waits for all that
        // was written before, the message among it.
        self.free_small(index);
        Started::Over(status, None)
    }

    /// Frees the slot of a send that has ended; whose it was, unless it was given up, and its large
    /// body.
    pub fn free(&mut self, index: u32) -> (Option<Peer>, Option<Returned<S>>) {
        let returned = self.slots[index as usize].large.take();
        let peer = self.free_small(index);
        (peer, returned.map(|(body, tag)| Returned { body, tag }))
    }

    /// Frees the slot of a send without a large body; whose it was, unless it was given up.
    #[inline]
    fn free_small(&mut self, index: u32) -> Option<Peer> {
        let slot = &mut self.slots[index as usize];
        if index as usize >= KEPT_BUFFERS || slot.bytes.capacity() > KEPT_BUFFER_BYTES {
            slot.bytes = Vec::new();
        }
        slot.shared = None;
        self.free.push(index);
        slot.peer.take()
    }

    fn add_slot(&mut self, finished: &Finished) -> u32 {
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 messages");
        self.slots.push(Slot {
            ticket: finished.ticket(index),
            bytes: Vec::new(),
            shared: None,
            large: None,
            peer: None,
        });
        index
    }
}

impl<S> Slot<S> {
    /// Copies what is small and takes what is large; the length of the header.
    fn fill(
        &mut self,
        frame: &[u8; FRAME_BYTES],
        payload: Payload<'_, S>,
        trailer: &[u8],
    ) -> usize {
        self.bytes.clear();
        match payload {
            Payload::Packets(packets) => {
                self.bytes
                    .reserve(frame.len() + packets.len() + trailer.len());
                self.bytes.extend_from_slice(frame);
                self.bytes.extend_from_slice(packets);
                if !trailer.is_empty() {
                    self.bytes.extend_from_slice(trailer);
                }
                frame.len()
            }
            Payload::Shared(..) => {
                self.bytes.extend_from_slice(frame);
                frame.len()
            }
            Payload::Large { head, body, tag } => {
                self.bytes.extend_from_slice(frame);
                self.bytes.extend_from_slice(head);
                self.large = Some((body, tag));
                frame.len() + head.len()
            }
        }
    }
}
