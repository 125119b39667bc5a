//! Clients that use up what a server has, each in its way, while an honest one goes on.

mod fabric_leavers;
mod half_sent;
mod idlers;
mod scrapers;
mod stalled_readers;
mod trickle;

use super::flood;
use farcache_bench::shows::Network;
use farcache_bench::shows::helpers::Helper;
use farcache_harness::server_process::ServerProcess;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often an adversary does something more.
const TURN: Duration = Duration::from_millis(5);
/// Length of a flood between two looks whether to stop.
const FLOOD_PIECE: Duration = Duration::from_millis(100);

/// What uses the server up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Clients that ask for large replies and read none.
    StalledReaders,
    /// Clients that announce a value and send half of it.
    HalfSent,
    /// Clients that send and read a byte at a time.
    Trickle,
    /// More connections than the server admits.
    Idlers,
    /// Idle and hostile clients of the metrics endpoint.
    Scrapers,
    /// Clients on the fabric that ask for large values, and stop or are killed.
    FabricLeavers,
    /// Thousands of connects a second.
    Connects,
}

/// Where and how much.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The server.
    pub server: &'a ServerProcess,
    /// Its metrics endpoint.
    pub metrics: SocketAddr,
    /// Connections of adversaries that hold some.
    pub clients: usize,
    /// Keys that are there.
    pub keys: u64,
    /// Connects a second of the flood.
    pub connects_per_s: u32,
}

/// An adversary in position, which does harm by being there and in every turn.
trait Adversary {
    /// Does something more.
    fn turn(&mut self) -> io::Result<()>;
}

impl Kind {
    /// Has the server open what it opens once and keeps, before it is looked at what it holds.
    ///
    /// # Errors
    /// If clients of this kind cannot be served.
    pub fn warm_up(self, server: &ServerProcess) -> io::Result<()> {
        match self {
            Kind::FabricLeavers => Helper::come_and_go(Network::Chosen, server.address()),
            _ => Ok(()),
        }
    }

    /// Takes its position, says so, and goes on until told to stop.
    ///
    /// # Errors
    /// If it cannot do what it is there for.
    pub fn run(
        self,
        means: &Means<'_>,
        is_ready: &AtomicBool,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        let mut adversary = self.begin(means)?;
        is_ready.store(true, Ordering::Release);
        while !stop.load(Ordering::Acquire) {
            adversary.turn()?;
            std::thread::sleep(TURN);
        }
        Ok(())
    }

    fn begin<'a>(self, means: &Means<'a>) -> io::Result<Box<dyn Adversary + 'a>> {
        Ok(match self {
            Kind::StalledReaders => Box::new(stalled_readers::StalledReaders::begin(means)?),
            Kind::HalfSent => Box::new(half_sent::HalfSent::begin(means)?),
            Kind::Trickle => Box::new(trickle::Trickle::begin(means)?),
            Kind::Idlers => Box::new(idlers::Idlers::begin(means)?),
            Kind::Scrapers => Box::new(scrapers::Scrapers::begin(means)?),
            Kind::FabricLeavers => Box::new(fabric_leavers::FabricLeavers::begin(means)),
            Kind::Connects => Box::new(Connects(*means)),
        })
    }
}

/// Connects, asks once, and leaves.
struct Connects<'a>(Means<'a>);

impl Adversary for Connects<'_> {
    fn turn(&mut self) -> io::Result<()> {
        let target = self.0.server.target();
        flood::run(&target, self.0.connects_per_s, FLOOD_PIECE).map(drop)
    }
}
