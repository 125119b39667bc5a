//! Two workers in one process that send each other messages.

mod common;

use common::{
    SHARED_MEMORY, TCP, check_lanes, context, library, progress_until, transports_are_the_users,
};
use farcache_bare_ucx::{Address, Arming, Body, Endpoint, Worker};
use farcache_ucx_sys::raw::{UCS_ERR_INVALID_PARAM, UCS_ERR_MESSAGE_TRUNCATED, ucs_status_t};
use farcache_ucx_sys::{Context, Error};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const REQUEST: u16 = 1;
const REPLY: u16 = 2;

/// Well above any eager limit.
const LARGE_BYTES: usize = 4 << 20;

/// Where callbacks leave what they are told.
type Slot<T> = Rc<RefCell<Option<T>>>;

fn slot<T>() -> Slot<T> {
    Rc::default()
}

fn is_full<T>(slot: &Slot<T>) -> impl Fn() -> bool + '_ {
    || slot.borrow().is_some()
}

fn fill<T: 'static>(slot: &Slot<T>) -> impl FnOnce(T) + 'static {
    let slot = slot.clone();
    move |value| *slot.borrow_mut() = Some(value)
}

/// A sender, a receiver, and the sender's endpoint to it.
fn pair(context: &Context) -> (Worker, Worker, Endpoint) {
    let sender = Worker::new(context).expect("a worker");
    let receiver = Worker::new(context).expect("another worker");
    let address = receiver.address().expect("an address");
    // SAFETY: whole and unaltered, as a peer would get it.
    let carried = unsafe { Address::from_bytes(address.as_bytes().to_vec()) };
    let endpoint = sender.connect(&carried).expect("an endpoint");
    (sender, receiver, endpoint)
}

/// Keeps header and body of the messages of this number that come with their header.
fn collect(worker: &Worker, number: u16) -> Slot<(Vec<u8>, Vec<u8>)> {
    let received = slot();
    let kept = received.clone();
    let keep = move |header: &[u8], body: Body<'_>| {
        if let Body::Eager(body) = body {
            *kept.borrow_mut() = Some((header.to_vec(), body.to_vec()));
        }
    };
    worker.on_message(number, keep).expect("a handler");
    received
}

/// Answers each request with its header and body swapped.
fn answer(worker: &Worker, endpoint: Endpoint) {
    let reply = move |header: &[u8], body: Body<'_>| {
        let Body::Eager(body) = body else { return };
        endpoint.send(REPLY, body.to_vec(), header.to_vec(), |sent| {
            sent.expect("a reply sent")
        });
    };
    worker.on_message(REQUEST, reply).expect("a handler");
}

/// A request and its reply; says which lanes carried them.
fn request_and_reply(context: &Context) -> Vec<String> {
    let (client, server, endpoint) = pair(context);
    answer(&server, server.connect(&client.address().unwrap()).unwrap());
    let reply = collect(&client, REPLY);
    let sent = slot();
    endpoint.send(
        REQUEST,
        b"header".to_vec(),
        b"the body".to_vec(),
        fill(&sent),
    );
    progress_until(&[&client, &server], "the reply has come", is_full(&reply));
    progress_until(&[&client, &server], "the request was sent", is_full(&sent));
    assert_eq!(
        reply.take(),
        Some((b"the body".to_vec(), b"header".to_vec()))
    );
    assert_eq!(sent.take(), Some(Ok(())));
    endpoint.lanes().expect("memory for a text")
}

#[test]
fn a_request_is_answered_over_shared_memory() {
    let Some(context) = context(SHARED_MEMORY) else {
        return;
    };
    let lanes = request_and_reply(&context);
    check_lanes(&lanes, "posix");
}

#[test]
fn a_request_is_answered_over_tcp() {
    let Some(context) = context(TCP) else { return };
    let lanes = request_and_reply(&context);
    check_lanes(&lanes, "tcp");
}

#[test]
fn a_message_to_the_own_worker_may_be_answered_from_within_its_handler() {
    let Some(context) = context(SHARED_MEMORY) else {
        return;
    };
    let worker = Worker::new(&context).unwrap();
    let address = worker.address().unwrap();
    answer(&worker, worker.connect(&address).unwrap());
    let reply = collect(&worker, REPLY);
    let endpoint = worker.connect(&address).unwrap();
    endpoint.send(REQUEST, b"a".to_vec(), b"b".to_vec(), |sent| {
        sent.expect("a request sent")
    });
    progress_until(&[&worker], "the reply has come", is_full(&reply));
    assert_eq!(reply.take(), Some((b"b".to_vec(), b"a".to_vec())));
}

