//! What arrives: UCX calls these handlers while it is at work, and they only put things away.

use super::address;
use super::endpoint::EndpointId;
use super::sessions::Sessions;
use super::slots::Slots;
use super::worker::Worker;
use crate::error::Error;
use crate::frame::{FRAME_BYTES, Frame, Kind};
use crate::inbox::{Event, Inbox, Offer};
use crate::limits::Limits;
use crate::short::{Get, UNDERSTOOD, Value};
use crate::whole::{Handler, Whole};
use farcache_ucx_sys::raw::*;
use std::any::Any;
use std::ffi::c_void;
use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::slice;

/// UCX's number for an ordinary message: header is frame and head, data is the body.
pub(super) const MESSAGE: u16 = 1;

/// UCX's number for a greeting: header is the frame, data is the packets and behind them the
/// sender's address.
pub(super) const GREETING: u16 = 2;

/// UCX's number for a message that a port sends itself: it has neither header nor data.
pub(super) const PROBE: u16 = 3;

/// UCX's numbers for short messages, which are all data.
pub(super) const SHORT_GET: u16 = 4;
pub(super) const SHORT_VALUE: u16 = 5;

/// Most bytes of the packets of a greeting: a token, and room for longer ones to come.
const TOKEN_BYTES_MAX: usize = 256;

/// A body that UCX keeps for us.
#[derive(Debug)]
pub(super) struct Offered {
    data: *mut c_void,
    /// The endpoint that it came by.
    endpoint: EndpointId,
    bytes: usize,
}

// SAFETY: UCX's descriptor is used with its worker only, which may move between threads.
unsafe impl Send for Offered {}

impl Offered {
    pub fn endpoint(&self) -> EndpointId {
        self.endpoint
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// UCX's descriptor, to be used up.
    pub fn into_data(self) -> *mut c_void {
        self.data
    }

    /// Gives the body up.
    pub fn release(self, worker: &mut Worker) {
        let release = worker.functions().ucp_am_data_release;
        // SAFETY: the handler kept the descriptor, and it is used once, as this consumes it; the
        // worker is its own and not in progress.
        unsafe { release(worker.handle(), self.data) };
    }
}

/// A greeting whose sender has no number yet.
#[derive(Debug)]
pub(super) struct Greeting {
    /// Place of its event in the inbox.
    pub event: usize,
    /// The endpoint that it came by.
    pub endpoint: EndpointId,
    /// The sender's address, which nobody has read.
    pub address: Vec<u8>,
}

/// What the handlers write to.
#[derive(Debug)]
pub(super) struct Arrived<S, R> {
    pub inbox: Inbox<S, R>,
    pub greetings: Vec<Greeting>,
    pub offers: Slots<Offered>,
    pub sessions: Sessions,
    pub limits: Limits,
    /// Probes that have come.
    pub probes: u64,
    /// Messages are shown to it first; set for as long as UCX is at work.
    handler: Option<NonNull<Handler<'static>>>,
    /// What the handler panicked with: nothing may unwind through UCX.
    panic: Option<Box<dyn Any + Send>>,
}

/// What has arrived, at a place that UCX knows: to be dropped after the worker.
#[derive(Debug)]
pub(super) struct Arrivals<S, R> {
    arrived: NonNull<Arrived<S, R>>,
}

// SAFETY: what is there is its own; handlers write to it from within its worker only, which one
// thread uses at a time.
unsafe impl<S: Send, R: Send> Send for Arrivals<S, R> {}

impl<S, R> Arrivals<S, R> {
    /// Has everything that arrives at the worker put away here.
    pub fn new(worker: &mut Worker) -> Result<Arrivals<S, R>, Error> {
        let arrived = Box::new(Arrived {
            inbox: Inbox::default(),
            greetings: Vec::new(),
            offers: Slots::default(),
            sessions: Sessions::default(),
            limits: Limits::default(),
            probes: 0,
            handler: None,
            panic: None,
        });
        let arrived = NonNull::from(Box::leak(arrived));
        let arrivals = Arrivals { arrived };
        arrivals.attach(worker)?;
        Ok(arrivals)
    }

    /// Has what arrives at another worker put away here too, beside those before.
    pub fn attach(&self, worker: &mut Worker) -> Result<(), Error> {
        let argument = self.arrived.as_ptr().cast();
        // SAFETY: what the argument points at is dropped after the worker; where a call fails, the
        // caller drops the worker before anything can arrive.
        unsafe {
            worker.on_message(MESSAGE, Some(on_message::<S, R>), argument)?;
            worker.on_message(GREETING, Some(on_greeting::<S, R>), argument)?;
            worker.on_message(SHORT_GET, Some(on_short_get::<S, R>), argument)?;
            worker.on_message(SHORT_VALUE, Some(on_short_value::<S, R>), argument)?;
            worker.on_message(PROBE, Some(on_probe::<S, R>), argument)
        }
    }

