//! The network over UCX: what every network must do, over shared memory and over tcp.
//!
//! `UCX_TLS` and the like in the environment go before what is chosen here, so that the same tests run
//! over real verbs.

mod conformance;
mod ucx_common;

mod shared_memory {
    crate::conformance::conformance_tests!(crate::ucx_common::ports(
        crate::ucx_common::SHARED_MEMORY
    ));
}

mod tcp {
    crate::conformance::conformance_tests!(crate::ucx_common::ports(crate::ucx_common::TCP));
}
