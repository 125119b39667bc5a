//! Where a port is found.

use super::address::{self, Address};
use super::layout::{Layout, NO_LAYOUT, check_sharing};
use super::process::Process;
use super::worker::Worker;
use crate::error::Error;

/// A port's process and address.
#[derive(Debug)]
pub(super) struct Home {
    process: Process,
    /// Memory is shared with other processes of this host where they run as the same user, through
    /// queues of this layout.
    shares_memory: Option<Layout>,
    address: Vec<u8>,
}

impl Home {
    /// The home of a port of this process that has this worker.
    pub fn at(worker: &Worker, shares_memory: Option<Layout>) -> Home {
        let mut home = Home {
            process: Process::this(),
            shares_memory,
            address: Vec::new(),
        };
        home.move_to(worker);
        home
    }

    /// The port has another worker.
    pub fn move_to(&mut self, worker: &Worker) {
        self.address = address::encode(&Address {
            process: self.process,
            layout: self.shares_memory.map_or(NO_LAYOUT, |layout| layout.number),
            ucx: worker.address(),
        });
    }

    /// The process that the port is in.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// What others are told.
    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// Whether a port with this address can be spoken to from here.
    pub fn check(&self, address: &Address<'_>) -> Result<(), Error> {
        match self.shares_memory {
            Some(layout) => check_sharing(address, &self.process, layout),
            None => Ok(()),
        }
    }
}
