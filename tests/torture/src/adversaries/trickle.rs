//! Clients that send a byte at a time, and read a byte at a time of what they are sent.

use super::{Adversary, Means};
use crate::honest::key;
use std::io::{self, Read, Write};
use std::net::TcpStream;

pub(super) struct Trickle {
    clients: Vec<TcpStream>,
    request: Vec<u8>,
    sent: usize,
}

impl Trickle {
    pub fn begin(means: &Means<'_>) -> io::Result<Self> {
        let connect = |_| {
            let client = TcpStream::connect(means.server.address())?;
            client.set_nodelay(true)?;
            client.set_nonblocking(true)?;
            Ok(client)
        };
        let clients: io::Result<Vec<TcpStream>> = (0..means.clients).map(connect).collect();
        Ok(Trickle {
            clients: clients?,
            request: format!("get {}\r\n", key(means.keys - 1)).into_bytes(),
            sent: 0,
        })
    }
}

impl Adversary for Trickle {
    fn turn(&mut self) -> io::Result<()> {
        let byte = self.request[self.sent % self.request.len()];
        self.sent += 1;
        for client in &mut self.clients {
            // One whose socket is full sends nothing: the next byte makes its request a wrong one,
            // which is as good.
            ignore_full(client.write(&[byte]))?;
            ignore_full(client.read(&mut [0]))?;
        }
        Ok(())
    }
}

fn ignore_full(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        result => result.map(drop),
    }
}
