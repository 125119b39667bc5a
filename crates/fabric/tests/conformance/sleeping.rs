//! Arming and waking.

use super::harness::{Node, Pair, TestPort, turn_until};
use farcache_fabric::Arming;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::{Duration, Instant};

/// Longest wait for anything; a test that needs it has failed.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Whether the node's descriptor becomes readable within the time.
fn wakes<P: TestPort>(node: &Node<P>, seconds: i64) -> bool {
    let descriptor = node.port.descriptor().expect("something to wait for");
    let mut descriptors = [PollFd::new(&descriptor, PollFlags::IN)];
    let limit = Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    poll(&mut descriptors, Some(&limit)).expect("a poll") > 0
}

/// Progresses both until the first is armed and has nothing to do.
fn arm<P: TestPort>(node: &mut Node<P>, other: &mut Node<P>) {
    let deadline = Instant::now() + WAIT_MAX;
    // What the introduction has left to do may come late.
    while node.port.arm() != Arming::Armed || wakes(node, 0) {
        assert!(Instant::now() < deadline, "it never has nothing to do");
        node.turn();
        other.turn();
    }
}

/// An armed port wakes for a message, again and again.
pub fn an_armed_port_is_woken<P: TestPort>(make: impl Fn() -> P) {
    let Pair {
        mut client,
        mut server,
        to_server,
        ..
    } = Pair::new(make);
    for round in 0..3 {
        arm(&mut server, &mut client);
        client.send(to_server, b"wake up");
        client.turn();
        assert!(wakes(&server, 60), "a message has come in round {round}");
        turn_until([&mut server, &mut client], "it is here", |[server, _]| {
            !server.messages.is_empty()
        });
        server.take_message();
    }
}

/// What is waiting already keeps a port from sleeping, or wakes it at once.
pub fn what_waits_is_not_slept_over<P: TestPort>(make: impl Fn() -> P) {
    let Pair {
        mut client,
        mut server,
        to_server,
        ..
    } = Pair::new(make);
    arm(&mut server, &mut client);
    client.send(to_server, b"early");
    client.turn();
    if server.port.arm() == Arming::Armed {
        assert!(wakes(&server, 60));
    }
    turn_until([&mut server, &mut client], "it is here", |[server, _]| {
        !server.messages.is_empty()
    });
}
