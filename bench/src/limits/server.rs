//! The process that answers. It spins: how fast a sleeping one wakes is not UCX's limit.

use super::arena::{Arena, forever};
use super::message::{HEADER_BYTES, Header, REPLY, REQUEST};
use super::raw::{Outlet, partner_address};
use super::{open_worker, partner};
use farcache_bare_ucx::{Body, Rendezvous};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

/// Argument that makes a program call [`serve`], with the networks behind it if they were chosen.
pub const SERVE_ARGUMENT: &str = "limits-server";

struct Server {
    outlet: OnceCell<Outlet>,
    reply_header: &'static [u8],
    arena: Arena,
    /// Where values that are stored go, in turn.
    stored: RefCell<VecDeque<Vec<u8>>>,
    failure: RefCell<Option<io::Error>>,
    header_is_wrong: Cell<bool>,
}

/// Answers requests until standard input ends.
///
/// # Errors
/// Where there is no UCX, and when the other process is gone.
pub fn serve(networks: Option<&str>) -> io::Result<()> {
    let (worker, library) = open_worker(networks)?;
    let server = Rc::new(Server {
        outlet: OnceCell::new(),
        reply_header: forever([0; HEADER_BYTES]),
        arena: Arena::default(),
        stored: RefCell::default(),
        failure: RefCell::default(),
        header_is_wrong: Cell::default(),
    });
    worker
        .on_message(REQUEST, {
            let server = server.clone();
            move |header, body| server.clone().answer(header, body)
        })
        .map_err(io::Error::other)?;
    let own = worker.address().map_err(io::Error::other)?;
    partner::tell(io::stdout(), own.as_bytes())?;
    let theirs = partner_address(partner::hear(io::stdin().lock())?);
    let endpoint = worker.connect(&theirs).map_err(io::Error::other)?;
    // Set once, here.
    let _ = server.outlet.set(Outlet::new(endpoint, library));
    std::thread::spawn(end_with_input);
    while server.failure.borrow().is_none() && !server.header_is_wrong.get() {
        worker.progress();
    }
    match server.failure.take() {
        Some(error) => Err(error),
        None => Err(io::Error::other("a request without a header of ours")),
    }
}

/// The measuring process is done when it closes the pipe, or has died.
fn end_with_input() {
    let mut rest = Vec::new();
    // An error ends the input too.
    let _ = io::Read::read_to_end(&mut io::stdin().lock(), &mut rest);
    std::process::exit(0);
}

impl Server {
    fn answer(self: Rc<Self>, header: &[u8], body: Body<'_>) {
        let Some(header) = Header::decode(header) else {
            return self.header_is_wrong.set(true);
        };
        match body {
            Body::Eager(bytes) => {
                self.copy(bytes, header);
                self.reply(header);
            }
            Body::Rendezvous(offer) => self.receive(offer, header),
        }
    }

    fn copy(&self, bytes: &[u8], header: Header) {
        let mut room = self.room(bytes.len(), header);
        room[..bytes.len()].copy_from_slice(bytes);
        self.stored.borrow_mut().push_back(room);
    }

    fn receive(self: Rc<Self>, offer: Rendezvous<'_>, header: Header) {
        let room = self.room(offer.bytes(), header);
        offer.receive(room, move |received| match received {
            Ok(room) => {
                self.stored.borrow_mut().push_back(room);
                self.reply(header);
            }
            Err(error) => *self.failure.borrow_mut() = Some(io::Error::other(error)),
        });
    }

    /// Room for a value, the one longest not used.
    fn room(&self, bytes: usize, header: Header) -> Vec<u8> {
        let mut stored = self.stored.borrow_mut();
        if stored.front().is_none_or(|room| room.len() < bytes) {
            let values = (header.values as usize).max(1);
            *stored = (0..values).map(|_| vec![0x5a; bytes]).collect();
        }
        stored.pop_front().unwrap_or_else(|| vec![0x5a; bytes])
    }

    fn reply(&self, header: Header) {
        let body = self
            .arena
            .next(header.reply_bytes as usize, header.values as usize);
        let outlet = self.outlet.get();
        let outlet = outlet.expect("the client asks only after it has told its address");
        if let Err(error) = outlet.send(REPLY, self.reply_header, body) {
            *self.failure.borrow_mut() = Some(error);
        }
    }
}
