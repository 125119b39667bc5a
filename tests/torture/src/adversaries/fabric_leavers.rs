//! Clients on the fabric with large values under way in both directions, which stop running, and
//! later are killed.

use super::{Adversary, Means};
use farcache_bench::shows::Network;
use farcache_bench::shows::helpers::{Helper, Part};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

/// Stopped clients at a time; the oldest is killed for each that comes.
const STOPPED_MAX: usize = 9;

pub(super) struct FabricLeavers {
    address: SocketAddr,
    stopped: VecDeque<Helper>,
    turns: usize,
}

impl FabricLeavers {
    pub fn begin(means: &Means<'_>) -> Self {
        FabricLeavers {
            address: means.server.address(),
            stopped: VecDeque::new(),
            turns: 0,
        }
    }
}

impl Adversary for FabricLeavers {
    fn turn(&mut self) -> io::Result<()> {
        let mut client = Helper::start(
            Part::Victim,
            Network::Chosen,
            "fabric",
            self.address,
            self.turns,
        )?;
        self.turns += 1;
        client.hear()?;
        client.pause()?;
        self.stopped.push_back(client);
        if self.stopped.len() > STOPPED_MAX {
            // Killed when dropped; the server may have ended its session before.
            self.stopped.pop_front();
        }
        Ok(())
    }
}
