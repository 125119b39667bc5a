//! Clients that ask for values all over the server's memory and read nothing.

use super::{Adversary, Means};
use crate::honest::{VALUE_BYTES, key};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::io::{self, Write};
use std::net::TcpStream;

/// Bytes of values that each asks for at least: more than the sockets between it and the server
/// ever hold.
const ASKED_BYTES: usize = 16 << 20;
/// Keys of each request.
const KEYS: usize = 50;

pub(super) struct StalledReaders {
    _clients: Vec<TcpStream>,
}

impl StalledReaders {
    pub fn begin(means: &Means<'_>) -> io::Result<Self> {
        let mut random = SmallRng::seed_from_u64(1);
        let mut ask = || {
            let mut client = TcpStream::connect(means.server.address())?;
            for _ in 0..ASKED_BYTES / (VALUE_BYTES * KEYS) {
                let keys = (0..KEYS).map(|_| key(random.random_range(0..means.keys)));
                let keys: Vec<String> = keys.collect();
                client.write_all(format!("get {}\r\n", keys.join(" ")).as_bytes())?;
            }
            Ok(client)
        };
        let clients: io::Result<Vec<TcpStream>> = (0..means.clients).map(|_| ask()).collect();
        Ok(StalledReaders { _clients: clients? })
    }
}

impl Adversary for StalledReaders {
    fn turn(&mut self) -> io::Result<()> {
        Ok(())
    }
}
