//! What servers are to be, and what they find when they return.

use crate::scenario::{Keeps, Scenario};
use crate::ways::Network;

/// What a server finds when it starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// Nothing.
    Empty,
    /// What its SSD held when it was killed.
    Kept,
    /// What its SSD held when it was killed some other time before.
    Older,
    /// What it had when it was ended in good order, as far as it has an SSD.
    All,
}

/// What servers are to be.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many.
    pub count: usize,
    /// Memory of each.
    pub memory_mebibytes: u64,
    /// Where what they have survives them.
    pub keeps: Keeps,
    /// The size of its SSD, if it has one.
    pub device_mebibytes: u64,
    /// How clients reach them.
    pub network: Network,
    /// Further options.
    pub options: Vec<String>,
    /// Where etcd is, if their map is there.
    pub etcd: Option<String>,
    /// Whether values lie on several.
    pub is_redundant: bool,
}

impl Plan {
    /// Those of a scenario.
    #[must_use]
    pub fn of(scenario: &Scenario, etcd: Option<String>) -> Plan {
        Plan {
            count: scenario.servers,
            memory_mebibytes: 64,
            keeps: scenario.keeps,
            device_mebibytes: 64,
            network: scenario.network,
            options: scenario.server_options.clone(),
            etcd,
            is_redundant: scenario.policy != "none",
        }
    }
}
