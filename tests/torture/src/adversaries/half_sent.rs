//! Clients that announce values and send half of each: the server keeps room for all of it.

use super::{Adversary, Means};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};

/// Bytes announced: more than the server waits for in its input buffer.
const ANNOUNCED_BYTES: usize = 17_000;

pub(super) struct HalfSent {
    address: SocketAddr,
    clients: Vec<TcpStream>,
    turns: usize,
}

impl HalfSent {
    pub fn begin(means: &Means<'_>) -> io::Result<Self> {
        let address = means.server.address();
        let clients: io::Result<Vec<TcpStream>> = (0..means.clients)
            .map(|number| send_half(address, number))
            .collect();
        Ok(HalfSent {
            address,
            clients: clients?,
            turns: 0,
        })
    }
}

fn send_half(address: SocketAddr, number: usize) -> io::Result<TcpStream> {
    let mut client = TcpStream::connect(address)?;
    let mut request = format!("set half-{number} 0 0 {ANNOUNCED_BYTES}\r\n").into_bytes();
    request.resize(request.len() + ANNOUNCED_BYTES / 2, b'h');
    client.write_all(&request)?;
    Ok(client)
}

impl Adversary for HalfSent {
    /// One leaves, and another one comes.
    fn turn(&mut self) -> io::Result<()> {
        let place = self.turns % self.clients.len();
        self.turns += 1;
        self.clients[place] = send_half(self.address, self.turns)?;
        Ok(())
    }
}