    /// Moves the worker; messages that come while nothing waits are shown to `handler` first.
    #[inline]
    pub fn progress_with(&mut self, worker: &mut Worker, handler: &mut Handler<'_>) -> bool {
        let handler = NonNull::from(handler);
        // SAFETY: only the lifetime changes. Nobody calls it after it is taken back below, as
        // `progress` does not unwind.
        let handler =
            unsafe { transmute::<NonNull<Handler<'_>>, NonNull<Handler<'static>>>(handler) };
        self.get().handler = Some(handler);
        let any = worker.progress();
        let arrived = self.get();
        arrived.handler = None;
        if let Some(panic) = arrived.panic.take() {
            resume_unwind(panic);
        }
        any
    }

    /// What has arrived. Not to be held during a call into UCX, which the borrow of the port sees
    /// to: nothing that takes this also takes the worker.
    pub fn get(&mut self) -> &mut Arrived<S, R> {
        // SAFETY: handlers write to it only from within calls into UCX, none of which is made while
        // the result is borrowed.
        unsafe { self.arrived.as_mut() }
    }
}

impl<S, R> Drop for Arrivals<S, R> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and UCX's worker, whose handlers wrote to it, is gone.
        drop(unsafe { Box::from_raw(self.arrived.as_ptr()) });
    }
}

impl<S, R> Arrived<S, R> {
    fn garbage(&mut self, error: Error) -> ucs_status_t {
        self.inbox.events.push(Event::Garbage(error));
        UCS_OK
    }

    fn take_message(&mut self, header: &[u8], body: &[u8]) -> ucs_status_t {
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

    fn take_short_get(&mut self, message: &[u8]) -> ucs_status_t {
        let get = match Get::decode(message) {
            Ok(get) => get,
            Err(error) => return self.garbage(error),
        };
        let session = self.sessions.find(get.key);
        self.hand_on(get.frame(session), &[], get.packet())
    }

    fn take_short_value(&mut self, message: &[u8]) -> ucs_status_t {
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

    /// Shows a message to the handler, if there is one; whether that has taken it.
    #[inline]
    fn is_handled(&mut self, message: Whole<'_>) -> bool {
        let Some(mut handler) = self.handler.filter(|_| self.inbox.is_empty()) else {
            return false;
        };
        // SAFETY: whoever set it lends it for as long as UCX is at work, as it is now, and uses it
        // nowhere else meanwhile.
        let handler = unsafe { handler.as_mut() };
        catch_unwind(AssertUnwindSafe(|| handler(message))).unwrap_or_else(|panic| {
            // It goes on from where UCX was called, and no other message is handled before.
            self.handler = None;
            self.panic = Some(panic);
            true
        })
    }

    fn take_offer(&mut self, header: &[u8], offered: Offered) -> ucs_status_t {
        let bytes = offered.bytes;
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

    fn take_greeting(&mut self, header: &[u8], data: &[u8], endpoint: EndpointId) -> ucs_status_t {
        let (frame, packets, address) = match decode_greeting(header, data) {
            Ok(parts) => parts,
            Err(error) => return self.garbage(error),
        };
        self.greetings.push(Greeting {
            event: self.inbox.events.len(),
            endpoint,
            address: address.to_vec(),
        });
        let packets = self.inbox.keep(packets, &[]);
        let sender = None;
        self.inbox.events.push(Event::Message {
            frame,
            packets,
            sender,
        });
        UCS_OK
    }
}

/// Splits a greeting into frame, packets and the sender's address, which stays unread until its
/// packets have been found good: see [`crate::Port::bind`].
fn decode_greeting<'a>(
    header: &[u8],
    data: &'a [u8],
) -> Result<(Frame, &'a [u8], &'a [u8]), Error> {
    let said: &[u8; FRAME_BYTES] = header
        .try_into()
        .map_err(|_| Error::Malformed("a greeting with a head"))?;
    let said = u32::from_le_bytes([said[20], said[21], said[22], said[23]]);
    let (packets, address) = data
        .split_at_checked(said as usize)
        .ok_or(Error::Malformed("a body of another length than said"))?;
    let (frame, _) = Frame::decode(header, packets.len())?;
    if frame.kind != Kind::Hello {
        return Err(Error::Malformed("a greeting that is none"));
    }
    if packets.len() > TOKEN_BYTES_MAX || !address::may_be_one(address) {
        return Err(Error::Malformed("a greeting that is too long or too short"));
    }
    Ok((frame, packets, address))
}

/// Called by UCX for each ordinary message.
unsafe extern "C" fn on_message<S, R>(
    arrived: *mut c_void,
    header: *const c_void,
    header_bytes: usize,
    data: *mut c_void,
    data_bytes: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: the argument that the handler was set with; this is the port's thread, inside of UCX,
    // where nothing else borrows it. UCX keeps header and parameters in place until this returns.
    let (arrived, header, param) = unsafe {
        (
            &mut *arrived.cast::<Arrived<S, R>>(),
            bytes_at(header, header_bytes),
            &*param,
        )
    };
    if param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV != 0 {
        let endpoint = reply_endpoint(param);
        if endpoint.is_null() {
            return arrived.garbage(Error::Malformed("an offer that hides where it comes from"));
        }
        let offered = Offered {
            data,
            endpoint: EndpointId::of(endpoint),
            bytes: data_bytes,
        };
        return arrived.take_offer(header, offered);
    }
    // SAFETY: eager data is in place until this returns.
    arrived.take_message(header, unsafe { bytes_at(data, data_bytes) })
}

/// Called by UCX for each greeting.
unsafe extern "C" fn on_greeting<S, R>(
    arrived: *mut c_void,
    header: *const c_void,
    header_bytes: usize,
    data: *mut c_void,
    data_bytes: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: as in `on_message`.
    let (arrived, header, param) = unsafe {
        (
            &mut *arrived.cast::<Arrived<S, R>>(),
            bytes_at(header, header_bytes),
            &*param,
        )
    };
    let endpoint = reply_endpoint(param);
    if endpoint.is_null() || param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV != 0 {
        return arrived.garbage(Error::Malformed("a greeting that is none"));
    }
    // SAFETY: eager data is in place until this returns.
    let data = unsafe { bytes_at(data, data_bytes) };
    arrived.take_greeting(header, data, EndpointId::of(endpoint))
}

/// Called by UCX for each short get.
unsafe extern "C" fn on_short_get<S, R>(
    arrived: *mut c_void,
    _header: *const c_void,
    header_bytes: usize,
    data: *mut c_void,
    data_bytes: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: as in `on_message`; eager data is in place until this returns.
    unsafe {
        let arrived = &mut *arrived.cast::<Arrived<S, R>>();
        match short_message(header_bytes, data, data_bytes, &*param) {
            Ok(message) => arrived.take_short_get(message),
            Err(error) => arrived.garbage(error),
        }
    }
}

/// Called by UCX for each short value.
unsafe extern "C" fn on_short_value<S, R>(
    arrived: *mut c_void,
    _header: *const c_void,
    header_bytes: usize,
    data: *mut c_void,
    data_bytes: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: as in `on_message`; eager data is in place until this returns.
    unsafe {
        let arrived = &mut *arrived.cast::<Arrived<S, R>>();
        match short_message(header_bytes, data, data_bytes, &*param) {
            Ok(message) => arrived.take_short_value(message),
            Err(error) => arrived.garbage(error),
        }
    }
}

/// The bytes of a message in a short form; an error where UCX brings what nobody sends so: a
/// header, or an offer.
///
/// # Safety
/// As for [`bytes_at`], where it is no offer.
unsafe fn short_message<'a>(
    header_bytes: usize,
    data: *const c_void,
    data_bytes: usize,
    param: &ucp_am_recv_param_t,
) -> Result<&'a [u8], Error> {
    if header_bytes != 0 || param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV != 0 {
        return Err(Error::Malformed("a short message that is none"));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { bytes_at(data, data_bytes) })
}

