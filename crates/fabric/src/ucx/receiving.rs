//! Offered bodies on their way in.

use super::arrivals::Offered;
use super::finished::{Finished, Ticket, note_receive};
use super::worker::Worker;
use crate::port::{Peer, ReceiveBody};
use farcache_ucx_sys::raw::*;

/// Everything that UCX writes to, until it says that it is done.
#[derive(Debug)]
pub(super) struct Receives<R> {
    slots: Vec<Slot<R>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<R> {
    ticket: Ticket,
    receiving: Option<Receiving<R>>,
}

/// A body that is being received.
#[derive(Debug)]
pub(super) struct Receiving<R> {
    /// Who sends it.
    pub peer: Peer,
    pub into: R,
    pub tag: u64,
}

/// How a reception has begun.
pub(super) enum Started<R> {
    /// It is over, well or not.
    Over(ucs_status_t, Receiving<R>),
    /// [`Finished`] will tell.
    Pending,
}

impl<R> Default for Receives<R> {
    fn default() -> Self {
        Receives {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<R> Receives<R> {
    /// Whether bodies are being received.
    pub fn is_pending(&self) -> bool {
        self.slots.iter().any(|slot| slot.receiving.is_some())
    }

    /// Whether UCX knows of no body any more.
    pub fn is_idle(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Gives up what is under way from a peer whose process is gone and of which everything has
    /// been read: UCX will not write to it any more, even where it never says so. The slots are not
    /// used again before it does.
    pub fn give_up(&mut self, peer: Peer) -> Vec<Receiving<R>> {
        let is_from = |receiving: &mut Receiving<R>| receiving.peer == peer;
        let slots = self.slots.iter_mut();
        slots
            .filter_map(|slot| slot.receiving.take_if(is_from))
            .collect()
    }
}

impl<R: ReceiveBody> Receives<R> {
    /// Has UCX receive an offered body into the start of `into`, which must be as long.
    pub fn start(
        &mut self,
        worker: &mut Worker,
        finished: &Finished,
        offered: Offered,
        peer: Peer,
        mut into: R,
        tag: u64,
    ) -> Started<R> {
        let bytes = offered.bytes();
        // Checked again: UCX 1.13 ends the process where the room is too small.
        assert!(into.len() >= bytes, "a room that is too small for the body");
        let room = into.as_mut_ptr();
        let index = self.free.pop().unwrap_or_else(|| self.add_slot(finished));
        let slot = &mut self.slots[index as usize];
        slot.receiving = Some(Receiving { peer, into, tag });
        let param = ucp_request_param_t {
            op_attr_mask: UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
            cb: ucp_request_cb_t {
                recv_am: Some(note_receive),
            },
            user_data: slot.ticket.argument(),
            ..ucp_request_param_t::NONE
        };
        let receive = worker.functions().ucp_am_recv_data_nbx;
        // SAFETY: the worker is not in progress; the descriptor was kept by the handler and is used
        // once, as `into_data` consumes it. The room is a `ReceiveBody`: it does not move and
        // nobody touches it before the slot is freed, after UCX is done with it. The ticket lives
        // as long as the worker.
        let request = unsafe {
            receive(
                worker.handle(),
                offered.into_data(),
                room.cast(),
                bytes,
                &param,
            )
        };
        if UCS_PTR_IS_PTR(request) {
            return Started::Pending;
        }
        let receiving = self.free(index).expect("just begun");
        Started::Over(UCS_PTR_STATUS(request), receiving)
    }

    /// Frees the slot of a reception that has ended; nothing where it was given up.
    pub fn free(&mut self, index: u32) -> Option<Receiving<R>> {
        self.free.push(index);
        self.slots[index as usize].receiving.take()
    }

    fn add_slot(&mut self, finished: &Finished) -> u32 {
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 bodies");
        self.slots.push(Slot {
            ticket: finished.ticket(index),
            receiving: None,
        });
        index
    }
}
