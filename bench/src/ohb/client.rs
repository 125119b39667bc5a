//! The client library as a [`Session`].

use super::session::{Session, StoredValue};
use farcache_client::{
    Client, ClientConfig, Delivery, Error, GetManyRequest, LentMemory, Operation, ReceiveBytes,
    Reply, Request, SendBytes, Store, Value, Values,
};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Status of the binary protocol for a client that has to log in first. Source: memcached
/// `protocol_binary.h`.
const AUTHENTICATION_REQUIRED: u16 = 0x20;

/// How long connecting or an operation may take: longer than anything that is measured, also on a
/// machine that is busy with other things.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What carries the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Transport {
    /// The fabric where a server offers it, sockets elsewhere.
    Auto,
    /// The fabric; a server without one is an error.
    Fabric,
    /// Sockets.
    Tcp,
}

impl Transport {
    /// Its name, as the client library reads it.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Auto => "auto",
            Transport::Fabric => "fabric",
            Transport::Tcp => "tcp",
        }
    }
}

/// A client of one thread.
pub struct ClientSession {
    client: Client,
    begun: VecDeque<Begun>,
    /// The value of the last blocking fetch, whose memory is used again.
    value: Vec<u8>,
    /// Whether each fetch gets new memory instead.
    new_buffers: bool,
    /// Memory for values that will be fetched: that of values fetched before.
    rooms: Vec<ReceiveBytes>,
    /// Memory for values that multi-gets will fetch.
    many: Vec<Values>,
    eager_bytes_max: usize,
    registered: Option<Arc<LentMemory>>,
}

/// What is under way.
enum Begun {
    One(Request),
    Many(GetManyRequest),
}

impl ClientSession {
    /// A client of these servers (`host:port`, several with commas between) by this transport; it
    /// connects with its first operation.
    ///
    /// # Errors
    /// If the servers or the transport cannot be read.
    pub fn open(servers: &str, transport: &str) -> io::Result<Self> {
        Self::open_polling(servers, transport, None)
    }

    /// Connects to servers and polls for so long before it sleeps, instead of what the library does
    /// by itself.
    ///
    /// # Errors
    /// As [`ClientSession::open`].
    pub fn open_polling(
        servers: &str,
        transport: &str,
        poll: Option<Duration>,
    ) -> io::Result<Self> {
        let mut config = ClientConfig::new(servers).map_err(io::Error::other)?;
        config.spin = poll.unwrap_or(config.spin);
        config.transport = transport.parse().map_err(io::Error::other)?;
        (config.timeout, config.connect_timeout) = (TIMEOUT, TIMEOUT);
        Ok(ClientSession {
            client: Client::new(&config).map_err(io::Error::other)?,
            begun: VecDeque::new(),
            value: Vec::new(),
            new_buffers: false,
            rooms: Vec::new(),
            many: Vec::new(),
            eager_bytes_max: config.eager_bytes_max,
            registered: None,
        })
    }

    /// Whether each blocking fetch has the library make memory anew, instead of using that of the
    /// fetch before.
    pub fn set_new_buffers(&mut self, new_buffers: bool) {
        self.new_buffers = new_buffers;
    }

    /// Connects to every server.
    ///
    /// # Errors
    /// If there is none, or one cannot be reached, or not by the transport demanded.
    pub fn connect(&mut self) -> io::Result<()> {
        let servers = self.client.servers().len();
        if servers == 0 {
            return Err(io::Error::other("no servers"));
        }
        (0..servers).try_for_each(|server| {
            let answered = self.client.noop(server);
            answered.map_err(|error| {
                let (server, advice) = (&self.client.servers()[server], advice(&error));
                let (host, port) = (server.host(), server.port());
                io::Error::other(format!("{host}:{port}: {error}{advice}"))
            })
        })
    }

    /// What carries the operations, for people: sockets, or the fabric with its networks.
    pub fn carried_by(&self) -> String {
        let mut carriers: Vec<String> = Vec::new();
        for server in 0..self.client.servers().len() {
            let carrier = match self.client.lanes(server) {
                Some(lanes) => format!("the fabric ({lanes})"),
                None => "sockets".into(),
            };
            if !carriers.contains(&carrier) {
                carriers.push(carrier);
            }
        }
        carriers.join(" and ")
    }