/// Called by UCX for each probe.
unsafe extern "C" fn on_probe<S, R>(
    arrived: *mut c_void,
    _header: *const c_void,
    _header_bytes: usize,
    _data: *mut c_void,
    _data_bytes: usize,
    _param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: as in `on_message`.
    unsafe { (*arrived.cast::<Arrived<S, R>>()).probes += 1 };
    UCS_OK
}

/// The endpoint that a message came by, if its sender wanted that told.
fn reply_endpoint(param: &ucp_am_recv_param_t) -> ucp_ep_h {
    if param.recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP == 0 {
        return std::ptr::null_mut();
    }
    param.reply_ep
}

/// The bytes at a place that UCX names, which may be null when there are none.
///
/// # Safety
/// So many bytes are there, and stay as they are for the lifetime chosen.
unsafe fn bytes_at<'a>(place: *const c_void, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(place.cast(), bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ucx::address::Address;
    use crate::ucx::process::Process;

    fn frame(kind: Kind, body_bytes: u32) -> [u8; FRAME_BYTES] {
        let frame = Frame {
            kind,
            session: 1,
            key: 2,
            credits: 0,
            head_bytes: 0,
            body_bytes,
        };
        frame.encode()
    }

    fn an_address() -> Vec<u8> {
        address::encode(&Address {
            process: Process::this(),
            layout: 0,
            ucx: b"address",
        })
    }

    #[test]
    fn a_greeting_is_its_packets_and_an_address() {
        let header = frame(Kind::Hello, 5);
        let address = an_address();
        let data = [&b"token"[..], &address].concat();
        let (_, packets, unread) = decode_greeting(&header, &data).unwrap();
        assert_eq!((packets, unread), (&b"token"[..], &address[..]));
    }

    #[test]
    fn what_is_no_greeting_is_refused() {
        let hello = frame(Kind::Hello, 5);
        assert!(decode_greeting(&hello, b"toke").is_err());
        assert!(decode_greeting(&hello, b"token").is_err());
        let address = an_address();
        let good = &[&b"token"[..], &address].concat();
        assert!(decode_greeting(&hello, good).is_ok());
        let too_long = [&good[..], &[0; 20 << 10]].concat();
        assert!(decode_greeting(&hello, &too_long).is_err());
        assert!(decode_greeting(&hello[..20], good).is_err());
        assert!(decode_greeting(&[&hello[..], b"x"].concat(), good).is_err());
        assert!(decode_greeting(&frame(Kind::Packets, 5), good).is_err());
    }
}
