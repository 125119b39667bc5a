//! The handle: submitting operations, and waiting for them.

use crate::connect::Fabric;
use crate::connections::Connections;
use crate::distribution::Server;
use crate::driver::ProgressThread;
use crate::engine::Elsewhere;
use crate::redundant::{LastCopies, Redundant};
use crate::request::{GetManyRequest, Request};
use crate::{
    ClientConfig, Completion, Delivery, Error, LentMemory, Notice, Operation, Reply, Values,
};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A client of one or several servers. It is cheap to clone, and any number of threads may use one
/// at the same time. Nothing is connected before the first operation.
///
/// Operations that are submitted together travel together: nothing is sent before the next
/// [`Client::flush`], [`Client::test`] or wait of any kind, unless there is a progress thread
/// ([`ClientConfig::progress_thread`]).
#[derive(Clone)]
pub struct Client {
    pub(crate) connections: Connections,
    /// Where keys may lie on several servers.
    pub(crate) redundant: Option<Arc<Redundant>>,
    /// Ends with the last handle, as the next one.
    _last_copies: Option<Arc<LastCopies>>,
    _progress: Option<Arc<ProgressThread>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Client of {:?}", self.servers())
    }
}

impl Client {
    /// A client with these settings.
    ///
    /// # Errors
    /// [`Error::Configuration`]: a file cannot be read, the environment names no transport, or the
    /// redundancy does not go with the servers.
    pub fn new(config: &ClientConfig) -> Result<Self, Error> {
        Self::over(config, Arc::new(crate::connect::Ucx))
    }

