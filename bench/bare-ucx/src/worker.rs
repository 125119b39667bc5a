//! One thread's progress engine.

use crate::address::Address;
use crate::endpoint::{Closing, Endpoint};
use crate::receive::{Body, Handler, ignore_message};
use farcache_ucx_sys::raw::*;
use farcache_ucx_sys::{Context, Error, Library};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a worker that ends waits for its endpoints to close.
const CLOSE_WAIT_MAX: Duration = Duration::from_secs(1);

/// Sends and receives messages, all on the thread that made it.
///
/// Nothing happens between calls: handlers and callbacks run inside [`Worker::progress`] (or inside
/// a send, where the message goes to the same worker).
///
/// # Sleeping
/// Poll for a while after the last work (some 50 us pay off), then [`Worker::arm`], and only after
/// [`Arming::Armed`] wait for [`Worker::descriptor`] to become readable, with a time limit. Arm
/// anew before each wait.
///
/// # When it ends
/// Its handlers are dropped first. UCX's worker ends with the last [`Endpoint`] of it, after
/// waiting up to a second for closes under way.
pub struct Worker {
    shared: Rc<Shared>,
    /// Handlers are kept until the worker ends, also those that were replaced.
    handlers: RefCell<Vec<(u16, Rc<Handler>)>>,
}

/// Whether a worker may sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arming {
    /// There is nothing to do; the descriptor becomes readable when there is.
    Armed,
    /// There is something to do: call [`Worker::progress`].
    Busy,
}

/// What the endpoints of a worker need of it.
pub(crate) struct Shared {
    context: Context,
    handle: ucp_worker_h,
    descriptor: RawFd,
    header_bytes_max: usize,
    /// Not 0 inside of UCX, where progress is forbidden and endpoints are not closed.
    depth: Cell<u32>,
    /// Endpoints to close at the next progress.
    to_close: RefCell<Vec<Closing>>,
    /// Endpoints that are to be closed or are closing.
    closing_count: Rc<Cell<usize>>,
}

impl Worker {
    /// A worker for this thread.
    ///
    /// # Errors
    /// What UCX says, such as being out of memory or descriptors.
    pub fn new(context: &Context) -> Result<Worker, Error> {
        let library = context.library();
        // SAFETY: all fields are numbers and pointers: zero is valid.
        let mut params: ucp_worker_params_t = unsafe { std::mem::zeroed() };
        params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
        params.thread_mode = UCS_THREAD_MODE_SINGLE;
        let mut handle = ptr::null_mut();
        let create = library.functions().ucp_worker_create;
        // SAFETY: the context lives as long as the worker, which holds it; the rest outlives the
        // call.
        let status = unsafe { create(context.handle(), &params, &mut handle) };
        library.check("ucp_worker_create", status)?;
        let mut shared = Shared {
            context: context.clone(),
            handle,
            descriptor: -1,
            header_bytes_max: 0,
            depth: Cell::new(0),
            to_close: RefCell::new(Vec::new()),
            closing_count: Rc::new(Cell::new(0)),
        };
        shared.descriptor = shared.read_descriptor()?;
        shared.header_bytes_max = shared.read_header_bytes_max()?;
        Ok(Worker {
            shared: Rc::new(shared),
            handlers: RefCell::new(Vec::new()),
        })
    }

    /// For calls through [`Library::functions`] from this thread, while the worker lives.
    pub fn handle(&self) -> ucp_worker_h {
        self.shared.handle
    }

    /// Longest header of a message, in bytes.
    pub fn header_bytes_max(&self) -> usize {
        self.shared.header_bytes_max
    }