/// What came of a rendezvous; nothing where it was given up.
type Received = Option<Result<Vec<u8>, Error>>;

/// Sends a large body to a receiver with so much room (none: it gives the body up). Says what was
/// received, and whether the sender was told of success.
fn send_large(body: &[u8], room: Option<usize>) -> Option<(Received, bool)> {
    let context = context(SHARED_MEMORY)?;
    let (sender, receiver, endpoint) = pair(&context);
    let (received, sent, seen) = (slot(), slot(), Rc::new(Cell::new(None)));
    let (result, offered) = (received.clone(), seen.clone());
    let receive = move |_: &[u8], body: Body<'_>| {
        let Body::Rendezvous(rendezvous) = body else {
            panic!("4 MiB came with the header")
        };
        offered.set(Some(rendezvous.bytes()));
        if let Some(room) = room {
            rendezvous.receive(vec![0; room], fill(&result));
        }
    };
    receiver.on_message(REQUEST, receive).unwrap();
    endpoint.send(REQUEST, Vec::new(), body.to_vec(), fill(&sent));
    let done = || sent.borrow().is_some() && (room.is_none() || received.borrow().is_some());
    progress_until(&[&sender, &receiver], "the body has gone over", done);
    assert_eq!(seen.get(), Some(body.len()));
    Some((received.take(), sent.take() == Some(Ok(()))))
}

fn large_body() -> Vec<u8> {
    (0..LARGE_BYTES).map(|index| (index % 251) as u8).collect()
}

#[test]
fn a_large_body_is_received_by_rendezvous() {
    let body = large_body();
    let Some((received, sent)) = send_large(&body, Some(LARGE_BYTES + 100)) else {
        return;
    };
    assert!(received == Some(Ok(body)) && sent);
}

#[test]
fn a_large_body_may_be_given_up() {
    let Some((received, sent)) = send_large(&large_body(), None) else {
        return;
    };
    assert!(received.is_none() && sent);
}

#[test]
fn a_buffer_that_is_too_short_is_not_written_beyond() {
    let Some((received, _)) = send_large(&large_body(), Some(1000)) else {
        return;
    };
    assert_eq!(
        received.unwrap().unwrap_err().status,
        UCS_ERR_MESSAGE_TRUNCATED
    );
}

/// Whether the worker's descriptor becomes readable within the time.
fn wakes(worker: &Worker, seconds: i64) -> bool {
    let descriptor = worker.descriptor();
    let mut descriptors = [PollFd::new(&descriptor, PollFlags::IN)];
    let limit = Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    poll(&mut descriptors, Some(&limit)).expect("a poll") > 0
}

/// Progresses both until this one is armed and quiet.
fn arm(worker: &Worker, other: &Worker) {
    let is_armed = || worker.arm().expect("a transport that wakes") == Arming::Armed;
    // What making the connection has left to do may come late.
    progress_until(&[worker, other], "the worker has nothing to do", || {
        is_armed() && !wakes(worker, 0)
    });
}

fn an_armed_worker_is_woken(settings: &[(&str, &str)]) {
    let Some(context) = context(settings) else {
        return;
    };
    let (sender, receiver, endpoint) = pair(&context);
    let received = collect(&receiver, REQUEST);
    // The first message also makes the connection, which is work of its own.
    endpoint.send(REQUEST, b"1".to_vec(), Vec::new(), |sent| {
        sent.expect("a message sent")
    });
    progress_until(
        &[&sender, &receiver],
        "the first message has come",
        is_full(&received),
    );
    received.take();
    arm(&receiver, &sender);
    endpoint.send(REQUEST, b"2".to_vec(), Vec::new(), |sent| {
        sent.expect("a message sent")
    });
    sender.progress();
    assert!(wakes(&receiver, 60));
    progress_until(
        &[&receiver],
        "the second message has come",
        is_full(&received),
    );
    assert_eq!(received.take(), Some((b"2".to_vec(), Vec::new())));
}

#[test]
fn an_armed_worker_is_woken_over_shared_memory() {
    an_armed_worker_is_woken(SHARED_MEMORY);
}

