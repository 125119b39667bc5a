//! A thread that tells servers of complete versions where no request does: what a program wrote
//! last, before it does something else, is shown to others while a server is silent.
//!
//! One thread serves all clients of the process. It is started by the first write to several
//! servers, and sleeps while all has been told.

use super::Shared;
use farcache_fabric::ucx::InUse;
use farcache_redundancy::Untold;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// Clients that have something left to tell.
struct Waiting {
    clients: Vec<Weak<Shared>>,
    /// The process that the thread is in; a child that was forked off has no such thread.
    process: Option<u32>,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting {
    clients: Vec::new(),
    process: None,
});
static ROUSED: Condvar = Condvar::new();

fn waiting() -> MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a client's [`Shared::tell_left_over`] called until nothing is left. Where the system has no
/// thread left, it is not: readers ask all servers then.
pub(super) fn look_after(shared: &Arc<Shared>) {
    let mut waiting = waiting();
    let process = std::process::id();
    if waiting.process != Some(process) {
        if start().is_err() {
            return;
        }
        waiting.process = Some(process);
        // The parent's clients.
        waiting.clients.clear();
    }
    waiting.clients.push(Arc::downgrade(shared));
    ROUSED.notify_one();
}

fn start() -> io::Result<()> {
    let thread = std::thread::Builder::new().name("farcache-teller".into());
    thread.spawn(run).map(drop)
}

fn run() {
    loop {
        let has_none = |waiting: &mut Waiting| waiting.clients.is_empty();
        let roused = ROUSED.wait_while(waiting(), has_none);
        drop(roused.unwrap_or_else(PoisonError::into_inner));
        std::thread::sleep(Untold::LEFT_AFTER);
        // The process may end without ending this thread.
        let Some(_in_use) = InUse::begin() else {
            return;
        };
        let mut clients = std::mem::take(&mut waiting().clients);
        clients.retain(|client| {
            let client = client.upgrade();
            client.is_some_and(|client| client.tell_left_over())
        });
        waiting().clients.append(&mut clients);
    }
}