    /// A client whose fabric runs over this network.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn over(config: &ClientConfig, fabric: Arc<dyn Fabric>) -> Result<Self, Error> {
        let has_progress_thread = config.progress_thread_chosen()?;
        let config = &ClientConfig {
            redundancy: config.redundancy_chosen()?,
            follows_map: config.follows_map_chosen()?,
            ..config.clone()
        };
        let connections = Connections::new(config, has_progress_thread, fabric)?;
        let redundant = Redundant::new(config, &connections)?.map(Arc::new);
        let progress = match has_progress_thread {
            false => None,
            true => Some(Arc::new(connections.start_progress_thread()?)),
        };
        let last_copies = redundant
            .clone()
            .map(|redundant| Arc::new(LastCopies(redundant)));
        Ok(Client {
            connections,
            redundant,
            _last_copies: last_copies,
            _progress: progress,
        })
    }

    /// A handle that does not keep the progress thread: that ends with the last handle that does,
    /// which also waits for copies that follow an acknowledged write.
    #[must_use]
    pub fn without_progress_thread(&self) -> Client {
        Client {
            _progress: None,
            _last_copies: None,
            ..self.clone()
        }
    }

    /// The servers, in the order in which [`Route::Server`](crate::Route::Server) counts them:
    /// first the servers of the client's list, then the servers that the
    /// [map of their cluster](ClientConfig::follows_map) has added. A server that leaves the map
    /// keeps its place.
    #[must_use]
    pub fn servers(&self) -> Arc<[Server]> {
        self.connections.servers()
    }

    /// The index of a server, by its name as it was given (`host:port`, with the default port where
    /// none was, or the path of a unix socket). Indexes follow the list and change with it; names
    /// do not.
    #[must_use]
    pub fn server_named(&self, name: &str) -> Option<usize> {
        let servers = self.servers();
        let mut names = servers.iter().map(Server::to_string);
        names.position(|server| server == name)
    }

    /// The epoch of the cluster's map by which the client goes; none where it goes by its list of
    /// servers, as before the first connection to one of a cluster.
    #[must_use]
    pub fn map_epoch(&self) -> Option<u64> {
        self.connections.epoch()
    }

    /// The index of the server on which a key lives; `None` without servers.
    #[must_use]
    pub fn server_of_key(&self, key: &[u8]) -> Option<usize> {
        self.connections.server_of_key(key)
    }

    /// The indexes of the servers on which a key lies, in the order of placement: several where a
    /// policy has its value copied or cut into shards. Whether they are up, or have it, is not
    /// asked.
    #[must_use]
    pub fn servers_of_key(&self, key: &[u8]) -> Vec<usize> {
        let redundant = self.redundant_of(key);
        let owners = redundant.map_or(1, |redundant| redundant.owners(key));
        let owners = self.connections.owners_of_key(key, owners);
        owners.iter().map(|owner| owner.0 as usize).collect()
    }

    /// Whether a key lies on several servers, by the policy in [`ClientConfig::redundancy`] or the
    /// environment.
    #[must_use]
    pub fn has_redundancy(&self, key: &[u8]) -> bool {
        self.redundant_of(key).is_some()
    }

    /// Whether there is a policy that places any key on several servers.
    #[must_use]
    pub fn has_any_redundancy(&self) -> bool {
        self.redundant.is_some()
    }

    /// Whether operations on this server go over the fabric now, and by which networks.
    #[must_use]
    pub fn lanes(&self, server: usize) -> Option<String> {
        self.connections.lanes(server)
    }

    /// Why operations on this server go over a socket, where they do: the server offers no fabric,
    /// it does not work, or UCX's tcp, which is slower, is all that leads there (then
    /// [`Transport::Fabric`](crate::Transport::Fabric) takes it all the same).
    #[must_use]
    pub fn no_fabric(&self, server: usize) -> Option<String> {
        self.connections.no_fabric(server)
    }

    /// Begins an operation.
    pub fn submit(&self, operation: Operation<'_>) -> Request {
        self.submit_to(operation, Delivery::default())
    }

    /// Begins an operation, with its own way and time limit.
    pub fn submit_to(&self, operation: Operation<'_>, delivery: Delivery<'_>) -> Request {
        if let Some(redundant) = self.redundant_for(&operation) {
            return Request::of_plan(&self.connections, redundant.begin(operation, delivery));
        }
        Request::new(self.connections.submit(operation, delivery))
    }

    /// Begins an operation and sends it, unless others are under way to the same server and few
    /// wait: then it waits for more to travel together with, or for the next [`Client::flush`],
    /// [`Client::test`] or wait.
    pub fn submit_batched(&self, operation: Operation<'_>, delivery: Delivery<'_>) -> Request {
        if let Some(redundant) = self.redundant_for(&operation) {
            return Request::of_plan(&self.connections, redundant.begin(operation, delivery));
        }
        Request::new(self.connections.submit_batched(operation, delivery))
    }

    /// Sends an operation of which nobody wants to know how it ends: a store, a deletion, counting
    /// or a flush.
    ///
    /// # Errors
    /// It cannot be sent.
    pub fn submit_quietly(
        &self,
        operation: Operation<'_>,
        delivery: Delivery<'_>,
    ) -> Result<(), Error> {
        if let Some(redundant) = self.redundant_for(&operation) {
            return match redundant.run(operation, delivery).outcome {
                // What a server answers, whom nobody asks.
                Ok(_)
                | Err(Error::NotFound | Error::NotStored | Error::Exists | Error::NotNumeric) => {
                    Ok(())
                }
                Err(error) => Err(error),
            };
        }
        self.connections.submit_quietly(operation, delivery)
    }

    /// Begins a multi-get of up to 65,536 keys. `values` may be one that was used before, whose
    /// memory is used again.
    ///
    /// # Panics
    /// There are more keys, or 8192 multi-gets are under way.
    pub fn submit_get_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        values: Values,
        delivery: Delivery<'_>,
    ) -> GetManyRequest {
        let elsewhere = self.got_elsewhere(keys, delivery);
        let connections = &self.connections;
        let submitted = connections.submit_get_many(keys, values, delivery, elsewhere);
        GetManyRequest(Request::new(submitted))
    }

    /// Begins to delete what the servers of a key have of it, each by itself, so that no server that
    /// is away keeps the others from giving back their room: one request for each of them. For keys
    /// that are written once, and are not asked for any more; a server that comes back may still
    /// have its part.
    #[must_use = "dropping a request gives its result up"]
    pub fn submit_discard(&self, key: &[u8]) -> Vec<Request> {
        match self.redundant_of(key) {
            None => vec![self.submit(Operation::Delete { key, cas: 0 })],
            Some(redundant) => {
                let deletions = redundant.discard(key).into_iter();
                deletions.map(Request::new).collect()
            }
        }
    }

    /// Sends what has been submitted.
    pub fn flush(&self) {
        self.connections.flush();
    }

    /// Sends what has been submitted, takes in what has arrived, and calls the notices of what has
    /// ended.
    pub fn progress(&self) {
        self.connections.progress();
    }

    /// Waits so long, for whoever has to look again later and may not sleep by itself. What has been
    /// submitted is on its way meanwhile.
    pub fn pause(&self, time: Duration) {
        self.flush();
        std::thread::sleep(time);
        self.progress();
    }

    /// Has a notice called once the request is complete. Where that is fetched or dropped before,
    /// the notice may be called or not.
    ///
    /// Notices are called within [`Client::progress`], [`Client::test`] and all calls that wait, by
    /// whatever thread makes them, and by the progress thread; never within calls that only submit.
    /// They may use the client and wait; the thread calls no other notices meanwhile.
    pub fn notify(&self, request: &impl AsRef<Request>, notice: Notice) {
        request.as_ref().notify(notice);
    }

    /// Registers memory with the network, so that large values are sent from there and received
    /// into it without being registered each time, and asks the system to put it into huge pages,
    /// from which a large value is sent more than twice as fast within a host. Over sockets it does
    /// nothing else. It ends with [`Client::unregister`] or the client.
    ///
    /// # Errors
    /// [`Error::Configuration`]: the network's reason, such as a limit for locked memory. A reason
    /// that is not known yet, as nothing is connected, is not told: values are registered each time
    /// then.
    pub fn register(&self, memory: &Arc<LentMemory>) -> Result<(), Error> {
        self.connections.register(memory)
    }

    /// Ends a registration. Nothing that was submitted with this memory may be under way.
    pub fn unregister(&self, memory: &Arc<LentMemory>) {
        self.connections.unregister(memory);
    }

    /// Whether a request is complete: waiting for it then takes no time. Moves all requests on.
    #[must_use]
    pub fn test(&self, request: &Request) -> bool {
        request.test()
    }

    /// Whether a request is complete by what is known now; moves nothing.
    #[must_use]
    pub fn peek(&self, request: &impl AsRef<Request>) -> bool {
        request.as_ref().peek()
    }

    /// As [`Client::test`].
    #[must_use]
    pub fn test_get_many(&self, request: &GetManyRequest) -> bool {
        request.0.test()
    }

    /// Waits for a request.
    ///
    /// # Errors
    /// As the operation ends.
    pub fn wait(&self, request: Request) -> Result<Reply, Error> {
        self.complete(request).outcome
    }

    /// Waits for a request; everything that was lent to it comes back.
    pub fn complete(&self, request: Request) -> Completion {
        request.complete()
    }

    /// Waits for a multi-get.
    pub fn wait_get_many(&self, request: GetManyRequest) -> Values {
        request.wait()
    }

    /// Waits until one of the requests is complete; returns its index. The first one counts where
    /// several are.
    ///
    /// # Panics
    /// There are no requests.
    #[must_use]
    pub fn wait_any(&self, requests: &[impl AsRef<Request>]) -> usize {
        assert!(!requests.is_empty(), "there is nothing to wait for");
        let own = requests.iter().map(|request| request.as_ref().ticket());
        loop {
            requests.iter().for_each(|request| request.as_ref().look());
            let awaited = requests.iter().flat_map(|one| one.as_ref().awaited());
            let awaited: Vec<_> = awaited.collect();
            let tickets = own.clone().chain(awaited.iter().copied());
            let at = self.connections.wait_any(tickets);
            if at < requests.len() {
                return at;
            }
        }
    }

    /// Carries an operation out; everything that was lent to it comes back.
    pub(crate) fn run(&self, operation: Operation<'_>, delivery: Delivery<'_>) -> Completion {
        match self.redundant_for(&operation) {
            Some(redundant) => redundant.run(operation, delivery),
            None => self.connections.run(operation, delivery),
        }
    }

    /// What stores and reads a key that lies on several servers.
    #[inline]
    pub(crate) fn redundant_of(&self, key: &[u8]) -> Option<&Arc<Redundant>> {
        let redundant = self.redundant.as_ref();
        redundant.filter(|redundant| redundant.has(key))
    }

    /// What carries out an operation that a policy has a plan for.
    #[inline]
    fn redundant_for(&self, operation: &Operation<'_>) -> Option<&Arc<Redundant>> {
        let redundant = self.redundant.as_ref();
        redundant.filter(|redundant| redundant.has_plan_for(operation))
    }

    /// The values of those of these keys that lie on several servers.
    pub(crate) fn got_elsewhere<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        delivery: Delivery<'_>,
    ) -> Elsewhere {
        let redundant = self.redundant.as_ref();
        redundant.map_or_else(Elsewhere::new, |redundant| {
            redundant.get_many(keys, delivery)
        })
    }
}
