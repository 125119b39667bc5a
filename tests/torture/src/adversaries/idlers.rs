//! As many connections as the server admits, and more that it must refuse.

use super::{Adversary, Means};
use std::io;
use std::net::{SocketAddr, TcpStream};

/// Connections of which each turn makes one anew, however the server takes it.
const REFUSED: usize = 64;

pub(super) struct Idlers {
    address: SocketAddr,
    _admitted: Vec<TcpStream>,
    refused: Vec<Option<TcpStream>>,
    turns: usize,
}

impl Idlers {
    pub fn begin(means: &Means<'_>) -> io::Result<Self> {
        let address = means.server.address();
        let connect = |_| TcpStream::connect(address);
        let admitted: io::Result<Vec<TcpStream>> = (0..means.clients).map(connect).collect();
        Ok(Idlers {
            address,
            _admitted: admitted?,
            refused: (0..REFUSED).map(|_| None).collect(),
            turns: 0,
        })
    }
}

impl Adversary for Idlers {
    fn turn(&mut self) -> io::Result<()> {
        let place = self.turns % self.refused.len();
        self.turns += 1;
        // It may be refused at once.
        self.refused[place] = TcpStream::connect(self.address).ok();
        Ok(())
    }
}
