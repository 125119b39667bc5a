//! Clients that are the client library's.

use super::clients::{Asked, Clients, Ended};
use super::records::{Records, Seen};
use farcache_client::distribution::{Distribution, PlacementSettings};
use farcache_client::hash::HashAlgorithm;
use farcache_client::{
    Client, ClientConfig, Error, Operation, ReceiveBytes, Reply, Request, Store, parse_redundancy,
};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// How the clients are set up.
#[derive(Clone, Debug)]
pub struct Setting<'s> {
    /// The servers, with commas between.
    pub servers: &'s str,
    /// What carries the requests.
    pub transport: &'s str,
    /// On how many servers a record lies, and how.
    pub redundancy: &'s str,
    /// How long a request may take.
    pub timeout: Duration,
    /// Whether the keys of a server that fails go to the others.
    pub ejects: bool,
}

/// A server that fails once is given up, where its keys go to others.
const FAILURES_MAX: u32 = 1;
/// So long; what ordinary clients of memcached take (libmemcached's examples, twemproxy: 2 s).
const EJECTED_FOR: Duration = Duration::from_secs(2);

/// Clients of the library, each with its own connections.
pub struct LibraryClients<T> {
    clients: Vec<One<T>>,
    /// Who has begun something since the last send.
    begun: Vec<usize>,
    /// Who waits for answers, in the order of sending.
    waiting: VecDeque<usize>,
    /// Memory for values that will be read: that of values read before.
    rooms: Vec<ReceiveBytes>,
    records: Records,
    first_error: Option<Error>,
}

struct One<T> {
    client: Client,
    under_way: VecDeque<(Asked<T>, Request)>,
    /// Whether it is among those that have begun something.
    is_begun: bool,
}

impl Setting<'_> {
    fn config(&self) -> Result<ClientConfig, Error> {
        let redundancy = match self.redundancy {
            "none" => None,
            policy => Some(parse_redundancy(policy)?),
        };
        Ok(ClientConfig {
            transport: self.transport.parse()?,
            timeout: self.timeout,
            connect_timeout: self.timeout,
            redundancy,
            remove_after_failures: self.ejects.then_some(FAILURES_MAX),
            removed_for: EJECTED_FOR,
            placement: self.placement(),
            ..ClientConfig::new(self.servers)?
        })
    }

    /// The library's default, or one in which a server that fails moves its own keys only.
    fn placement(&self) -> PlacementSettings {
        if !self.ejects {
            return PlacementSettings::default();
        }
        PlacementSettings {
            distribution: Distribution::KetamaWeighted,
            key_hash: HashAlgorithm::Md5,
            ..PlacementSettings::default()
        }
    }

    /// A client that is connected to every server.
    ///
    /// # Errors
    /// If the setting cannot be read, or a server not be reached.
    pub fn connect(&self) -> io::Result<Client> {
        let client = Client::new(&self.config().map_err(io::Error::other)?);
        let client = client.map_err(io::Error::other)?;
        for server in 0..client.servers().len() {
            let answered = client.noop(server);
            answered.map_err(|error| {
                io::Error::other(format!("{}: {error}", client.servers()[server]))
            })?;
        }
        Ok(client)
    }
}

impl<T> LibraryClients<T> {
    /// So many, connected.
    ///
    /// # Errors
    /// As [`Setting::connect`].
    pub fn connect(setting: &Setting<'_>, clients: usize, records: Records) -> io::Result<Self> {
        let one = |_| {
            Ok(One {
                client: setting.connect()?,
                under_way: VecDeque::new(),
                is_begun: false,
            })
        };
        Ok(LibraryClients {
            clients: (0..clients).map(one).collect::<io::Result<_>>()?,
            begun: Vec::new(),
            waiting: VecDeque::new(),
            rooms: Vec::new(),
            records,
            first_error: None,
        })
    }

    /// What carries the requests, for people.
    pub fn carried_by(&self) -> String {
        let lanes = self.clients.first().and_then(|one| one.client.lanes(0));
        lanes.map_or("sockets".into(), |lanes| format!("the fabric ({lanes})"))
    }
}

impl<T: Copy> Clients<T> for LibraryClients<T> {
    fn begin(&mut self, asked: Asked<T>, key: &[u8], value: &[u8]) {
        let one = &mut self.clients[asked.client];
        let request = if asked.is_write {
            one.client.submit(Operation::Store(Store::set(key, value)))
        } else {
            let into = self.rooms.pop().unwrap_or_default();
            one.client.submit(Operation::Get { key, into })
        };
        one.under_way.push_back((asked, request));
        if !one.is_begun {
            one.is_begun = true;
            self.begun.push(asked.client);
        }
    }

    fn send(&mut self) -> io::Result<()> {
        for client in self.begun.drain(..) {
            let one = &mut self.clients[client];
            one.is_begun = false;
            one.client.flush();
            self.waiting.push_back(client);
        }
        Ok(())
    }

    /// Takes the client that has waited longest, and all of its requests.
    fn serve(&mut self, ended: &mut dyn FnMut(Asked<T>, Ended)) -> io::Result<()> {
        let Some(client) = self.waiting.pop_front() else {
            return Ok(());
        };
        let one = &mut self.clients[client];
        while let Some((asked, request)) = one.under_way.pop_front() {
            let completion = one.client.complete(request);
            self.rooms.extend(completion.unused);
            let end = match completion.outcome {
                Ok(Reply::Value { value, .. }) => {
                    let seen = self.records.look(asked.number, &value);
                    self.rooms.push(value);
                    Ended::Read(seen)
                }
                Ok(Reply::Done { .. }) => Ended::Written,
                Err(Error::NotFound) => Ended::Read(Seen::Absent),
                Ok(_) => Ended::Failed,
                Err(error) => {
                    self.first_error.get_or_insert(error);
                    Ended::Failed
                }
            };
            ended(asked, end);
        }
        Ok(())
    }

    fn first_error(&self) -> Option<String> {
        self.first_error.as_ref().map(ToString::to_string)
    }
}