    /// Small values are copied into the message; large ones are sent from where they lie.
    fn lend<'a>(&self, value: &'a StoredValue<'_>) -> Value<'a> {
        match value.len() > self.eager_bytes_max {
            true => SendBytes::part_of(Arc::clone(value.memory), value.range.clone()).into(),
            false => Value::Copied(value),
        }
    }

    /// Registers the memory that values will be sent from, instead of what was registered before.
    ///
    /// # Errors
    /// The network's.
    pub fn register(&mut self, memory: &Arc<Vec<u8>>) -> io::Result<()> {
        let memory = Arc::new(LentMemory::of(Arc::clone(memory)));
        if let Some(before) = self.registered.replace(Arc::clone(&memory)) {
            self.client.unregister(&before);
        }
        self.client.register(&memory).map_err(io::Error::other)
    }

    fn finish_one(&mut self, request: Request, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        let completion = self.client.complete(request);
        self.rooms.extend(completion.unused);
        match completion.outcome.map_err(failed)? {
            Reply::Value { value, .. } => {
                see(&value);
                self.rooms.push(value);
                Ok(())
            }
            Reply::Done { .. } => Ok(()),
            other => Err(io::Error::other(format!("an unexpected answer: {other:?}"))),
        }
    }

    fn finish_many(
        &mut self,
        request: GetManyRequest,
        see: &mut dyn FnMut(&[u8]),
    ) -> io::Result<()> {
        let values = self.client.wait_get_many(request);
        for value in values.iter() {
            match value {
                Ok(Some(item)) => see(item.value),
                Ok(None) => return Err(absent()),
                Err(error) => return Err(failed(error.clone())),
            }
        }
        self.many.push(values);
        Ok(())
    }
}

fn advice(error: &Error) -> &'static str {
    match error {
        Error::Connect(_) => "; is a server running there? (--servers)",
        Error::TooLarge => "; start it with a larger -I, such as farcached -I 64m -m 1024",
        Error::OutOfMemory => "; the server's memory (-m) may be too small for all values",
        Error::Server { status, .. } if *status == AUTHENTICATION_REQUIRED => {
            "; authentication required: this program cannot log in"
        }
        _ => "",
    }
}

fn absent() -> io::Error {
    let message = "a stored key is absent (is the server's memory too small?)";
    io::Error::new(io::ErrorKind::NotFound, message)
}

/// An operation's failure, and what to do about it.
fn failed(error: Error) -> io::Error {
    match (advice(&error), error) {
        (_, Error::NotFound) => absent(),
        ("", error) => io::Error::other(error),
        (advice, error) => io::Error::other(format!("{error}{advice}")),
    }
}

impl Session for ClientSession {
    fn get(&mut self, key: &[u8], see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if self.new_buffers {
            self.value = Vec::new();
        }
        match self.client.get_into(key, &mut self.value) {
            Ok(Some(_)) => {
                see(&self.value);
                Ok(())
            }
            Ok(None) => Err(absent()),
            Err(error) => Err(failed(error)),
        }
    }

    fn set(&mut self, key: &[u8], value: &StoredValue<'_>) -> io::Result<()> {
        let stored = self.client.set(key, self.lend(value), 0);
        stored.map(drop).map_err(failed)
    }

    fn begin_get(&mut self, key: &[u8]) -> io::Result<()> {
        let into = self.rooms.pop().unwrap_or_default();
        let request = self.client.submit(Operation::Get { key, into });
        self.begun.push_back(Begun::One(request));
        Ok(())
    }

    fn begin_get_many(&mut self, keys: &[&[u8]]) -> io::Result<()> {
        let values = self.many.pop().unwrap_or_default();
        let request = self
            .client
            .submit_get_many(keys, values, Delivery::default());
        self.begun.push_back(Begun::Many(request));
        Ok(())
    }

    fn begin_set(&mut self, key: &[u8], value: &StoredValue<'_>) -> io::Result<()> {
        let store = Store::set(key, self.lend(value));
        let request = self.client.submit(Operation::Store(store));
        self.begun.push_back(Begun::One(request));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.client.flush();
        Ok(())
    }

    fn finish(&mut self, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        match self.begun.pop_front().expect("an operation was begun") {
            Begun::One(request) => self.finish_one(request, see),
            Begun::Many(request) => self.finish_many(request, see),
        }
    }
}
