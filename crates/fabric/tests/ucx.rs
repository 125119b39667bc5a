//! The network over UCX: what every network must do, over shared memory and over tcp.
//!
//! `UCX_TLS` and the like in the environment go before what is chosen here, so that the same tests
//! run over real verbs.

mod conformance;
mod ucx_common;

use conformance::harness::{Body, Pair};
use farcache_fabric::ucx::UcxPort;
use farcache_fabric::{Error, Port};
use ucx_common::{SHARED_MEMORY, network, ports, skipped};

/// UCX would write beyond the ends of the smaller rooms, without a word.
#[test]
fn ports_with_rooms_of_other_sizes_do_not_connect() {
    if std::env::var_os("UCX_TLS").is_some() {
        return skipped("UCX_TLS decides whether memory is shared");
    }
    let other = [SHARED_MEMORY, &[("MM_SEG_SIZE", "16640")]].concat();
    let (Some(here), Some(there)) = (network(SHARED_MEMORY), network(&other)) else {
        return;
    };
    let mut here: UcxPort<Body, Body> = here.port().expect("a port");
    let there: UcxPort<Body, Body> = there.port().expect("a port");
    let Err(Error::Unreachable(why)) = here.connect(there.address()) else {
        panic!("the rooms differ");
    };
    assert!(why.contains("UCX_POSIX_SEG_SIZE"), "{why}");
}

/// A client by the welcome, a server by the first short get.
#[test]
fn both_ends_learn_that_the_other_understands_short_messages() {
    let Some(make) = ports(SHARED_MEMORY) else {
        return;
    };
    let mut pair = Pair::new(make);
    let (to_server, to_client) = (pair.to_server, pair.to_client);
    assert!(pair.client.port.takes_short(to_server));
    assert!(!pair.server.port.takes_short(to_client));
    pair.client.port.send_get(to_server, 1, b"key");
    pair.until("the get is here", |_, server| !server.messages.is_empty());
    assert!(pair.server.port.takes_short(to_client));
}

mod shared_memory {
    crate::conformance::conformance_tests!(crate::ucx_common::ports(
        crate::ucx_common::SHARED_MEMORY
    ));
}

mod tcp {
    crate::conformance::conformance_tests!(crate::ucx_common::ports(crate::ucx_common::TCP));
}
