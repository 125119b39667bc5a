//! A way to etcd that can be cut.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// It ends with the test program.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// A way to this address.
    pub fn to(address: &str) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let state = Arc::<State>::default();
        let (shared, address) = (Arc::clone(&state), address.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if !shared.is_cut.load(SeqCst) {
                    // Who cannot be reached is as good as cut.
                    let _ = join(client, &address, &shared);
                }
            }
        });
        Proxy { port, state }
    }

    /// What `--cluster-etcd` takes.
    pub fn endpoint(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends all connections, and takes no more.
    pub fn cut(&self) {
        self.state.is_cut.store(true, SeqCst);
        for stream in self
            .state
            .open
            .lock()
            .expect("no panic while held")
            .drain(..)
        {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Takes connections again.
    pub fn mend(&self) {
        self.state.is_cut.store(false, SeqCst);
    }
}

fn join(client: TcpStream, address: &str, state: &State) -> io::Result<()> {
    let server = TcpStream::connect(address)?;
    let mut open = state.open.lock().expect("no panic while held");
    for (mut from, mut to) in [
        (client.try_clone()?, server.try_clone()?),
        (server.try_clone()?, client.try_clone()?),
    ] {
        std::thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    open.extend([client, server]);
    if state.is_cut.load(SeqCst) {
        for stream in open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
    Ok(())
}