    /// Where peers find this worker.
    ///
    /// # Errors
    /// What UCX says, such as being out of memory.
    pub fn address(&self) -> Result<Address, Error> {
        let functions = self.shared.functions();
        let (mut address, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: the worker is valid, and both places outlive the call.
        let status =
            unsafe { (functions.ucp_worker_get_address)(self.handle(), &mut address, &mut bytes) };
        self.shared
            .library()
            .check("ucp_worker_get_address", status)?;
        // SAFETY: UCX gave so many bytes, which it does not touch until they are released, once.
        unsafe {
            let copy = Address::copy_of(std::slice::from_raw_parts(address.cast(), bytes));
            (functions.ucp_worker_release_address)(self.handle(), address);
            Ok(copy)
        }
    }

    /// Opens an endpoint to another worker, or to this one. What is sent before the connection is
    /// made waits for it.
    ///
    /// # Errors
    /// `UCS_ERR_UNREACHABLE` where no transport that reports dead peers reaches the other worker.
    ///
    /// # Panics
    /// When called from a handler or callback of this worker; that ends the process.
    pub fn connect(&self, address: &Address) -> Result<Endpoint, Error> {
        self.shared.assert_outside("connect");
        Endpoint::open(&self.shared, address)
    }

    /// Calls the handler for each message of this number, with its header and body. An earlier
    /// handler of the number is replaced.
    ///
    /// The handler is given no time of its own: it runs inside progress, and while it runs nothing
    /// else is received. It may be entered again from within when it sends to its own worker.
    ///
    /// # Errors
    /// What UCX says, such as being out of memory.
    ///
    /// # Panics
    /// When called from a handler or callback of this worker; that ends the process.
    pub fn on_message(
        &self,
        number: u16,
        handler: impl Fn(&[u8], Body<'_>) + 'static,
    ) -> Result<(), Error> {
        self.shared.assert_outside("set a handler");
        let handler = Rc::new(Handler::new(self.shared.library(), self.handle(), handler));
        let arg = Rc::as_ptr(&handler).cast_mut().cast();
        // Kept before UCX knows of it, so that it is there whenever it is called.
        self.handlers.borrow_mut().push((number, handler));
        // SAFETY: the handler stays in the list until the worker ends, which first replaces it.
        unsafe { self.shared.set_handler(number, Some(Handler::receive), arg) }
    }

    /// Does what there is to do: sends, receives, calls handlers and callbacks, begins closes. Says
    /// whether anything was done.
    ///
    /// # Panics
    /// When called from a handler or callback of this worker; that ends the process.
    pub fn progress(&self) -> bool {
        self.shared.progress()
    }

    /// Prepares for sleeping.
    ///
    /// After UCX has armed itself it is progressed once more: over Soft-RoCE wake-ups are lost
    /// otherwise.
    ///
    /// # Errors
    /// What UCX says of a transport that cannot wake.
    ///
    /// # Panics
    /// When called from a handler or callback of this worker; that ends the process.
    pub fn arm(&self) -> Result<Arming, Error> {
        self.shared.begin_closes();
        // SAFETY: the worker is valid, and this is its thread.
        let status = unsafe { (self.shared.functions().ucp_worker_arm)(self.handle()) };
        if status == UCS_ERR_BUSY {
            return Ok(Arming::Busy);
        }
        self.shared.library().check("ucp_worker_arm", status)?;
        Ok(if self.progress() {
            Arming::Busy
        } else {
            Arming::Armed
        })
    }

    /// Becomes readable when an armed worker has something to do.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: UCX closes it with the worker, which is borrowed for as long.
        unsafe { BorrowedFd::borrow_raw(self.shared.descriptor) }
    }

    /// Makes the descriptor readable once.
    ///
    /// # Errors
    /// The operating system's.
    pub fn signal(&self) -> Result<(), Error> {
        // SAFETY: the worker is valid.
        let status = unsafe { (self.shared.functions().ucp_worker_signal)(self.handle()) };
        self.shared.library().check("ucp_worker_signal", status)
    }

    /// Endpoints that were closed or dropped and are not gone yet. They go during progress.
    pub fn closing_count(&self) -> usize {
        self.shared.closing_count.get()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let handlers = std::mem::take(self.handlers.get_mut());
        for (number, _) in &handlers {
            // An error would mean that the number is not one, but it was taken before.
            // SAFETY: this function does not look at its argument.
            let _ = unsafe {
                self.shared
                    .set_handler(*number, Some(ignore_message), ptr::null_mut())
            };
        }
        // Dropping them may drop endpoints, which hold `shared`: only then can it end.
        drop(handlers);
    }
}

impl Shared {
    pub(crate) fn library(&self) -> &'static Library {
        self.context.library()
    }

