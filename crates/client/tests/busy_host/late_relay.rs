//! A server that answers late: what stands between a client and a server that answers at once.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// More than any message of a test.
const MESSAGE_BYTES_MAX: usize = 4096;

/// Passes on what its one client sends at once, and what the server answers later. Its threads run
/// on the processors of the thread that starts it and end with the client's connection.
pub struct LateRelay {
    address: SocketAddr,
}

impl LateRelay {
    /// Starts one on a free port before the server at `address`.
    pub fn start(address: &str, lateness: Duration) -> LateRelay {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let relay = LateRelay {
            address: listener.local_addr().expect("an address"),
        };
        let server = TcpStream::connect(address).expect("a server");
        thread::spawn(move || {
            let (client, _) = listener.accept().expect("a client");
            let answers = (clone_of(&server), clone_of(&client));
            thread::spawn(move || pass_on(answers.0, answers.1, lateness));
            pass_on(client, server, Duration::ZERO);
        });
        relay
    }

    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn clone_of(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("a descriptor")
}

/// Passes everything on, each piece so much later, until either end closes.
fn pass_on(mut from: TcpStream, mut to: TcpStream, lateness: Duration) {
    to.set_nodelay(true).expect("an open socket");
    let mut piece = [0; MESSAGE_BYTES_MAX];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        thread::sleep(lateness);
        if to.write_all(&piece[..count]).is_err() {
            break;
        }
    }
    // Closed already by the other end, perhaps.
    let _ = to.shutdown(Shutdown::Both);
}
