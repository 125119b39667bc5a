//! Who is measured when: bare UCX, the fabric, sockets and memcached take short turns, in random
//! order. A host may move the two processors of a virtual machine nearer to each other or apart at
//! any time, which changes a small request's time threefold: what lies within a second of each
//! other has mostly seen the same machine.

use super::speed::{self, Group};
use super::table::Column;
use super::{Bench, Network, Results};
use crate::host_memory;
use farcache_harness::server_process::{Product, ServerProcess};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use std::io;

/// What servers may touch for the first time while they are measured.
const HOST_MEMORY_BYTES: usize = 3072 << 20;
/// Size of the servers' memory: enough for all values, and filled soon by large ones.
const OPTIONS: [&str; 4] = ["-m", "1024", "-I", "2m"];
/// The order of the turns is the same in each run.
const SEED: u64 = 1;

/// Every server. One that is not asked sleeps.
pub(super) struct Servers {
    pub(super) fabric: ServerProcess,
    pub(super) fabric_tcp: ServerProcess,
    pub(super) sockets: ServerProcess,
    pub(super) memcached: ServerProcess,
}

impl Servers {
    fn start(bench: &Bench) -> io::Result<Servers> {
        host_memory::take_and_give_back(HOST_MEMORY_BYTES);
        let start = |product| bench.launcher.start(product, &OPTIONS);
        Ok(Servers {
            fabric: bench.fabric_server(Network::Chosen, &OPTIONS)?,
            fabric_tcp: bench.fabric_server(Network::Tcp, &OPTIONS)?,
            sockets: start(Product::Farcached)?,
            memcached: start(Product::Memcached)?,
        })
    }
}

/// Measures every row of [`speed`], so many turns.
///
/// # Errors
/// If a server or a program cannot be started or breaks off.
pub fn measure(bench: &Bench, results: &mut Results) -> io::Result<()> {
    let servers = Servers::start(bench)?;
    let mut random = SmallRng::seed_from_u64(SEED);
    for turn in 0..bench.scope.turns {
        eprintln!("fabric, turn {} of {}", turn + 1, bench.scope.turns);
        for group in Group::ALL {
            let mut columns = columns(group).to_vec();
            columns.shuffle(&mut random);
            for column in columns {
                speed::measure(bench, &servers, group, column, results)?;
            }
        }
    }
    Ok(())
}

/// Whose figures there are in a group.
fn columns(group: Group) -> &'static [Column] {
    match group {
        Group::Tcp => &[Column::Limit, Column::Fabric],
        _ => &[
            Column::Limit,
            Column::Tuned,
            Column::Fabric,
            Column::Sockets,
            Column::Memcached,
        ],
    }
}