    pub(crate) fn functions(&self) -> &'static Functions {
        self.library().functions()
    }

    pub(crate) fn handle(&self) -> ucp_worker_h {
        self.handle
    }

    pub(crate) fn header_bytes_max(&self) -> usize {
        self.header_bytes_max
    }

    /// Runs a call into UCX that may call handlers or callbacks.
    pub(crate) fn inside<T>(&self, call: impl FnOnce() -> T) -> T {
        self.depth.set(self.depth.get() + 1);
        let result = call();
        self.depth.set(self.depth.get() - 1);
        result
    }

    /// Has an endpoint closed by the next progress: closing from within a handler is not allowed.
    pub(crate) fn close_later(&self, closing: Closing) {
        self.closing_count.set(self.closing_count.get() + 1);
        self.to_close.borrow_mut().push(closing);
    }

    fn progress(&self) -> bool {
        let closed = self.begin_closes();
        // SAFETY: the worker is valid, this is its thread, and it is not in progress already.
        self.inside(|| unsafe { (self.functions().ucp_worker_progress)(self.handle) }) > 0 || closed
    }

    /// UCX may be entered again from a handler to send, and for nothing else.
    fn assert_outside(&self, what: &str) {
        assert_eq!(
            self.depth.get(),
            0,
            "a handler must not {what} on its own worker"
        );
    }

    /// Begins the closes asked for; says whether there were any.
    fn begin_closes(&self) -> bool {
        self.assert_outside("progress");
        let closings = std::mem::take(&mut *self.to_close.borrow_mut());
        let any = !closings.is_empty();
        for closing in closings {
            self.inside(|| closing.begin(self.library(), &self.closing_count));
        }
        any
    }

    /// # Safety
    /// The argument stays valid for the function for as long as it is the handler.
    unsafe fn set_handler(
        &self,
        number: u16,
        function: ucp_am_recv_callback_t,
        arg: *mut c_void,
    ) -> Result<(), Error> {
        let param = ucp_am_handler_param_t {
            field_mask: UCP_AM_HANDLER_PARAM_FIELD_ID
                | UCP_AM_HANDLER_PARAM_FIELD_CB
                | UCP_AM_HANDLER_PARAM_FIELD_ARG,
            id: number.into(),
            flags: 0,
            cb: function,
            arg,
        };
        // SAFETY: the parameters outlive the call; what they point at is the caller's promise.
        let status =
            unsafe { (self.functions().ucp_worker_set_am_recv_handler)(self.handle, &param) };
        self.library()
            .check("ucp_worker_set_am_recv_handler", status)
    }

    fn read_descriptor(&self) -> Result<RawFd, Error> {
        let mut descriptor = -1;
        let get = self.functions().ucp_worker_get_efd;
        // SAFETY: the worker is valid, and the place outlives the call.
        let status = unsafe { get(self.handle, &mut descriptor) };
        self.library().check("ucp_worker_get_efd", status)?;
        Ok(descriptor)
    }

    fn read_header_bytes_max(&self) -> Result<usize, Error> {
        // SAFETY: all fields are numbers and pointers: zero is valid.
        let mut attr: ucp_worker_attr_t = unsafe { std::mem::zeroed() };
        attr.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
        // SAFETY: the worker is valid, and the place outlives the call.
        let status = unsafe { (self.functions().ucp_worker_query)(self.handle, &mut attr) };
        self.library().check("ucp_worker_query", status)?;
        Ok(attr.max_am_header)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let deadline = Instant::now() + CLOSE_WAIT_MAX;
        while self.closing_count.get() > 0 && Instant::now() < deadline {
            self.progress();
        }
        // SAFETY: no endpoint is left that could use the worker, as each holds this value.
        unsafe { (self.functions().ucp_worker_destroy)(self.handle) };
    }
}
