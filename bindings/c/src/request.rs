//! An operation that is under way: testing, waiting, callbacks.
//!
//! Whoever finds a request complete takes what is under way out of it, fetches the result, puts
//! that in, and calls the callback: exactly one thread, as nobody else finds anything to take.

use crate::arguments::bytes;
use crate::client::ClientState;
use crate::outcome::Brought;
use crate::registrations::Registered;
use crate::status::{Failure, Status, status_of};
use farcache_client::{GetManyRequest, Notice, Request as ClientRequest};
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// An operation that has been submitted. One thread at a time may use a request; different ones may
/// be used by different threads.
pub struct Request {
    client: Arc<ClientState>,
    stage: Mutex<Stage>,
    /// Told when another thread is done with it.
    changed: Condvar,
    calling: Calling,
    /// Memory of the caller's is lent to the operation.
    lends: bool,
}

/// Called once when the operation is complete, within farcache_progress, farcache_test or a call
/// that waits, by whatever thread makes it, or by the progress thread. It may use the client, look
/// at the request, and free it.
pub type Callback = Option<unsafe extern "C" fn(request: *mut Request, argument: *mut c_void)>;

/// What is called when an operation is complete, with the application's argument.
pub struct Calling {
    callback: Callback,
    argument: Argument,
}

impl Calling {
    pub fn new(callback: Callback, argument: *mut c_void) -> Calling {
        let argument = Argument(argument);
        Calling { callback, argument }
    }
}

/// The application's, handed back to it.
struct Argument(*mut c_void);

// SAFETY: it is not looked into; that any thread may call the callback with it is a part of C's
// contract.
unsafe impl Send for Argument {}
// SAFETY: as for Send.
unsafe impl Sync for Argument {}

enum Stage {
    UnderWay(Pending),
    /// A thread waits for it, or fetches its result.
    Taken,
    Complete {
        brought: Brought,
        /// The thread that is inside of the callback.
        calling: Option<ThreadId>,
    },
}

/// What is under way.
pub struct Pending {
    pub submitted: Submitted,
    /// The registration that it uses.
    pub _registered: Option<Arc<Registered>>,
}

/// What the client knows of it.
pub enum Submitted {
    One(ClientRequest),
    Many(GetManyRequest),
}

impl AsRef<ClientRequest> for Pending {
    fn as_ref(&self) -> &ClientRequest {
        match &self.submitted {
            Submitted::One(request) => request,
            Submitted::Many(request) => request.as_ref(),
        }
    }
}

impl Request {
    /// Makes a request of what has been submitted.
    pub fn begin(
        client: &Arc<ClientState>,
        pending: Pending,
        calling: Calling,
        lends: bool,
    ) -> Arc<Self> {
        Arc::new(Request {
            client: Arc::clone(client),
            stage: Mutex::new(Stage::UnderWay(pending)),
            changed: Condvar::new(),
            calling,
            lends,
        })
    }

