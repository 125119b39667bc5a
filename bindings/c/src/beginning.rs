//! What all operations begin with.

use crate::arguments::{reference, reference_mut};
use crate::call::Call;
use crate::client::{ClientHandle, ClientState};
use crate::registrations::Registered;
use crate::request::{Pending, Request, Submitted};
use crate::status::{Failure, Status};
use farcache_client::{Delivery, Operation};
use std::ptr::null_mut;
use std::sync::Arc;

/// What every call that begins an operation is given.
pub struct Beginning<'a> {
    pub client: &'a Arc<ClientState>,
    pub call: &'a Call,
    place: &'a mut *mut Request,
}

impl<'a> Beginning<'a> {
    /// # Safety
    /// C's contract, as it stands at the top of the crate.
    pub unsafe fn new(
        client: *const ClientHandle,
        call: *const Call,
        request: *mut *mut Request,
    ) -> Result<Self, Failure> {
        // SAFETY: as the caller promises.
        unsafe {
            let place = reference_mut(request)?;
            *place = null_mut();
            Ok(Beginning {
                client: &reference(client)?.state,
                call: call.as_ref().unwrap_or(&Call::USUAL),
                place,
            })
        }
    }

    /// Submits an operation that borrows nothing of the caller's for longer.
    pub fn submit(self, operation: Operation<'_>, delivery: Delivery<'_>) -> Status {
        self.submit_lent(operation, delivery, false, None)
    }

    /// Submits an operation that uses memory of the caller's until it is complete; with the
    /// memory's registration.
    pub fn submit_lent(
        self,
        operation: Operation<'_>,
        delivery: Delivery<'_>,
        lends: bool,
        registered: Option<Arc<Registered>>,
    ) -> Status {
        let request = self.client.client.submit_to(operation, delivery);
        let pending = Pending {
            submitted: Submitted::One(request),
            _registered: registered,
        };
        self.hand_over(pending, lends)
    }

    /// Makes what has been submitted a request that C has.
    pub fn hand_over(self, pending: Pending, lends: bool) -> Status {
        let request = Request::begin(self.client, pending, self.call.callback(), lends);
        // C has its share, in place, before a callback may use it.
        *self.place = Arc::into_raw(Arc::clone(&request)).cast_mut();
        request.arm();
        Status::Ok
    }
}
