//! Processes that end while their other threads use the network, as clients' connecting threads do.

mod conformance;
mod ucx_common;

use conformance::harness::Body;
use farcache_fabric::Error;
use farcache_fabric::ucx::{InUse, Network, Settings, UcxPort};
use std::io::Write;
use std::process::exit;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use ucx_common::peers::{self, PeerProcess};
use ucx_common::{SHARED_MEMORY, network};

/// Few: a process that does not wait crashes once in hundreds.
const PROCESSES: usize = 4;
const THREADS: usize = 2;

/// What a process does when this program is started for it; nothing in a run of all tests.
#[test]
fn peer() {
    let Some(words) = peers::words() else {
        return;
    };
    let network = network(SHARED_MEMORY).expect("UCX, as the parent has it");
    let work = match words[0].as_str() {
        "stays" => stay,
        _ => open_and_close,
    };
    let (tell, told) = channel();
    for _ in 0..THREADS {
        let tell = tell.clone();
        thread::spawn(move || work(&tell));
    }
    for _ in 0..THREADS {
        told.recv().expect("a thread has begun");
    }
    drop(network);
    exit(0);
}

/// Uses UCX until the process ends.
fn stay(tell: &Sender<()>) {
    let in_use = InUse::begin();
    assert!(in_use.is_some(), "the process has not ended");
    tell.send(()).expect("the process waits");
    while InUse::begin().is_some() {
        thread::yield_now();
    }
    // The parent hears the first one.
    let _ = writeln!(std::io::stdout(), "\nstayed");
}

fn open_and_close(tell: &Sender<()>) {
    let open = || -> Result<UcxPort<Body, Body>, Error> {
        Network::open(Settings::new(SHARED_MEMORY))?.port()
    };
    while let Ok(port) = open() {
        drop(port);
        // The main thread may be gone.
        let _ = tell.send(());
    }
}

#[test]
fn the_end_of_a_process_waits_for_threads_that_use_ucx() {
    if network(SHARED_MEMORY).is_none() {
        return;
    }
    let mut process = PeerProcess::start("stays");
    let stayed = process.hear("stayed");
    assert!(process.child.wait().expect("the process ends").success());
    assert!(stayed.join().expect("somebody listens").is_some());
}

#[test]
fn a_process_may_end_while_its_threads_open_and_close_ports() {
    if network(SHARED_MEMORY).is_none() {
        return;
    }
    for _ in 0..PROCESSES {
        let mut process = PeerProcess::start("opens");
        let status = process.child.wait().expect("the process ends");
        assert!(status.success(), "{status}");
    }
}