    /// Has the callback called once the request is complete; by another thread perhaps before this
    /// returns.
    pub fn arm(self: &Arc<Self>) {
        if self.calling.callback.is_none() {
            return;
        }
        let request = Arc::clone(self);
        let notice = Notice::new(move || request.noticed());
        if let Stage::UnderWay(pending) = &*self.stage() {
            self.client.client.notify(pending, notice);
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Pending> {
        let mut stage = self.stage();
        match std::mem::replace(&mut *stage, Stage::Taken) {
            Stage::UnderWay(pending) => Some(pending),
            other => {
                *stage = other;
                None
            }
        }
    }

    /// The client says that it is complete.
    fn noticed(self: &Arc<Self>) {
        if let Some(pending) = self.take() {
            self.finish(pending);
        }
    }

    /// Fetches the result, waiting for it where it is not there, and calls the callback.
    fn finish(self: &Arc<Self>, pending: Pending) -> Status {
        let brought = self.fetch(pending);
        let status = brought.status;
        let calling = self.calling.callback.map(|_| std::thread::current().id());
        *self.stage() = Stage::Complete { brought, calling };
        if let Some(callback) = self.calling.callback {
            // SAFETY: the application's own function, with its own argument. The request lives as
            // long as `self`, also where the callback frees it.
            unsafe { callback(Arc::as_ptr(self).cast_mut(), self.calling.argument.0) };
            if let Stage::Complete { calling, .. } = &mut *self.stage() {
                *calling = None;
            }
        }
        self.changed.notify_all();
        status
    }

    fn fetch(&self, pending: Pending) -> Brought {
        let client = &self.client.client;
        match pending.submitted {
            Submitted::One(request) => Brought::of(client.complete(request)),
            Submitted::Many(request) => {
                let values = client.wait_get_many(request);
                self.client.multi_gets.fetch_sub(1, Ordering::Relaxed);
                Brought::of_values(values)
            }
        }
    }

    /// Undoes [`Request::take`]; finishes it where it has become complete meanwhile.
    fn put_back(self: &Arc<Self>, pending: Pending) {
        let mut stage = self.stage();
        // Looked at while the stage is locked: a notice either comes before, and it is complete, or
        // finds it here.
        if self.client.client.peek(&pending) {
            drop(stage);
            self.finish(pending);
        } else {
            *stage = Stage::UnderWay(pending);
            self.changed.notify_all();
        }
    }

    /// How it ended, if it has and nobody is in its callback but this thread, after a look only.
    fn peek(self: &Arc<Self>) -> Option<Status> {
        let mut stage = self.stage();
        let is_complete = match &*stage {
            Stage::Complete { brought, calling } => {
                return is_done_calling(*calling).then_some(brought.status);
            }
            Stage::UnderWay(pending) => self.client.client.peek(pending),
            Stage::Taken => false,
        };
        if !is_complete {
            return None;
        }
        let Stage::UnderWay(pending) = std::mem::replace(&mut *stage, Stage::Taken) else {
            unreachable!("the stage is locked");
        };
        drop(stage);
        Some(self.finish(pending))
    }

    fn test(self: &Arc<Self>) -> Status {
        self.peek().unwrap_or_else(|| {
            self.client.client.progress();
            self.peek().unwrap_or(Status::InProgress)
        })
    }

    fn wait(self: &Arc<Self>) -> Result<Status, Failure> {
        if let Some(pending) = self.take() {
            return Ok(self.finish(pending));
        }
        let mut stage = self.stage();
        loop {
            match &*stage {
                Stage::Complete { brought, calling } if is_done_calling(*calling) => {
                    return Ok(brought.status);
                }
                // Another thread has found it complete, or is in the callback.
                Stage::Complete { .. } | Stage::Taken => {
                    let waited = self.changed.wait(stage);
                    stage = waited.unwrap_or_else(PoisonError::into_inner);
                }
                Stage::UnderWay(_) => return Err(two_threads()),
            }
        }
    }

    /// What it has brought, if it is complete.
    pub fn look<T>(&self, look: impl FnOnce(&Brought) -> T) -> Option<T> {
        match &*self.stage() {
            Stage::Complete { brought, .. } => Some(look(brought)),
            _ => None,
        }
    }

    /// Makes sure that nobody calls the callback any more and nothing is lent any more.
    fn end(self: &Arc<Self>) {
        let mut stage = self.stage();
        loop {
            match &*stage {
                Stage::UnderWay(_) => {
                    drop(stage);
                    if let Some(pending) = self.take() {
                        self.give_up(pending);
                    }
                    stage = self.stage();
                }
                // No callback runs, or this is called by it.
                Stage::Complete { calling, .. } if is_done_calling(*calling) => return,
                // Another thread is about to call the callback, or inside of it.
                Stage::Complete { .. } | Stage::Taken => {
                    let waited = self.changed.wait(stage);
                    stage = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Nobody wants to know how it ends.
    fn give_up(&self, pending: Pending) {
        let brought = match pending.submitted {
            Submitted::One(_) if !self.lends => Brought::of_values(Default::default()),
            // The network must let go of the application's memory.
            _ => self.fetch(pending),
        };
        let calling = None;
        *self.stage() = Stage::Complete { brought, calling };
    }
}

/// Whether no thread is in the callback but this one, which is called by it.
fn is_done_calling(calling: Option<ThreadId>) -> bool {
    calling.is_none_or(|thread| thread == std::thread::current().id())
}

fn two_threads() -> Failure {
    Failure::arguments("two threads use one request")
}

/// Waits until one of these is complete; its index.
fn wait_any(requests: &[Option<Arc<Request>>]) -> Result<usize, Failure> {
    let complete = |request: &Option<Arc<Request>>| {
        let status = request.as_ref().and_then(Request::peek);
        status.is_some()
    };
    if let Some(index) = requests.iter().position(complete) {
        return Ok(index);
    }
    let there = |(index, request): (usize, &'_ Option<Arc<Request>>)| {
        request.as_ref().map(|request| (index, Arc::clone(request)))
    };
    let owners: Vec<_> = requests.iter().enumerate().filter_map(there).collect();
    let client = check_together(&owners)?;
    let (mut taken, mut places, mut ended) = (Vec::new(), Vec::new(), None);
    for (place, (_, request)) in owners.iter().enumerate() {
        match request.take() {
            Some(pending) => {
                taken.push(pending);
                places.push(place);
            }
            // Another thread has just found it complete.
            None => ended = Some(place),
        }
    }
    let place = ended.unwrap_or_else(|| places[client.client.wait_any(&taken)]);
    for (pending, place) in taken.into_iter().zip(places) {
        owners[place].1.put_back(pending);
    }
    let (index, request) = &owners[place];
    request.wait()?;
    Ok(*index)
}

/// The client of all of them.
fn check_together(owners: &[(usize, Arc<Request>)]) -> Result<&ClientState, Failure> {
    let empty = || Failure::arguments("there is nothing to wait for");
    let client = &owners.first().ok_or_else(empty)?.1.client;
    let is_other = |(_, request): &(usize, Arc<Request>)| !Arc::ptr_eq(&request.client, client);
    match owners.iter().any(is_other) {
        true => Err(Failure::arguments("requests of different clients")),
        false => Ok(client),
    }
}

/// Another share of the request that C has a share of.
///
/// # Safety
/// C's contract: the pointer is one that an operation gave, not freed yet, or null.
unsafe fn share(request: *const Request) -> Option<Arc<Request>> {
    if request.is_null() {
        return None;
    }
    // SAFETY: as the caller promises; made by `Arc::into_raw`.
    unsafe {
        Arc::increment_strong_count(request);
        Some(Arc::from_raw(request))
    }
}

fn null_request() -> Failure {
    Failure::arguments("a null pointer instead of a request")
}

/// Whether a request is complete, and its callback has returned: FARCACHE_STATUS_IN_PROGRESS, or
/// how it ended. Moves all requests of its client on. Never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_test(request: *mut Request) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let request = unsafe { share(request) };
    let request = request.ok_or_else(null_request);
    status_of(request.map(|request| request.test()))
}

/// Waits until a request is complete, and its callback has been called; how it ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_wait(request: *mut Request) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let request = unsafe { share(request) };
    let request = request.ok_or_else(null_request);
    status_of(request.and_then(|request| request.wait()))
}

/// Waits until one of so many requests of the same client is complete, and writes its index. Null
/// pointers among them are passed over. FARCACHE_STATUS_OK, however that one ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_wait_any(
    requests: *const *mut Request,
    count: usize,
    index: *mut usize,
) -> Status {
    // SAFETY: C's contract, as it stands at the top of the crate.
    let arguments = || unsafe {
        let memory = bytes(
            requests.cast(),
            count.saturating_mul(size_of::<*mut Request>()),
        )?;
        let first = memory.as_ptr().cast::<*mut Request>();
        let shares = (0..count).map(|index| share(first.add(index).read()));
        Ok((
            shares.collect::<Vec<_>>(),
            crate::arguments::reference_mut(index)?,
        ))
    };
    status_of(arguments().and_then(|(requests, place)| {
        *place = wait_any(&requests)?;
        Ok(Status::Ok)
    }))
}

/// Frees a request. One that is not complete is given up: it may still take effect at the server,
/// its callback is not called any more, and where memory is lent to it this waits until the network
/// has let go of that. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn farcache_request_free(request: *mut Request) {
    if request.is_null() {
        return;
    }
    // SAFETY: C's contract; made by `Arc::into_raw`, and C's share ends here.
    let request = unsafe { Arc::from_raw(request) };
    request.end();
}