#[test]
fn an_armed_worker_is_woken_over_tcp() {
    an_armed_worker_is_woken(TCP);
}

#[test]
fn a_signal_wakes() {
    let Some(context) = context(SHARED_MEMORY) else {
        return;
    };
    let (worker, other) = (
        Worker::new(&context).unwrap(),
        Worker::new(&context).unwrap(),
    );
    arm(&worker, &other);
    worker.signal().unwrap();
    assert!(wakes(&worker, 60));
}

#[test]
fn a_peer_that_is_gone_is_noticed_and_nothing_is_sent_to_it() {
    let Some(context) = context(TCP) else { return };
    let (sender, receiver, endpoint) = pair(&context);
    let received = collect(&receiver, REQUEST);
    endpoint.send(REQUEST, Vec::new(), b"1".to_vec(), |sent| {
        sent.expect("a message sent")
    });
    progress_until(
        &[&sender, &receiver],
        "the message has come",
        is_full(&received),
    );
    assert_eq!(endpoint.failure(), None);
    drop(receiver);
    progress_until(&[&sender], "the death is noticed", || {
        endpoint.failure().is_some()
    });
    let sent = slot();
    endpoint.send(REQUEST, Vec::new(), b"2".to_vec(), fill(&sent));
    assert_eq!(
        sent.take().map(|sent| sent.unwrap_err().status),
        endpoint.failure()
    );
}

#[test]
fn a_peer_that_was_gone_before_the_first_message_is_noticed() {
    let Some(context) = context(TCP) else { return };
    let (sender, receiver, endpoint) = pair(&context);
    drop(receiver);
    let sent = slot();
    endpoint.send(REQUEST, Vec::new(), b"1".to_vec(), fill(&sent));
    progress_until(&[&sender], "the death is noticed", || {
        endpoint.failure().is_some()
    });
    drop(endpoint);
    progress_until(&[&sender], "the endpoint is gone", || {
        sender.closing_count() == 0
    });
    assert!(sent.take().is_some(), "told what became of the message");
}

#[test]
fn closed_and_dropped_endpoints_go_during_progress() {
    let Some(context) = context(SHARED_MEMORY) else {
        return;
    };
    let (sender, receiver, endpoint) = pair(&context);
    let received = collect(&receiver, REQUEST);
    endpoint.send(REQUEST, b"last".to_vec(), Vec::new(), |sent| {
        sent.expect("a message sent")
    });
    endpoint.close();
    drop(sender.connect(&receiver.address().unwrap()).unwrap());
    assert_eq!(sender.closing_count(), 2);
    progress_until(&[&sender, &receiver], "both are gone", || {
        sender.closing_count() == 0
    });
    progress_until(
        &[&receiver],
        "the last message has come",
        is_full(&received),
    );
}

#[test]
fn a_header_beyond_the_limit_is_refused() {
    let Some(context) = context(SHARED_MEMORY) else {
        return;
    };
    let (sender, _receiver, endpoint) = pair(&context);
    let sent = slot();
    endpoint.send(
        REQUEST,
        vec![0; sender.header_bytes_max() + 1],
        Vec::new(),
        fill(&sent),
    );
    assert_eq!(
        sent.take().map(|sent| sent.unwrap_err().status),
        Some(UCS_ERR_INVALID_PARAM)
    );
}

#[test]
fn a_transport_that_is_not_there_is_an_error() {
    let Some(library) = library().filter(|_| !transports_are_the_users()) else {
        return;
    };
    let error = Context::new(library, &[("TLS", "carrier-pigeon")]).unwrap_err();
    assert_eq!(error.operation, "ucp_init_version");
    assert!(
        !error.message.is_empty() && error.status.is_error(),
        "{error}"
    );
}

#[test]
fn a_setting_with_a_zero_byte_is_an_error() {
    let Some(library) = library() else { return };
    let error = Context::new(library, &[("FARCACHE\0", "y")]).unwrap_err();
    assert_eq!(error.status, UCS_ERR_INVALID_PARAM);
}

#[test]
fn every_status_has_a_text() {
    let Some(library) = library() else { return };
    assert_eq!(library.status_text(ucs_status_t(0)), "Success");
    assert!(!library.status_text(ucs_status_t(-99)).is_empty());
}
