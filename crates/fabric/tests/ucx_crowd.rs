//! A thousand clients that come and go, over UCX: memory returns.
//!
//! In a program of its own, so that no other test's memory is counted.

mod conformance;
mod ucx_common;

use conformance::closing::a_thousand_come_and_go;
use std::sync::Mutex;
use ucx_common::{SHARED_MEMORY, TCP, ports};

/// What may be left of a thousand clients, in bytes. UCX 1.13 keeps some hundred of each for the
/// number of its next connection.
const GROWTH_BYTES_MAX: usize = 8 << 20;

/// One test at a time: both look at the memory of the whole process.
static TURN: Mutex<()> = Mutex::new(());

/// Memory of this process that is in use, in bytes.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux says");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes = kibibytes.and_then(|number| number.parse::<usize>().ok());
    kibibytes.expect("a number of kB") << 10
}

fn a_thousand_come_and_go_over(settings: &[(&str, &str)]) {
    let Some(make) = ports(settings) else { return };
    let _turn = TURN.lock().expect("no test before this one failed");
    a_thousand_come_and_go(make, resident_bytes, GROWTH_BYTES_MAX);
}

#[test]
fn memory_returns_over_shared_memory() {
    a_thousand_come_and_go_over(SHARED_MEMORY);
}

#[test]
fn memory_returns_over_tcp() {
    a_thousand_come_and_go_over(TCP);
}
