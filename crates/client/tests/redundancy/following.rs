//! `async`: a write is acknowledged when one server has it, and the others follow.

use crate::{Fleet, WAYS};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

const POLICY: &str = "replicate:3,async";

pub fn pause(fleet: &Fleet, server: usize) -> Pid {
    let process = Pid::from_child(&fleet.servers[server].child);
    kill_process(process, Signal::STOP).expect("it runs");
    let stopped = waitpid(Some(process), WaitOptions::UNTRACED).expect("a child");
    assert!(stopped.is_some_and(|(_, status)| status.stopped()));
    process
}

/// Two servers are stopped: a write ends all the same, and its client reads what it has written.
/// The end of the client waits for the others.
#[test]
fn a_write_ends_with_its_first_copy_and_the_client_with_the_last() {
    for transport in WAYS {
        let mut fleet = Fleet::start(3);
        let client = fleet.client(POLICY, transport);
        crate::set_all(&client, 1);
        let stopped = [pause(&fleet, 0), pause(&fleet, 2)];
        crate::set_all(&client, 2);
        crate::assert_all(&client, 2, "while two are stopped");
        for process in stopped {
            kill_process(process, Signal::CONT).expect("it is stopped");
        }
        drop(client);
        // Each has all by itself.
        let reader = fleet.client(POLICY, transport);
        fleet.kill(1);
        crate::assert_all(&reader, 2, "without the first copy");
        fleet.kill(0);
        crate::assert_all(&reader, 2, "at the last");
    }
}

#[test]
fn what_depends_on_the_value_is_done_at_all_that_are_up() {
    let mut fleet = Fleet::start(3);
    let client = fleet.client(POLICY, crate::Transport::Tcp);
    client.set("count", "1", 0).expect("stored");
    for away in 0..2 {
        assert!(client.increment("count", 1, None).is_ok());
        fleet.kill(away);
    }
    assert_eq!(client.increment("count", 1, None), Ok(4));
    client.delete("count").expect("deleted");
    assert_eq!(client.get("count"), Ok(None));
}
