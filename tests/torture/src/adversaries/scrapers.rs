//! Clients of the metrics endpoint that say nothing, that say half of something, and that say
//! something else.

use super::{Adversary, Means};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};

/// What they begin with, in turn.
const BEGINNINGS: [&[u8]; 5] = [
    b"",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    b"POST / HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\nx",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
];

pub(super) struct Scrapers {
    address: SocketAddr,
    clients: Vec<Option<TcpStream>>,
    turns: usize,
}

impl Scrapers {
    pub fn begin(means: &Means<'_>) -> io::Result<Self> {
        let address = means.metrics;
        let clients = (0..means.clients).map(|number| scrape(address, number));
        let clients: Vec<Option<TcpStream>> = clients.collect();
        match clients.iter().flatten().count() {
            0 => Err(io::Error::other("nobody reaches the metrics endpoint")),
            _ => Ok(Scrapers {
                address,
                clients,
                turns: 0,
            }),
        }
    }
}

/// None where the endpoint refuses.
fn scrape(address: SocketAddr, number: usize) -> Option<TcpStream> {
    let mut client = TcpStream::connect(address).ok()?;
    client
        .write_all(BEGINNINGS[number % BEGINNINGS.len()])
        .ok()?;
    Some(client)
}

impl Adversary for Scrapers {
    fn turn(&mut self) -> io::Result<()> {
        let place = self.turns % self.clients.len();
        self.turns += 1;
        self.clients[place] = scrape(self.address, self.turns);
        Ok(())
    }
}
