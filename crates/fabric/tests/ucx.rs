//! The network over UCX: what every network must do, over shared memory and over tcp.
//!
//! `UCX_TLS` and the like in the environment go before what is chosen here, so that the same tests run
//! over real verbs.

mod conformance;
mod ucx_common;

use conformance::harness::Body;
use farcache_fabric::ucx::UcxPort;
use farcache_fabric::{Error, Port};
use ucx_common::{SHARED_MEMORY, network, skipped};

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

mod shared_memory {
    crate::conformance::conformance_tests!(crate::ucx_common::ports(
        crate::ucx_common::SHARED_MEMORY
    ));
}

mod tcp {
    crate::conformance::conformance_tests!(crate::ucx_common::ports(crate::ucx_common::TCP));
}
