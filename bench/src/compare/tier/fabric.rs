//! Gets over the fabric with several under way.

use super::reading::Cursor;
use crate::load::keys::{KeyId, KeyShape};
use crate::load::runner::Plan;
use crate::load::values::Values;
use farcache_client::{Client, ClientConfig, Operation, ReceiveBytes, Reply, Request};
use farcache_harness::server_process::ServerProcess;
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// How long an operation may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client of the fabric that verifies what it gets.
pub struct FabricReader {
    client: Client,
    keys: KeyShape,
    values: Values,
    under_way: VecDeque<(Request, KeyId)>,
    rooms: Vec<ReceiveBytes>,
}

impl FabricReader {
    /// Connects.
    ///
    /// # Errors
    /// Those of the client; without the fabric there is none.
    pub fn connect(server: &ServerProcess, plan: &Plan) -> io::Result<Self> {
        let address = server.address().to_string();
        let mut config = ClientConfig::new(&address).map_err(io::Error::other)?;
        config.transport = "fabric".parse().map_err(io::Error::other)?;
        config.timeout = TIMEOUT;
        let client = Client::new(&config).map_err(io::Error::other)?;
        client.noop(0).map_err(io::Error::other)?;
        Ok(FabricReader {
            client,
            keys: KeyShape::new(plan.key_bytes),
            values: Values::new(plan.values),
            under_way: VecDeque::new(),
            rooms: Vec::new(),
        })
    }

    /// Reads so many keys, `window` of them under way, and after `warm_up` as many again that
    /// count; returns how many a second.
    ///
    /// # Errors
    /// Those of the client, and a value that is missing or wrong.
    pub fn rate(
        &mut self,
        cursor: &mut Cursor,
        window: usize,
        warm_up: usize,
        count: usize,
    ) -> io::Result<f64> {
        for _ in 0..window {
            self.begin(cursor.next());
        }
        for _ in 0..warm_up {
            self.end()?;
            self.begin(cursor.next());
        }
        let start = Instant::now();
        for _ in 0..count {
            self.end()?;
            self.begin(cursor.next());
        }
        let seconds = start.elapsed().as_secs_f64();
        while !self.under_way.is_empty() {
            self.end()?;
        }
        Ok(count as f64 / seconds)
    }

    fn begin(&mut self, id: KeyId) {
        let mut key = Vec::with_capacity(self.keys.key_bytes());
        self.keys.push(id, &mut key);
        let into = self.rooms.pop().unwrap_or_default();
        let request = self.client.submit(Operation::Get { key: &key, into });
        self.client.flush();
        self.under_way.push_back((request, id));
    }

    fn end(&mut self) -> io::Result<()> {
        let (request, id) = self.under_way.pop_front().expect("a read is under way");
        let completion = self.client.complete(request);
        self.rooms.extend(completion.unused);
        match completion.outcome.map_err(io::Error::other)? {
            Reply::Value { value, .. } if self.values.matches(id, &value) => {
                self.rooms.push(value);
                Ok(())
            }
            _ => Err(io::Error::other(format!("key {id} has a wrong value"))),
        }
    }
}
